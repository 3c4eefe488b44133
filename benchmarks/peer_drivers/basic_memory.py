"""basic-memory: one Markdown file per passage, `basic-memory reindex`, then its MCP server's
`search_notes`, as an agent calls it. By words: its model has to be downloaded."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

PROGRAM = str(Path(sys.executable).with_name("basic-memory"))


def _environment(folder):
    return os.environ | {
        "HOME": str(folder),
        "BASIC_MEMORY_HOME": str(folder / "files"),
        "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false",
    }


def load(folder, rows):
    files = folder / "files"
    files.mkdir()
    for number, row in enumerate(rows):
        heading = f"---\ntitle: {json.dumps(row['title'])}\n---\n"
        text = f"{heading}\n{row['text']}\n"
        (files / f"{number}.md").write_text(text, encoding="utf-8")
    (folder / "ids.json").write_text(json.dumps([row["id"] for row in rows]))
    command = [PROGRAM, "reindex", "--full", "--search"]
    subprocess.run(command, env=_environment(folder), check=True, capture_output=True)


def opened(folder):
    ids = json.loads((folder / "ids.json").read_text())
    loop = asyncio.new_event_loop()
    client = Client(StdioTransport(PROGRAM, ["mcp"], env=_environment(folder)))
    loop.run_until_complete(client.__aenter__())

    def ask(question):
        asked = {"query": question["text"], "output_format": "json", "page_size": 10}
        answer = loop.run_until_complete(client.call_tool("search_notes", asked))
        found = (answer.structured_content or {}).get("result", answer.structured_content)
        return [ids[int(Path(row["file_path"]).stem)] for row in found["results"]]

    return ask
