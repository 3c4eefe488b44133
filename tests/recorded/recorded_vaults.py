"""Fill the vaults that the recorded calls are made on.

Everything is written by commands, at fixed times, from `words.toml`: the same files in each run.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

from commandline import Home, Ran, lines

HERE = Path(__file__).parent
WORDS: dict[str, Any] = tomllib.loads((HERE / "words.toml").read_text(encoding="utf-8"))
NOW = "2026-03-01T12:00:00Z"
LARGE = 5000
BATCHES = 10
FIELDS = ("title", "text", "why", "impact", "details", "severity")


def moment(start: str, hours: float) -> str:
    """Return the time `hours` after `start`, as Recollect writes it."""
    at = datetime.fromisoformat(start) + timedelta(hours=hours)
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pick(values: Sequence[Any], *key: object) -> Any:
    """Return one of the values: the same one for the same key, on every machine."""
    return values[crc32(repr(key).encode()) % len(values)]


def timed_lines(table: str) -> Iterator[tuple[str, str]]:
    """Yield (time, line) of a table; a line `@ TIME` sets the time of those after it, and a line
    with `<<a|b>>` is one line with `a` and another one with `b`."""
    now = NOW
    for line in map(str.strip, table.strip().splitlines()):
        if line.startswith("@"):
            now = line.removeprefix("@").strip()
        elif line and not line.startswith("#"):
            yield from ((now, each) for each in alternatives(line))


def alternatives(line: str) -> Iterator[str]:
    before, choices, after = re.fullmatch(r"(.*?)(?:<<(.*?)>>(.*))?", line).groups()  # type: ignore[union-attr]
    if choices is None:
        yield line
        return
    for choice in choices.split("|"):
        yield from alternatives(before + choice + after)


def must(ran: Ran) -> Ran:
    assert ran.code == 0, ran.err
    return ran


def import_at(home: Home, now: str, memories: list[dict[str, Any]]) -> None:
    must(home.call("import", "-", stdin=lines(*memories), using={"RECOLLECT_NOW": now}))


def filled(template: dict[str, str], words: dict[str, object]) -> dict[str, Any]:
    fields = {name: template[name].format(**words) for name in FIELDS if name in template}
    return {"kind": template["kind"]} | fields


# The demo vault


def fill_demo(home: Home) -> None:
    """Keep the vault that `recollect demo` makes."""
    must(home.call("demo", "--keep", str(home.folder), using={"RECOLLECT_NOW": NOW}))


# A developer's year


def year_memories() -> Iterator[dict[str, Any]]:
    subjects = [line.split(" | ") for line in WORDS["year"]["subjects"].strip().splitlines()]
    names = ("project", "name", "tool", "other", "tag", "domain")
    for round_, template in enumerate(WORDS["year"]["template"]):
        for place, row in enumerate(subjects):
            number = crc32(f"{round_} {place}".encode())
            words: dict[str, object] = dict(zip(names, row, strict=True))
            words |= {"number": 100 + number % 900, "hash": f"{number:08x}"}
            made = moment("2025-03-02T09:00:00Z", (place * 5 + round_) * 57.0)
            memory = filled(template, words) | {
                "id": f"{template['kind']}-{str(words['name']).lower().replace(' ', '-')}",
                "project": words["project"],
                "domain": words["domain"],
                "tags": [words["tag"], template["kind"]] if number % 3 else [words["tag"]],
                "source": pick(("cli", "claude-code", "cursor", "meeting"), round_, place),
                "space": "work" if words["project"] != "tide-notes" else "private",
                "created_at": made,
                "updated_at": moment(made, number % 200),
            }
            if template["kind"] == "todo" and number % 2:
                memory |= {"valid_from": made, "valid_until": moment(made, 24 * 120)}
            yield memory


def fill_year(home: Home) -> None:
    """Import 150 memories month by month, then change some of them."""
    every = sorted(year_memories(), key=lambda memory: str(memory["created_at"]))
    months = sorted({memory["created_at"][:7] for memory in every})
    for month in months:
        batch = [memory for memory in every if memory["created_at"].startswith(month)]
        import_at(home, moment(f"{month}-28T20:00:00Z", 14 * 24), batch)
    for now, line in timed_lines(WORDS["year"]["changes"]):
        must(home.call(*shlex.split(line), using={"RECOLLECT_NOW": now}))


# 5,000 memories and two further vaults


def large_memories(first: int, count: int, name: str = "m") -> Iterator[dict[str, Any]]:
    lists = WORDS["large"]
    for number in range(first, first + count):
        template = pick(lists["template"], "template", name, number)
        words: dict[str, object] = {
            "service": pick(lists["services"].split(), "service", name, number),
            "part": pick(lists["parts"].split(), "part", name, number),
            "quality": pick(lists["qualities"].split(), "quality", name, number),
            "action": pick(lists["actions"].split(), "action", name, number),
            "reason": pick(lists["reasons"].split("|"), "reason", name, number),
            "person": pick(lists["people"].split(), "person", name, number),
            "other": pick(lists["people"].split(), "other", name, number),
            "place": pick(lists["places"].split(), "place", name, number),
            "number": 2 + number % 47,
            "code": 1000 + number % 4001,
        }
        made = moment("2024-06-01T08:00:00Z", number * 14_000 / LARGE)
        memory = filled(template, words) | {
            "id": f"{name}-{number:04d}",
            "project": pick(("alpha", "beta", "gamma", "delta", ""), "project", name, number),
            "domain": pick(("backend", "operations", "finance", ""), "domain", name, number),
            "tags": sorted({str(words["service"]), str(words["part"])}),
            "source": pick(("cli", "agent", "wiki"), "source", name, number),
            "created_at": made,
            "updated_at": moment(made, number % 500),
        }
        if number % 11 == 0:
            memory |= {"valid_from": made, "valid_until": moment(made, 24 * (60 + number % 900))}
        if number % 13 == 0:
            path = f"docs/{words['service']}/{words['part']}-{number}.md"
            memory |= {"tier": "file", "path": path, "title": path}
        if number % 400 == 5:
            memory |= {"tier": "core", "severity": "critical"}
        if number % 97 == 0:
            memory["tags"].append("stale")
        yield memory


def write_notes(folder: Path) -> None:
    """Write twelve Markdown files with fixed times of change."""
    folder.mkdir()
    for number, memory in enumerate(large_memories(0, 12, "file")):
        file = folder / f"{number:02d}-{memory['kind']}.md"
        text = f"# {memory['title']}\n\n{memory['text']}\n\n## Next\n\nSee note {number + 1}.\n"
        file.write_text(text, encoding="utf-8")
        at = datetime.fromisoformat("2026-01-10T08:00:00Z").timestamp() + number * 3600
        os.utime(file, (at, at))


def fill_large(home: Home) -> None:
    """Import 5,000 memories in batches, change and forget some, add a folder and two vaults."""
    every = list(large_memories(0, LARGE))
    size = LARGE // BATCHES
    for batch in range(BATCHES):
        now = moment("2026-01-01T06:00:00Z", batch * 24)
        import_at(home, now, every[batch * size : (batch + 1) * size])
    changed = [dict(one, text=f"{one['text']} Checked again in spring.") for one in every[::7]]
    import_at(home, "2026-02-01T06:00:00Z", changed)
    again = [dict(one, severity="critical", kind="decision") for one in changed[::3]]
    import_at(home, "2026-02-08T06:00:00Z", again)
    replaced = [dict(every[n], superseded_by=every[n + 20]["id"]) for n in range(10, LARGE, 200)]
    import_at(home, "2026-02-15T06:00:00Z", replaced)
    using = {"RECOLLECT_NOW": "2026-02-20T06:00:00Z"}
    must(home.call("forget", "--tag", "stale", "--yes", using=using))
    notes = home.folder.parent / "notes"
    write_notes(notes)
    must(home.call("add", str(notes), "--project", "notes", using=using))
    vaults = (("team", "team", 0.6), ("partner", "project", 0.8))
    config = []
    for start, (name, tier, priority) in enumerate(vaults):
        other = Home(home.folder.parent / name, **home.environment)
        other.environment["RECOLLECT_HOME"] = str(other.folder)
        own = list(large_memories(start * 1000, 300, name))
        shared = every[start * 40 : start * 40 + 20]  # the same ids as in the first vault
        import_at(other, "2026-02-01T06:00:00Z", [*own, *shared])
        given = {"name": name, "tier": tier, "path": str(other.vault), "priority": priority}
        config.append(
            "[[vaults]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in given.items())
        )
    (home.folder / "config.toml").write_text("\n".join(config), encoding="utf-8")


FILL: dict[str, Callable[[Home], None]] = {
    "demo": fill_demo,
    "year": fill_year,
    "large": fill_large,
}
