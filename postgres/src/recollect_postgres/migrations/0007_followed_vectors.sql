-- A server has the vectors of a model in memory, and follows by these numbers. They are taken while
-- the vault's row is locked: within a vault, larger ones are committed later. NULL: from before.
CREATE SEQUENCE vector_numbers;
ALTER TABLE vectors ADD COLUMN seq bigint;
ALTER TABLE vectors ALTER COLUMN seq SET DEFAULT nextval('vector_numbers');
CREATE INDEX vectors_followed ON vectors (vault, model, seq);
DROP INDEX vectors_model;
