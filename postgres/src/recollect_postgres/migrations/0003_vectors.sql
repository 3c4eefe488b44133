-- Vectors of unit length, float32: one for each memory and model, or for a memory that exceeds the
-- model's window one for each passage, counted from 1 (0: the whole memory), with the characters of
-- title, text and context it was made from. Only live memories have any. A model with many gets an
-- HNSW index of its own; see nearest.py.
CREATE TABLE models (
    vault      bigint NOT NULL,
    key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identity   text COLLATE "C" NOT NULL,
    dimensions integer NOT NULL,
    UNIQUE (vault, identity)
);
CREATE TABLE vectors (
    vault   bigint NOT NULL,
    model   bigint NOT NULL,
    memory  bigint NOT NULL,
    passage integer NOT NULL,
    start   integer NOT NULL,
    stop    integer NOT NULL,
    vector  vector NOT NULL,
    PRIMARY KEY (vault, memory, model, passage)
) WITH (toast_tuple_target = 8160);  -- beside their keys: a scan reads no second table
CREATE INDEX vectors_model ON vectors (vault, model);

-- Derived: the live memories that a model has no vector of, so that finding them reads no others.
CREATE TABLE waiting (
    vault  bigint NOT NULL,
    model  bigint NOT NULL,
    memory bigint NOT NULL,
    PRIMARY KEY (vault, memory, model)
);
CREATE INDEX waiting_model ON waiting (vault, model, memory);

SELECT fence(name) FROM unnest(ARRAY['models', 'vectors', 'waiting']::regclass[]) AS name;
