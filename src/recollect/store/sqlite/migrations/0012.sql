-- Version 12: each vector has a code of its own, in place of chunks of codes with a codebook. Python
-- makes the codes afterwards.

DROP TRIGGER vectors_delete;
DROP TABLE vector_codes;
DROP TABLE codebooks;
DROP TABLE vectors_removed;
CREATE TABLE vector_codes (
    vector INTEGER PRIMARY KEY REFERENCES vectors ON DELETE CASCADE,
    model  INTEGER NOT NULL,
    code   BLOB NOT NULL
) STRICT;
CREATE TABLE vector_signs (
    vector INTEGER PRIMARY KEY REFERENCES vectors ON DELETE CASCADE,
    model  INTEGER NOT NULL,
    code   BLOB NOT NULL
) STRICT;

CREATE TRIGGER vectors_delete AFTER DELETE ON vectors BEGIN
    INSERT OR IGNORE INTO waiting
        SELECT o.key, m.key FROM models o JOIN memories m
         WHERE o.key = old.model AND m.key = old.memory AND m.forgotten_at IS NULL;
END;
