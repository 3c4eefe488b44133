"""Which results people accepted and dismissed, and the vectors of the queries they said it for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from recollect.store.feedback_log import EVENT, NARROWER, StoredFeedback

if TYPE_CHECKING:
    from recollect.store.base import Vector

STANDING = f"""
SELECT DISTINCT ON (words, memory_id) words, query, memory_id, accepted, given_at, key
  FROM feedback WHERE vault = vault() {NARROWER} ORDER BY words, memory_id, key DESC"""
QUESTIONS = f"""
SELECT {EVENT} FROM (
    SELECT DISTINCT ON (words) * FROM ({STANDING.replace(NARROWER, "")}) AS standing
     WHERE accepted AND key > coalesce((SELECT value::bigint FROM meta
            WHERE meta.vault = vault() AND meta.key = ?), 0) ORDER BY words, key DESC) AS last
 ORDER BY key"""
UNEMBEDDED = """
SELECT words, (array_agg(query ORDER BY key DESC))[1] FROM feedback f
 WHERE vault = vault() AND NOT EXISTS (SELECT 1 FROM feedback_vectors v
        WHERE v.vault = vault() AND v.model = ? AND v.words = f.words)
 GROUP BY words ORDER BY max(key) DESC LIMIT ?"""
EMBED = """
INSERT INTO feedback_vectors (vault, model, words, vector)
SELECT vault(), %s, * FROM unnest(%s::text[], %s::bytea[])
    ON CONFLICT (vault, model, words) DO UPDATE
   SET vector = excluded.vector, key = DEFAULT"""


class PostgresFeedback(StoredFeedback):
    STANDING, QUESTIONS = STANDING, QUESTIONS

    def unembedded(self, identity: str, limit: int) -> dict[str, str]:
        return dict(self._rows(UNEMBEDDED, identity, limit))

    def embed(self, identity: str, vectors: Mapping[str, Vector]) -> None:
        with self._read.writing() as connection:
            halves = [vector.astype("<f2").tobytes() for vector in vectors.values()]
            connection.execute(EMBED, (identity, [*vectors], halves))
