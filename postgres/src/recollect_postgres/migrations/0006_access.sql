-- Who may call the servers of a vault, and what was asked and done: each server has the same.
-- Of tokens, sessions and links there are hashes alone.
CREATE TABLE tokens (
    vault        bigint NOT NULL DEFAULT vault(),
    id           text COLLATE "C" NOT NULL,
    hash         bytea NOT NULL,
    name         text NOT NULL,
    capabilities text NOT NULL,
    vaults       text,
    collections  text,
    created_at   bigint NOT NULL,
    expires_at   bigint,
    revoked_at   bigint,
    used_at      bigint,
    PRIMARY KEY (vault, id),
    UNIQUE (vault, hash)
);
CREATE TABLE sessions (
    vault        bigint NOT NULL DEFAULT vault(),
    id           text COLLATE "C" NOT NULL,
    hash         bytea NOT NULL,
    token_hash   bytea NOT NULL,
    browser      text NOT NULL,
    created_at   bigint NOT NULL,
    expires_at   bigint NOT NULL,
    used_at      bigint,
    PRIMARY KEY (vault, id),
    UNIQUE (vault, hash)
);
CREATE TABLE links (
    vault        bigint NOT NULL DEFAULT vault(),
    hash         bytea NOT NULL,
    token_hash   bytea NOT NULL,
    expires_at   bigint NOT NULL,
    PRIMARY KEY (vault, hash)
);
-- Wrong logins, by address and in all; a row is needed until `whole_again`, see access.py.
CREATE TABLE attempts (
    vault        bigint NOT NULL DEFAULT vault(),
    key          text COLLATE "C" NOT NULL,
    whole_again  timestamptz NOT NULL,
    PRIMARY KEY (vault, key)
);
-- The audit log and the log of reads. Whoever adds lines has the row of `logs`, so that larger
-- numbers are committed later.
CREATE TABLE logs (
    vault  bigint NOT NULL DEFAULT vault(),
    log    text COLLATE "C" NOT NULL,
    last   bigint NOT NULL,
    PRIMARY KEY (vault, log)
);
CREATE TABLE log_lines (
    vault  bigint NOT NULL DEFAULT vault(),
    log    text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    line   text NOT NULL,
    PRIMARY KEY (vault, log, number)
);

SELECT fence(name) FROM unnest(
    ARRAY['tokens', 'sessions', 'links', 'attempts', 'logs', 'log_lines']::regclass[]
) AS name;
