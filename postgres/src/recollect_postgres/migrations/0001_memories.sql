-- Vaults, their memories, and everything about them that is not derived from their words.
-- Times are whole microseconds since 1970-01-01 UTC. Texts never given are '' rather than NULL, and
-- are in the order of their code points (COLLATE "C"), as everywhere else in Recollect.

CREATE TABLE vaults (
    key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text COLLATE "C" NOT NULL UNIQUE,
    secret     bytea NOT NULL,             -- the key of hashes that only this vault can make
    last_key   bigint NOT NULL DEFAULT 0,  -- of the memory that was added last
    last_write bigint NOT NULL DEFAULT 0,
    changes    bigint NOT NULL DEFAULT 0,  -- grows with each write: what is in memory follows it
    documents  bigint NOT NULL DEFAULT 0,  -- live memories
    forgotten  bigint NOT NULL DEFAULT 0,
    history_bytes bigint NOT NULL DEFAULT 0,
    history_from  bigint                   -- nothing before this time is known; NULL: all is
);

-- The vault that a transaction is about; without one every query finds nothing.
CREATE FUNCTION vault() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT nullif(current_setting('recollect.vault', true), '')::bigint $$;

-- Row-level security, the second fence: a query that does not name its vault sees no other one.
CREATE FUNCTION fence(fenced regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', fenced);
    EXECUTE format('CREATE POLICY own_vault ON %s USING (vault = vault())', fenced);
END $$;

CREATE TABLE meta (
    vault bigint NOT NULL,
    key   text COLLATE "C" NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (vault, key)
);

CREATE TABLE memories (
    vault        bigint NOT NULL REFERENCES vaults,
    key          bigint NOT NULL,
    id           text COLLATE "C" NOT NULL,
    title        text COLLATE "C" NOT NULL,
    text         text COLLATE "C" NOT NULL,
    context      text COLLATE "C" NOT NULL,
    why          text COLLATE "C" NOT NULL,
    impact       text COLLATE "C" NOT NULL,
    details      text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    severity     text COLLATE "C",
    domain       text COLLATE "C" NOT NULL,
    project      text COLLATE "C" NOT NULL,
    source       text COLLATE "C" NOT NULL,
    tier         text COLLATE "C" NOT NULL,
    space        text COLLATE "C" NOT NULL,
    path         text COLLATE "C" NOT NULL,
    superseded_by text COLLATE "C" NOT NULL,  -- the id of the memory that took its place
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,
    valid_from   bigint,
    valid_until  bigint,
    archived_at  bigint,       -- since when it is left out of searches that do not ask for it
    tags         text[] COLLATE "C" NOT NULL,
    content_hash bytea NOT NULL,
    forgotten_at bigint,       -- NULL while the memory is live
    -- Browsing: core, then capture, then file; newest first in each. All columns of an index have
    -- one direction, so that a page begins behind a place by one comparison of rows.
    browsed      smallint NOT NULL GENERATED ALWAYS AS
                     (CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END) STORED,
    newness      bigint NOT NULL GENERATED ALWAYS AS (-updated_at) STORED,
    PRIMARY KEY (vault, key),
    UNIQUE (vault, id)
);
SELECT fence('memories');
SELECT fence('meta');

CREATE INDEX memories_browse ON memories (vault, browsed, newness, id) WHERE forgotten_at IS NULL;
CREATE INDEX memories_recent ON memories (vault, newness, id) WHERE forgotten_at IS NULL;
CREATE INDEX memories_made ON memories (vault, created_at, id) WHERE forgotten_at IS NULL;
CREATE INDEX memories_project ON memories (vault, project, newness, id)
    WHERE forgotten_at IS NULL;
CREATE INDEX memories_kind ON memories (vault, kind, newness, id)
    WHERE forgotten_at IS NULL;
CREATE INDEX memories_space ON memories (vault, space, newness, id)
    WHERE forgotten_at IS NULL;
CREATE INDEX memories_expiring ON memories (vault, valid_until, id)
    WHERE forgotten_at IS NULL AND valid_until IS NOT NULL;
CREATE INDEX memories_superseded ON memories (vault, superseded_by) WHERE superseded_by <> '';
CREATE INDEX memories_forgotten ON memories (vault, forgotten_at DESC, id)
    WHERE forgotten_at IS NOT NULL;
CREATE INDEX memories_archived ON memories (vault, archived_at) WHERE archived_at IS NOT NULL;

-- Derived: the tags of memories, forgotten ones too. Those that differ only in case have one topic.
CREATE TABLE topics (
    vault  bigint NOT NULL,
    topic  text COLLATE "C" NOT NULL,
    memory bigint NOT NULL,
    name   text COLLATE "C" NOT NULL,
    PRIMARY KEY (vault, topic, memory, name)
);
CREATE INDEX topics_memory ON topics (vault, memory);
SELECT fence('topics');

-- One row for each write that changed memories: who, when, what, why. Times are the writer's clock.
CREATE TABLE writes (
    vault     bigint NOT NULL,
    seq       bigint NOT NULL,
    operation bigint NOT NULL,   -- the first write of the same command: an import writes many times
    at        bigint NOT NULL,
    action    text NOT NULL,
    interface text NOT NULL,
    client    text NOT NULL,
    author    text COLLATE "C" NOT NULL,  -- the name of the caller's token; '' for the owner
    automatic boolean NOT NULL,  -- nobody asked for it
    reason    text NOT NULL,
    target    text COLLATE "C" NOT NULL,  -- the id merged into, or of the successor; '' else
    undoes    bigint,            -- the operation that this one takes back
    PRIMARY KEY (vault, seq)
);
CREATE INDEX writes_at ON writes (vault, at);
CREATE INDEX writes_operation ON writes (vault, operation);
CREATE INDEX writes_undoes ON writes (vault, undoes) WHERE undoes IS NOT NULL;
CREATE INDEX writes_target ON writes (vault, target) WHERE target <> '';
SELECT fence('writes');

-- What a memory was before a write changed it: the fields that differ, see store/differences.py.
-- Empty for the write that made the memory; one without that was there when history began.
CREATE TABLE versions (
    vault  bigint NOT NULL,
    memory bigint NOT NULL,
    write  bigint NOT NULL,
    before bytea NOT NULL,
    PRIMARY KEY (vault, memory, write)
);
CREATE INDEX versions_write ON versions (vault, write, memory);
SELECT fence('versions');

-- How often a memory was returned, opened and accepted.
CREATE TABLE usage (
    vault    bigint NOT NULL,
    memory   bigint NOT NULL,
    returned bigint NOT NULL,
    opened   bigint NOT NULL,
    accepted bigint NOT NULL,
    last_at  bigint NOT NULL,
    PRIMARY KEY (vault, memory),
    FOREIGN KEY (vault, memory) REFERENCES memories ON DELETE CASCADE
);
SELECT fence('usage');

-- What a person decided of an item of the review: to keep it, or to see it again after `until`.
CREATE TABLE reviews (
    vault    bigint NOT NULL,
    item     text COLLATE "C" NOT NULL,
    decision text NOT NULL,
    at       bigint NOT NULL,
    until    bigint,
    PRIMARY KEY (vault, item)
);
SELECT fence('reviews');

-- What a user said that may be worth keeping, until somebody has decided. Once decided the fields
-- are '', and the row is there so that the same turn is not captured again.
CREATE TABLE candidates (
    vault   bigint NOT NULL,
    mark    bytea NOT NULL,
    at      bigint NOT NULL,
    client  text NOT NULL,
    session text NOT NULL,
    author  text NOT NULL,
    form    text NOT NULL,
    place   text NOT NULL,
    fields  text NOT NULL,
    PRIMARY KEY (vault, mark)
);
SELECT fence('candidates');

CREATE TABLE feedback (
    vault     bigint NOT NULL,
    key       bigint GENERATED ALWAYS AS IDENTITY,
    query     text NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    accepted  boolean NOT NULL,
    given_at  bigint NOT NULL,
    words     text COLLATE "C" NOT NULL,  -- of the query, normalised; see query/likeness.py
    PRIMARY KEY (vault, key)
);
CREATE INDEX feedback_words ON feedback (vault, words, memory_id, key DESC);
SELECT fence('feedback');

-- Derived: the vectors of queries that there is feedback on; float16, unit length, little-endian.
CREATE TABLE feedback_vectors (
    vault  bigint NOT NULL,
    key    bigint GENERATED ALWAYS AS IDENTITY,
    model  text COLLATE "C" NOT NULL,
    words  text COLLATE "C" NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (vault, model, words)
);
SELECT fence('feedback_vectors');

-- Folders whose files are memories; what each file was when it was last read, so that one that has
-- not changed is not read again; and where in its file each memory stands. A file that is gone keeps
-- its row: when it comes back, or turns up elsewhere, its memories are still its own.
CREATE TABLE folders (
    vault    bigint NOT NULL,
    key      bigint GENERATED ALWAYS AS IDENTITY,
    path     text COLLATE "C" NOT NULL,
    project  text NOT NULL,
    redact   boolean NOT NULL,
    followed boolean NOT NULL,
    added_at bigint NOT NULL,
    PRIMARY KEY (vault, key),
    UNIQUE (vault, path)
);
SELECT fence('folders');
CREATE TABLE files (
    vault   bigint NOT NULL,
    key     bigint GENERATED ALWAYS AS IDENTITY,
    folder  bigint NOT NULL,
    path    text COLLATE "C" NOT NULL,  -- below the folder, with slashes
    size    bigint NOT NULL,
    changed bigint NOT NULL,            -- nanoseconds, as the file system has it
    inode   bigint NOT NULL,
    read_at bigint NOT NULL,            -- nanoseconds
    digest  bytea NOT NULL,             -- of its bytes; empty where they were not read
    reason  text NOT NULL,              -- why it is left out; '' where it is not
    gone_at bigint,                     -- NULL while it is there
    PRIMARY KEY (vault, key),
    UNIQUE (vault, folder, path),
    FOREIGN KEY (vault, folder) REFERENCES folders ON DELETE CASCADE
);
CREATE INDEX files_digest ON files (vault, digest);
SELECT fence('files');
CREATE TABLE chunks (
    vault      bigint NOT NULL,
    memory     bigint NOT NULL,
    file       bigint NOT NULL,
    number     integer NOT NULL,
    heading    text NOT NULL,
    first_line integer NOT NULL,
    last_line  integer NOT NULL,
    PRIMARY KEY (vault, memory),
    FOREIGN KEY (vault, memory) REFERENCES memories ON DELETE CASCADE,
    FOREIGN KEY (vault, file) REFERENCES files ON DELETE CASCADE
);
CREATE INDEX chunks_file ON chunks (vault, file, number);
SELECT fence('chunks');
