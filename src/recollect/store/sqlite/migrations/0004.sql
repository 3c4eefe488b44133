-- Folders whose files are memories.
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
