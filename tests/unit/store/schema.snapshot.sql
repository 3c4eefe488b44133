-- version 12

-- index cuts_file
CREATE INDEX cuts_file ON cuts (file, number);

-- index feedback_words
CREATE INDEX feedback_words ON feedback (words, memory_id);

-- index files_digest
CREATE INDEX files_digest ON files (folder, digest);

-- index memories_archived
CREATE INDEX memories_archived ON memories (archived_at, forgotten_at) WHERE archived_at IS NOT NULL;

-- index memories_browse
CREATE INDEX memories_browse ON memories (CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END, updated_at DESC, id) WHERE forgotten_at IS NULL;

-- index memories_expiring
CREATE INDEX memories_expiring ON memories (valid_until, id) WHERE forgotten_at IS NULL AND valid_until IS NOT NULL;

-- index memories_facets
CREATE INDEX memories_facets ON memories (project, kind, source, tier, created_at, updated_at, valid_until, archived_at, forgotten_at) WHERE forgotten_at IS NULL;

-- index memories_forgotten
CREATE INDEX memories_forgotten ON memories (forgotten_at, id) WHERE forgotten_at IS NOT NULL;

-- index memories_kind
CREATE INDEX memories_kind ON memories (kind, CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END, updated_at DESC, id) WHERE forgotten_at IS NULL;

-- index memories_project
CREATE INDEX memories_project ON memories (project, CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END, updated_at DESC, id) WHERE forgotten_at IS NULL;

-- index memories_recent
CREATE INDEX memories_recent ON memories (updated_at DESC, id) WHERE forgotten_at IS NULL;

-- index memories_space
CREATE INDEX memories_space ON memories (space, CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END, updated_at DESC, id) WHERE forgotten_at IS NULL;

-- index memories_superseded
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by <> '';

-- index memory_tags_tag
CREATE INDEX memory_tags_tag ON memory_tags (tag, memory);

-- index tags_topic
CREATE INDEX tags_topic ON tags (topic);

-- index vectors_model
CREATE INDEX vectors_model ON vectors (model, seq);

-- index versions_write
CREATE INDEX versions_write ON versions (write);

-- index waiting_memory
CREATE INDEX waiting_memory ON waiting (memory);

-- index writes_at
CREATE INDEX writes_at ON writes (at);

-- index writes_undoes
CREATE INDEX writes_undoes ON writes (undoes) WHERE undoes IS NOT NULL;

-- table candidates
CREATE TABLE candidates (mark BLOB PRIMARY KEY, at INTEGER NOT NULL, client TEXT NOT NULL, session TEXT NOT NULL, user TEXT NOT NULL, form TEXT NOT NULL, place TEXT NOT NULL, fields TEXT NOT NULL) WITHOUT ROWID, STRICT;

-- table corpus
CREATE TABLE corpus (documents INTEGER NOT NULL, vocabulary INTEGER NOT NULL DEFAULT 0) STRICT;

-- table cuts
CREATE TABLE cuts (memory INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE, file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE, number INTEGER NOT NULL, heading TEXT NOT NULL, first_line INTEGER NOT NULL, last_line INTEGER NOT NULL) STRICT;

-- table details_words
CREATE VIRTUAL TABLE details_words USING fts5 (details, content = '', contentless_delete = 1, tokenize = 'porter unicode61');

-- table feedback
CREATE TABLE feedback (key INTEGER PRIMARY KEY, query TEXT NOT NULL, memory_id TEXT NOT NULL, accepted INTEGER NOT NULL CHECK (accepted IN (0, 1)), given_at INTEGER NOT NULL, words TEXT NOT NULL DEFAULT '') STRICT;

-- table feedback_vectors
CREATE TABLE feedback_vectors (key INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, words TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (model, words)) STRICT;

-- table files
CREATE TABLE files (key INTEGER PRIMARY KEY, folder INTEGER NOT NULL REFERENCES folders ON DELETE CASCADE, path TEXT NOT NULL, size INTEGER NOT NULL, changed INTEGER NOT NULL, inode INTEGER NOT NULL, read_at INTEGER NOT NULL, digest BLOB NOT NULL, reason TEXT NOT NULL, gone_at INTEGER, UNIQUE (folder, path)) STRICT;

-- table folders
CREATE TABLE folders (key INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, project TEXT NOT NULL, redact INTEGER NOT NULL CHECK (redact IN (0, 1)), followed INTEGER NOT NULL CHECK (followed IN (0, 1)), added_at INTEGER NOT NULL) STRICT;

-- table large_postings
CREATE TABLE large_postings (key INTEGER PRIMARY KEY, postings BLOB NOT NULL, places BLOB NOT NULL) STRICT;

