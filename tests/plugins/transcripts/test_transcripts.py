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


class Session:
    """A session of a coding agent in a folder of the project, and the vault that follows it."""

    def __init__(self, memory: Recollect, client: str, root: Path, folder: Path) -> None:
        self.memory, self.client, self.root = memory, client, root
        self.file = write_session(root / FILES[client], session(client, str(folder)), str(folder))

    def add(self) -> Synced:
        return self.memory.add_transcripts(self.root, self.client)

    def append(self, *texts: str) -> None:
        """Add to the file, at another time than the one at which it was read."""
        with self.file.open("a") as stream:
            stream.write("".join(texts))
        os.utime(self.file, (1_800_000_000, 1_800_000_000 + len(texts)))

    def line(self, role: str, text: str, minute: int = 30) -> str:
        return line(another_turn(self.client, role, text, minute))

    def goes_on(self, role: str, text: str, minute: int = 30) -> None:
        self.append(self.line(role, text, minute))

    def said(self) -> list[Memory]:
        """The turns, in the order of their files."""
        every = list(self.memory.export())
        places = self.memory.store.folders.places([each.id for each in every])
        return sorted(every, key=lambda each: (places[each.id].file, places[each.id].chunk.number))


@pytest.fixture(params=CLIENTS)
def agent(
    request: pytest.FixtureRequest, memory: Recollect, tmp_path: Path, project: Path
) -> Session:
    return Session(memory, request.param, tmp_path / "sessions", project / "src")


@pytest.fixture
def claude(memory: Recollect, tmp_path: Path, project: Path) -> Session:
    return Session(memory, "claude-code", tmp_path / "sessions", project)


# What a session becomes


def test_each_turn_is_a_memory_of_its_project_and_time(memory: Recollect, agent: Session) -> None:
    done = agent.add()
    assert (done.files, done.memories) == ({"added": 1}, {"added": 4})
    first, answer, second, last = agent.said()
    assert [each.text for each in (first, answer, second, last)] == [
        QUESTION, f"{LOOKING}\n\n{ANSWER}", CORRECTION, DONE,
    ]  # fmt: skip
    assert {(each.kind, each.tier, each.project, each.source) for each in agent.said()} == {
        ("session", "file", "harbor-api", agent.client)
    }
    assert first.title == "Session of 2026-10-12"
    assert (first.context, answer.context) == (f"User: {QUESTION}", f"Answer to: {QUESTION}")
    assert f"{second.created_at:%H:%M}" == "09:05"
    assert not [one for one in memory.doctor() if one.problem]


def test_a_result_names_the_file_and_the_lines(memory: Recollect, agent: Session) -> None:
    agent.add()
    [result] = memory.search("how many connections has the pool", limit=1)
    assert result.file is not None
    assert result.file.path == str(agent.file)
    found = agent.file.read_text().splitlines()
    lines = found[result.file.first_line - 1 : result.file.last_line]
    assert any(said in line for line in lines for said in (QUESTION, ANSWER))


def test_sessions_are_found_by_kind_and_are_no_context(memory: Recollect, claude: Session) -> None:
    claude.add()
    memory.save(title="Pool", text="The pool of connections has 20 places.", project="harbor-api")
    assert {each.memory.kind for each in memory.search("pool connections")} == {"session", "fact"}
    only = memory.search("pool connections", filter=Filter(kind="session"))
    assert {each.memory.kind for each in only} == {"session"}
    assert [each.title for each in memory.context("pool connections").memories] == ["Pool"]
    assert [each.title for each in memory.context().memories] == ["Pool"]
    asked = memory.context("pool connections", filter=Filter(kind="session"))
    assert {each.kind for each in asked.memories} == {"session"}


def test_a_long_turn_becomes_several_memories(memory: Recollect, claude: Session) -> None:
    long = "\n\n".join(f"Paragraph {number}. " + "The crane lifts. " * 30 for number in range(12))
    claude.goes_on("user", long)
    claude.add()
    parts = claude.said()[4:]
    assert len(parts) > 2
    assert all(len(part.text) <= 2_500 for part in parts)
    places = memory.store.folders.places([part.id for part in parts]).values()
    assert len({(place.chunk.first_line, place.chunk.last_line) for place in places}) == 1


def test_secrets_are_replaced_everywhere(memory: Recollect, claude: Session) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    claude.append(
        claude.line("user", f"Use the token {secret}"),
        claude.line("agent", f"I use {secret} now.", 31),
    )
    done = claude.add()
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
    memory: Recollect, agent: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.add()
    before = agent.said()
    size = agent.file.stat().st_size
    agent.goes_on("user", "And the timeout?")
    read: list[int] = []
    decoded = base._decode

    def counted(raw: bytes) -> object:
        read.append(len(raw))
        return decoded(raw)

    monkeypatch.setattr(base, "_decode", counted)
    done = agent.add()
    assert (done.files, done.memories) == ({"changed": 1}, {"added": 1})
    assert agent.said()[:4] == before
    assert agent.said()[4].text == "And the timeout?"
    assert sum(read) < size
    assert not [one for one in memory.doctor() if one.problem]


