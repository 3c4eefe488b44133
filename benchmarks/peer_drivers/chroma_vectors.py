"""Chroma: a persistent collection with its defaults, vectors given."""

import chromadb

BATCH = 5000


def load(folder, rows):
    collection = chromadb.PersistentClient(path=str(folder)).create_collection(
        "passages", embedding_function=None
    )
    for first in range(0, len(rows), BATCH):
        batch = rows[first : first + BATCH]
        collection.add(
            ids=[row["id"] for row in batch],
            documents=[f"{row['title']}\n{row['text']}" for row in batch],
            embeddings=[row["vector"] for row in batch],
        )


def opened(folder):
    collection = chromadb.PersistentClient(path=str(folder)).get_collection(
        "passages", embedding_function=None
    )

    def ask(question):
        return collection.query(query_embeddings=[question["vector"]], n_results=10)["ids"][0]

    return ask
