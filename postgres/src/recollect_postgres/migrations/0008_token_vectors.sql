-- The vectors of a passage's tokens, two bits a number, of a model that gives any. In a table of
-- their own: a scan of the vectors does not read them.
CREATE TABLE token_vectors (
    vault   bigint NOT NULL,
    model   bigint NOT NULL,
    memory  bigint NOT NULL,
    passage integer NOT NULL,
    packed  bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (vault, memory, model, passage),
    FOREIGN KEY (vault, memory, model, passage) REFERENCES vectors ON DELETE CASCADE
);
SELECT fence('token_vectors');
