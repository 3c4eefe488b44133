"""Rebuilding indexes and counts from the memories, and checking them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

import apsw

from recollect.errors import StoreError
from recollect.query.terms import tokens
from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.store.sqlite import counts, subwords
from recollect.store.sqlite.checksums import differing
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.counts import TopicHash
from recollect.store.sqlite.errors import BUSY_SECONDS
from recollect.store.sqlite.fts5_index import TABLES, TOKENIZERS
from recollect.store.sqlite.integrity import file_problem, integrity, references_problem
from recollect.store.sqlite.memories import unscrubbed
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.vault_files import log_copied

SEGMENTS = ("postings", "large_postings", "segment_documents", "segments", "segment_changes")
SEMANTIC = (
    "SELECT title || char(10) || text || char(10) || context || char(10) || tags FROM indexed"
)
WRONG_VECTORS = """
    SELECT v.seq FROM vectors v JOIN models o ON o.key = v.model JOIN memories m ON m.key = v.memory
     WHERE length(v.vector) <> 4 * o.dimensions OR m.forgotten_at IS NOT NULL"""
WAITING = """
    SELECT o.key AS model, m.key AS memory FROM models o CROSS JOIN memories m
     WHERE m.forgotten_at IS NULL AND NOT EXISTS
           (SELECT 1 FROM vectors v WHERE v.memory = m.key AND v.model = o.key)"""


Check = Callable[[apsw.Connection], str | None]


class Finding(NamedTuple):
    """One check of the doctor: what is wrong (None: nothing). `note`: what a repair cost."""

    check: str
    problem: str | None
    note: str = ""


def rebuild(connection: apsw.Connection, hashed: TopicHash) -> None:
    """Within a transaction, make the keyword indexes, the vocabulary, the counts, the topic
    hashes, the list of memories without a vector and the vectors' codes again. Vectors of a wrong
    size are removed and will be made again."""
    _rebuild_words(connection)
    connection.execute("UPDATE corpus SET documents = (SELECT count(*) FROM indexed)")
    connection.execute("DELETE FROM vocabulary")
    connection.executemany(
        "INSERT INTO vocabulary VALUES (?, ?)", sorted(_counted(connection).items())
    )
    names = connection.execute("SELECT name FROM tags").fetchall()
    connection.executemany(
        "UPDATE tags SET topic = ? WHERE name = ?",
        [(hashed(str(name)), name) for (name,) in names],
    )
    counts.fill(connection, hashed)
    connection.execute(f"DELETE FROM vectors WHERE seq IN ({WRONG_VECTORS})")
    connection.execute("DELETE FROM waiting")
    connection.execute(f"INSERT INTO waiting {WAITING}")
    from recollect.store.sqlite import vector_codes  # noqa: PLC0415  start-up time: numpy

    vector_codes.fill(connection)


def _rebuild_words(connection: apsw.Connection) -> None:
    """Make the keyword indexes anew: in the buffer, or of many memories in segments."""
    buffer.clear(connection)
    for table in SEGMENTS:
        connection.execute(f"DELETE FROM {table}")
    many = connection.execute("SELECT 1 FROM indexed LIMIT 1 OFFSET ?", (buffer.FIRST - 1,)).get
    if not many:
        buffer.fill(connection)
        return
    from recollect.store.sqlite.segments.writer import write_all  # noqa: PLC0415  start-up time

    write_all(connection)


def scrub(database: Database, *, patient: bool = True) -> None:
    """Remove what is left of purged memories: unused tags, words that the indexes only mark as
    deleted, and the log's copies. Killed in between, or kept from it by a reader, it is done again
    when the vault is next opened."""
    unfinished = unscrubbed(database)
    with database.writing(patient=patient) as connection:
        connection.execute("DELETE FROM tags WHERE key NOT IN (SELECT tag FROM memory_tags)")
        for table in TABLES.values():
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        segments = connection.execute("SELECT 1 FROM segments LIMIT 1").get
    if segments:
        from recollect.store.sqlite.segments.scrubbing import (  # noqa: PLC0415  start-up time
            scrub_segments,
        )

        scrub_segments(database, patient=patient)
    with database.translated():
        done = log_copied(database.connection(), BUSY_SECONDS if patient else 0)
    if done:
        with database.writing(patient=patient) as connection:
            connection.executemany("DELETE FROM meta WHERE key = ? AND value = ?", unfinished)


def examine(connection: apsw.Connection, hashed: TopicHash) -> Iterator[Finding]:
    """The finding of every check, one after the other."""
    checks: dict[str, Check] = {
        **CHECKS,
        "counts": partial(counts.counts_problem, hashed=hashed),
        "topic hashes": partial(_hashes, hashed=hashed),
    }
    for check, look in checks.items():
        try:
            with connection:  # what is compared is read at one moment
                problem = look(connection)
        except UnicodeDecodeError:
            problem = "a text is not valid UTF-8"
        except (apsw.Error, StoreError) as error:
            problem = str(error)
        yield Finding(check, problem)


def _counted(connection: apsw.Connection) -> Counter[str]:
    counted: Counter[str] = Counter()
    for (text,) in connection.execute(SEMANTIC):
        counted.update(set(tokens(str(text))))
    return counted


def _index(index: KeywordIndexName) -> Callable[[apsw.Connection], str | None]:
    table = TABLES[index]

    def look(connection: apsw.Connection) -> str | None:
        """FTS5's own check of the structure, a comparison of its rows, lengths and words with a new
        index, and a look at the segments: each memory must be in one place."""
        # An idle connection remembers the index as it was; only a search makes it read it again.
        connection.execute(f"SELECT 1 FROM {table} WHERE {table} MATCH '\"\"'").fetchall()
        if broken := integrity(connection, table):
            return "; ".join(broken)
        buffered = [row[0] for row in connection.execute(f"SELECT id FROM {table}_docsize")]
        with closing(_made_anew(index, connection, buffered)) as anew:
            same = _contents(table, connection) == _contents(table, anew)
        packed, problem = _in_segments(connection, index)
        indexed = Counter([*buffered, *packed])
        live = _live(connection, index)
        missing, extra = len(live - indexed.keys()), len(indexed.keys() - live)
        if missing or extra:
            return f"{missing} memories are missing and {extra} are in it that should not be"
        if twice := indexed.total() - len(indexed):
            return f"{twice} memories are in it twice"
        return problem if same else "its words differ from those of the memories"

    return look


def _in_segments(
    connection: apsw.Connection, index: KeywordIndexName
) -> tuple[list[int], str | None]:
    """The memories that segments speak for, and what is wrong with these segments."""
    if buffer.is_alone(connection):
        return [], None
    from recollect.store.sqlite.segments.checks import (  # noqa: PLC0415  start-up time
        live_keys,
        segments_problem,
    )

    return live_keys(connection, index), segments_problem(connection, index)


def _live(connection: apsw.Connection, index: str) -> set[apsw.SQLiteValue]:
    """The keys of the memories that the index should hold."""
    if index not in buffer.OF_WORDS:
        return {key for key, *_ in subwords.rows(connection)}
    # Of the table itself: an index of it may be what is damaged.
    live = f"forgotten_at IS NULL AND {buffer.OF_WORDS[index]}"
    rows = connection.execute(f"SELECT key FROM memories NOT INDEXED WHERE {live}")
    return {key for (key,) in rows}


def _made_anew(
    index: str, connection: apsw.Connection, keys: Sequence[apsw.SQLiteValue]
) -> apsw.Connection:
    """An index in memory with the content that this one should have of these memories."""
    anew = apsw.Connection(":memory:")
    columns = ", ".join(COLUMNS[index])
    options = f"content = '', tokenize = \"{TOKENIZERS[index]}\""
    anew.execute(f"CREATE VIRTUAL TABLE {TABLES[index]} USING fts5 ({columns}, {options})")
    places = ", ?" * len(COLUMNS[index])
    among = as_json_list(keys)  # type: ignore[arg-type]
    holds = f"{buffer.OF_WORDS.get(index)} AND {buffer.AMONG}"
    with anew:
        anew.executemany(
            f"INSERT INTO {TABLES[index]} (rowid, {columns}) VALUES (?{places})",
            connection.execute(f"SELECT key, {columns} FROM indexed WHERE {holds}", (among,))
            if index in buffer.OF_WORDS
            else subwords.rows(connection, buffer.AMONG, among),
        )
    return anew


def _contents(table: str, connection: apsw.Connection) -> list[list[tuple[apsw.SQLiteValue, ...]]]:
    """How often each word stands in each column and in how many rows, the length of each row, and
    the totals from which BM25 takes its averages (empty or zeros when there is no row)."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, {table}, col)")
    try:
        return [
            connection.execute("SELECT term, col, doc, cnt FROM temp.words").fetchall(),
            connection.execute(f"SELECT id, sz FROM {table}_docsize ORDER BY id").fetchall(),
            connection.execute(
                f"SELECT rtrim(hex(block), '0') FROM {table}_data WHERE id = 1"
            ).fetchall(),
        ]
    finally:
        connection.execute("DROP TABLE temp.words")


