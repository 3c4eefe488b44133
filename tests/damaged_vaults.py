"""A small vault with something in every table, and ways to damage its file."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw
import numpy as np
from suites.stores.helpers import forget, save
from suites.stores.samples import MODEL, NOON, memory

from recollect.engine import Recollect
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.rescue.salvage import SIZE
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vault_files import give_key
from recollect.types import Memory

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
FORGOTTEN = "m03"
WIDTH = 96  # of the vectors: they take several pages


def memories(count: int = 24) -> list[Memory]:
    """A long one among them, whose text takes several pages, and many tags in different orders."""
    return [
        memory(
            f"m{number:02}",
            title=f"Anchor {number}",
            text=f"Ship{number} rides at anchor number{number}. " * (300 if number == 7 else 9),
            tags=tuple(f"tag{(number * 7 + 3 * step) % 11}" for step in range(number % 4)),
            project=("harbor", "pier")[number % 2],
        )
        for number in range(count)
    ]


def make(path: Path, folder: Path | None = None) -> None:
    """Write the vault."""
    store = SqliteStore(path)
    save(store, *memories())
    keys = [store.memories.find([f"m{number:02}"])[f"m{number:02}"].key for number in range(20)]
    unit = np.eye(WIDTH, dtype=np.float32)
    store.vectors.put(MODEL, WIDTH, [(key, unit[key % 4]) for key in keys])
    forget(store, FORGOTTEN)
    store.feedback.add("anchor?", "m01", True, NOON)
    store.close()
    if folder is not None:
        (folder / "tides.md").write_text("# Tides\n\nThe tables are in the harbour office.\n")
        with Recollect(path, home=path.parent, settings=OFF) as engine:
            engine.add_folder(folder)


class Place(NamedTuple):
    """A page and the table or index that it belongs to."""

    number: int
    owner: str
    leaf: bool


def places(path: Path, key: bytes | None = None) -> list[Place]:
    """Every page of a vault that holds rows."""
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as connection:
        if key is not None:
            give_key(connection, key)
        rows = connection.execute("SELECT pageno, name, pagetype FROM dbstat ORDER BY pageno")
        return [Place(number, name, kind != "internal") for number, name, kind in rows]


def leaf(path: Path, owner: str, key: bytes | None = None) -> int:
    """The last leaf page of a table or an index."""
    return [one.number for one in places(path, key) if one.owner == owner and one.leaf][-1]


def text_end(path: Path) -> int:
    """The page with the end of the longest text, of m07: SQLite reads zeros there as text."""
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as connection:
        sql = "SELECT max(pageno) FROM dbstat WHERE name = 'memories' AND pagetype = 'overflow'"
        return int(connection.execute(sql).get)


def nulled(path: Path, page: int) -> bytes:
    """The page of a table, with each value of its last row NULL, as zeros in its header say."""
    raw = bytearray(path.read_bytes()[(page - 1) * SIZE : page * SIZE])
    cells = int.from_bytes(raw[3:5])
    at = int.from_bytes(raw[8 + 2 * (cells - 1) : 10 + 2 * (cells - 1)])
    header = at + next(place for place in range(9) if raw[at + place] < 0x80) + 2
    raw[header + 1 : header + raw[header]] = bytes(raw[header] - 1)
    return bytes(raw)


def overwrite(path: Path, page: int, content: bytes = bytes(SIZE)) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * SIZE)
        file.write(content)


def noise(seed: int) -> bytes:
    return random.Random(seed).randbytes(SIZE)


def replace_bytes(path: Path, old: bytes, new: bytes) -> None:
    """Change bytes wherever they stand in the tables of memories, as a bad disk does."""
    raw = path.read_bytes()
    assert len(old) == len(new)
    assert old in raw
    path.write_bytes(raw.replace(old, new))
