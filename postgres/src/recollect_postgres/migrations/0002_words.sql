-- Derived: the words of live memories. A segment holds memories as every write or merge left them,
-- and is never changed: a later change of a memory is logged, and takes it out of the segments before
-- it. `words` numbers the indexes: stemmed 0, plain 1, subwords 2, details 3.

-- Taken while the vault's row is locked: within a vault, larger numbers are committed later.
CREATE SEQUENCE word_numbers;

CREATE TABLE segments (
    vault    bigint NOT NULL,
    number   bigint NOT NULL,
    ready    boolean NOT NULL,     -- false while it is made, and when another has replaced it
    memories integer NOT NULL,
    content  bytea,                -- of a small one: all of it, see segments.py; NULL: it is below
    PRIMARY KEY (vault, number)
);
CREATE TABLE segment_documents (
    vault   bigint NOT NULL,
    segment bigint NOT NULL,
    words   smallint NOT NULL,
    keys    bytea NOT NULL,        -- of its memories, ascending; int64, little-endian
    lengths bytea NOT NULL,        -- how many tokens each has; uint32
    PRIMARY KEY (vault, segment, words)
);
CREATE TABLE postings (
    vault     bigint NOT NULL,
    segment   bigint NOT NULL,
    words     smallint NOT NULL,
    token     text COLLATE "C" NOT NULL,
    documents integer NOT NULL,    -- how many hold it
    bits      integer NOT NULL,    -- the form of the next two
    postings  bytea NOT NULL,
    places    bytea NOT NULL,
    PRIMARY KEY (vault, segment, words, token)
);
-- Packed already: compressing them costs more than it saves.
ALTER TABLE segments ALTER content SET STORAGE EXTERNAL;
ALTER TABLE segment_documents ALTER keys SET STORAGE EXTERNAL, ALTER lengths SET STORAGE EXTERNAL;
ALTER TABLE postings ALTER postings SET STORAGE EXTERNAL, ALTER places SET STORAGE EXTERNAL;
CREATE TABLE segment_changes (
    vault   bigint NOT NULL,
    seq     bigint NOT NULL,
    memory  bigint NOT NULL,
    segment bigint NOT NULL,       -- segments up to this number no longer speak for the memory
    PRIMARY KEY (vault, seq)
);

-- Derived: how many live memories hold each TF-IDF token.
CREATE TABLE vocabulary (
    vault     bigint NOT NULL,
    token     text COLLATE "C" NOT NULL,
    documents bigint NOT NULL,
    PRIMARY KEY (vault, token)
) WITH (fillfactor = 70);          -- counts change in place

SELECT fence(name) FROM unnest(
    ARRAY['segments', 'segment_documents', 'postings', 'segment_changes', 'vocabulary']::regclass[]
) AS name;
