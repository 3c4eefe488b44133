"""The doctor's checks: of the file, of every memory, and of everything that is made from them.

What a segment holds, and the vocabulary of a vault that has segments, is compared with checksums
that were written with it, and with a sample of the memories. Rebuilding it would take a hundred
times as long. What is in the buffer is rebuilt and compared whole.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

import apsw
import numpy as np

from recollect.errors import StoreError
from recollect.store.base import KeywordIndexName
from recollect.store.rescue.derived import (
    WAITING,
    WRONG_VECTORS,
    Advance,
    Keys,
    TopicHash,
    check_segments,
    history_problem,
    index_contents,
    keys_of,
    live_keys,
    rebuild_in_memory,
)
from recollect.store.sqlite import vector_index
from recollect.store.sqlite.checksums import find_altered
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.fts5_index import TABLES, subword_rows
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.snapshot import (
    file_problem,
    integrity,
    orphans_problem,
    references_problem,
)
from recollect.store.sqlite.vocabulary import sample_problem, vocabulary_problem
from recollect.store.vault import Finding

if TYPE_CHECKING:
    from recollect.store.sqlite.store import SqliteStore

SMALL_TABLES = ("meta", "corpus", "tags", "segments", "models", "folders")
NEWEST = 1_000  # memories that a quick check compares with their checksums,
SPREAD = 1_000  # and as many from all over the vault
# Read from the table itself: an index of it may be damaged.
LIVE = "FROM memories NOT INDEXED WHERE forgotten_at IS NULL"
WRONGLY_WAITING = f"""
    SELECT (SELECT count(*) FROM ({WAITING}) r WHERE NOT EXISTS
               (SELECT 1 FROM waiting w WHERE w.model = r.model AND w.memory = r.memory))
         + (SELECT count(*) FROM waiting w
             WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.memory = w.memory AND v.model = w.model)
                OR NOT EXISTS (SELECT 1 FROM memories m
                                WHERE m.key = w.memory AND m.forgotten_at IS NULL))"""
# Each memory is read once, and once in each index of its segment.
STEPS = """
    SELECT documents, documents + (SELECT coalesce(sum(length(lengths) / 4), 0)
                                     FROM segment_documents) FROM corpus"""

# Checks that run mostly inside SQLite. The time of the others differs from vault to vault.
BESIDE = ("file",)
EITHER = ("stemmed index", "subwords index", "plain index", "details index")

Check = Callable[[], str | None]
Part = Callable[[apsw.Connection], "dict[str, Finding]"]


def examine(
    connection: apsw.Connection,
    hashed: TopicHash,
    *,
    run_beside: Callable[[Part], Future[dict[str, Finding]]] | None = None,
    advance: Advance = lambda done: None,
) -> list[Finding]:
    """Return the finding of every check. `run_beside` runs some of them in another thread, by a
    connection of its own. The thread that finishes first takes the next index."""
    step = _by_memory(connection, advance)
    every = [*FullChecks(connection, hashed, step).checks()]
    either = deque(EITHER)

    def part(connection: apsw.Connection, own: Iterable[str]) -> dict[str, Finding]:
        checks = FullChecks(connection, hashed, step).checks()
        return {
            check: _finding(connection, check, checks[check])
            for check in chain(own, _take_each(either))
        }

    other = run_beside(partial(part, own=BESIDE)) if run_beside else None
    here = (check for check in every if check not in EITHER and not (other and check in BESIDE))
    found = part(connection, here) | (other.result() if other else {})
    return [found[check] for check in every]


def examine_store(store: SqliteStore, advance: Advance) -> list[Finding]:
    """Return the finding of every check of a vault, on two cores."""
    database = store.database

    def run(part: Part) -> dict[str, Finding]:
        with database.translate_errors():
            return part(database.connection())

    def run_beside(part: Part) -> Future[dict[str, Finding]]:
        return pool.submit(run, part)

    with database.translate_errors(), ThreadPoolExecutor(1) as pool:
        return examine(
            database.connection(),
            store.topics.hash_word,
            run_beside=run_beside,
            advance=advance,
        )


def _take_each(left: deque[str]) -> Iterator[str]:
    """Yield the checks that are left, one at a time: another thread may take the next."""
    with suppress(IndexError):
        while True:
            yield left.popleft()


def glance(connection: apsw.Connection, hashed: TopicHash) -> list[Finding]:
    """Return the findings of checks whose time does not grow with the vault: small tables, sums
    that must agree, and a sample of the memories and of their words."""
    quick = QuickChecks(connection, hashed)
    return [_finding(connection, check, look) for check, look in quick.checks().items()]


def _by_memory(connection: apsw.Connection, advance: Advance) -> Advance:
    """Return `advance` for steps of the checks, each of which goes through the memories."""
    try:
        memories, rows = connection.execute(STEPS).fetchall()[0]
    except apsw.Error:  # damaged: the checks say so
        return advance
    share = int(memories) / max(int(rows), 1)  # type: ignore[arg-type]
    seen = reported = 0

    def step(done: int) -> None:
        nonlocal seen, reported
        seen += done
        due = int(seen * share) - reported
        reported += due
        advance(due)

    return step


def _finding(connection: apsw.Connection, check: str, look: Check) -> Finding:
    try:
        with connection:  # compared values must come from one snapshot
            problem = look()
    except UnicodeDecodeError:
        problem = "a text is not valid UTF-8"
    except (apsw.Error, StoreError) as error:
        problem = str(error)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        problem = f"a row cannot be read: {error}"  # damage may leave any value in any place
    return Finding(check, problem)


class QuickChecks:
    def __init__(self, connection: apsw.Connection, hashed: TopicHash) -> None:
        self._connection = connection
        self._hashed = hashed

    def checks(self) -> dict[str, Check]:
        return {
            "file": self._small_tables,
            "memories": self._sample,
            "stemmed index": lambda: self._words("stemmed"),
            "plain index": lambda: self._words("plain"),
            "vocabulary": lambda: sample_problem(self._connection),
            "topic hashes": self._topics,
        }

    def _small_tables(self) -> str | None:
        found = [line for table in SMALL_TABLES for line in integrity(self._connection, table)]
        return "; ".join(found) or None

    def _sample(self) -> str | None:
        last = int(self._connection.execute("SELECT coalesce(max(key), 0) FROM memories").get)
        every = range(1, last + 1)
        keys = {*every[-NEWEST:], *random.sample(every, min(SPREAD, last))}
        return _not_saved(self._connection, sorted(keys))

    def _words(self, index: KeywordIndexName) -> str | None:
        """Check that all memories are indexed, and that a sample has the right words."""
        rows = self._connection.execute(f"SELECT count(*) FROM {TABLES[index]}_docsize").get
        packed, problem = check_segments(self._connection, index, None)
        indexed, live = int(rows) + len(packed), self._connection.execute(
            "SELECT documents FROM corpus"
        ).get  # fmt: skip
        if indexed != live:
            return f"{indexed} memories are in it, but there are {live}"
        return problem

    def _topics(self) -> str | None:
        tags = self._connection.execute("SELECT name, topic FROM tags")
        wrong = sum(self._hashed(str(name)) != topic for name, topic in tags)
        return f"{wrong} tags have a wrong hash" if wrong else None


class FullChecks(QuickChecks):
    def __init__(self, connection: apsw.Connection, hashed: TopicHash, advance: Advance) -> None:
        super().__init__(connection, hashed)
        self._advance = advance
        self._live_keys: tuple[object, Keys] | None = None

    def checks(self) -> dict[str, Check]:
        connection = self._connection
        return {
            "file": lambda: file_problem(connection),
            "references": lambda: references_problem(connection) or orphans_problem(connection),
            "memories": lambda: _not_saved(connection, None, self._advance),
            "stemmed index": lambda: self._words("stemmed"),
            "plain index": lambda: self._words("plain"),
            "subwords index": lambda: self._words("subwords"),
            "details index": lambda: self._words("details"),
            "memory count": self._count,
            "vocabulary": lambda: vocabulary_problem(connection, whole=not self._segments),
            "history": lambda: history_problem(connection),
            "vectors": self._vectors,
            "vector index": lambda: vector_index.problem(connection),
            "waiting vectors": self._waiting,
            "topic hashes": self._topics,
        }

    @cached_property
    def _segments(self) -> bool:
        return not buffer.is_alone(self._connection)

    def _moment(self) -> object:
        """Return a value that changes whenever any process writes."""
        return self._connection.pragma("data_version"), self._connection.total_changes()

    def _live(self) -> Keys:
        """Return the keys of the live memories, ascending; read once until something is written."""
        moment = self._moment()
        if self._live_keys is None or self._live_keys[0] != moment:
            self._live_keys = moment, keys_of(self._connection.execute(f"SELECT key {LIVE}"))
        return self._live_keys[1]

    def _words(self, index: KeywordIndexName) -> str | None:
        """Check FTS5's structure, compare its rows, lengths and words with a new index, and check
        the segments: each memory must be in one place."""
        connection, table = self._connection, TABLES[index]
        # An idle connection keeps the index in memory; only a search makes FTS5 read it again.
        connection.execute(f"SELECT 1 FROM {table} WHERE {table} MATCH '\"\"'").fetchall()
        if broken := integrity(connection, table):
            return "; ".join(broken)
        buffered = keys_of(connection.execute(f"SELECT id FROM {table}_docsize"))
        with closing(rebuild_in_memory(index, connection, buffered.tolist())) as rebuilt:
            same = index_contents(table, connection) == index_contents(table, rebuilt)
        packed, problem = check_segments(connection, index, self._advance)
        expected, indexed = self._expected_keys(index, packed), np.sort(np.append(buffered, packed))
        if np.array_equal(expected, indexed):
            return problem if same else "its words differ from those of the memories"
        missing, extra = np.setdiff1d(expected, indexed), np.setdiff1d(indexed, expected)
        if len(missing) or len(extra):
            return (
                f"{len(missing)} memories are missing and {len(extra)} are in it that should not be"
            )
        return f"{len(indexed) - len(expected)} memories are in it twice"

    def _expected_keys(self, index: KeywordIndexName, packed: Keys) -> Keys:
        """Return the memories that the index should hold, ascending. Which memories in segments
        have subwords is checked for the sample alone."""
        connection = self._connection
        if index == "details":
            return keys_of(connection.execute(f"SELECT key {LIVE} AND {buffer.OF_WORDS[index]}"))
        live = self._live()
        if index != "subwords":
            return live
        outside = live[~np.isin(live, live_keys(connection, "stemmed"))]
        rows = subword_rows(connection, buffer.AMONG, as_json_list(outside.tolist()))
        return live[np.isin(live, np.append(keys_of(row[:1] for row in rows), packed))]

    def _count(self) -> str | None:
        recorded = self._connection.execute("SELECT documents FROM corpus").get
        real = len(self._live())
        return None if recorded == real else f"{recorded} are recorded, but there are {real}"

    def _vectors(self) -> str | None:
        wrong = self._connection.execute(f"SELECT count(*) FROM ({WRONG_VECTORS})").get
        what = "vectors have the wrong size or belong to forgotten memories"
        return f"{wrong} {what}" if wrong else None

    def _waiting(self) -> str | None:
        wrong = self._connection.execute(WRONGLY_WAITING).get
        return f"{wrong} memories are recorded wrongly as waiting or not waiting" if wrong else None


def _not_saved(
    connection: apsw.Connection,
    among: Sequence[int] | None,
    advance: Advance = lambda done: None,
) -> str | None:
    wrong = [memory.id for memory in find_altered(connection, among, advance)]
    what = "1 memory is" if len(wrong) == 1 else f"{len(wrong)} memories are"
    return f"{what} not what was saved: {', '.join(wrong)}" if wrong else None
