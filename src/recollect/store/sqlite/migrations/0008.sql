-- Version 8: what memories were before they were changed, what took their place, what is archived, how
-- often they are used. History begins with this migration.

ALTER TABLE memories ADD COLUMN superseded_by TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN archived_at INTEGER;
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by <> '';
CREATE INDEX memories_forgotten ON memories (forgotten_at, id) WHERE forgotten_at IS NOT NULL;
CREATE INDEX memories_archived ON memories (archived_at) WHERE archived_at IS NOT NULL;

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

INSERT INTO writes (operation, at, action, interface, client, user, automatic, reason, target)
    VALUES (1, CAST(unixepoch('subsec') * 1000000 AS INTEGER), 'migrate', '', '', '', 1, '', '');
INSERT INTO meta SELECT 'history_from', at FROM writes;