-- table memories
CREATE TABLE memories (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, text TEXT NOT NULL, context TEXT NOT NULL, why TEXT NOT NULL, impact TEXT NOT NULL, details TEXT NOT NULL, kind TEXT NOT NULL, severity TEXT, domain TEXT NOT NULL, project TEXT NOT NULL, source TEXT NOT NULL, tier TEXT NOT NULL, space TEXT NOT NULL, path TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, valid_from INTEGER, valid_until INTEGER, content_hash BLOB NOT NULL, forgotten_at INTEGER, checksum BLOB NOT NULL DEFAULT x'', superseded_by TEXT NOT NULL DEFAULT '', archived_at INTEGER) STRICT;

-- table memory_tags
CREATE TABLE memory_tags (memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, tag INTEGER NOT NULL REFERENCES tags, position INTEGER NOT NULL, PRIMARY KEY (memory, tag)) WITHOUT ROWID, STRICT;

-- table meta
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;

-- table models
CREATE TABLE models (key INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL) STRICT;

-- table parts
CREATE VIRTUAL TABLE parts USING fts5 (title, text, tags, other, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '.'");

-- table plain
CREATE VIRTUAL TABLE plain USING fts5 (title, text, tags, content = '', contentless_delete = 1, tokenize = 'unicode61');

-- table postings
CREATE TABLE postings (segment INTEGER NOT NULL, words INTEGER NOT NULL, token TEXT NOT NULL, documents INTEGER NOT NULL, bits INTEGER NOT NULL, postings BLOB, places BLOB, large INTEGER, PRIMARY KEY (segment, words, token)) WITHOUT ROWID, STRICT;

-- table reviews
CREATE TABLE reviews (item TEXT PRIMARY KEY, decision TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER) WITHOUT ROWID, STRICT;

-- table segment_changes
CREATE TABLE segment_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, memory INTEGER NOT NULL, segment INTEGER NOT NULL) STRICT;

-- table segment_documents
CREATE TABLE segment_documents (segment INTEGER NOT NULL, words INTEGER NOT NULL, keys BLOB NOT NULL, lengths BLOB NOT NULL, checksum BLOB NOT NULL, PRIMARY KEY (segment, words)) WITHOUT ROWID, STRICT;

-- table segments
CREATE TABLE segments (number INTEGER PRIMARY KEY AUTOINCREMENT, ready INTEGER NOT NULL CHECK (ready IN (0, 1)), last INTEGER NOT NULL) STRICT;

-- table stemmed
CREATE VIRTUAL TABLE stemmed USING fts5 (id, title, text, context, tags, why, impact, kind, project, source, content = '', contentless_delete = 1, tokenize = 'porter unicode61');

-- table tags
CREATE TABLE tags (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, topic BLOB NOT NULL) STRICT;

-- table token_vectors
CREATE TABLE token_vectors (vector INTEGER PRIMARY KEY REFERENCES vectors ON DELETE CASCADE, packed BLOB NOT NULL) STRICT;

-- table usage
CREATE TABLE usage (memory INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE, returned INTEGER NOT NULL, opened INTEGER NOT NULL, accepted INTEGER NOT NULL, last_at INTEGER NOT NULL) STRICT;

-- table vector_codes
CREATE TABLE vector_codes (vector INTEGER PRIMARY KEY REFERENCES vectors ON DELETE CASCADE, model INTEGER NOT NULL, code BLOB NOT NULL) STRICT;

-- table vector_signs
CREATE TABLE vector_signs (vector INTEGER PRIMARY KEY REFERENCES vectors ON DELETE CASCADE, model INTEGER NOT NULL, code BLOB NOT NULL) STRICT;

-- table vectors
CREATE TABLE vectors (seq INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE, memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE, passage INTEGER NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, vector BLOB NOT NULL, UNIQUE (memory, model, passage)) STRICT;

-- table versions
CREATE TABLE versions (memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE, write INTEGER NOT NULL REFERENCES writes, before BLOB NOT NULL, PRIMARY KEY (memory, write)) WITHOUT ROWID, STRICT;

