"""LanceDB, hybrid search: its FTS index and its vectors, joined by its own reciprocal ranks."""

import lancedb
from lancedb.index import FTS
from lancedb.rerankers import RRFReranker


def load(folder, rows):
    database = lancedb.connect(str(folder))
    table = database.create_table(
        "passages",
        [
            {"id": row["id"], "text": f"{row['title']}\n{row['text']}", "vector": row["vector"]}
            for row in rows
        ],
    )
    table.create_index("text", config=FTS())


def opened(folder):
    table = lancedb.connect(str(folder)).open_table("passages")
    reranker = RRFReranker()

    def ask(question):
        found = (
            table.search(query_type="hybrid")
            .vector(question["vector"])
            .text(question["text"])
            .rerank(reranker)
            .limit(10)
        )
        return [row["id"] for row in found.to_list()]

    return ask
