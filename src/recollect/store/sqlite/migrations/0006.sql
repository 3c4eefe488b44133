-- Version 6: segments, an index of words that is read as whole arrays. What the FTS5 tables hold
-- stays there until the next merge or `recollect reindex`.

CREATE TABLE segments (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    ready  INTEGER NOT NULL CHECK (ready IN (0, 1)),
    last   INTEGER NOT NULL
) STRICT;
CREATE TABLE segment_documents (
    segment INTEGER NOT NULL,
    words   INTEGER NOT NULL,
    keys    BLOB NOT NULL,
    lengths BLOB NOT NULL,
    PRIMARY KEY (segment, words)
) WITHOUT ROWID, STRICT;
CREATE TABLE postings (
    segment   INTEGER NOT NULL,
    words     INTEGER NOT NULL,
    token     TEXT NOT NULL,
    documents INTEGER NOT NULL,
    bits      INTEGER NOT NULL,
    postings  BLOB,
    places    BLOB,
    large     INTEGER,
    PRIMARY KEY (segment, words, token)
) WITHOUT ROWID, STRICT;
CREATE TABLE large_postings (
    key      INTEGER PRIMARY KEY,
    postings BLOB NOT NULL,
    places   BLOB NOT NULL
) STRICT;
CREATE TABLE segment_changes (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    memory  INTEGER NOT NULL,
    segment INTEGER NOT NULL
) STRICT;

DROP TRIGGER indexed_write;
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

-- Derived: the quantised vectors, which a search of many scans; see vector_codes.py. A codebook has
-- sixteen points for each pair of dimensions: float32, little-endian. A chunk holds the vectors of a
-- model that have a `seq` up to `last` and no earlier chunk holds, as they were when the log of
-- removals had come to `removed`: their `seq`s and memories as int64, little-endian, and their codes.
CREATE TABLE codebooks (
    key    INTEGER PRIMARY KEY AUTOINCREMENT,
    model  INTEGER NOT NULL UNIQUE REFERENCES models ON DELETE CASCADE,
    points BLOB NOT NULL
) STRICT;
CREATE TABLE vector_codes (
    key      INTEGER PRIMARY KEY,
    model    INTEGER NOT NULL REFERENCES codebooks (model) ON DELETE CASCADE,
    last     INTEGER NOT NULL,
    removed  INTEGER NOT NULL,
    seqs     BLOB NOT NULL,
    memories BLOB NOT NULL,
    codes    BLOB NOT NULL,
    UNIQUE (model, last)
) STRICT;
