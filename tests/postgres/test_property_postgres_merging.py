"""Servers that share a vault merge its word index: whatever ends a merge, and wherever, each memory
is found by its words and by no others."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from suites.stores.helpers import change, forget, save
from suites.stores.samples import memory

from examples import examples
from recollect.errors import StoreError
from recollect.store.base import KeywordQuery
from recollect.types import Filter
from recollect_postgres import indexing, merging
from recollect_postgres.merging import Merging
from recollect_postgres.store import PostgresStore

WORDS = "anchor chain harbor quay rope sail tide wharf".split()
# The merge lock of a vault, whose second number is the vault's key.
CUT = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_locks
 WHERE locktype = 'advisory' AND classid = 1380142166 AND objid = %s AND granted"""
ORPHANS = """
SELECT count(*) FROM {table} o WHERE o.vault = vault()
   AND NOT EXISTS (SELECT 1 FROM segments s WHERE s.vault = vault() AND s.number = o.segment)"""

Servers = tuple[PostgresStore, PostgresStore]


class Killed(Exception):
    """The process that merges ends here."""


@pytest.fixture
def servers(
    postgres_url: str, postgres_vault: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Servers]:
    monkeypatch.setattr(merging, "MANY_SMALL", 3)
    monkeypatch.setattr(indexing, "MOST_SMALL", 4)
    monkeypatch.setattr(indexing, "ROWS", 4)
    monkeypatch.setattr(Merging, "note_write", lambda merging: None)  # the test says when
    both = PostgresStore(postgres_url, postgres_vault), PostgresStore(postgres_url, postgres_vault)
    yield both
    for store in both:
        store.close()


def lose_lock(store: PostgresStore, url: str) -> None:
    """End the connection that holds the vault's merge lock."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(CUT, (store.database._key,))


def at_step(patch: pytest.MonkeyPatch, number: int, happens: Callable[[], None]) -> None:
    """Let something happen before one of the steps of a merge: each of its writes and reads."""
    steps = iter(range(number + 1))

    def stepping(call: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*given: Any) -> Any:
            if next(steps, -1) == number:
                happens()
            return call(*given)

        return stepped

    for name in (
        "_join",
        "_write",
        "_next_rows",
        "_building",
        "_remove_unready",
    ):
        patch.setattr(Merging, name, stepping(getattr(Merging, name)))


class Texts:
    """The texts of the memories, written to both servers' vaults."""

    def __init__(self, servers: Servers, chance: random.Random) -> None:
        self.servers = servers
        self.chance = chance
        self.live: dict[str, str] = {}

    def write(self) -> None:
        """Save some memories, change one and forget one."""
        new = {f"m{len(self.live)}-{self.chance.random()}": self._text() for _ in range(3)}
        self.live |= new
        save(self._server(), *(memory(id, title="", text=text) for id, text in new.items()))
        id = self.chance.choice([*self.live])
        self.live[id] = self._text()
        change(self._server(), id, text=self.live[id])
        if self.chance.random() < 0.5:
            id = self.chance.choice([*self.live])
            del self.live[id]
            forget(self._server(), id)

    def _server(self) -> PostgresStore:
        return self.chance.choice(self.servers)

    def _text(self) -> str:
        return " ".join(self.chance.sample(WORDS, 3))

    def check(self) -> None:
        for store in self.servers:
            for word in WORDS:
                query = KeywordQuery("plain", f'"{word}"', {"text": 1.0}, 1000, Filter())
                found = {id for id, _ in store.keyword.match(query).matches}
                assert found == {id for id, text in self.live.items() if word in text.split()}
            wrong = [one for one in store.examine() if one.problem is not None]
            assert not wrong


@pytest.mark.parametrize("seed", range(examples(36)))
def test_no_memory_loses_its_words_when_a_merge_is_killed_or_loses_its_lock(
    servers: Servers, postgres_url: str, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    texts = Texts(servers, chance)
    first, second = servers

    def killed(*given: object) -> None:
        raise Killed

    def lost() -> None:
        lose_lock(first, postgres_url)
        texts.write()
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            if chance.random() < 0.5:  # it removes what the first has begun, and gets no further
                patch.setattr(second.database.merging, "_join", killed)
            second.database.merging.run(scrub=chance.random() < 0.3)

    for _ in range(6):
        for _ in range(3):
            texts.write()
        with monkeypatch.context() as patch:
            at_step(patch, chance.randrange(24), chance.choice((killed, lost, lost)))
            with suppress(Killed, StoreError):
                first.database.merging.run(scrub=chance.random() < 0.3)
        texts.check()
    second.database.merging.run()
    texts.check()
    for table in ("postings", "segment_documents"):
        assert first.database.rows(ORPHANS.format(table=table)) == [(0,)]


@pytest.mark.parametrize("table", ["segments", "postings"])
def test_the_doctor_finds_memories_without_their_words(servers: Servers, table: str) -> None:
    first, _ = servers
    for number in range(8):
        save(first, memory(f"m{number}", title="", text=WORDS[number]))
    first.database.merging.run()
    gone = f"DELETE FROM {table} WHERE vault = vault()"
    with first.database.writing() as connection:
        connection.execute(f"{gone} AND token = 'quay'" if table == "postings" else gone)
    first._words.forget()
    assert "plain index" in {one.check for one in first.examine() if one.problem is not None}
    first.rebuild()
    assert not [one for one in first.examine() if one.problem is not None]