-- table vocabulary
CREATE TABLE vocabulary (token TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID, STRICT;

-- table waiting
CREATE TABLE waiting (model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE, memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE, PRIMARY KEY (model, memory)) WITHOUT ROWID, STRICT;

-- table writes
CREATE TABLE writes (seq INTEGER PRIMARY KEY AUTOINCREMENT, operation INTEGER NOT NULL, at INTEGER NOT NULL, action TEXT NOT NULL, interface TEXT NOT NULL, client TEXT NOT NULL, user TEXT NOT NULL, automatic INTEGER NOT NULL CHECK (automatic IN (0, 1)), reason TEXT NOT NULL, target TEXT NOT NULL, undoes INTEGER) STRICT;

-- trigger indexed_write
CREATE TRIGGER indexed_write INSTEAD OF INSERT ON indexed BEGIN INSERT INTO segment_changes (memory, segment) SELECT new.key, number FROM segments WHERE last >= new.key ORDER BY number DESC LIMIT 1; DELETE FROM stemmed WHERE rowid = new.key; DELETE FROM plain WHERE rowid = new.key; DELETE FROM parts WHERE rowid = new.key; DELETE FROM details_words WHERE rowid = new.key; INSERT INTO stemmed (rowid, id, title, text, context, tags, why, impact, kind, project, source) SELECT key, id, title, text, context, tags, why, impact, kind, project, source FROM indexed WHERE key = new.key; INSERT INTO plain (rowid, title, text, tags) SELECT key, title, text, tags FROM indexed WHERE key = new.key; INSERT INTO details_words (rowid, details) SELECT key, details FROM indexed WHERE key = new.key AND details <> ''; END;

-- trigger memories_delete
CREATE TRIGGER memories_delete AFTER DELETE ON memories WHEN old.forgotten_at IS NULL BEGIN INSERT INTO indexed (key) VALUES (old.key); UPDATE corpus SET documents = documents - 1; END;

-- trigger memories_insert
CREATE TRIGGER memories_insert AFTER INSERT ON memories WHEN new.forgotten_at IS NULL BEGIN UPDATE corpus SET documents = documents + 1; INSERT OR IGNORE INTO waiting SELECT key, new.key FROM models; END;

-- trigger memories_insert_indexed
CREATE TRIGGER memories_insert_indexed AFTER INSERT ON memories WHEN new.forgotten_at IS NULL AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'bulk') BEGIN INSERT INTO indexed (key) VALUES (new.key); END;

-- trigger memories_update
CREATE TRIGGER memories_update AFTER UPDATE OF id, title, text, context, why, impact, kind, project, source, details, forgotten_at ON memories BEGIN INSERT INTO indexed (key) VALUES (new.key); UPDATE corpus SET documents = documents + (new.forgotten_at IS NULL) - (old.forgotten_at IS NULL); DELETE FROM vectors WHERE memory = new.key AND (new.title <> old.title OR new.text <> old.text OR new.context <> old.context OR new.forgotten_at IS NOT NULL); DELETE FROM waiting WHERE memory = new.key AND new.forgotten_at IS NOT NULL; INSERT OR IGNORE INTO waiting SELECT key, new.key FROM models WHERE new.forgotten_at IS NULL AND old.forgotten_at IS NOT NULL; END;

-- trigger memory_tags_delete
CREATE TRIGGER memory_tags_delete AFTER DELETE ON memory_tags WHEN EXISTS (SELECT 1 FROM memories WHERE key = old.memory) BEGIN INSERT INTO indexed (key) VALUES (old.memory); END;

-- trigger memory_tags_insert
CREATE TRIGGER memory_tags_insert AFTER INSERT ON memory_tags WHEN EXISTS (SELECT 1 FROM memories WHERE key = new.memory) BEGIN INSERT INTO indexed (key) VALUES (new.memory); END;

-- trigger models_insert
CREATE TRIGGER models_insert AFTER INSERT ON models BEGIN INSERT INTO waiting SELECT new.key, key FROM memories WHERE forgotten_at IS NULL; END;

-- trigger tags_rename
CREATE TRIGGER tags_rename AFTER UPDATE OF name ON tags BEGIN INSERT INTO indexed (key) SELECT memory FROM memory_tags WHERE tag = new.key; END;

-- trigger vectors_delete
CREATE TRIGGER vectors_delete AFTER DELETE ON vectors BEGIN INSERT OR IGNORE INTO waiting SELECT o.key, m.key FROM models o JOIN memories m WHERE o.key = old.model AND m.key = old.memory AND m.forgotten_at IS NULL; END;

-- trigger vectors_insert
CREATE TRIGGER vectors_insert AFTER INSERT ON vectors BEGIN DELETE FROM waiting WHERE model = new.model AND memory = new.memory; END;

-- view indexed
CREATE VIEW indexed AS SELECT m.key, m.id, m.title, m.text, m.context, m.why, m.impact, m.kind, m.project, m.source, m.details, coalesce((SELECT group_concat(name, ' ') FROM (SELECT t.name FROM memory_tags mt JOIN tags t ON t.key = mt.tag WHERE mt.memory = m.key ORDER BY mt.position)), '') AS tags FROM memories m WHERE m.forgotten_at IS NULL;
