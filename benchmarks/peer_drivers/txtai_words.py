"""txtai: its keyword (BM25) index with content; the vectors' model is not bundled."""

from txtai import Embeddings


def load(folder, rows):
    embeddings = Embeddings(keyword=True, content=True)
    embeddings.index((row["id"], f"{row['title']}\n{row['text']}") for row in rows)
    embeddings.save(str(folder / "index"))


def opened(folder):
    embeddings = Embeddings()
    embeddings.load(str(folder / "index"))

    def ask(question):
        return [found["id"] for found in embeddings.search(question["text"], 10)]

    return ask