def test_an_answer_that_goes_on_is_still_one_turn(agent: Session) -> None:
    agent.add()
    agent.goes_on("agent", "The tests pass.")
    assert agent.add().memories == {"updated": 1}
    last = agent.said()[-1]
    assert last.text == f"{DONE}\n\nThe tests pass."
    assert last.context == f"Answer to: {CORRECTION}"
    agent.goes_on("user", "Good.", 31)
    agent.add()
    agent.goes_on("agent", "Anything else?", 32)
    agent.add()
    assert agent.said()[-1].context == "Answer to: Good."
    assert len(agent.said()) == 6


def test_a_cut_line_waits_and_a_touched_file_is_unchanged(agent: Session) -> None:
    agent.add()
    whole = agent.line("user", "And the timeout?")
    agent.append(whole[:30])
    assert agent.add().files == {"unchanged": 1}
    assert agent.add().memories == {}
    agent.append(whole[30:], "")
    assert agent.add().memories == {"added": 1}


def test_reading_in_parts_gives_the_same_and_goes_on_after_a_kill(
    memory: Recollect, agent: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = [agent.line("user", f"Question number{n}?", n) for n in range(1, 50)]
    agent.append(*more)
    with vault(tmp_path / "other") as other, monkeypatch.context() as patch:
        patch.setattr(agent, "memory", other)
        agent.add()
        expected = [(each.id, each.text, each.context) for each in agent.said()]
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
            agent.add()
    assert 0 < len(agent.said()) < len(expected)
    done = agent.add()
    assert done.files == {"changed": 1}
    assert [(each.id, each.text, each.context) for each in agent.said()] == expected
    assert not [one for one in memory.doctor() if one.problem]
    assert agent.add().files == {"unchanged": 1}


def test_a_file_that_was_written_anew_is_read_anew(agent: Session) -> None:
    agent.add()
    records = session(agent.client)
    write_session(agent.file, [*records[:1], another_turn(agent.client, "user", "Something else?")])
    assert agent.add().memories == {"added": 1, "forgotten": 4}
    assert [each.text for each in agent.said()] == ["Something else?"]


def test_a_session_that_its_client_removes_stays_and_a_moved_one_is_not_doubled(
    memory: Recollect, claude: Session, tmp_path: Path
) -> None:
    other = write_session(claude.file.with_name("other.jsonl"), session("claude-code")[:4])
    claude.add()
    before = {each.id for each in claude.said()}
    claude.file.rename(claude.file.with_name("moved.jsonl"))
    done = memory.add_transcripts(tmp_path / "sessions", "claude-code")
    assert done.files == {"unchanged": 1, "renamed": 1}
    assert {each.id for each in claude.said()} == before
    other.unlink()
    assert memory.add_transcripts(tmp_path / "sessions", "claude-code").memories == {}
    assert {each.id for each in claude.said()} == before


def test_removing_the_folder_forgets_its_sessions(memory: Recollect, claude: Session) -> None:
    claude.add()
    [folder] = memory.folders()
    assert (folder.client, folder.followed, folder.files) == ("claude-code", True, 1)
    assert memory.remove_folder(folder.path) == 4
    assert claude.said() == []
    assert claude.add().memories.total() == 4


# Bad input


def test_lines_of_another_version_are_counted_and_named(agent: Session) -> None:
    agent.append('{"type": "hologram"}\n' * 3, "not json\n")
    done = agent.add()
    assert done.memories == {"added": 4}
    assert [note for _, note in done.named] == [
        "lines left out, not JSON: 1", "lines of an unknown type: 3: hologram (3)",
    ]  # fmt: skip


def test_a_file_without_turns_is_empty_until_it_has_one(agent: Session) -> None:
    write_session(agent.file, session(agent.client)[:1])
    done = agent.add()
    assert (done.left_out, done.files) == ({"empty": 1}, {})
    assert agent.add().left_out == {"empty": 1}
    agent.goes_on("user", "And the timeout?")
    assert agent.add().memories == {"added": 1}


def test_other_files_of_the_client_are_no_sessions(claude: Session) -> None:
    for name in ("a/tool-results/x.txt", "a/subagents/agent-1.jsonl", "agent-2.jsonl", "notes.md"):
        write_session(claude.file.parent / name, session("claude-code"))
    assert claude.add().files == {"added": 1}


def test_a_session_that_cannot_be_read_is_named_and_keeps_its_memories(
    claude: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude.add()
    claude.goes_on("user", "And the timeout?")

    def refused(path: Path) -> object:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(base, "open_regular", refused)
        done = claude.add()
    assert done.left_out == {"unreadable": 1}
    assert [note for _, note in done.named] == ["unreadable: Permission denied"]
    assert len(claude.said()) == 4
    assert claude.add().memories == {"added": 1}


def test_a_session_of_two_clients_is_two(memory: Recollect, tmp_path: Path, project: Path) -> None:
    for client in ("claude-code", "codex"):
        one = Session(memory, client, tmp_path / client, project)
        one.add()
    assert len(one.said()) == 8
    assert {each.source for each in one.said()} == {"claude-code", "codex"}


def test_a_folder_is_of_documents_or_of_one_client(memory: Recollect, claude: Session) -> None:
    root = claude.root
    memory.add_transcripts(root, "claude-code")
    with pytest.raises(UserError, match="recollect add --remove"):
        memory.add_transcripts(root, "codex")
    with pytest.raises(UserError, match="own projects"):
        memory.add_folder(root, project="harbor")
    assert memory.add_folder(root).files == {"unchanged": 1}
    with pytest.raises(UserError, match="claude-code, codex"):
        memory.add_transcripts(root, "cursor")
