"""claude-mem: the fixture is what `SessionStore` of claude-mem 13.25.3 (npm) wrote, as SQL."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from importer_fixtures import build, read_all, script

from recollect.errors import UserError
from recollect.ingest.exchange import ImportedRecord
from recollect.plugins.importers.claude_mem import IMPORTER


def made(folder: Path, *more: str) -> Path:
    return build(folder / "claude-mem.db", script("claude-mem/claude-mem.sql"), *more)


read = partial(read_all, IMPORTER)


def test_an_observation_becomes_a_memory_with_every_field(tmp_path: Path) -> None:
    assert read(made(tmp_path))[0] == ImportedRecord(
        "observations, row 1",
        {
            "id": "claude-mem-observation-1-1782000000000",
            "source": "claude-mem",
            "kind": "bugfix",
            "title": "Uploads stalled behind the proxy",
            "context": (
                "The proxy cut idle connections after 60 s\n\nFiles modified:\n- src/upload.py"
            ),
            "text": (
                "The proxy closed connections that the client still held open.\n\n"
                "- The proxy closes idle connections\n- Keep-alive is 75 s"
            ),
            "details": "Files read:\n- conf/proxy.conf",
            "tags": ["problem-solution", "gotcha"],
            "project": "harbour",
            "created_at": "2026-06-21T00:00:00Z",
        },
        unmapped=(
            "platform_source", "memory_session_id", "prompt_number", "discovery_tokens",
            "generated_by_model", "agent_type", "agent_id", "metadata",
        ),
    )  # fmt: skip


def test_a_summary_becomes_a_memory_with_every_field(tmp_path: Path) -> None:
    assert read(made(tmp_path))[3] == ImportedRecord(
        "session_summaries, row 1",
        {
            "id": "claude-mem-summary-1-1782000000000",
            "source": "claude-mem",
            "kind": "summary",
            "title": "Find out why uploads stall",
            "text": (
                "Idle connections are cut after 60 s\n\nCompleted: Keep-alive is now 50 s\n\n"
                "Notes: Ask Grace about the proxy"
            ),
            "context": (
                "The proxy and the client\n\nFiles modified:\n- src/upload.py\n- src/retry.py"
            ),
            "impact": "Watch the logs",
            "details": "Files read:\n- conf/proxy.conf",
            "project": "harbour",
            "created_at": "2026-06-21T00:00:00Z",
        },
        unmapped=("platform_source", "memory_session_id", "prompt_number", "discovery_tokens"),
    )


def test_a_prompt_gets_its_place_and_its_project_from_the_session(tmp_path: Path) -> None:
    first, second = read(made(tmp_path))[4:]
    assert first == ImportedRecord(
        "user_prompts, row 1",
        {
            "id": "claude-mem-prompt-1-1794754797832",
            "source": "claude-mem",
            "kind": "prompt",
            "text": "Why do uploads stall?\nThey stop after a minute.",
            "context": "Prompt 1 of the session 'Uploads'",
            "project": "harbour",
            "created_at": "2026-11-15T14:59:57.832000Z",
        },
        unmapped=("platform_source", "session_db_id", "content_session_id"),
    )
    assert second.fields is not None
    assert second.fields["context"] == "Prompt 1 of the session"


def test_the_folder_can_be_given_and_reading_again_gives_the_same(tmp_path: Path) -> None:
    made(tmp_path)
    assert read(tmp_path) == read(tmp_path) == read(tmp_path / "claude-mem.db")
    ids = [taken.fields["id"] for taken in read(tmp_path) if taken.fields]
    assert len(set(ids)) == 6


def test_a_synchronized_row_has_the_id_that_it_has_where_it_was_made(tmp_path: Path) -> None:
    copied = "UPDATE observations SET origin_device_id = 'x', origin_local_id = '1' WHERE id = 2"
    one, two, *_ = read(made(tmp_path, copied, "DELETE FROM observations WHERE id = 1"))
    assert one.fields is not None
    assert one.fields["id"] == "claude-mem-observation-1-1782000000000"
    assert two.fields is not None


def test_a_merged_worktree_counts_as_the_project_it_went_into(tmp_path: Path) -> None:
    taken = read(made(tmp_path, "UPDATE observations SET merged_into_project = 'main'"))[2]
    assert taken.fields is not None
    assert taken.fields["project"] == "main"
    assert "project" in taken.unmapped


def test_a_file_of_an_old_version_is_read(tmp_path: Path) -> None:
    old = """
        CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT,
            text TEXT, type TEXT, title TEXT, narrative TEXT, created_at TEXT,
            created_at_epoch INTEGER);
        INSERT INTO observations VALUES (7, 's', 'p', 'Only this', 'feature', NULL, NULL,
            '2025-10-01', NULL);
    """
    (taken,) = read(build(tmp_path / "old.db", old))
    assert taken.fields == {
        "id": "claude-mem-observation-7-2025-10-01",
        "source": "claude-mem",
        "kind": "feature",
        "text": "Only this",
        "project": "p",
        "created_at": "2025-10-01T00:00:00Z",
    }
    assert taken.unmapped == ("sdk_session_id",)


def test_odd_values_lose_no_record(tmp_path: Path) -> None:
    odd = (
        "UPDATE observations SET concepts = 'not json', facts = '[1, {}]', created_at_epoch = 'x',"
        " created_at = 'y', subtitle = x'ff' WHERE id = 1"
    )
    taken = read(made(tmp_path, odd))[0]
    assert taken.fields is not None
    assert taken.fields["tags"] == ["not json"]
    assert str(taken.fields["text"]).endswith("\n\n- 1")
    assert "created_at" not in taken.fields
    assert {"facts", "created_at", "created_at_epoch", "subtitle"} <= set(taken.unmapped)


def test_a_row_that_says_nothing_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    found = read(made(tmp_path, "UPDATE observations SET title = NULL WHERE id = 2"))
    assert [(taken.where, taken.reason) for taken in found if taken.fields is None] == [
        ("observations, row 2", "It has neither a title nor a text.")
    ]
    assert len(found) == 6


def test_a_newer_schema_is_read_if_it_has_the_columns_and_else_refused(tmp_path: Path) -> None:
    file = made(tmp_path, "INSERT INTO schema_versions VALUES (99, 60, '2027-01-01')")
    assert len(read(file)) == 6
    build(file, "ALTER TABLE observations RENAME COLUMN narrative TO story")
    with pytest.raises(UserError, match="its schema is 60, and those up to 52 are supported"):
        read(file)
