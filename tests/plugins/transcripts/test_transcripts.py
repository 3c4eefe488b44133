"""Sessions of coding agents as memories: turn by turn, in step with their files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_sessions import (
    ANSWER,
    CLIENTS,
    CORRECTION,
    DONE,
    FILES,
    LOOKING,
    QUESTION,
    line,
    session,
)
from agent_sessions import turn as another_turn
from agent_sessions import write as write_session
from folder_homes import vault

from recollect import Recollect
from recollect.errors import UserError
from recollect.folders import transcript as base
from recollect.folders import transcript_reading
from recollect.folders.chunk_writing import Synced
from recollect.folders.file_reading import drafts_of
from recollect.types import Filter, Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with vault(tmp_path / "home") as made:
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "harbor-api"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    return folder


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(client: str, tmp_path: Path, project: Path) -> Path:
    """The session of an agent that works in a folder of the project."""
    place = tmp_path / "sessions" / FILES[client]
    return write_session(place, session(client, str(project / "src")), str(project / "src"))


@pytest.fixture
def claude(tmp_path: Path, project: Path) -> Path:
    place = tmp_path / "sessions" / FILES["claude-code"]
    return write_session(place, session("claude-code", str(project)))


def add(memory: Recollect, file: Path, client: str) -> Synced:
    root = Path(str(file).removesuffix(FILES[client]))
    return memory.add_transcripts(root, client)


def said(memory: Recollect) -> list[Memory]:
    """The turns, in the order of their files."""
    every = list(memory.export())
    places = memory.store.folders.places([each.id for each in every])
    return sorted(every, key=lambda each: (places[each.id].file, places[each.id].chunk.number))


def lines(memory: Recollect) -> list[tuple[int, int]]:
    places = memory.store.folders.places([each.id for each in memory.export()])
    chunks = sorted((place.chunk for place in places.values()), key=lambda chunk: chunk.number)
    return [(chunk.first_line, chunk.last_line) for chunk in chunks]


def append(file: Path, *texts: str) -> None:
    """Add to a file, at another time than the one at which it was read."""
    with file.open("a") as stream:
        stream.write("".join(texts))
    os.utime(file, (1_800_000_000, 1_800_000_000 + len(texts)))


# What a session becomes


def test_each_turn_is_a_memory_of_its_project_and_time(
    memory: Recollect, file: Path, client: str
) -> None:
    done = add(memory, file, client)
    assert (done.files, done.memories) == ({"added": 1}, {"added": 4})
    first, answer, second, last = said(memory)
    assert [each.text for each in (first, answer, second, last)] == [
        QUESTION, f"{LOOKING}\n\n{ANSWER}", CORRECTION, DONE,
    ]  # fmt: skip
    assert {(each.kind, each.tier, each.project, each.source) for each in said(memory)} == {
        ("session", "file", "harbor-api", client)
    }
    assert first.title == "Session of 2026-10-12"
    assert (first.context, answer.context) == (f"User: {QUESTION}", f"Answer to: {QUESTION}")
    assert f"{second.created_at:%H:%M}" == "09:05"
    assert not [one for one in memory.doctor() if one.problem]


def test_a_result_names_the_file_and_the_lines(memory: Recollect, file: Path, client: str) -> None:
    add(memory, file, client)
    [result] = memory.search("how many connections has the pool", limit=1)
    assert result.file is not None
    assert result.file.path == str(file)
    found = file.read_text().splitlines()
    lines = found[result.file.first_line - 1 : result.file.last_line]
    assert any(said in line for line in lines for said in (QUESTION, ANSWER))


def test_sessions_are_found_by_their_kind_and_are_no_context(
    memory: Recollect, claude: Path
) -> None:
    add(memory, claude, "claude-code")
    memory.save(title="Pool", text="The pool of connections has 20 places.", project="harbor-api")
    assert {each.memory.kind for each in memory.search("pool connections")} == {"session", "fact"}
    only = memory.search("pool connections", filter=Filter(kind="session"))
    assert {each.memory.kind for each in only} == {"session"}
    assert [each.title for each in memory.context("pool connections").memories] == ["Pool"]
    assert [each.title for each in memory.context().memories] == ["Pool"]
    asked = memory.context("pool connections", filter=Filter(kind="session"))
    assert {each.kind for each in asked.memories} == {"session"}


def test_a_long_turn_becomes_several_memories(memory: Recollect, claude: Path) -> None:
    long = "\n\n".join(f"Paragraph {number}. " + "The crane lifts. " * 30 for number in range(12))
    append(claude, line(another_turn("claude-code", "user", long)))
    add(memory, claude, "claude-code")
    parts = said(memory)[4:]
    assert len(parts) > 2
    assert all(len(part.text) <= 2_500 for part in parts)
    assert len(set(lines(memory)[4:])) == 1


def test_secrets_are_replaced_everywhere(memory: Recollect, claude: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    append(
        claude,
        line(another_turn("claude-code", "user", f"Use the token {secret}")),
        line(another_turn("claude-code", "agent", f"I use {secret} now.", 31)),
    )
    done = add(memory, claude, "claude-code")
    assert done.redacted
    rows = [
        *memory.store.database.rows("SELECT heading FROM cuts"),
        *memory.store.database.rows("SELECT title, text, context FROM memories"),
        *memory.store.database.rows("SELECT hex(digest) FROM files"),
    ]
    assert secret not in str(rows)
    assert secret.encode().hex().upper() not in str(rows)


# In step with the file


def test_only_what_was_appended_is_read_and_written(
    memory: Recollect, file: Path, client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(memory, file, client)
    before = said(memory)
    size = file.stat().st_size
    append(file, line(another_turn(client, "user", "And the timeout?")))
    read: list[int] = []
    decoded = base._decode

    def counted(raw: bytes) -> object:
        read.append(len(raw))
        return decoded(raw)

    monkeypatch.setattr(base, "_decode", counted)
    done = add(memory, file, client)
    assert (done.files, done.memories) == ({"changed": 1}, {"added": 1})
    assert said(memory)[:4] == before
    assert said(memory)[4].text == "And the timeout?"
    assert sum(read) < size
    assert not [one for one in memory.doctor() if one.problem]


def test_an_answer_that_goes_on_is_still_one_turn(
    memory: Recollect, file: Path, client: str
) -> None:
    add(memory, file, client)
    append(file, line(another_turn(client, "agent", "The tests pass.")))
    assert add(memory, file, client).memories == {"updated": 1}
    last = said(memory)[-1]
    assert last.text == f"{DONE}\n\nThe tests pass."
    assert last.context == f"Answer to: {CORRECTION}"
    append(file, line(another_turn(client, "user", "Good.", 31)))
    add(memory, file, client)
    append(file, line(another_turn(client, "agent", "Anything else?", 32)))
    add(memory, file, client)
    assert said(memory)[-1].context == "Answer to: Good."
    assert len(said(memory)) == 6


def test_a_cut_line_waits_and_a_touched_file_is_unchanged(
    memory: Recollect, file: Path, client: str
) -> None:
    add(memory, file, client)
    whole = line(another_turn(client, "user", "And the timeout?"))
    append(file, whole[:30])
    assert add(memory, file, client).files == {"unchanged": 1}
    assert add(memory, file, client).memories == {}
    append(file, whole[30:], "")
    assert add(memory, file, client).memories == {"added": 1}


def test_reading_in_parts_gives_the_same_and_goes_on_after_a_kill(
    memory: Recollect, file: Path, client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [line(another_turn(client, "user", f"Question number{n}?", n)) for n in range(1, 50)]
    append(file, *more)
    with vault(tmp_path / "other") as other:
        add(other, file, client)
        expected = [(each.id, each.text, each.context) for each in said(other)]
    monkeypatch.setattr(transcript_reading, "PART", 7)
    monkeypatch.setattr("recollect.folders.sync.BATCH_CHUNKS", 7)
    real = drafts_of

    def killed(*args: object) -> object:
        if "number30?" in str(args[-1]):
            raise KeyboardInterrupt
        return real(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(transcript_reading, "drafts_of", killed)
        with pytest.raises(KeyboardInterrupt):
            add(memory, file, client)
    assert 0 < len(said(memory)) < len(expected)
    done = add(memory, file, client)
    assert done.files == {"changed": 1}
    assert [(each.id, each.text, each.context) for each in said(memory)] == expected
    assert not [one for one in memory.doctor() if one.problem]
    assert add(memory, file, client).files == {"unchanged": 1}


def test_a_file_that_was_written_anew_is_read_anew(
    memory: Recollect, file: Path, client: str
) -> None:
    add(memory, file, client)
    records = session(client)
    write_session(file, [*records[:1], another_turn(client, "user", "Something else?")])
    assert add(memory, file, client).memories == {"added": 1, "forgotten": 4}
    assert [each.text for each in said(memory)] == ["Something else?"]


def test_a_session_that_its_client_removes_stays_and_a_moved_one_is_not_doubled(
    memory: Recollect, claude: Path, tmp_path: Path
) -> None:
    other = write_session(claude.with_name("other.jsonl"), session("claude-code")[:4])
    add(memory, claude, "claude-code")
    before = {each.id for each in said(memory)}
    claude.rename(claude.with_name("moved.jsonl"))
    done = memory.add_transcripts(tmp_path / "sessions", "claude-code")
    assert done.files == {"unchanged": 1, "renamed": 1}
    assert {each.id for each in said(memory)} == before
    other.unlink()
    assert memory.add_transcripts(tmp_path / "sessions", "claude-code").memories == {}
    assert {each.id for each in said(memory)} == before


def test_removing_the_folder_forgets_its_sessions(memory: Recollect, claude: Path) -> None:
    add(memory, claude, "claude-code")
    [folder] = memory.folders()
    assert (folder.client, folder.followed, folder.files) == ("claude-code", True, 1)
    assert memory.remove_folder(folder.path) == 4
    assert said(memory) == []
    assert add(memory, claude, "claude-code").memories.total() == 4


# Bad input


def test_lines_of_another_version_are_counted_and_named(
    memory: Recollect, file: Path, client: str
) -> None:
    append(file, '{"type": "hologram"}\n' * 3, "not json\n")
    done = add(memory, file, client)
    assert done.memories == {"added": 4}
    assert [note for _, note in done.named] == [
        "lines left out, not JSON: 1", "lines of an unknown type: 3: hologram (3)",
    ]  # fmt: skip


def test_a_file_without_turns_is_empty_until_it_has_one(
    memory: Recollect, file: Path, client: str
) -> None:
    write_session(file, session(client)[:1])
    done = add(memory, file, client)
    assert (done.left_out, done.files) == ({"empty": 1}, {})
    assert add(memory, file, client).left_out == {"empty": 1}
    append(file, line(another_turn(client, "user", "And the timeout?")))
    assert add(memory, file, client).memories == {"added": 1}


def test_other_files_of_the_client_are_no_sessions(memory: Recollect, claude: Path) -> None:
    for name in ("a/tool-results/x.txt", "a/subagents/agent-1.jsonl", "agent-2.jsonl", "notes.md"):
        write_session(claude.parent / name, session("claude-code"))
    assert add(memory, claude, "claude-code").files == {"added": 1}


def test_a_session_that_cannot_be_read_is_named_and_keeps_its_memories(
    memory: Recollect, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(memory, claude, "claude-code")
    append(claude, line(another_turn("claude-code", "user", "And the timeout?")))

    def refused(path: Path) -> object:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(base, "open_regular", refused)
        done = add(memory, claude, "claude-code")
    assert done.left_out == {"unreadable": 1}
    assert [note for _, note in done.named] == ["unreadable: Permission denied"]
    assert len(said(memory)) == 4
    assert add(memory, claude, "claude-code").memories == {"added": 1}


def test_the_same_session_of_two_clients_is_kept_twice(
    memory: Recollect, tmp_path: Path, project: Path
) -> None:
    for client in ("claude-code", "codex"):
        write_session(tmp_path / client / FILES[client], session(client, str(project)))
        memory.add_transcripts(tmp_path / client, client)
    assert len(said(memory)) == 8
    assert {each.source for each in said(memory)} == {"claude-code", "codex"}


def test_a_folder_is_of_documents_or_of_one_client(memory: Recollect, claude: Path) -> None:
    root = claude.parent.parent
    memory.add_transcripts(root, "claude-code")
    with pytest.raises(UserError, match="recollect add --remove"):
        memory.add_transcripts(root, "codex")
    with pytest.raises(UserError, match="own projects"):
        memory.add_folder(root, project="harbor")
    assert memory.add_folder(root).files == {"unchanged": 1}
    with pytest.raises(UserError, match="claude-code, codex"):
        memory.add_transcripts(root, "cursor")
