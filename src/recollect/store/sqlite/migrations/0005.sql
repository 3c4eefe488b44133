-- A checksum of every field, and the normalised words of the queries that feedback is about. Both are
-- filled from Python afterwards.
ALTER TABLE memories ADD COLUMN checksum BLOB NOT NULL DEFAULT x'';

-- The words of `details` are found. The index `parts` has those of details too: it is filled anew
-- from Python afterwards.
CREATE VIRTUAL TABLE details_words USING fts5 (
    details,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);
DROP TRIGGER indexed_write;
DROP VIEW indexed;
CREATE VIEW indexed AS
SELECT m.key, m.id, m.title, m.text, m.context, m.why, m.impact, m.kind, m.project, m.source,
       m.details,
       coalesce((SELECT group_concat(t.name, ' ' ORDER BY mt.position)
                   FROM memory_tags mt JOIN tags t ON t.key = mt.tag
                  WHERE mt.memory = m.key), '') AS tags
  FROM memories m
 WHERE m.forgotten_at IS NULL;

CREATE TRIGGER indexed_write INSTEAD OF INSERT ON indexed BEGIN
    DELETE FROM stemmed WHERE rowid = new.key;
    DELETE FROM plain WHERE rowid = new.key;
    DELETE FROM parts WHERE rowid = new.key;
    DELETE FROM details_words WHERE rowid = new.key;
    INSERT INTO stemmed (rowid, id, title, text, context, tags, why, impact, kind, project, source)
        SELECT key, id, title, text, context, tags, why, impact, kind, project, source
          FROM indexed WHERE key = new.key;
    INSERT INTO plain (rowid, title, text, tags)
        SELECT key, title, text, tags FROM indexed WHERE key = new.key;
    INSERT INTO details_words (rowid, details)
        SELECT key, details FROM indexed WHERE key = new.key AND details <> '';
END;

DROP TRIGGER memories_update;
CREATE TRIGGER memories_update AFTER UPDATE OF
    id, title, text, context, why, impact, kind, project, source, details, forgotten_at
    ON memories BEGIN
    INSERT INTO indexed (key) VALUES (new.key);
    UPDATE corpus SET documents = documents + (new.forgotten_at IS NULL) - (old.forgotten_at IS NULL);
    -- A vector speaks for the text it was made from, and only while the memory is live.
    DELETE FROM vectors WHERE memory = new.key
       AND (new.title <> old.title OR new.text <> old.text OR new.context <> old.context
            OR new.forgotten_at IS NOT NULL);
    DELETE FROM waiting WHERE memory = new.key AND new.forgotten_at IS NOT NULL;
    INSERT OR IGNORE INTO waiting SELECT key, new.key FROM models
     WHERE new.forgotten_at IS NULL AND old.forgotten_at IS NOT NULL;
END;

INSERT INTO details_words (rowid, details) SELECT key, details FROM indexed WHERE details <> '';
INSERT INTO parts (parts) VALUES ('delete-all');
ALTER TABLE feedback ADD COLUMN words TEXT NOT NULL DEFAULT '';
CREATE INDEX feedback_words ON feedback (words, memory_id);
CREATE TABLE feedback_vectors (
    key    INTEGER PRIMARY KEY AUTOINCREMENT,
    model  TEXT NOT NULL,
    words  TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (model, words)
) STRICT;
