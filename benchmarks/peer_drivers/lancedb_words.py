"""LanceDB, full-text search as its documentation shows it: an FTS index over one column."""

import lancedb
from lancedb.index import FTS


def load(folder, rows):
    database = lancedb.connect(str(folder))
    table = database.create_table(
        "passages", [{"id": row["id"], "text": f"{row['title']}\n{row['text']}"} for row in rows]
    )
    table.create_index("text", config=FTS())


def opened(folder):
    table = lancedb.connect(str(folder)).open_table("passages")

    def ask(question):
        found = table.search(question["text"], query_type="fts").select(["id"]).limit(10)
        return [row["id"] for row in found.to_list()]

    return ask
