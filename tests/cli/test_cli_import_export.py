"""Memories in and out: JSON Lines, loss-free, every bad line named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commandline import Home, check_error, lines

FULL: dict[str, Any] = {
    "id": "full-1",
    "title": "Every field",
    "text": "Text\nin\r\nlines\u2028and\u0085more\t“quoted” \\ back/slash",
    "context": "context",
    "why": "why",
    "impact": "impact",
    "details": "# Details\n\n- one\n- two\n",
    "tags": ["Zebra", "apple", "größe", "two words", "日本"],
    "kind": "decision",
    "severity": "warning",
    "domain": "security",
    "project": "harbor-api",
    "source": "claude-code",
    "tier": "core",
    "space": "work",
    "path": "docs/a b.md",
    "created_at": "2024-02-29T23:59:59.999999Z",
    "updated_at": "2025-06-01T00:00:00Z",
    "valid_from": "0001-01-01T00:00:00Z",
    "valid_until": "9999-12-31T23:59:59.999999Z",
}
ODD = [
    "👩‍👩‍👧‍👦 🏳️‍🌈 family",
    "e\u0301 and \u00e9 are not the same here",
    "\u202eright to left\u202c العربية עברית",
    "zero\u200bwidth\u200dand\ufeffmark",
    "control \x01\x02\x1b[31m signs",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 beyond the first plane 𠮷",
    "</script><mark> & &amp; {{ }} %s $HOME `id` '; DROP TABLE memories; --",
    " leading and trailing ",
    "\n",
]


def read_export(home: Home) -> list[dict[str, Any]]:
    return [json.loads(line) for line in home.call("export").out.encode().split(b"\n") if line]


@pytest.mark.installed
def test_the_installed_command_brings_a_vault_to_another_home(home: Home, tmp_path: Path) -> None:
    memories = [FULL, *({"title": f"Odd {place}", "text": text} for place, text in enumerate(ODD))]
    file = tmp_path / "in.jsonl"
    file.write_bytes(lines(*memories))
    done = home.run("import", str(file))
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{len(memories)} added, 0 updated, 0 unchanged.\n"
    backup = tmp_path / "backup.jsonl"
    written = home.run("export", str(backup))
    assert (written.code, written.out) == (0, "")
    assert f"{len(memories)} memories written" in written.err

    other = Home(tmp_path / "other")
    assert other.run("import", "-", stdin=backup.read_bytes()).code == 0
    assert other.run("export").out.encode() == backup.read_bytes()
    assert other.run("import", str(backup)).out.startswith("0 added, 0 updated, 10 unchanged")
    assert not list(tmp_path.glob("*.part"))
    assert other.is_sound()


def test_every_field_comes_back_as_it_went_in(home: Home) -> None:
    assert home.import_memories(FULL).code == 0
    assert read_export(home) == [FULL]


def test_odd_text_comes_back_in_every_field(home: Home) -> None:
    names = ("title", "text", "context", "why", "impact", "details", "domain", "project", "source")
    memories = [
        {"id": f"odd-{place}", **dict.fromkeys(names, text + " x"), "tags": [text + " x"]}
        for place, text in enumerate(ODD)
    ]
    assert home.import_memories(*memories).code == 0
    back = {memory["id"]: memory for memory in read_export(home)}
    for memory in memories:
        assert {name: back[memory["id"]][name] for name in memory} == memory
    assert home.is_sound()


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("2026-03-01", "2026-03-01T00:00:00Z"),
        ("2026-03-01T09:30", "2026-03-01T09:30:00Z"),
        ("2026-03-01T09:30:00", "2026-03-01T09:30:00Z"),
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z"),
        ("2026-03-01T09:30:00.5Z", "2026-03-01T09:30:00.500000Z"),
        ("2026-03-01T09:30:00.123456+05:45", "2026-03-01T03:45:00.123456Z"),
        ("2026-03-01T00:00:00-12:00", "2026-03-01T12:00:00Z"),
        ("20260301T093000Z", "2026-03-01T09:30:00Z"),
        (" 2026-03-01 ", "2026-03-01T00:00:00Z"),
        ("0001-01-01", "0001-01-01T00:00:00Z"),
        ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
    ],
)
def test_times_with_zones_and_fractions(home: Home, written: str, kept: str) -> None:
    times = ("created_at", "updated_at", "valid_from", "valid_until")
    home.import_memories({"id": "t", "title": "t", **dict.fromkeys(times, written)})
    [back] = read_export(home)
    assert {back[name] for name in times} == {kept}


BAD = [
    ('{"title": broken', ("not valid JSON",)),
    ("[1, 2]", ("not a JSON object",)),
    ("null", ("not a JSON object",)),
    ("true", ("not a JSON object",)),
    ("1", ("not a JSON object",)),
    ('{"title": NaN}', ("not valid JSON",)),
    ("{'title': 'a'}", ("not valid JSON",)),
    ('{"title": "a",}', ("not valid JSON",)),
    ("\0", ("not valid JSON",)),
    ('"text"', ("not a JSON object",)),
    ('{"title": "x", "colour": "red"}', ("'colour'", "title", "valid_until")),
    ('{"title": "x", "Title": "y"}', ("'Title'",)),
    ('{"title": "nul \\u0000"}', ("title", "NUL")),
    ('{"title": "x", "tags": ["\\u0000"]}', ("tag", "NUL")),
    ('{"title": "lone \\ud800 surrogate"}', ("not valid JSON",)),
    ('{"title": 5}', ("title", "number")),
    ('{"title": ["x"]}', ("title", "list")),
    ('{"title": true}', ("title", "true")),
    ('{"title": {"a": 1}}', ("title", "object")),
    ('{"title": "", "text": " "}', ("title or a text",)),
    ("{}", ("title or a text",)),
    ('{"title": null, "text": null}', ("title or a text",)),
    ('{"why": "x"}', ("title or a text",)),
    ('{"id": "a b", "title": "x"}', ("id", "white space")),
    ('{"id": "", "title": "x"}', ("id",)),
    ('{"id": 7, "title": "x"}', ("id", "number")),
    ('{"tags": "auth", "title": "x"}', ("tags", "list")),
    ('{"tags": [1], "title": "x"}', ("tags", "list of texts")),
    ('{"tags": [""], "title": "x"}', ("tag", "empty")),
    ('{"created_at": "someday", "title": "x"}', ("created_at", "'someday'")),
    ('{"created_at": 1700000000, "title": "x"}', ("created_at", "number")),
    ('{"severity": "high", "title": "x"}', ("severity", "critical, warning, suggestion")),
    ('{"tier": "gold", "title": "x"}', ("tier", "core, file, capture")),
    ('{"kind": "", "title": "x"}', ("kind",)),
    ('{"title": "x"} trailing', ("not valid JSON",)),
    ('{"title": "x"}{"title": "y"}', ("not valid JSON",)),
    ("[" * 100_000, ("not valid JSON",)),
    ('{"title": 1' + "0" * 5000 + "}", ("not valid JSON",)),
    ('{"title": "x", "valid_until": "10000-01-01"}', ("valid_until",)),
]


@pytest.mark.parametrize(("line", "holding"), BAD)
def test_a_bad_line_is_named_and_the_rest_goes_in(
    home: Home, line: str, holding: tuple[str, ...]
) -> None:
    stdin = b'{"id": "first", "title": "1"}\n\n' + line.encode() + b'\n{"id": "last", "title": "2"}'
    done = home.call("import", "-", stdin=stdin)
    assert done.code == 1
    assert done.out == "2 added, 0 updated, 0 unchanged, 1 bad line.\n"
    assert done.err.startswith("line 3: ")
    assert done.err.count("\n") == 1
    for part in holding:
        assert part in done.err
    assert home.list_ids() == ["first", "last"]


def test_all_bad_lines_are_named_in_order_and_as_json(home: Home) -> None:
    stdin = "\n".join([line for line, _ in BAD] + ['{"id": "good", "title": "x"}']).encode()
    done = home.run("import", "-", "--json", stdin=stdin)
    assert done.code == 1
    report = json.loads(done.out)
    assert set(report) == {"added", "updated", "unchanged", "bad", "waiting"}
    assert [one["line"] for one in report["bad"]] == list(range(1, len(BAD) + 1))
    assert all(one["reason"].endswith(".") for one in report["bad"])
    assert report["added"] == 1
    assert len(done.err.splitlines()) == len(BAD)
    assert "Traceback" not in done.err


def test_strict_means_all_or_nothing(home: Home) -> None:
    good, bad = b'{"id": "a", "title": "x"}\n', b'{"title": 5}\n'
    done = home.call("import", "-", "--strict", stdin=good + bad + good)
    assert done.code == 1
    assert done.err.startswith("line 2: ")
    assert done.out.startswith("0 added, 0 updated, 0 unchanged")
    assert home.list_ids() == []
    assert home.call("import", "-", "--strict", stdin=good).code == 0
    assert home.list_ids() == ["a"]


def test_the_same_id_again_updates(home: Home) -> None:
    home.import_memories({"id": "a", "title": "One", "why": "kept", "tags": ["x"]})
    changed = home.import_json({"id": "a", "title": "Two"}, {"id": "b", "title": "B"})
    assert (changed["added"], changed["updated"], changed["unchanged"]) == (1, 1, 0)
    again = home.import_json({"id": "a", "title": "Two"}, {"id": "b", "title": "B"})
    assert (again["added"], again["updated"], again["unchanged"]) == (0, 0, 2)
    [memory] = home.json("show", "a")
    assert (memory["title"], memory["why"], memory["tags"]) == ("Two", "kept", ["x"])
    assert home.is_sound()


def test_bytes_that_are_not_utf8_are_one_bad_line(home: Home) -> None:
    stdin = b'{"title": "fine"}\n{"title": "\xff\xfe"}\n{"title": "also fine"}\n'
    done = home.run("import", "-", stdin=stdin)
    assert done.code == 1
    assert done.err == "line 2: It is not valid UTF-8 text.\n"
    assert len(home.list_ids()) == 2
    utf16 = '{"title": "wide"}\n'.encode("utf-16")
    assert home.run("import", "-", stdin=utf16).code == 1
    assert home.run("import", "-", stdin=bytes(range(256)) * 100).code == 1
    assert len(home.list_ids()) == 2
    assert home.is_sound()


def test_a_byte_order_mark_and_windows_line_ends_are_fine(home: Home) -> None:
    stdin = b'\xef\xbb\xbf{"id": "a", "title": "x"}\r\n\r\n{"id": "b", "title": "y"}\r\n'
    assert home.call("import", "-", stdin=stdin).code == 0
    assert home.list_ids() == ["a", "b"]


@pytest.mark.parametrize("stdin", [b"", b"\n", b"\n \n\t\n", b"\xef\xbb\xbf"])
def test_nothing_at_all_is_not_an_error(home: Home, stdin: bytes) -> None:
    done = home.call("import", "-", stdin=stdin)
    assert (done.code, done.out) == (0, "0 added, 0 updated, 0 unchanged.\n")


def test_export_of_an_empty_vault_is_empty(home: Home, tmp_path: Path) -> None:
    assert home.call("export") == (0, "", "")
    assert home.call("export", str(tmp_path / "out.jsonl")).code == 0
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_more_than_a_page_and_more_than_a_batch(home: Home) -> None:
    """2,000 lines are one write, 1,000 memories one page of reading: 2,345 are neither."""
    memories = [{"id": f"m-{number:04}", "title": f"Number {number}"} for number in range(2345)]
    done = home.import_memories(*memories[:2100], {"title": 5}, *memories[2100:])
    assert done.code == 1
    assert done.err.startswith("line 2101: ")
    assert [memory["id"] for memory in read_export(home)] == [memory["id"] for memory in memories]


def test_a_text_of_a_megabyte(home: Home) -> None:
    words = " ".join(f"word{number}" for number in range(1000))
    text = (words + " ") * (999_000 // len(words)) + "needle"
    args = ("save", "--title", "A megabyte", "--id", "big", "--text", "-")
    assert home.call(*args, stdin=text.encode()).code == 0
    home.save("--title", "Small", "--id", "small")
    assert home.search_ids("needle", "--recipe", "vault") == ["big"]
    assert home.json("show", "big")[0]["text"] == text
    export = home.run("export").out.encode()
    assert home.run("import", "-", stdin=export).out == "0 added, 0 updated, 2 unchanged.\n"


@pytest.mark.parametrize(
    ("args", "holding"),
    [
        (("import", "nowhere.jsonl"), ("nowhere.jsonl", "No such file")),
        (("import", "{folder}"), ("directory",)),
        (("export", "{folder}"), ("directory",)),
        (("export", "/"), ("directory",)),
        (("export", "{folder}/no/such/folder.jsonl"), ("No such file",)),
        (("export", "{folder}/file/below"), ("ot a directory",)),
    ],
)
def test_files_that_cannot_be_used_are_named(
    home: Home, tmp_path: Path, args: tuple[str, ...], holding: tuple[str, ...]
) -> None:
    home.save("--title", "x")
    (tmp_path / "file").touch()
    check_error(home.call(*(part.format(folder=tmp_path) for part in args)), *holding)


def test_a_file_name_of_any_bytes_will_do(home: Home, tmp_path: Path) -> None:
    home.save("--title", "x")
    file = bytes(tmp_path) + b"/\xff.jsonl"
    assert home.run("export", file).code == 0
    assert home.run("import", file).out == "0 added, 0 updated, 1 unchanged.\n"


def test_an_export_over_an_older_one_replaces_it_whole(home: Home, tmp_path: Path) -> None:
    target = tmp_path / "target.jsonl"
    target.write_text("older\n" * 1000)
    home.save("--title", "x", "--id", "x")
    assert home.call("export", str(target)).code == 0
    assert [json.loads(line)["id"] for line in target.read_text().splitlines()] == ["x"]
    check_error(home.call("export", str(tmp_path)), "directory")
    assert len(target.read_text().splitlines()) == 1


def test_export_writes_into_devices_and_does_not_replace_them(home: Home) -> None:
    home.save("--title", "x", "--id", "x")
    assert json.loads(home.run("export", "/dev/stdout").out)["id"] == "x"
    assert json.loads(home.run("export", "-").out)["id"] == "x"
    before = Path("/dev/null").stat()
    assert home.run("export", "/dev/null").code == 0
    assert Path("/dev/null").stat().st_ino == before.st_ino
