-- The vault, version 12. The memories are the truth; everything marked derived can be rebuilt from
-- them by `recollect reindex` and is checked by `recollect doctor`.
-- Times are whole microseconds since 1970-01-01 UTC. Texts never given are '' rather than NULL.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TABLE memories (
    key          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    title        TEXT NOT NULL,
    text         TEXT NOT NULL,
    context      TEXT NOT NULL,
    why          TEXT NOT NULL,
    impact       TEXT NOT NULL,
    details      TEXT NOT NULL,
    kind         TEXT NOT NULL,
    severity     TEXT,
    domain       TEXT NOT NULL,
    project      TEXT NOT NULL,
    source       TEXT NOT NULL,
    tier         TEXT NOT NULL,
    space        TEXT NOT NULL,
    path         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    valid_from   INTEGER,
    valid_until  INTEGER,
    content_hash BLOB NOT NULL,
    forgotten_at INTEGER,           -- NULL while the memory is live
    checksum     BLOB NOT NULL DEFAULT x'',  -- of every field; see checksums.py
    superseded_by TEXT NOT NULL DEFAULT '',  -- the id of the memory that took its place
    archived_at  INTEGER            -- since when it is left out of searches that do not ask for it
) STRICT;

-- Browsing: core, then capture, then file; newest first in each.
CREATE INDEX memories_browse ON memories (
    CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END, updated_at DESC, id
) WHERE forgotten_at IS NULL;
CREATE INDEX memories_recent  ON memories (updated_at DESC, id)            WHERE forgotten_at IS NULL;
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
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by <> '';
CREATE INDEX memories_forgotten ON memories (forgotten_at, id) WHERE forgotten_at IS NOT NULL;
CREATE INDEX memories_archived ON memories (archived_at, forgotten_at)
    WHERE archived_at IS NOT NULL;
-- Counting: every column that is counted, in the order of the groups; see memories.py. SQLite takes an
-- index for a covering one only if `forgotten_at` is in it: here, and above, which it would not
-- choose otherwise.
CREATE INDEX memories_facets ON memories (
    project, kind, source, tier, created_at, updated_at, valid_until, archived_at, forgotten_at
) WHERE forgotten_at IS NULL;

CREATE TABLE tags (
    key   INTEGER PRIMARY KEY,
    name  TEXT NOT NULL UNIQUE,
    topic BLOB NOT NULL             -- HMAC-SHA-256 of the lower-cased name under the vault's key
) STRICT;
CREATE INDEX tags_topic ON tags (topic);

CREATE TABLE memory_tags (
    memory   INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    tag      INTEGER NOT NULL REFERENCES tags,
    position INTEGER NOT NULL,
    PRIMARY KEY (memory, tag)
) WITHOUT ROWID, STRICT;
CREATE INDEX memory_tags_tag ON memory_tags (tag, memory);

-- Derived: one row per live memory in each index; a forgotten memory is in neither.
CREATE VIRTUAL TABLE stemmed USING fts5 (
    id, title, text, context, tags, why, impact, kind, project, source,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);
CREATE VIRTUAL TABLE plain USING fts5 (
    title, text, tags,
    content = '', contentless_delete = 1, tokenize = 'unicode61'
);

-- Derived: the words of `details`, only for live memories that have any. Apart from the others:
-- BM25 counts a whole row, and the recipes that are documented do not search details.
CREATE VIRTUAL TABLE details_words USING fts5 (
    details,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);

-- Derived: parts of identifiers, and neighbouring characters of scripts without spaces, as tokens
-- ready made; only for live memories that have any. SQL cannot make them: whoever writes a memory
-- adds its row, and the triggers take the old one out, so that none is ever out of date.
CREATE VIRTUAL TABLE parts USING fts5 (
    title, text, tags, other,
    content = '', contentless_delete = 1, tokenize = "ascii tokenchars '.'"
);

-- Derived: segments hold what the four indexes above no longer do, since these only take what
-- changes. A memory is in one place: there, or in one segment. `words` numbers the indexes in the
-- order above: stemmed 0, plain 1, parts 2, details_words 3. A segment is never changed, only made
-- and dropped; until it is ready nobody reads it. `last`: no memory in it has a larger key.
CREATE TABLE segments (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    ready  INTEGER NOT NULL CHECK (ready IN (0, 1)),
    last   INTEGER NOT NULL
) STRICT;
CREATE TABLE segment_documents (
    segment INTEGER NOT NULL,
    words   INTEGER NOT NULL,
    keys    BLOB NOT NULL,          -- of its memories, ascending; int64, little-endian
    lengths BLOB NOT NULL,          -- how many tokens each has; uint32
    checksum BLOB NOT NULL,         -- of both and of its postings; see segments/writer.py
    PRIMARY KEY (segment, words)
) WITHOUT ROWID, STRICT;
CREATE TABLE postings (
    segment   INTEGER NOT NULL,
    words     INTEGER NOT NULL,
    token     TEXT NOT NULL,
    documents INTEGER NOT NULL,  -- how many hold it
    bits      INTEGER NOT NULL,  -- see segments/postings.py, as for the next two
    postings  BLOB,
    places    BLOB,
    large     INTEGER,  -- where these are instead, so that the tokens stay close together
    PRIMARY KEY (segment, words, token)
) WITHOUT ROWID, STRICT;
CREATE TABLE large_postings (
    key      INTEGER PRIMARY KEY,
    postings BLOB NOT NULL,
    places   BLOB NOT NULL
) STRICT;
-- A memory that was changed: segments up to this number no longer speak for it. `seq` only ever
-- grows, so that who has segments in memory follows by reading what is new.
CREATE TABLE segment_changes (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    memory  INTEGER NOT NULL,
    segment INTEGER NOT NULL
) STRICT;

