"""Tantivy: its English stemmer, title and text, a query of its own parser."""

import tantivy


def _schema():
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("title", tokenizer_name="en_stem")
    builder.add_text_field("text", tokenizer_name="en_stem")
    return builder.build()


def load(folder, rows):
    index = tantivy.Index(_schema(), path=str(folder))
    writer = index.writer()
    for row in rows:
        writer.add_document(tantivy.Document(id=row["id"], title=row["title"], text=row["text"]))
    writer.commit()
    writer.wait_merging_threads()


def opened(folder):
    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()

    def ask(question):
        query, _ = index.parse_query_lenient(question["text"], ["title", "text"])
        found = searcher.search(query, 10).hits
        return [searcher.doc(place)["id"][0] for _, place in found]

    return ask
