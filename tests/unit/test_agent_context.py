"""The context of an agent: its order, and its token limit in every form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Filter, Recollect, UserError
from recollect.present.agent_context import FORMS, context_json, context_line, context_text
from recollect.settings import ContextSettings, Embedding, Rerank, Settings

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
LONG = "The tide table is on the wall. " * 30 + "Tokens are rotated at noon. " + "More tides. " * 40


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=NO_MODELS) as opened:
        opened.save(id="general", title="Short sentences", tier="core")
        opened.save(id="rule", title="Run the tests", tier="core", project="harbor")
        opened.save(id="elsewhere", title="Another rule", tier="core", project="quay")
        opened.save(id="over", title="Old rule", tier="core", project="harbor", valid_until=NOW)
        opened.save(id="match", title="Rotation", text=LONG, project="harbor")
        opened.save(id="old", title="An older note", project="harbor", updated_at=NOW)
        opened.save(id="read", title="notes.md", text="Tokens in a file", tier="file",
                    project="harbor")  # fmt: skip
        opened.save(id="unread", title="more.md", text="Tides", tier="file", project="harbor")
        yield opened


def ids(memory: Recollect, query: str = "", project: str | None = "harbor", **asked: int) -> str:
    found = memory.context(query, filter=Filter(project=project), **asked)  # type: ignore[arg-type]
    return " ".join(one.id for one in found.memories)


def test_pinned_ones_come_first_then_matches_then_the_newest(memory: Recollect) -> None:
    assert ids(memory, "tokens rotated") == "rule general read match old"
    found = memory.context("tokens rotated", filter=Filter(project="harbor"))
    assert (found.pinned, found.matched, found.topped_up) == (2, 2, 1)


def test_files_come_only_by_a_match(memory: Recollect) -> None:
    assert ids(memory) == "rule general match old"


def test_without_a_project_every_pinned_one_comes_those_of_none_first(memory: Recollect) -> None:
    assert ids(memory, project=None).split()[0] == "general"
    assert set(ids(memory, project=None).split()[1:3]) == {"rule", "elsewhere"}


def test_a_third_of_the_places_is_for_what_the_question_finds(memory: Recollect) -> None:
    for number in range(12):
        memory.save(id=f"pin{number}", title=f"Pinned {number}", tier="core", project="harbor")
    found = memory.context("tokens rotated", filter=Filter(project="harbor"), limit=6)
    assert (found.pinned, found.matched) == (4, 2)
    assert memory.context(filter=Filter(project="harbor"), limit=6).pinned == 6


def test_what_does_not_fit_whole_is_shown_by_the_passage_that_matches(memory: Recollect) -> None:
    found = memory.context("tokens rotated", filter=Filter(project="harbor"), max_tokens=300)
    [match] = [one for one in found.memories if one.id == "match"]
    assert match.text.startswith("…Tokens are rotated at noon.")
    assert found.cut == {"match"}
    [shown] = [one for one in context_json(found)["memories"] if one["id"] == "match"]
    assert shown["has_more"]


def test_details_that_match_are_shown(tmp_path: Path) -> None:
    settings = Settings(
        NO_MODELS.embedding, NO_MODELS.rerank, context=ContextSettings(recipe="blend")
    )
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=settings) as memory:
        memory.save(id="a", title="Slow list", details="An external merge sort on disk.")
        found = memory.context("merge sort")
        assert context_json(found)["memories"][0]["snippet"] == "An external merge sort on disk."
        assert "> Details: An external merge sort on disk." in context_text(found)


@pytest.mark.parametrize("limit", [1, 10, 40, 60, 100, 150, 300, 1000])
def test_the_limit_holds_for_the_whole_answer_or_says_what_is_needed(
    memory: Recollect, limit: int
) -> None:
    asked = {"filter": Filter(project="harbor"), "max_tokens": limit}
    try:
        found = memory.context("tokens rotated", **asked)  # type: ignore[arg-type]
    except UserError as error:
        said = str(error)
    else:
        for form in FORMS:
            assert len(form(found)) + 1 <= 4 * limit
        assert json.loads(context_line(found)) == context_json(found)
        said = found.note
        assert bool(said) == (not found.memories)
    if said:
        [needed] = re.findall(r"(\d+) are needed", said)
        assert memory.context("tokens rotated", filter=Filter(project="harbor"),
                              max_tokens=int(needed)).memories  # fmt: skip


def test_text_alone_has_room_for_more(memory: Recollect) -> None:
    both = memory.context(max_tokens=100)
    text = memory.context(max_tokens=100, forms=(context_text,))
    assert len(text.memories) > len(both.memories)
    assert len(context_text(text)) <= 400


def test_an_empty_vault_says_so(tmp_path: Path) -> None:
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=NO_MODELS) as empty:
        assert context_text(empty.context(max_tokens=40)) == "No memory here yet."
        with pytest.raises(UserError, match="are needed"):
            empty.context(max_tokens=2)
