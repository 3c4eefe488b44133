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

