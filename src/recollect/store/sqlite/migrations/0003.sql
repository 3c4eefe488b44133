-- An index of what words alone do not find. The step to version 5 fills it.
CREATE VIRTUAL TABLE parts USING fts5 (
    title, text, tags, other,
    content = '', contentless_delete = 1, tokenize = "ascii tokenchars '.'"
);

DROP TRIGGER indexed_write;
CREATE TRIGGER indexed_write INSTEAD OF INSERT ON indexed BEGIN
    DELETE FROM stemmed WHERE rowid = new.key;
    DELETE FROM plain WHERE rowid = new.key;
    DELETE FROM parts WHERE rowid = new.key;
    INSERT INTO stemmed (rowid, id, title, text, context, tags, why, impact, kind, project, source)
        SELECT key, id, title, text, context, tags, why, impact, kind, project, source
          FROM indexed WHERE key = new.key;
    INSERT INTO plain (rowid, title, text, tags)
        SELECT key, title, text, tags FROM indexed WHERE key = new.key;
END;
