-- Memories may have several vectors of a model: one per passage. What was embedded so far is kept
-- as the vector of the whole memory.
DROP TRIGGER vectors_insert;
DROP TRIGGER vectors_delete;
DROP TRIGGER memories_update;
DROP INDEX vectors_model;

CREATE TABLE passages (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    model   INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
    memory  INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    passage INTEGER NOT NULL,
    start   INTEGER NOT NULL,
    stop    INTEGER NOT NULL,
    vector  BLOB NOT NULL,
    UNIQUE (memory, model, passage)
) STRICT;
INSERT INTO passages SELECT seq, model, memory, 0, 0, 0, vector FROM vectors;
DROP TABLE vectors;
ALTER TABLE passages RENAME TO vectors;
CREATE INDEX vectors_model ON vectors (model, seq);

CREATE TRIGGER vectors_insert AFTER INSERT ON vectors BEGIN
    DELETE FROM waiting WHERE model = new.model AND memory = new.memory;
END;

-- Where the model or the memory is what went, nothing is left to wait.
CREATE TRIGGER vectors_delete AFTER DELETE ON vectors BEGIN
    INSERT INTO vectors_removed (vector) VALUES (old.seq);
    INSERT OR IGNORE INTO waiting
        SELECT o.key, m.key FROM models o JOIN memories m
         WHERE o.key = old.model AND m.key = old.memory AND m.forgotten_at IS NULL;
END;

CREATE TRIGGER memories_update AFTER UPDATE OF
    id, title, text, context, why, impact, kind, project, source, forgotten_at ON memories BEGIN
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
