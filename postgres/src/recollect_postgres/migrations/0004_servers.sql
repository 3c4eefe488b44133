-- What several servers need of each other.

-- One row for each write, for as long as somebody may ask: whose connection is lost while a write is
-- committed learns here whether it was. A new primary knows it as well, which its numbers of
-- transactions do not say.
CREATE TABLE outcomes (
    vault bigint NOT NULL,
    token uuid NOT NULL,
    at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (vault, token)
);
SELECT fence('outcomes');
