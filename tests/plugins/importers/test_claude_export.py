"""Claude. Nobody can make an export without an account, so the fixtures are written after public
programs that read real ones: the field names of conversations, projects, memories and design chats
are those that several of them agree on."""

from __future__ import annotations

import json
from pathlib import Path

from importer_fixtures import FIXTURES, fields, first, read_all, reasons, write_zip

from recollect.ingest.exchange import ImportedRecord
from recollect.plugins.importers.claude_export import IMPORTER

HERE = FIXTURES / "claude-export"
TIDES = "claude-export-c0000000-0000-4000-8000-000000000001"
PROJECT = "b0000000-0000-4000-8000-000000000000"


def write_json(folder: Path, *values: object) -> Path:
    file = folder / "any name.json"
    file.write_text(json.dumps(values))
    return file


def test_an_exchange_keeps_every_field_that_has_a_place() -> None:
    assert read_all(IMPORTER, HERE)[1] == ImportedRecord(
        "conversations.json, conversation 1, exchange 1",
        {
            "id": f"{TIDES}-d0000000-0000-4000-8000-000000000001",
            "source": "claude-export",
            "kind": "exchange",
            "title": "Tides at the quay",
            "text": ("User: When is high water?\n\nClaude: At 06:10.\n\nThe next one is at 18:35."),
            "context": "Exchange 1 of the conversation\n\nAttachments: tides.txt, quay.png",
            "created_at": "2026-02-02T10:00:01Z",
            "updated_at": "2026-02-02T10:00:09Z",
        },
        unmapped=("extracted_content", "thinking", "tool_use", "tool_result"),
    )


def test_messages_of_older_exports_have_only_a_text() -> None:
    assert fields(IMPORTER, HERE)[2]["text"] == "User: Thanks\n\nClaude: You are welcome."


def test_a_summary_is_a_memory_of_its_own() -> None:
    assert fields(IMPORTER, HERE)[0] == {
        "id": f"{TIDES}-summary",
        "source": "claude-export",
        "kind": "summary",
        "title": "Tides at the quay",
        "text": "Ada asked when the tide is high.",
        "created_at": "2026-02-02T10:00:00Z",
        "updated_at": "2026-02-02T10:05:00Z",
    }


def test_memories_know_the_names_of_their_projects() -> None:
    whole, project, file = fields(IMPORTER, HERE)[3:6]
    assert whole == {
        "id": "claude-export-memory-a0000000-0000-4000-8000-000000000000",
        "source": "claude-export",
        "kind": "profile",
        "title": "What Claude remembers",
        "text": "Ada sails.",
    }
    assert project == {
        "id": f"claude-export-memory-{PROJECT}",
        "source": "claude-export",
        "kind": "profile",
        "title": "What Claude remembers of Harbour",
        "text": "The quay is being rebuilt.",
        "project": "Harbour",
    }
    assert (file["kind"], file["text"], file["path"]) == (
        "note", "One boat, called Grace.", "/boats.md",
    )  # fmt: skip


def test_a_project_and_its_documents_are_memories() -> None:
    project, document = read_all(IMPORTER, HERE)[6:]
    assert project.fields == {
        "id": f"claude-export-project-{PROJECT}",
        "source": "claude-export",
        "kind": "project",
        "title": "Harbour",
        "project": "Harbour",
        "text": "Plans for the quay\n\nInstructions: Answer in metres",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z",
    }
    assert project.unmapped == ("is_private", "creator")
    assert document.fields == {
        "id": f"claude-export-document-{PROJECT}-e0000000-0000-4000-8000-000000000001",
        "source": "claude-export",
        "kind": "document",
        "title": "quay.md",
        "path": "quay.md",
        "text": "The quay is 40 m long.",
        "project": "Harbour",
        "created_at": "2026-01-01T01:00:00Z",
    }


def test_one_zip_several_zips_and_the_folder_give_the_same(tmp_path: Path) -> None:
    files = {file.name: file.read_bytes() for file in HERE.iterdir()}
    whole = write_zip(tmp_path / "whole.zip", files)
    (tmp_path / "split").mkdir()
    for name, raw in files.items():
        write_zip(tmp_path / "split" / f"{name}-000.zip", {name: raw})
    ways = [fields(IMPORTER, path) for path in (whole, whole, tmp_path / "split", HERE)]
    assert all(one == ways[0] for one in ways)
    assert len(ways[0]) == 8


def test_a_project_and_a_memory_may_be_files_of_their_own(tmp_path: Path) -> None:
    project = json.loads((HERE / "projects.json").read_text())[0]
    memory = json.loads((HERE / "memories.json").read_text())[0]
    path = write_zip(
        tmp_path / "x.zip",
        {
            f"projects/{PROJECT}.json": json.dumps(project).encode(),
            "memories/a.json": json.dumps(memory).encode(),
        },
    )
    assert [one.get("project") for one in fields(IMPORTER, path)] == [
        None, "Harbour", None, "Harbour", "Harbour",
    ]  # fmt: skip


def test_design_chats_are_read(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "Blue."}, {"type": "tool_call"}, {"type": "thinking"}]
    one = {
        "uuid": "d1", "title": "A sign", "project": {"uuid": "p", "name": "Signs"},
        "messages": [
            {"role": "user", "content": {
                "content": "Which colour?", "timestamp": "2026-03-01T00:00:00Z",
                "attachments": [{"name": "sign.svg", "content": "<svg/>"}],
            }},
            {"role": "assistant", "uuid": "m2", "content": {"contentBlocks": blocks}},
        ],
    }  # fmt: skip
    (found,) = read_all(IMPORTER, write_json(tmp_path, one))
    assert found == ImportedRecord(
        "any name.json, design chat 1, exchange 1",
        {
            "id": "claude-export-d1-m2",
            "source": "claude-export",
            "kind": "exchange",
            "title": "A sign",
            "project": "Signs",
            "text": "User: Which colour?\n\nClaude: Blue.",
            "context": "Exchange 1 of the conversation\n\nAttachments: sign.svg",
            "created_at": "2026-03-01T00:00:00Z",
            "updated_at": "2026-03-01T00:00:00Z",
        },
        unmapped=("extracted_content", "tool_call", "thinking"),
    )


def test_bad_entries_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    good = {"uuid": "c", "name": 5, "chat_messages": [
        None, {"sender": "human", "content": [1, {"type": "text", "text": "Hi"}], "files": [{}]},
    ]}  # fmt: skip
    path = write_json(
        tmp_path, good, 7, {"other": 1}, {"chat_messages": []}, {"chat_messages": "x"},
        {"conversations_memory": 3, "project_memories": {"p": ["x"]}, "memory_files": [None]},
        {"docs": [{"content": ""}]},
    )  # fmt: skip
    assert [reason for _, reason in reasons(IMPORTER, path)] == [
        "It is not a JSON object.",
        "It is neither a conversation nor a project nor a memory.",
        "It has no message with a text.",
        "It has no message with a text.",
        "It is not a text.",
        "It is not a text.",
        "It has neither a title nor a text.",
        "It has neither a title nor a text.",
    ]
    held, unmapped = first(IMPORTER, path)
    assert held["title"] == "5"
    assert unmapped == ("content", "a message that is no object")


def test_one_bad_file_among_others_is_named(tmp_path: Path) -> None:
    path = write_zip(
        tmp_path / "x.zip",
        {"conversations.json": b"{oops", "projects.json": (HERE / "projects.json").read_bytes()},
    )
    assert len(fields(IMPORTER, path)) == 2
    ((where, reason),) = reasons(IMPORTER, path)
    assert where == "conversations.json"
    assert "is not valid JSON" in reason
