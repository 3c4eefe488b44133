"""sqlite-vec by hand: FTS5 and vec0 in one file, joined by reciprocal ranks (k = 60).

Through apsw, since not every Python's own sqlite3 can load an extension.
"""

import re

import apsw
import sqlite_vec

EACH = 50
K = 60


def _database(folder):
    database = apsw.Connection(str(folder / "passages.db"))
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    return database


def load(folder, rows):
    database = _database(folder)
    size = len(rows[0]["vector"])
    database.execute(
        f"""CREATE TABLE passages (key INTEGER PRIMARY KEY, id TEXT, title TEXT, text TEXT);
        CREATE VIRTUAL TABLE words USING fts5 (
            title, text, content = 'passages', content_rowid = 'key', tokenize = 'porter');
        CREATE VIRTUAL TABLE meanings USING vec0 (
            key INTEGER PRIMARY KEY, vector float[{size}] distance_metric=cosine);"""
    )
    with database:
        for key, row in enumerate(rows):
            database.execute(
                "INSERT INTO passages VALUES (?, ?, ?, ?)",
                (key, row["id"], row["title"], row["text"]),
            )
            database.execute(
                "INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)",
                (key, row["title"], row["text"]),
            )
            vector = sqlite_vec.serialize_float32(row["vector"])
            database.execute("INSERT INTO meanings VALUES (?, ?)", (key, vector))


def opened(folder):
    database = _database(folder)

    def ask(question):
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question["text"]))
        vector = sqlite_vec.serialize_float32(question["vector"])
        lists = (
            database.execute(
                f"SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT {EACH}",
                (words or '""',),
            ),
            database.execute(
                f"SELECT key FROM meanings WHERE vector MATCH ? AND k = {EACH} ORDER BY distance",
                (vector,),
            ),
        )
        scores = {}
        for found in lists:
            for place, (key,) in enumerate(found.fetchall(), 1):
                scores[key] = scores.get(key, 0) + 1 / (K + place)
        best = sorted(scores, key=lambda key: (-scores[key], key))[:10]
        read = "SELECT id FROM passages WHERE key = ?"
        return [database.execute(read, (key,)).fetchone()[0] for key in best]

    return ask