def _count(connection: apsw.Connection) -> str | None:
    [(recorded, real)] = connection.execute(
        "SELECT (SELECT documents FROM corpus), (SELECT count(*) FROM indexed)"
    ).fetchall()
    return None if recorded == real else f"{recorded} are recorded, but there are {real}"


def _memories(connection: apsw.Connection) -> str | None:
    wrong = [memory.id for memory in differing(connection)]
    what = "1 memory is" if len(wrong) == 1 else f"{len(wrong)} memories are"
    return f"{what} not what was saved: {', '.join(wrong)}" if wrong else None


def _vocabulary(connection: apsw.Connection) -> str | None:
    recorded = set(connection.execute("SELECT token, documents FROM vocabulary"))
    real = set(_counted(connection).items())
    wrong = len({token for token, _ in recorded ^ real})
    return f"{wrong} tokens have a wrong count" if wrong else None


def _vectors(connection: apsw.Connection) -> str | None:
    [(wrong,)] = connection.execute(f"SELECT count(*) FROM ({WRONG_VECTORS})").fetchall()
    return f"{wrong} vectors have the wrong size or belong to forgotten memories" if wrong else None


def _codes(connection: apsw.Connection) -> str | None:
    from recollect.store.sqlite import vector_codes  # noqa: PLC0415  start-up time: numpy

    return vector_codes.problem(connection)


def _waiting(connection: apsw.Connection) -> str | None:
    recorded = set(connection.execute("SELECT model, memory FROM waiting"))
    wrong = len(recorded ^ set(connection.execute(WAITING)))
    return f"{wrong} memories are recorded wrongly as waiting or not waiting" if wrong else None


def _hashes(connection: apsw.Connection, hashed: TopicHash) -> str | None:
    tags = connection.execute("SELECT name, topic FROM tags")
    wrong = sum(hashed(str(name)) != topic for name, topic in tags)
    return f"{wrong} tags have a wrong hash" if wrong else None


CHECKS: dict[str, Check] = {
    "file": file_problem,
    "references": references_problem,
    "memories": _memories,
    "stemmed index": _index("stemmed"),
    "plain index": _index("plain"),
    "subwords index": _index("subwords"),
    "details index": _index("details"),
    "memory count": _count,
    "vocabulary": _vocabulary,
    "vectors": _vectors,
    "vector index": _codes,
    "waiting vectors": _waiting,
}
