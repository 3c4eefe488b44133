"""Damage to each page of a small vault in turn: what was readable stays readable, what is derived
is made anew, and whatever is lost is named.

What a page may cost is known beforehand: the memories whose rows touch it, in the vault as it was.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import apsw
from crash_harness import Tally
from msgspec.structs import replace

from damaged_vaults import FORGOTTEN, OFF, make, memories, overwrite, places
from recollect.engine import Recollect
from recollect.errors import Damaged, NotFound, StoreError
from recollect.store.base import Stored
from recollect.store.rescue.repair import report
from recollect.store.rescue.salvage import SIZE, Pages, Salvage
from recollect.store.sqlite.errors import REMEDY
from recollect.store.sqlite.replacement import change_key
from recollect.store.sqlite.vault_files import Sealed, give_key
from recollect.types import Memory
from recollect.vaults import keys
from recollect.vaults.keys import sealed_with

PASSPHRASE = "correct horse battery"
ALL = {one.id: one for one in memories()}
LIVE = {id: one for id, one in ALL.items() if id != FORGOTTEN}
QUERY = "anchor"
READS: dict[str, Callable[[Recollect], Iterable[Memory]]] = {
    "show": lambda engine: engine.show([*LIVE]),
    "export": lambda engine: engine.export(),
    "list": lambda engine: engine.list(limit=99),
    "context": lambda engine: engine.context(QUERY).memories,
    "timeline": lambda engine: (engine.timeline("m01"), ())[1],
    "facets": lambda engine: (engine.facets(), ())[1],
    "dates": lambda engine: (engine.dates(), ())[1],
    "review": lambda engine: (engine.review(), ())[1],
    "history": lambda engine: (engine.history("m01"), ())[1],
} | {
    f"search with {recipe}": lambda engine, recipe=recipe: [
        result.memory for result in engine.search(QUERY, recipe=recipe, limit=99)
    ]
    for recipe in ("blend", "covalence", "router", "vault")
}


class Watched(Pages):
    """Pages that note which of them are read."""

    touched: set[int]

    def __getitem__(self, number: int) -> bytes:
        self.__dict__.setdefault("touched", set()).add(number)
        return super().__getitem__(number)


class Sound(NamedTuple):
    """A vault as it was, and what each of its pages holds: the owner of each, the ids of memories
    that have something on it, and the pages that lead to all memories."""

    file: Path
    sealed: Sealed | None
    owners: dict[int, str]
    ids: dict[int, set[str]]
    inner: set[int]

    @property
    def key(self) -> bytes | None:
        return self.sealed.key if self.sealed else None


def sound_vault(folder: Path, *, locked: bool = False) -> Sound:
    """Make the vault, and look up the owner of each page."""
    file, sealed = folder / "sound" / "vault.db", sealed_with(PASSPHRASE) if locked else None
    notes = folder / "notes"
    for made in (file.parent, notes):
        made.mkdir()
    make(file, notes)
    if sealed is not None:
        change_key(file, None, sealed)
    key = sealed.key if sealed else None
    every = places(file, key)
    owners = {place.number: place.owner for place in every}
    inner = {place.number for place in every if place.owner == "memories" and not place.leaf}
    ids: dict[int, set[str]] = {}
    with closing(connect(file, key)) as connection:
        pages = Watched(connection)
        for leaf in [number for number, owner in owners.items() if owner == "memories"]:
            if pages.kind(leaf) != 0x0D:
                continue
            pages.touched = {leaf}
            for _, record in pages.records(leaf):
                assert record is not None
                for number in pages.touched:
                    ids.setdefault(number, set()).add(str(record[1]))
                pages.touched = {leaf}
    return Sound(file, sealed, owners, ids, inner)


def connect(file: Path, key: bytes | None) -> apsw.Connection:
    connection = apsw.Connection(str(file), apsw.SQLITE_OPEN_READONLY)
    if key is not None:
        give_key(connection, key)
    return connection


def contents(page: int, sound: Sound, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """A page of zeros, one of noise, and the page with one bit flipped."""
    yield "zeros", bytes(SIZE)
    yield "noise", chance.randbytes(SIZE)
    raw = bytearray(sound.file.read_bytes()[(page - 1) * SIZE : page * SIZE])
    raw[chance.randrange(SIZE)] ^= 1 << chance.randrange(8)
    yield "a flipped bit", bytes(raw)


def damage_page(sound: Sound, page: int, content: bytes, folder: Path) -> Path:
    """A copy of the vault with this content in that page."""
    file = folder / "vault.db"
    for left in (*folder.glob("vault.db*"), *folder.glob("backups/*")):
        left.unlink()
    shutil.copyfile(sound.file, file)
    overwrite(file, page, content)
    return file


def read_problems(sound: Sound, page: int, file: Path) -> list[str]:
    """Return what is wrong with the rows that are read below SQL, except those on the page."""
    with closing(connect(file, sound.key)) as connection:
        salvage = Salvage(connection)
        costs = report(salvage)
    found = {one.id: one.as_stored() for one in salvage.memories if one.whole}
    live = {id: stored.memory for id, stored in found.items() if not stored.forgotten}
    return _compare(sound, page, live, {*costs.lost, *costs.altered, *costs.untagged})


def _compare(sound: Sound, page: int, live: dict[str, Memory], named: set[str]) -> list[str]:
    hit = sound.ids.get(page, set())
    wrong = [f"{id} is gone" for id in LIVE.keys() - live.keys() - hit]
    wrong += [f"{id} is not named" for id in LIVE.keys() - live.keys() - named]
    wrong += [
        f"{id} is not what it was"
        for id, one in live.items()
        if LIVE.get(id) not in (one, None) and not (id in named and _but_for_tags(id, one))
    ]
    return wrong + [f"{id} was never there" for id in live.keys() - ALL.keys() if "tides" not in id]


def _but_for_tags(id: str, memory: Memory) -> bool:
    """Return True if only its tags differ: a memory whose tags are damaged stays, and is named."""
    return replace(memory, tags=()) == replace(LIVE[id], tags=())


def repair_problems(sound: Sound, page: int, file: Path) -> list[str]:
    """Return what is wrong with reading the damaged vault, and with the vault after `doctor
    --fix`."""
    wrong = _answer_problems(sound, page, file)
    with _open(sound, file, damaged=True) as engine:
        items, _ = engine.export_salvaged()
        exported = [item for item in items if isinstance(item, Stored) and not item.forgotten]
        findings = engine.doctor(fix=True)
        wrong += [f"{one.check}: {one.problem}" for one in findings if one.problem]
        live = {one.id: one for one in engine.export()}
        notes = " ".join(one.note for one in findings)
        wrong += _compare(sound, page, live, {id for id in ALL if id in notes})
        wrong += [
            f"{id} is not exported" for id in live.keys() - {one.memory.id for one in exported}
        ]
        answer = {result.id for result in engine.search(QUERY, limit=99)}
        wrong += [f"{id} is not found" for id in LIVE.keys() & live.keys() - answer]
        engine.save(title="Saved after the repair")
    return wrong


def _answer_problems(sound: Sound, page: int, file: Path) -> list[str]:
    """Every way to read gives memories as they were saved, or one sentence. After that sentence
    nothing is saved."""
    wrong: list[str] = []
    try:
        with _open(sound, file) as engine:
            known = False
            for name, read in READS.items():
                try:
                    wrong += [
                        f"{name}: {one.id} is not what it was"
                        for one in read(engine)
                        if ALL.get(one.id) != one and "tides" not in one.id
                    ]
                except NotFound:  # the page of its id is zeros
                    pass
                except Damaged as error:
                    known = True
                    wrong += [] if REMEDY in str(error) else [f"{name} does not say what to do"]
            if known:
                try:
                    engine.save(title="x")
                    wrong.append("a save was accepted")
                except Damaged:
                    pass
    except StoreError as error:  # a statement of the schema that says something else is a sentence
        if sound.owners.get(page) != "sqlite_schema" and not isinstance(error, Damaged):
            raise
    return wrong


def _open(sound: Sound, file: Path, *, damaged: bool = False) -> Recollect:
    passphrase = PASSPHRASE if sound.sealed else None
    return Recollect(file, home=file.parent, settings=OFF, passphrase=passphrase, damaged=damaged)


def damaged_pages(seed: int, folder: Path, *, locked: bool = False) -> Tally:
    """Every page of a vault, damaged in three ways."""
    tally, chance = Tally(), random.Random(seed)
    sound = sound_vault(folder, locked=locked)
    for page in range(1, sound.file.stat().st_size // SIZE + 1):
        if locked and page == 1:
            continue  # it holds the salt of the key: nothing can be read without it
        for how, content in contents(page, sound, chance):
            tally.pages += 1
            try:
                wrong = read_problems(sound, page, damage_page(sound, page, content, folder))
                wrong += repair_problems(sound, page, folder / "vault.db")
            except Exception as error:  # whatever it is, it is a failure
                wrong = [f"{type(error).__name__}: {error}"]
            owner = sound.owners.get(page, "free")
            tally.failures += [
                f"seed {seed}, {how} in page {page} ({owner}): {each}" for each in wrong
            ]
    return tally


def damaged_locked_pages(seed: int, folder: Path) -> Tally:
    """Like `damaged_pages`, with a locked vault whose key costs next to nothing to make."""
    with patch.dict(keys.SCHEMES, {keys.PASSPHRASE: keys.Argon2id(1, memory_kib=8, lanes=1)}):
        return damaged_pages(seed, folder, locked=True)
