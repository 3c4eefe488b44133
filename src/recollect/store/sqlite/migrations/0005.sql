-- A checksum of every field. It is filled from Python afterwards.
ALTER TABLE memories ADD COLUMN checksum BLOB NOT NULL DEFAULT x'';
