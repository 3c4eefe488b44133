"""`recollect config`, and changes of `config.toml` that leave the rest of the file unchanged.

tomlkit was tried instead (0.15): deleting a table also deletes the comment above the next one, and
deleting the last one leaves `vaults = []` at the top. It also refuses a file that begins with a
BOM.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from recollect.errors import NotFound, UserError
from recollect.files import locked_folder, write_whole
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import DIM, paint, print_json, say
from recollect.interfaces.cli.selection import open_vault
from recollect.interfaces.cli.upkeep import print_findings
from recollect.interfaces.setup.files import with_value_at
from recollect.interfaces.setup.toml_edit import with_value
from recollect.present.sentences import visible
from recollect.recipes.registry import Recipes
from recollect.recipes.tree import toml_lines
from recollect.settings_reading import (
    check_key,
    home_folder,
    load_settings,
    parse_value,
    sources,
    toml_values,
    variable_of,
)


def _read_value(home: Path, key: str) -> Any:
    value = load_settings(home)
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _value_text(value: object) -> str:
    return visible(msgspec.json.encode(value).decode())


def _list(home: Path, args: argparse.Namespace) -> None:
    listed = {
        key: {"value": _read_value(home, key), "from": source}
        for key, source in sources(home).items()
    }
    if args.json:
        print_json(listed)
        return
    for key, each in listed.items():
        source = each["from"]
        where = variable_of(key) if source == "environment" else source
        line = f"{key:<26}{_value_text(each['value']):<22}"
        print(paint(f"{line} {where}", DIM) if source == "default" else f"{line} {where}")
    print(paint(f"file: {visible(str(home / 'config.toml'))}", DIM))


def _get(home: Path, args: argparse.Namespace) -> None:
    [key] = args.names
    check_key(key)
    value = _read_value(home, key)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    say(args.json, visible(text), **{key: value})


def _set(home: Path, args: argparse.Namespace) -> None:
    key, text = args.names
    value = parse_value(key, text)
    if key.endswith(".recipe"):
        Recipes(home / "recipes").get(str(value))  # or an error that names those there are
    file = set_value(home, key, value, lambda: load_settings(home))
    say(args.json, f"{key} is {_value_text(value)} now, in {visible(str(file))}.", **{key: value})
    if sources(home)[key] == "environment":
        note = f"{variable_of(key)} is set in the environment, and overrides the file."
        print(f"recollect: {note}", file=sys.stderr)


def _check(home: Path, args: argparse.Namespace) -> int:
    with open_vault() as memory:
        found = memory.configuration()
    print_findings(found, args)
    return 1 if any(finding.problem for finding in found) else 0


ACTIONS: arg.Actions[Path] = {
    "list": (_list, "list"),
    "get": (_get, "get KEY"),
    "set": (_set, "set KEY VALUE"),
    "check": (_check, "check"),
}


@command(
    "  recollect config\n  recollect config get search.recipe\n"
    "  recollect config set rerank.budget_ms 500\n  recollect config check",
    arg.action(ACTIONS, "a key, such as search.recipe; for set also its value", "KEY"),
    arg.rows(),
)
def config(args: argparse.Namespace) -> int | None:
    return arg.find_action(args)(home_folder(os.environ), args)


# Changes of `config.toml`

Check = Callable[[], object]
BOM = "\ufeff"  # some editors begin a file with it


# Table → what it declares, and the command that lists them.
TABLES = {
    "vaults": ("other vault", "vault list"),
    "collections": ("collection", "vault collections"),
}


def add_table(home: Path, table: str, fields: Mapping[str, Any], check: Check) -> Path:
    """Add a table at the end of the file; return the file. `check` reads the settings: if it
    raises, the change is undone; if it raises before the change, the file stays as it is."""
    with _exclusive(home):
        check()
        before = _read_text(home)
        ending = "\r\n" if "\r\n" in before else "\n"
        block = ending.join([f"[[{table}]]", *toml_lines(dict(fields))]).rstrip() + ending
        rest = before.rstrip("\r\n")
        return _write_checked(
            home, rest + (2 * ending if rest.strip(BOM).strip() else "") + block, check
        )


def remove_table(home: Path, table: str, name: str, check: Check) -> Path:
    """Remove the table of that name; return the file. Comments around it stay."""
    with _exclusive(home):
        return _write_checked(home, _remove_text(home, table, name), check)


def set_value(home: Path, key: str, value: Any, check: Check) -> Path:
    """Set a key, such as `search.recipe`; return the file. `check`: see `add_table`."""
    with _exclusive(home):
        check()
        config, path = home / "config.toml", tuple(key.split("."))
        before = _read_text(home)
        data = _parse(before, config)
        plain = before.removeprefix(BOM)
        section, name = path
        if section in data:
            after = with_value(plain, path, value)
        else:
            after = with_value(plain, (section,), {name: value})
        if _parse(after, config) != with_value_at(data, path, value):
            raise UserError(f"{config} writes {key} in an unusual way. Change it by hand.")
        return _write_checked(home, before[: len(before) - len(plain)] + after, check)


@contextmanager
def _exclusive(home: Path) -> Iterator[None]:
    """Lock the home, so that no other command changes the file meanwhile."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked_folder(home):
        yield


