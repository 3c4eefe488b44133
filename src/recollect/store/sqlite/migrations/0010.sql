-- Version 10: memories are counted along an index of their own; before, the vault kept their counts.

DROP TABLE counts;
DROP INDEX memories_archived;
CREATE INDEX memories_archived ON memories (archived_at, forgotten_at)
    WHERE archived_at IS NOT NULL;
CREATE INDEX memories_facets ON memories (
    project, kind, source, tier, created_at, updated_at, valid_until, archived_at, forgotten_at
) WHERE forgotten_at IS NULL;
