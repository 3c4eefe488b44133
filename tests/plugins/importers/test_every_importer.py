"""What every importer promises: it refuses the files of others, follows no links, and gives the
same memories again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from importer_fixtures import FIXTURES, build, fields, read_all, script, write_zip

from recollect.errors import UserError
from recollect.ingest.exchange import list_tools, load_importer

REFUSED = [
    ("basic-memory", "index", "holds only the index of basic-memory; give the folder of notes"),
    ("basic-memory", "index/memory.db", "holds only the index of basic-memory"),
    ("basic-memory", "empty", "has no Basic Memory notes"),
    ("basic-memory", "a.md", "is not a folder"),
    ("obsidian", "empty", "has no Obsidian notes"),
    ("obsidian", "notes.txt", "is neither a folder of notes nor a note"),
    ("chatgpt-export", "claude.json", "use --from claude-export"),
    ("chatgpt-export", "list.json", "it holds no conversations"),
    ("chatgpt-export", "broken.json", "is not valid JSON"),
    ("chatgpt-export", "bytes.json", "is not valid UTF-8|is not valid JSON"),
    ("chatgpt-export", "number.json", "holds neither a list nor an object"),
    ("chatgpt-export", "nothing.json", "is not valid JSON"),
    ("chatgpt-export", "deep.json", "is not valid JSON"),
    ("chatgpt-export", "empty", "holds no file of chatgpt"),
    ("claude-export", "chatgpt.zip", "use --from chatgpt-export"),
    ("claude-export", "list.json", "it has no conversation, project or memory"),
    ("claude-export", "users.zip", "holds no file of claude-export"),
    ("mem0", "object.json", "holds no list of memories"),
    ("mem0", "broken.json", "is not valid JSON"),
    ("mem0", "empty", "holds neither history.db nor a local vector store"),
    ("mem0", "other.db", "neither a table 'history' nor 'points'"),
    ("soleri", "list.json", r"has no Soleri memories: neither a vault\.db nor a bundle"),
    ("soleri", "empty", r"has no Soleri memories: neither a vault\.db nor a bundle"),
    ("soleri", "other.db", "it has no table 'entries'"),
    ("soleri", "soleri-2.db", "is a vault of version 2 of soleri; those up to 1 are supported"),
    ("claude-mem", "text.db", "is not a SQLite database of claude-mem"),
    ("claude-mem", "other.db", "it has no table 'observations'"),
    ("claude-mem", "empty", "There is no file or folder"),
    ("echovault", "notes.txt", "is not a SQLite database of echovault, or it is encrypted"),
    ("echovault", "other.db", "is not a database of echovault: it has no table 'memories'"),
    ("echovault", "echovault-9.db",
     "has no column 'what' .* version of echovault is not supported"),
    ("mempalace", "mempalace-9.db",
     "has no column 'embedding_id' .* version of mempalace is not supported"),
    ("mempalace", "chroma.db", "is a database of ChromaDB, but not one of mempalace"),
    ("mempalace", "other.db", "has no MemPalace memories: none of the tables"),
    ("mempalace", "text.db", "is not a SQLite database"),
    ("mempalace", "empty", "holds no palace"),
    ("mcp-memory", "other.jsonl", "is neither a knowledge graph .* nor a SQLite database"),
    ("mcp-memory", "bytes", "is neither a knowledge graph .* nor a SQLite database"),
    ("mcp-memory", "empty", r"has no mcp-memory file: none of sqlite_vec\.db, memory\.jsonl"),
    ("mcp-memory", "other.db", "it has no table 'memories'"),
    ("mcp-memory", "service-20.db", r"has schema 20 of mcp-memory-service; .* up to 19"),
]  # fmt: skip
TEXTS = {
    "a.md": b"x",
    "notes.txt": b"hello",
    "index/memory.db": b"",
    "claude.json": b'[{"chat_messages": []}]',
    "list.json": b'[{"a": 1}]',
    "object.json": b'{"a": 1}',
    "broken.json": b"{oops",
    "bytes.json": b"\xff\xfe[]",
    "number.json": b"5",
    "nothing.json": b"",
    "deep.json": b"[" * 100_000,
    "other.jsonl": b'{"title": "a"}\n',
    "bytes": b"\x00\xff" * 100,
    "text.db": b"no database at all, only text\n" * 40,
}
ZIPS = {"chatgpt": {"conversations.json": b'[{"mapping": {}}]'}, "users": {"users.json": b"[]"}}
CHROMA = script("mempalace/chroma.sql")
DATABASES = {
    "other": ("CREATE TABLE other (id)",),
    "soleri-2": (script("soleri/schema.sql"), "PRAGMA user_version = 2"),
    "echovault-9": ("CREATE TABLE memories (id, title, body)",),
    "mempalace-9": (CHROMA, "ALTER TABLE embeddings RENAME COLUMN embedding_id TO other"),
    "chroma": (
        CHROMA,
        "UPDATE collections SET name = 'recipes'",
        "DELETE FROM embedding_metadata WHERE key = 'wing'",
    ),
    "service-20": (
        script("mcp-memory/service.sql"),
        "UPDATE metadata SET value = '20' WHERE key = 'schema_version'",
    ),
}


@pytest.mark.parametrize(("tool", "name", "says"), REFUSED)
def test_files_of_other_tools_are_refused(tmp_path: Path, tool: str, name: str, says: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if name == "empty":
        path.mkdir()
    elif name == "index":
        path.mkdir()
        (path / "memory.db").touch()
    elif name in TEXTS:
        path.write_bytes(TEXTS[name])
    elif path.suffix == ".zip":
        write_zip(path, ZIPS[path.stem])
    else:
        build(path, *DATABASES[path.stem])
    with pytest.raises(UserError, match=says):
        read_all(load_importer(tool), path)


@pytest.mark.parametrize("tool", sorted({*list_tools()} - {"markdown"}))
def test_a_path_that_is_not_there_is_refused(tmp_path: Path, tool: str) -> None:
    with pytest.raises(UserError, match="There is no file or folder"):
        read_all(load_importer(tool), tmp_path / "missing")


@pytest.mark.parametrize(("tool", "hidden"), [("basic-memory", ".git"), ("obsidian", ".trash")])
def test_links_and_hidden_folders_are_left_out(tmp_path: Path, tool: str, hidden: str) -> None:
    (tmp_path / "outside.md").write_text("secret")
    inside = tmp_path / "notes"
    (inside / hidden).mkdir(parents=True)
    (inside / hidden / "x.md").write_text("hidden")
    (inside / "a.md").write_text("Text")
    (inside / "link.md").symlink_to(tmp_path / "outside.md")
    (inside / "up").symlink_to(tmp_path)
    assert [one["path"] for one in fields(load_importer(tool), inside)] == ["a.md"]


@pytest.mark.parametrize(
    ("tool", "name", "says"),
    [
        ("echovault", "1-session.md", r"neither index\.db nor files"),
        ("mem0", "storage.sqlite", "holds neither"),
        ("mempalace", "chroma.sqlite3", "holds no palace"),
    ],
)
def test_a_linked_store_is_not_followed(tmp_path: Path, tool: str, name: str, says: str) -> None:
    store = tmp_path / "elsewhere" / "mem0" / name
    if tool == "echovault":
        store.parent.mkdir(parents=True)
        store.write_text("### A\n**What:** one\n")
    else:
        build(store, CHROMA if tool == "mempalace" else script("mem0/storage.sql"))
    assert read_all(load_importer(tool), store.parent), "The store itself is read."
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / name).symlink_to(store)
    with pytest.raises(UserError, match=says):
        read_all(load_importer(tool), tmp_path / "here")


@pytest.mark.parametrize(
    ("tool", "folder"), [("basic-memory", "basic-memory"), ("obsidian", "obsidian/vault")]
)
def test_notes_of_two_folders_are_two_memories(tmp_path: Path, tool: str, folder: str) -> None:
    folders = [shutil.copytree(FIXTURES / folder, tmp_path / name) for name in ("one", "two")]
    first, second = ({one["id"] for one in fields(load_importer(tool), each)} for each in folders)
    assert not first & second


@pytest.mark.parametrize(
    ("tool", "name", "scripts"),
    [
        ("echovault", "index.db", ["echovault/schema.sql", "echovault/rows.sql"]),
        ("soleri", "vault.db", ["soleri/schema.sql", "soleri/rows.sql"]),
        ("mcp-memory", "sqlite_vec.db", ["mcp-memory/service.sql"]),
    ],
)
def test_a_folder_is_read_by_its_database(
    tmp_path: Path, tool: str, name: str, scripts: list[str]
) -> None:
    file = build(tmp_path / name, *map(script, scripts))
    assert read_all(load_importer(tool), tmp_path) == read_all(load_importer(tool), file)