def _remove_text(home: Path, table: str, name: str) -> str:
    """Return the file's text without the table of that name."""
    config = home / "config.toml"
    text = _read_text(home)
    data = _parse(text, config)
    found = data.get(table)
    tables = found if isinstance(found, list) else []
    names = [each.get("name") if isinstance(each, dict) else None for each in tables]
    if name not in names:
        what, command = TABLES[table]
        raise NotFound(
            f"There is no {what} {name!r} in {config}. `recollect {command}` lists them."
        )
    place = names.index(name)
    left = {**data, table: [*tables[:place], *tables[place + 1 :]]}
    after = _cut_table(text, table, place)
    # Nothing else may change, however the file is written.
    if after is None or _try_parse(after, table) != left:
        raise UserError(
            f"{config} does not write {name!r} as a [[{table}]] of its own. Remove it by hand."
        )
    return after


def _read_text(home: Path) -> str:
    """Return the file's text with its line ends; "" if there is no file."""
    config = home / "config.toml"
    try:
        return config.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise UserError(f"{config} cannot be read as TOML: it is not valid UTF-8 text.") from error


def _parse(text: str, config: Path) -> dict[str, Any]:
    try:
        return toml_values(text.removeprefix(BOM).replace("\r\n", "\n"))
    except ValueError as error:
        raise UserError(f"{config} cannot be read as TOML: {error}.") from error


def _try_parse(text: str, table: str) -> dict[str, Any] | None:
    """Return the file as data, with the table even if it is empty; None if it is not TOML."""
    try:
        return {table: [], **_parse(text, Path())}
    except UserError:
        return None


def _cut_table(text: str, table: str, place: int) -> str | None:
    """Return the text without the table at that place, up to its last key, or None."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text.removeprefix(BOM))
    blocks = _blocks(lines, table)
    if place >= len(blocks):
        return None
    first, last = blocks[place]
    end = last
    while end > first + 1 and _is_blank(lines[end - 1]):
        end -= 1
    while end < len(lines) and not lines[end].strip():
        end += 1
    rest = "".join(lines[:first] + lines[end:])
    if end == len(lines) and rest.strip():
        rest = rest.rstrip("\r\n") + ("\r\n" if "\r\n" in text else "\n")
    return (BOM if text.startswith(BOM) else "") + (rest if rest.strip() else "")


def _is_blank(line: str) -> bool:
    """Return whether the line is blank or a comment, which may be about the next table."""
    return not line.strip() or line.lstrip().startswith("#")


def _blocks(lines: list[str], table: str) -> list[tuple[int, int]]:
    """Return for each such table its first line, and the first line of the next table."""
    heads = [n for n, line in enumerate(lines) if line.lstrip().startswith("[")] + [len(lines)]
    return [
        (first, last)
        for first, last in pairwise(heads)
        if re.sub(r"\s", "", lines[first].split("#")[0]) == f"[[{table}]]"
    ]


def _write_checked(home: Path, text: str, check: Check) -> Path:
    """Write the file and return it. A link stays a link, and the file's mode is kept."""
    config = home / "config.toml"
    there = config.exists()
    before, rights = _read_text(home), config.stat().st_mode & 0o777 if there else 0o600
    file = config.resolve()
    write_whole(file, text)
    file.chmod(rights)
    try:
        check()
    except BaseException:
        if there:
            write_whole(file, before)
            file.chmod(rights)
        else:
            file.unlink()
        raise
    return config
