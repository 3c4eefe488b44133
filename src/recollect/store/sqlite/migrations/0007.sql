-- Version 7: counts of values, lists along an index, writes that add many memories, checksums of what
-- is derived. Segments of version 6 have none: their words go back into the FTS5 tables.

INSERT INTO stemmed (stemmed) SELECT 'delete-all' WHERE EXISTS (SELECT 1 FROM segments);
INSERT INTO plain (plain) SELECT 'delete-all' WHERE EXISTS (SELECT 1 FROM segments);
INSERT INTO details_words (details_words) SELECT 'delete-all' WHERE EXISTS (SELECT 1 FROM segments);
INSERT INTO parts (parts) SELECT 'delete-all' WHERE EXISTS (SELECT 1 FROM segments);
INSERT INTO stemmed (rowid, id, title, text, context, tags, why, impact, kind, project, source)
    SELECT key, id, title, text, context, tags, why, impact, kind, project, source FROM indexed
     WHERE EXISTS (SELECT 1 FROM segments);
INSERT INTO plain (rowid, title, text, tags)
    SELECT key, title, text, tags FROM indexed
     WHERE EXISTS (SELECT 1 FROM segments);
INSERT INTO details_words (rowid, details)
    SELECT key, details FROM indexed
     WHERE EXISTS (SELECT 1 FROM segments) AND details <> '';
DROP TABLE segment_documents;
CREATE TABLE segment_documents (
    segment INTEGER NOT NULL,
    words   INTEGER NOT NULL,
    keys    BLOB NOT NULL,
    lengths BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (segment, words)
) WITHOUT ROWID, STRICT;

DROP TRIGGER memories_insert;
CREATE TRIGGER memories_insert AFTER INSERT ON memories WHEN new.forgotten_at IS NULL BEGIN
    UPDATE corpus SET documents = documents + 1;
    INSERT OR IGNORE INTO waiting SELECT key, new.key FROM models;
END;

CREATE TRIGGER memories_insert_indexed AFTER INSERT ON memories
    WHEN new.forgotten_at IS NULL AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'bulk') BEGIN
    INSERT INTO indexed (key) VALUES (new.key);
END;

-- Derived: how many live memories have each value, in the whole vault (scope '') and within each
-- project and kind, so that nobody reads the memories to count them.
CREATE TABLE counts (
    scope    TEXT NOT NULL CHECK (scope IN ('', 'project', 'kind')),
    within   TEXT NOT NULL,         -- which project or kind
    field    TEXT NOT NULL,
    value    ANY NOT NULL,          -- of days their number since 1970; of tags their topic
    memories INTEGER NOT NULL,
    PRIMARY KEY (scope, within, field, value)
) WITHOUT ROWID, STRICT;

-- Lists of a project, a kind or a space go along an index in browsing order, and so does what expires.
DROP INDEX memories_project;
DROP INDEX memories_kind;
DROP INDEX memories_space;
CREATE INDEX memories_project ON memories (
    project, CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END, updated_at DESC, id
) WHERE forgotten_at IS NULL;
CREATE INDEX memories_kind ON memories (
    kind, CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END, updated_at DESC, id
) WHERE forgotten_at IS NULL;
CREATE INDEX memories_space ON memories (
    space, CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END, updated_at DESC, id
) WHERE forgotten_at IS NULL;
CREATE INDEX memories_expiring ON memories (valid_until, id)
    WHERE forgotten_at IS NULL AND valid_until IS NOT NULL;

-- The checksum of the vocabulary, by which the doctor checks it without reading the memories.
ALTER TABLE corpus ADD COLUMN vocabulary INTEGER NOT NULL DEFAULT 0;
