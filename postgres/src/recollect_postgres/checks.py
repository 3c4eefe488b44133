"""The doctor's look at what is derived from words: whether it is what the memories say."""

from __future__ import annotations

from collections import Counter

import numpy as np

from recollect.store.sqlite.segments.packing import prepared
from recollect.store.sqlite.segments.reader import WORDS
from recollect.store.sqlite.segments.writer import AT_ONCE, documents_of
from recollect.store.vault import Finding
from recollect.worker_processes import parts
from recollect_postgres.indexing import KEYS, TEXTS
from recollect_postgres.pool import Connection
from recollect_postgres.segments import WordSegments

WRONG = "it is not what the memories say"
VOCABULARY = "SELECT token, documents FROM vocabulary WHERE vault = vault()"
WAITING = """
SELECT count(*) FROM models o JOIN memories m ON m.vault = vault() AND m.forgotten_at IS NULL
 WHERE o.vault = vault()
   AND EXISTS (SELECT 1 FROM vectors v
                WHERE v.vault = vault() AND v.memory = m.key AND v.model = o.key)
     = EXISTS (SELECT 1 FROM waiting w
                WHERE w.vault = vault() AND w.memory = m.key AND w.model = o.key)"""


def word_findings(connection: Connection, words: WordSegments) -> list[Finding]:
    """Check the keyword indexes, the vocabulary, and what waits for a vector."""
    counts: Counter[str] = Counter()
    lengths: dict[str, dict[int, int]] = {index: {} for index in WORDS}
    rows: dict[str, Counter[str]] = {index: Counter() for index in WORDS}
    for some in parts((key for (key,) in connection.execute(KEYS).fetchall()), AT_ONCE):
        texts = connection.execute(TEXTS, (some,)).fetchall()
        made = prepared([row[1:] for row in texts])
        counts.update(made.vocabulary)
        for index, packed in made.indexes.items():
            keys, sizes = documents_of(packed, [row[0] for row in texts])
            lengths[index].update(zip(keys.tolist(), sizes.tolist(), strict=True))
            rows[index].update({row[0]: row[1] for row in packed.rows})
    indexes = [
        Finding(
            f"{index} index", WRONG if _differs(connection, words, index, lengths, rows) else None
        )
        for index in WORDS
    ]
    vocabulary = dict(connection.execute(VOCABULARY).fetchall()) != dict(counts)
    [(waiting,)] = connection.execute(WAITING).fetchall()
    return [
        *indexes,
        Finding("vocabulary", "tokens have a wrong count" if vocabulary else None),
        Finding("waiting vectors", f"{waiting} are listed wrongly" if waiting else None),
    ]


def _differs(
    connection: Connection,
    words: WordSegments,
    index: str,
    lengths: dict[str, dict[int, int]],
    rows: dict[str, Counter[str]],
) -> bool:
    """Whether the documents of an index, their lengths, or how many hold each token, are others."""
    search = words.segments(connection, index)  # type: ignore[arg-type]
    if search is None:
        return bool(lengths[index])
    live = np.ones(len(search.keys), np.bool_) if search.live is None else search.live
    keys, sizes = search.keys[live].tolist(), search.lengths[live].tolist()
    frequencies: Counter[str] = Counter()
    for token in search.beginning(""):
        postings = search.postings(token)
        frequencies[token] = 0 if postings is None else int(live[postings.documents].sum())
    return (
        len(keys) != len(lengths[index])
        or dict(zip(keys, sizes, strict=True)) != lengths[index]
        or frequencies != rows[index]
    )
