-- Version 11: a vector of each token beside the vector of a passage, of a model that gives any.

CREATE TABLE token_vectors (
    vector INTEGER PRIMARY KEY REFERENCES vectors ON DELETE CASCADE,
    packed BLOB NOT NULL
) STRICT;
