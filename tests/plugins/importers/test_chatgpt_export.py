"""ChatGPT. Nobody can make an export without an account, so the fixture is written after public
descriptions of real ones: https://github.com/mitkury/chatgpt-export-parser,
docs/chatgpt-data-export-format.md, and programs that read the split files of 2026."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from importer_fixtures import FIXTURES, fields, first, read_all, reasons, write_zip

from recollect.ingest.exchange import ImportedRecord
from recollect.plugins.importers.chatgpt_export import IMPORTER

FILE = FIXTURES / "chatgpt-export" / "conversations.json"
RAW = FILE.read_bytes()


def message(role: str, *parts: object, **more: object) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    return {"author": {"role": role}, "content": content} | more


def chat(*messages: object, **more: object) -> dict[str, Any]:
    """A conversation whose messages follow each other."""
    nodes = {
        f"n{number}": {"message": one, "parent": f"n{number - 1}"}
        for number, one in enumerate(messages)
    }
    last = f"n{len(messages) - 1}"
    return {"id": "c", "title": "T", "mapping": nodes, "current_node": last} | more


def write_chats(folder: Path, *chats: object) -> Path:
    file = folder / "any name.json"
    file.write_text(json.dumps(chats))
    return file


def test_an_exchange_keeps_every_field_that_has_a_place() -> None:
    assert read_all(IMPORTER, FILE)[1] == ImportedRecord(
        "conversations.json, conversation 1, exchange 2",
        {
            "id": "chatgpt-export-6980a000-0000-8000-8000-000000000001-q2",
            "source": "chatgpt-export",
            "kind": "exchange",
            "title": "Knots for mooring",
            "text": "User: And this one?\n\nChatGPT: A bowline.\n\nChatGPT: Tie it twice.",
            "context": "Exchange 2 of the conversation\n\nAttachments: knot.jpg",
            "created_at": "2026-02-02T02:41:40Z",
            "updated_at": "2026-02-02T02:41:51Z",
        },
        unmapped=("model_slug",),
    )


def test_marks_of_sources_go_and_names_of_things_stay() -> None:
    assert fields(IMPORTER, FILE)[0]["text"] == (
        "User: Which knot holds a boat to a ring?\n\nChatGPT: An anchor bend. It is used in Bergen."
    )


def test_what_has_no_place_is_named() -> None:
    assert read_all(IMPORTER, FILE)[0].unmapped == (
        "thoughts", "tool call", "execution_output", "model_slug", "content_references",
        "mapping: other branches", "gizmo_id", "default_model_slug", "user_editable_context",
    )  # fmt: skip


def test_a_zip_a_folder_and_the_file_give_the_same(tmp_path: Path) -> None:
    whole = write_zip(tmp_path / "export.zip", {"conversations.json": RAW, "chat.html": b"<html>"})
    again = [fields(IMPORTER, path) for path in (whole, whole, FILE.parent, FILE, tmp_path)]
    assert all(one == again[0] for one in again)
    assert len(again[0]) == 2


def test_split_files_are_read_in_their_order_and_others_are_not(tmp_path: Path) -> None:
    parts = {
        f"export/conversations-00{number}.json": json.dumps(
            [chat(message("user", f"Question {number}"), id=f"c{number}")]
        ).encode()
        for number in (1, 0)
    }
    beside = {
        "shared_conversations.json": b"[{}]", "__MACOSX/export/._conversations-000.json": b"\0",
        "my-conversations.json": b"{",
    }  # fmt: skip
    found = fields(IMPORTER, write_zip(tmp_path / "export.zip", parts | beside))
    assert [one["text"] for one in found] == ["User: Question 0", "User: Question 1"]


def test_without_a_current_node_the_newest_message_ends_the_path(tmp_path: Path) -> None:
    old = chat(message("user", "Hello", create_time=1), message("assistant", "Hi", create_time=2))
    del old["current_node"]
    old["mapping"]["other"] = {"message": message("assistant", "Older", create_time=1.5)}
    assert fields(IMPORTER, write_chats(tmp_path, old))[0]["text"] == "User: Hello\n\nChatGPT: Hi"


def test_a_ring_of_messages_ends_where_it_began(tmp_path: Path) -> None:
    ring = chat(message("user", "Round"), message("assistant", "and round"))
    ring["mapping"]["n0"]["parent"] = "n1"
    assert len(fields(IMPORTER, write_chats(tmp_path, ring))) == 1


def test_a_conversation_that_goes_on_keeps_its_exchanges_as_they_are(tmp_path: Path) -> None:
    said = [message("user", "A", id="m1"), message("assistant", "B"), message("user", "C", id="m3")]
    before = fields(IMPORTER, write_chats(tmp_path, chat(*said[:2])))
    assert fields(IMPORTER, write_chats(tmp_path, chat(*said)))[:1] == before


def test_speech_is_read_and_sound_is_named(tmp_path: Path) -> None:
    parts = [
        {"content_type": "audio_transcription", "text": "Spoken"},
        {"content_type": "audio_asset_pointer"},
        7,
    ]
    held, unmapped = first(IMPORTER, write_chats(tmp_path, chat(message("user", *parts))))
    assert held["text"] == "User: Spoken"
    assert unmapped == ("audio_asset_pointer", "parts")


def test_unknown_types_of_newer_exports_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    new = message("assistant", "x")
    new["content"]["content_type"] = "hologram"
    (found,) = read_all(IMPORTER, write_chats(tmp_path, chat(message("user", "Hello"), new)))
    assert found.unmapped == ("hologram",)


def test_messages_with_one_id_stay_apart(tmp_path: Path) -> None:
    same = [message("user", "A", id="m"), message("assistant", "B"), message("user", "C", id="m")]
    assert len(fields(IMPORTER, write_chats(tmp_path, chat(*same)))) == 2


def test_bad_conversations_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    odd = chat(message("user", "Good", create_time="soon"), id=None, title=["x"])
    hollow = chat({"author": 1, "content": "x"}, None, message("user", ""), current_node=5)
    path = write_chats(tmp_path, 1, {"title": "x"}, {"mapping": []}, hollow, odd)
    assert reasons(IMPORTER, path) == [
        ("any name.json, conversation 1", "It is not a conversation: it has no `mapping`."),
        ("any name.json, conversation 2", "It is not a conversation: it has no `mapping`."),
        ("any name.json, conversation 3", "It is not a conversation: it has no `mapping`."),
        ("any name.json, conversation 4", "It has no message with a text."),
    ]
    last = read_all(IMPORTER, path)[-1]
    assert last.fields is not None
    assert last.fields["text"] == "User: Good"
    assert last.unmapped == ("title", "time")


def test_half_a_character_spoils_nothing(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    file.write_bytes(RAW.replace(b"Which knot", b"\\ud83d Which knot"))
    assert str(fields(IMPORTER, file)[0]["text"]).startswith("User: ? Which knot")


def test_an_export_without_conversations_gives_none(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_bytes(b"[]")
    assert read_all(IMPORTER, tmp_path) == []
