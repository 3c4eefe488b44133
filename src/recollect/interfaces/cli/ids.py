"""Which memories somebody means who types no whole ids: `@1` to `@9` are the results of the last
search or list on this terminal, `-` are the ids on standard input, and the beginning of an id does.

The results are kept in a file for each terminal session, ids alone. The ids of a locked vault are
made from words of its memories, so there they are kept as hashes under the vault's own key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from recollect.engine import Recollect
from recollect.errors import NotFound
from recollect.interfaces.cli.arguments import read_text
from recollect.interfaces.cli.screen import screen

FOLDER = "last-results"  # in the home
PLACE = re.compile("@[1-9]")
MOST = 9
KEPT = 50  # terminal sessions


class LastResults(msgspec.Struct):
    """The best results, as ids, or of a locked vault as hashes."""

    names: list[str]
    hashed: bool


def remember(memory: Recollect, ids: Sequence[str]) -> None:
    """Keep the ids as the last results of this terminal; without a terminal nothing is kept."""
    if not screen().session:
        return
    hashed = memory.store.database.locked
    names = [memory.mark(id) if hashed else id for id in ids[:MOST]]
    folder = memory.home / FOLDER
    with suppress(OSError):  # a home that nobody may write
        folder.mkdir(mode=0o700, exist_ok=True)
        file = folder / str(screen().session)
        if not file.exists():
            for old in sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime)[:-KEPT]:
                old.unlink(missing_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(msgspec.json.encode(LastResults(names, hashed)))


def meant(memory: Recollect, typed: Sequence[str], *, forgotten: bool = False) -> list[str]:
    """The ids that are meant, each once. `forgotten`: the beginning of an id is looked for in the
    trash first. What begins no id stays as it is: it may be one of another vault."""
    found: list[str] = []
    for name in typed:
        if name == "-":
            found += filter(None, map(str.strip, read_text("-").splitlines()))
        else:
            found.append(_result(memory, int(name[1:])) if PLACE.fullmatch(name) else name)
    return list(dict.fromkeys(memory.completed_ids(found, forgotten=forgotten)))


def only(memory: Recollect, typed: str, *, forgotten: bool = False) -> str:
    """The one id that is meant."""
    [id] = meant(memory, [typed], forgotten=forgotten) or [typed]
    return id


def _result(memory: Recollect, place: int) -> str:
    """The id of the last results at this place, from 1."""
    file: Path = memory.home / FOLDER / str(screen().session)
    try:
        last = msgspec.json.decode(file.read_bytes(), type=LastResults)
    except (OSError, msgspec.DecodeError):
        raise NotFound(
            f"@{place}: nothing was searched or listed on this terminal yet. Search first, or "
            "type the beginning of an id."
        ) from None
    names = last.names
    if last.hashed:
        ids = memory.marked(names)
        names = [ids.get(mark, "") for mark in names]
    if place > len(names) or not names[place - 1]:
        raise NotFound(f"@{place}: the last search or list showed {len(names)} memories.")
    return names[place - 1]
