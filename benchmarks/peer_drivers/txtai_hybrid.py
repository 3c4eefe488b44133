"""txtai: its hybrid index (BM25 and vectors), vectors given from outside."""

import json

import numpy as np
from txtai import Embeddings

VECTORS = {}


def _transform(texts):
    return np.array([VECTORS[text] for text in texts], np.float32)


def _settings():
    return {"method": "external", "transform": _transform, "hybrid": True, "content": True}


def load(folder, rows):
    texts = [f"{row['title']}\n{row['text']}" for row in rows]
    VECTORS.update(zip(texts, (row["vector"] for row in rows), strict=True))
    embeddings = Embeddings(**_settings())
    embeddings.index((row["id"], text) for row, text in zip(rows, texts, strict=True))
    embeddings.save(str(folder / "index"))
    (folder / "size").write_text(json.dumps(len(rows)))


def opened(folder):
    embeddings = Embeddings()
    embeddings.load(str(folder / "index"), config=_settings())

    def ask(question):
        VECTORS[question["text"]] = question["vector"]
        return [found["id"] for found in embeddings.search(question["text"], 10)]

    return ask
