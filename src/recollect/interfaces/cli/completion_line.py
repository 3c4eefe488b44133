"""Complete a command line: `recollect completion --line WORDS`, which shells call at a key press.

It must be quick, so it imports neither the engine nor argparse. Commands and options are in
`completion.json`, which docs/update_help.py writes; ids, tags and the like are read from the vault
with Python's own SQLite. A locked vault completes nothing.
"""
# ruff: noqa: PTH118, PTH120, PTH208  start-up time: without pathlib

from __future__ import annotations

import json
import os

from recollect.home import home_path

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without the time to import typing
if TYPE_CHECKING:
    from typing import Any

MOST = 200  # values; more would be too many to choose from
ENDS = chr(0x10FFFF)
IDS = """
    SELECT id, title FROM memories WHERE forgotten_at IS {not_}NULL AND id >= ?1 AND id < ?1 || ?2
     ORDER BY updated_at DESC LIMIT ?3"""
TAGS = """
    SELECT name, '' FROM tags WHERE name >= ?1 AND name < ?1 || ?2
       AND EXISTS (SELECT 1 FROM memory_tags WHERE tag = tags.key) ORDER BY name LIMIT ?3"""
VALUES = """
    SELECT DISTINCT {column}, '' FROM memories WHERE forgotten_at IS NULL AND {column} <> ''
       AND {column} >= ?1 AND {column} < ?1 || ?2 ORDER BY 1 LIMIT ?3"""
QUERIES = {
    "id": IDS.format(not_=""),
    "forgotten": IDS.format(not_="NOT "),
    "tag": TAGS,
    **{
        column: VALUES.format(column=column)
        for column in ("project", "kind", "source", "domain", "space")
    },
}


def complete(words: list[str]) -> list[str]:
    """Return the completions of the last word as lines: a value, a tab, a description."""
    file = os.path.join(os.path.dirname(__file__), "completion.json")
    with open(file, encoding="utf-8") as stream:  # noqa: PTH123
        table: dict[str, Any] = json.load(stream)
    *before, typed = words or [""]
    commands: dict[str, Any] = table["commands"]
    if not before or before == ["help"]:
        found = [(name, each["about"]) for name, each in commands.items() if " " not in name]
        return _matching_lines(typed, found)
    before = [*table["aliases"].get(before[0], before[0]).split(), *before[1:]]
    first, two = before[0], " ".join(before[:2])
    command = commands.get(two) or commands.get(first)
    if command is None:
        return []
    options: dict[str, Any] = command["options"]
    last = options.get(before[-1])
    if last is not None and last["takes"]:
        return _matching_lines(typed, _values(last["takes"], typed, table))
    if typed.startswith("-"):
        return _matching_lines(typed, [(name, each["about"]) for name, each in options.items()])
    actions = [
        (name.partition(" ")[2], each["about"])
        for name, each in commands.items()
        if before == [first] and name.startswith(f"{first} ")
    ]
    takes = command["takes"]
    return _matching_lines(typed, [*actions, *(_values(takes, typed, table) if takes else [])])


def _matching_lines(typed: str, found: list[tuple[str, str]]) -> list[str]:
    starting = [(name, about) for name, about in found if name.startswith(typed)]
    return [f"{name}\t{' '.join(about.split())}" if about else name for name, about in starting]


def _values(takes: str | list[str], typed: str, table: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the values of this kind that begin as typed, or the values in the list."""
    if isinstance(takes, list):
        return [(name, "") for name in takes]
    home = home_path(os.environ)
    if takes == "recipe":
        try:
            own = sorted(os.listdir(os.path.join(home, "recipes")))
        except OSError:
            own = []
        names = [*table["recipes"], *(file[:-5] for file in own if file.endswith(".toml"))]
        return [(name, "") for name in names]
    if takes not in QUERIES:
        return []
    import sqlite3  # noqa: PLC0415  start-up time

    vault = os.path.join(home, "vault.db")
    if not os.path.exists(vault):  # noqa: PTH110  start-up time
        return []
    try:
        connection = sqlite3.connect(vault)
        try:
            connection.execute("PRAGMA query_only = 1")
            rows = connection.execute(QUERIES[takes], (typed, ENDS, MOST))
            return [(str(name), str(about)) for name, about in rows]
        finally:
            connection.close()
    except sqlite3.Error:  # locked, damaged, or of an older version
        return []