-- Derived: how many live memories hold each TF-IDF token, and how many there are.
CREATE TABLE vocabulary (
    token     TEXT PRIMARY KEY,
    documents INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE TABLE corpus (
    documents  INTEGER NOT NULL,
    vocabulary INTEGER NOT NULL DEFAULT 0  -- the checksum of that table; see vocabulary.py
) STRICT;
INSERT INTO corpus VALUES (0, 0);

-- Derived, but dear: float32, unit length, little-endian; one vector per memory and model, or for a
-- memory that exceeds the model's window one per passage, counted from 1 (0: the whole memory), with
-- the characters of title, text and context it was made from. `seq` only ever grows, so that an
-- open index follows by reading what is new.
CREATE TABLE models (
    key        INTEGER PRIMARY KEY,
    identity   TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL
) STRICT;
CREATE TABLE vectors (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    model   INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
    memory  INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    passage INTEGER NOT NULL,
    start   INTEGER NOT NULL,
    stop    INTEGER NOT NULL,
    vector  BLOB NOT NULL,
    UNIQUE (memory, model, passage)
) STRICT;
CREATE INDEX vectors_model ON vectors (model, seq);
-- The vectors of a passage's tokens, two bits a number, of a model that gives any.
CREATE TABLE token_vectors (
    vector INTEGER PRIMARY KEY REFERENCES vectors ON DELETE CASCADE,
    packed BLOB NOT NULL
) STRICT;

-- Derived: each vector as int8, and as sign bits, with its number, its memory and its scale. A search
-- scans one of the two; see store/vector_codes.py.
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

-- Derived: the live memories that a model has no vector of, so that finding them reads no others.
CREATE TABLE waiting (
    model  INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    PRIMARY KEY (model, memory)
) WITHOUT ROWID, STRICT;
CREATE INDEX waiting_memory ON waiting (memory);

CREATE TRIGGER models_insert AFTER INSERT ON models BEGIN
    INSERT INTO waiting SELECT new.key, key FROM memories WHERE forgotten_at IS NULL;
END;

CREATE TRIGGER vectors_insert AFTER INSERT ON vectors BEGIN
    DELETE FROM waiting WHERE model = new.model AND memory = new.memory;
END;

-- Where the model or the memory is what went, nothing is left to wait.
CREATE TRIGGER vectors_delete AFTER DELETE ON vectors BEGIN
    INSERT OR IGNORE INTO waiting
        SELECT o.key, m.key FROM models o JOIN memories m
         WHERE o.key = old.model AND m.key = old.memory AND m.forgotten_at IS NULL;
END;

-- One row for each write that changed memories: who, when, what, why. Times are the writer's clock.
CREATE TABLE writes (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    operation INTEGER NOT NULL,     -- the first write of the same command: an import writes many times
    at        INTEGER NOT NULL,
    action    TEXT NOT NULL,        -- save, edit, pin, import, forget, …
    interface TEXT NOT NULL,        -- command line, mcp, http, page, library, folder, server
    client    TEXT NOT NULL,        -- the program that called, where it says so
    user      TEXT NOT NULL,        -- the name of the caller's token; '' for the owner
    automatic INTEGER NOT NULL CHECK (automatic IN (0, 1)),  -- 1: nobody asked for it
    reason    TEXT NOT NULL,
    target    TEXT NOT NULL,        -- the id merged into, or of the successor; '' else
    undoes    INTEGER               -- the operation that this one takes back
) STRICT;
CREATE INDEX writes_at ON writes (at);
CREATE INDEX writes_undoes ON writes (undoes) WHERE undoes IS NOT NULL;
-- What a memory was before a write changed it: the fields that differ, see store/differences.py.
-- Empty for the write that made the memory; one without that was there when history began.
CREATE TABLE versions (
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    write  INTEGER NOT NULL REFERENCES writes,
    before BLOB NOT NULL,
    PRIMARY KEY (memory, write)
) WITHOUT ROWID, STRICT;
CREATE INDEX versions_write ON versions (write);

-- How often a memory was returned, opened and accepted.
CREATE TABLE usage (
    memory   INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    returned INTEGER NOT NULL,
    opened   INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    last_at  INTEGER NOT NULL
) STRICT;

-- What a person decided of an item of the review: to keep it, or to see it again after `until`.
CREATE TABLE reviews (
    item     TEXT PRIMARY KEY,
    decision TEXT NOT NULL,
    at       INTEGER NOT NULL,
    until    INTEGER
) WITHOUT ROWID, STRICT;

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

CREATE TABLE feedback (
    key       INTEGER PRIMARY KEY,
    query     TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    accepted  INTEGER NOT NULL CHECK (accepted IN (0, 1)),
    given_at  INTEGER NOT NULL,
    words     TEXT NOT NULL DEFAULT ''  -- of the query, normalised; see query/likeness.py
) STRICT;
CREATE INDEX feedback_words ON feedback (words, memory_id);

-- Derived: the vectors of queries that there is feedback on; float16, unit length, little-endian.
-- `key` only ever grows, so that an open index sees that something changed.
CREATE TABLE feedback_vectors (
    key    INTEGER PRIMARY KEY AUTOINCREMENT,
    model  TEXT NOT NULL,
    words  TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (model, words)
) STRICT;

-- Folders whose files are memories; what each file was when it was last read, so that one that has
-- not changed is not read again; and where in its file each memory stands. A file that is gone
-- keeps its row: when it comes back, or turns up elsewhere, its memories are still its own.
CREATE TABLE folders (
    key      INTEGER PRIMARY KEY,
    path     TEXT NOT NULL UNIQUE,
    project  TEXT NOT NULL,
    redact   INTEGER NOT NULL CHECK (redact IN (0, 1)),
    followed INTEGER NOT NULL CHECK (followed IN (0, 1)),
    added_at INTEGER NOT NULL
) STRICT;
CREATE TABLE files (
    key     INTEGER PRIMARY KEY,
    folder  INTEGER NOT NULL REFERENCES folders ON DELETE CASCADE,
    path    TEXT NOT NULL,          -- below the folder, with slashes
    size    INTEGER NOT NULL,
    changed INTEGER NOT NULL,       -- nanoseconds, as the file system has it
    inode   INTEGER NOT NULL,
    read_at INTEGER NOT NULL,       -- nanoseconds
    digest  BLOB NOT NULL,          -- of its bytes; empty where they were not read
    reason  TEXT NOT NULL,          -- why it is left out; '' where it is not
    gone_at INTEGER,                -- NULL while it is there
    UNIQUE (folder, path)
) STRICT;
CREATE INDEX files_digest ON files (folder, digest);
CREATE TABLE cuts (
    memory     INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    file       INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    heading    TEXT NOT NULL,
    first_line INTEGER NOT NULL,
    last_line  INTEGER NOT NULL
) STRICT;
CREATE INDEX cuts_file ON cuts (file, number);

-- What the word indexes hold of a memory. Inserting a key here (re-)indexes that memory in all, or
-- takes it out of them when it is gone or forgotten: the one way in for every trigger below. What
-- `parts` holds of it goes. SQLite before 3.44 must be able to read the schema, though not to write
-- memories: hence no ORDER BY within group_concat().
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

CREATE TRIGGER memories_insert AFTER INSERT ON memories WHEN new.forgotten_at IS NULL BEGIN
    UPDATE corpus SET documents = documents + 1;
    INSERT OR IGNORE INTO waiting SELECT key, new.key FROM models;
END;

-- A write that adds many memories makes a segment of them itself; until then `bulk` is in `meta`,
-- never after it.
CREATE TRIGGER memories_insert_indexed AFTER INSERT ON memories
    WHEN new.forgotten_at IS NULL AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'bulk') BEGIN
    INSERT INTO indexed (key) VALUES (new.key);
END;

CREATE TRIGGER memories_delete AFTER DELETE ON memories WHEN old.forgotten_at IS NULL BEGIN
    INSERT INTO indexed (key) VALUES (old.key);
    UPDATE corpus SET documents = documents - 1;
END;

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

-- Tags may be written before their memory (the foreign key is deferred): then nothing is indexed
-- yet, and the memory's own trigger indexes both at once.
CREATE TRIGGER memory_tags_insert AFTER INSERT ON memory_tags
    WHEN EXISTS (SELECT 1 FROM memories WHERE key = new.memory) BEGIN
    INSERT INTO indexed (key) VALUES (new.memory);
END;

CREATE TRIGGER memory_tags_delete AFTER DELETE ON memory_tags
    WHEN EXISTS (SELECT 1 FROM memories WHERE key = old.memory) BEGIN
    INSERT INTO indexed (key) VALUES (old.memory);
END;

CREATE TRIGGER tags_rename AFTER UPDATE OF name ON tags BEGIN
    INSERT INTO indexed (key) SELECT memory FROM memory_tags WHERE tag = new.key;
END;
