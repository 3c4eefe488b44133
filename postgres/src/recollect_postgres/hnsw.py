"""HNSW indexes, one for each model that has many vectors: made beside everything else, without any
lock that somebody would wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect_postgres.database import PostgresDatabase

# Up to so many vectors of a model are compared with a query one by one, which finds the nearest for
# certain, and takes half a second for so many. An index loses some; docs/scale.md says how many.
EXACT_UP_TO = 1_000_000
MOST_DIMENSIONS = 4_000  # of an index on half-precision vectors
MODELS = """
SELECT o.key, o.dimensions FROM models o WHERE o.vault = vault() AND o.dimensions <= %s
   AND (SELECT i.indisvalid FROM pg_index i
         WHERE i.indexrelid = to_regclass('hnsw_' || o.key)) IS DISTINCT FROM true
   AND (SELECT count(*) FROM vectors v WHERE v.vault = vault() AND v.model = o.key) > %s"""
# One that is there and not ready was interrupted.
DROP = "DROP INDEX CONCURRENTLY IF EXISTS recollect.hnsw_{model}"
CREATE = """
CREATE INDEX CONCURRENTLY hnsw_{model} ON recollect.vectors
 USING hnsw ((vector::halfvec({dimensions})) halfvec_ip_ops) WHERE model = {model}"""


def index_many(database: PostgresDatabase, exact_up_to: int = EXACT_UP_TO) -> None:
    """Make the indexes that are due."""
    for model, dimensions in database.rows(MODELS, MOST_DIMENSIONS, exact_up_to):
        with database.outside() as connection:
            connection.execute(DROP.format(model=model))
            connection.execute(CREATE.format(model=model, dimensions=dimensions))
