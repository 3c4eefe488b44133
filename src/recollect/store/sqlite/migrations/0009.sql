-- Version 9: a schema that SQLite 3.40 can read, so that other tools open a vault: before, the view had
-- an ORDER BY within group_concat(). And what users said that may be worth keeping waits for a decision.

DROP VIEW indexed;
CREATE VIEW indexed AS
SELECT m.key, m.id, m.title, m.text, m.context, m.why, m.impact, m.kind, m.project, m.source,
       m.details,
       coalesce((SELECT group_concat(name, ' ')
                   FROM (SELECT t.name FROM memory_tags mt JOIN tags t ON t.key = mt.tag
                          WHERE mt.memory = m.key ORDER BY mt.position)), '') AS tags
  FROM memories m
 WHERE m.forgotten_at IS NULL;

CREATE TRIGGER indexed_write INSTEAD OF INSERT ON indexed BEGIN
    INSERT INTO segment_changes (memory, segment)
        SELECT new.key, number FROM segments WHERE last >= new.key ORDER BY number DESC LIMIT 1;
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

-- What a user said that may be worth keeping, until somebody has decided. Once decided the fields are
-- '', and the row is there so that the same turn is not captured again.
CREATE TABLE candidates (
    mark    BLOB PRIMARY KEY,       -- HMAC-SHA-256 of client, session and sentence under the vault's key
    at      INTEGER NOT NULL,
    client  TEXT NOT NULL,          -- the agent in which it was said
    session TEXT NOT NULL,
    user    TEXT NOT NULL,          -- the name of the caller's token; '' for the owner
    form    TEXT NOT NULL,          -- see capture/forms.py
    place   TEXT NOT NULL,          -- transcript:line
    fields  TEXT NOT NULL           -- of the memory, as JSON, without secrets
) WITHOUT ROWID, STRICT;
