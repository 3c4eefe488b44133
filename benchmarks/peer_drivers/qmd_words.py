"""qmd: a collection of Markdown files and `qmd search`, which requires every word of the query. Its
models have to be downloaded."""

import json
import os
import subprocess

from keywords import keywords

NAME = "passages"


def _qmd(folder, *arguments):
    environment = os.environ | {
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }
    command = ["qmd", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def load(folder, rows):
    files = folder / "files"
    files.mkdir()
    for number, row in enumerate(rows):
        text = f"# {row['title']}\n\n{row['text']}\n"
        (files / f"{number}.md").write_text(text, encoding="utf-8")
    (folder / "ids.json").write_text(json.dumps([row["id"] for row in rows]))
    _qmd(folder, "collection", "add", str(files), "--name", NAME)


def opened(folder):
    ids = json.loads((folder / "ids.json").read_text())

    def ask(question):
        words = " ".join(keywords(question["text"]))
        found = json.loads(_qmd(folder, "search", words, "-n", "10", "--json") or "[]")
        return [ids[int(row["file"].rsplit("/", 1)[1].removesuffix(".md"))] for row in found]

    return ask
