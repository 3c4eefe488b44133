-- Servers share the work of embedding: who takes a memory writes down until when it is theirs.
ALTER TABLE waiting
    ADD COLUMN owner uuid,               -- a lease, or the process that saved it
    ADD COLUMN taken_until timestamptz;  -- NULL: nobody has it
