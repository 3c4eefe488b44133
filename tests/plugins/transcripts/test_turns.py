"""The turns of a transcript: what the user typed and the agent wrote, and nothing else."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from agent_sessions import (
    CLIENTS,
    CORRECTION,
    FILES,
    FOLDER,
    SAID,
    SESSION,
    line,
    session,
    turn,
    write,
)

from recollect.errors import UserError
from recollect.folders import transcript as base
from recollect.folders.transcript import NOT_JSON, TOO_LONG, Position, turns


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(client: str, tmp_path: Path) -> Path:
    return write(tmp_path / FILES[client], session(client))


def test_a_session_has_what_was_typed_and_written_and_nothing_else(client: str, file: Path) -> None:
    found = list(turns(file, client))
    assert [(each.role, each.text) for each in found] == SAID
    assert {each.session for each in found} == {SESSION}
    assert {each.folder for each in found} == {FOLDER}
    assert found[3].at == datetime(2026, 10, 12, 9, 5, tzinfo=UTC)


def test_a_turn_is_at_its_line_and_byte(client: str, file: Path) -> None:
    raw = file.read_bytes()
    found = list(turns(file, client))
    assert len(found) == len(SAID)
    for each in found:
        record = raw.splitlines()[each.line - 1]
        assert raw[each.offset :].startswith(record)
        assert json.dumps(each.text)[1:-1].encode() in record


def test_every_line_is_a_turn_or_counted(client: str, file: Path) -> None:
    transcript = turns(file, client)
    found = len(list(transcript))
    lines = len(file.read_bytes().splitlines())
    assert found + transcript.skipped.total() == lines
    assert not transcript.unknown
    assert transcript.end == Position(file.stat().st_size, lines + 1)


def test_a_whole_object_without_the_end_of_its_line_is_read(client: str, file: Path) -> None:
    file.write_bytes(file.read_bytes() + line(turn(client, "user", "One")).rstrip().encode())
    transcript = turns(file, client)
    one = list(transcript)[-1]
    with file.open("a") as stream:
        stream.write("\n" + line(turn(client, "agent", "Two")))
    [two] = turns(file, client, transcript.end)
    assert (one.text, two.text, two.line) == ("One", "Two", one.line + 1)


def test_lines_of_another_version_are_counted_by_their_type(client: str, tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"type": "hologram"},
        {"type": "hologram"},
        {"nothing": 1},
        {"type": ["x"]},
    ]
    file = write(tmp_path / FILES[client], [*odd, *session(client)])
    transcript = turns(file, client)
    assert len(list(transcript)) == len(SAID)
    assert transcript.unknown["hologram"] == 2
    assert transcript.unknown.total() == 4


def test_broken_lines_are_counted(client: str, tmp_path: Path) -> None:
    file = write(tmp_path / FILES[client], session(client))
    bad = b"\0\0\0\n{\n[1]\n\xff\xfe\n" + b"[" * 5_000 + b"\n\n"
    file.write_bytes(bad + file.read_bytes())
    transcript = turns(file, client)
    assert len(list(transcript)) == len(SAID)
    assert transcript.skipped[NOT_JSON] == 5


def test_values_of_other_types_are_no_turns_and_raise_nothing(client: str, tmp_path: Path) -> None:
    records = session(client)
    values: list[Any] = [None, 7, [], {}, [None, 3, {"type": "text"}], True]
    for value in values:
        for record in session(client):
            records += [record | {name: value} for name in record]
            for part in ("payload", "message", "data", "attachment"):
                inner = record.get(part)
                if isinstance(inner, dict):
                    records += [record | {part: {**inner, name: value}} for name in inner]
    found = list(turns(write(tmp_path / FILES[client], records), client))
    assert all(each.text and isinstance(each.folder, str) for each in found)


def test_half_a_surrogate_loses_no_turn(client: str, tmp_path: Path) -> None:
    file = write(
        tmp_path / FILES[client], [*session(client)[:1], turn(client, "user", "Look \ud83d.")]
    )
    [found] = turns(file, client)
    assert found.text == "Look ?."


def test_a_long_line_is_skipped(client: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "LONGEST_LINE", 2_000)
    monkeypatch.setattr(base, "PIECE", 300)
    before = len(file.read_bytes().splitlines())
    long = line(turn(client, "agent", "x" * 9_000))
    with file.open("a") as stream:
        stream.write(long + line(turn(client, "user", "And the timeout?")) + long[:5_000])
    transcript = turns(file, client)
    last = list(transcript)[-1]
    assert (last.text, last.line) == ("And the timeout?", before + 2)
    assert transcript.skipped[TOO_LONG] == 1
    assert transcript.end.line == before + 3


def test_a_subagents_session_of_codex_is_left_out(tmp_path: Path) -> None:
    meta, *rest = session("codex")
    meta["payload"]["source"] = {"subagent": "review"}
    transcript = turns(write(tmp_path / FILES["codex"], [meta, *rest]), "codex")
    assert list(transcript) == []
    assert transcript.skipped[base.SUBAGENT] == 7


def test_an_older_document_of_gemini_is_read_with_its_lines(tmp_path: Path) -> None:
    about, *messages = session("gemini-cli")
    said = [message for message in messages if "type" in message]
    file = (tmp_path / FILES["gemini-cli"]).with_suffix(".json")
    write(file, [])
    file.write_text(json.dumps(about | {"messages": said}, indent=2))
    found = list(turns(file, "gemini-cli"))
    assert [(each.role, each.text) for each in found] == SAID
    lines = file.read_text().splitlines()
    assert lines[found[3].line - 1].strip() == '"id": "m8",'
    assert (found[3].text, found[3].folder) == (CORRECTION, FOLDER)


def test_a_client_without_readable_transcripts_is_refused_with_the_others() -> None:
    with pytest.raises(UserError, match="claude-code, codex, copilot-cli, gemini-cli"):
        turns(Path("x"), "cursor")


def test_reading_goes_on_where_it_stopped(client: str, file: Path) -> None:
    transcript = turns(file, client)
    list(transcript)
    with file.open("a") as stream:
        stream.write(line(turn(client, "user", "And the timeout?")))
    more = turns(file, client, transcript.end)
    [last] = more
    assert (last.text, last.line, last.session) == (
        "And the timeout?",
        transcript.end.line,
        SESSION,
    )
    assert last.folder == FOLDER
    assert more.skipped.total() == 0


def test_an_empty_file_has_no_turns(client: str, tmp_path: Path) -> None:
    file = write(tmp_path / FILES[client], [])
    assert list(turns(file, client)) == []
