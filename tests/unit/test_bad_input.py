"""Queries and vaults that have little to offer: an answer, and never a sure one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import recompute

NOTES = (
    "The harbour crane lifts forty tons.",
    "Invoices are paid within thirty days.",
    "PostgreSQL runs with a pool of twenty.",
    "Deploys happen on Thursdays.",
    "The dentist is closed in August.",
    "定例会議は毎週火曜日の十時から。",
    "Резервное копирование каждую ночь.",
    "Tomatoes want calcium and water.",
    "The wifi password hangs in the hall.",
    "Green tea takes two minutes.",
)
QUERIES = (
    "",
    " \n\t",
    "the of and",
    "?!… --",
    '"',
    "NOT",
    "word " * 2000,
    "x" * 10_000,
    " ".join(f"unknown{number}" for number in range(900)),
    "航空券の予約",
    "где мои ключи",
    "🦀🦀🦀",
    "\x00\x07",
    "last week",
    "zqwexrtin",
)


@pytest.fixture(scope="module", params=["builtin", "none"])
def settings(request: pytest.FixtureRequest) -> Settings:
    return Settings(embedding=Embedding(request.param), rerank=Rerank("none"))


@pytest.fixture(scope="module", params=[0, 1, len(NOTES)])
def memory(
    request: pytest.FixtureRequest, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Recollect]:
    with Recollect(home=tmp_path_factory.mktemp("home"), settings=settings) as opened:
        opened.save_all([make_draft({"text": text}) for text in NOTES[: request.param]])
        opened.embed_now()
        yield opened


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: repr(query[:20]))
def test_a_query_that_nothing_answers_gets_no_strong_evidence(
    memory: Recollect, query: str
) -> None:
    response = memory.search(query)
    assert not (response.evidence == "strong" and query.strip()), response.confidence
    assert 0 <= (response.confidence or 0) <= 1
    for result in response:
        assert recompute(result.explain) == pytest.approx(result.score)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("harbour crane", NOTES[0]),
        ("how much does the harbour crane lift", NOTES[0]),
        ("HARBOUR", NOTES[0]),
    ],
)
def test_one_memory_is_found_by_its_words(
    settings: Settings, tmp_path: Path, query: str, text: str
) -> None:
    with Recollect(home=tmp_path, settings=settings) as memory:
        memory.save(text=text)
        memory.embed_now()
        response = memory.search(query)
    assert [result.memory.text for result in response] == [text]
    assert response.evidence != "none"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("postgres", NOTES[2]),  # the beginning of a word
        ("PostgreSQLs pool", NOTES[2]),
        ("定例会議", NOTES[5]),
        ("резервная копия", NOTES[6]),
    ],
)
def test_another_form_or_script_is_found(
    settings: Settings, tmp_path: Path, query: str, text: str
) -> None:
    with Recollect(home=tmp_path, settings=settings) as memory:
        memory.save_all([make_draft({"text": each}) for each in NOTES])
        memory.embed_now()
        response = memory.search(query)
    assert response.results[0].memory.text == text
    assert response.evidence != "none"
