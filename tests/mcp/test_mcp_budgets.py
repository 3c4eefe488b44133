"""What a model must read: the tools before the first word, and an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp_doors import opened
from mcp_tokens import tokens

from recollect.interfaces.mcp.arguments import input_schema
from recollect.interfaces.mcp.calls import Served, ToolAnswer
from recollect.interfaces.mcp.tools import TOOLS, call

MOST_INPUT = 1500
MOST_OUTPUT = 800
MOST_TEXT = 600  # of a search with ten results
MOST_DATA = 700
SUBJECTS = (
    "payment retries", "the invoice exporter", "carrier webhooks", "nightly snapshots",
    "the label printer queue", "customs declarations", "rate limits", "the search index",
    "session cookies", "background workers", "feature flags", "the audit trail",
)  # fmt: skip
QUERY = "what did we decide about timeouts and retries"


def realistic(number: int, subject: str, more: str = "") -> dict[str, Any]:
    """A memory with a long title and a text of some paragraphs, under an id that is made for it."""
    return {
        "title": f"Longer timeouts and fewer retries for {subject} since October's outage{more}",
        "text": f"The timeout of {subject} is 30 seconds, with two retries and a pause that "
        "doubles. Shorter ones made the load worse while the database was recovering. " * 4,
        "kind": "decision",
        "project": "harbor-api",
        "tags": ["timeouts", "retries"],
        "created_at": "2025-10-12",
        "updated_at": "2025-10-12",
        "valid_until": "2026-01-01" if number % 3 == 0 else "2027-01-01",
    }


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with opened(tmp_path_factory.mktemp("home")) as engine:
        for number, subject in enumerate(SUBJECTS):
            engine.save(**realistic(number, subject))
        yield Served(engine)


def searched(served: Served, **given: object) -> ToolAnswer:
    return call(served, "memory_search", {"query": QUERY, **given})


def test_the_tools_together_keep_to_their_budgets() -> None:
    offered = [[tool.name, tool.about, input_schema(tool.arguments)] for tool in TOOLS]
    assert tokens(offered) <= MOST_INPUT
    assert tokens([tool.output for tool in TOOLS]) <= MOST_OUTPUT


def test_ten_long_results_keep_to_their_budgets(served: Served) -> None:
    answer = searched(served)
    assert len(answer.structured["results"]) == 10
    assert tokens(answer.text) <= MOST_TEXT
    assert tokens(answer.structured) <= MOST_DATA


def test_every_result_of_ten_shows_what_matched(served: Served) -> None:
    answer = searched(served)
    passages = [line for line in answer.text.splitlines() if line.startswith("> ")]
    assert len(passages) == 10
    assert all("imeout" in passage or "retries" in passage for passage in passages)
    assert all(result["passage"] for result in answer.structured["results"])


def test_fewer_results_have_longer_passages(served: Served) -> None:
    shortest = min(
        len(result["passage"]) for result in searched(served, limit=3).structured["results"]
    )
    longest = max(
        len(result.get("passage", "")) for result in searched(served).structured["results"]
    )
    assert longest < shortest
    assert tokens(searched(served, limit=3).text) <= MOST_TEXT


FURTHER = {
    "titles of some lines": realistic(1, "everything", " and of every outage before that" * 8),
    "no spaces": {"title": "支付超时设置", "text": "支付超时是三十秒钟。重试两次。" * 30},
    "no title": {"text": "Timeouts and retries are decided by those who are on call. " * 30},
}


@pytest.mark.parametrize("what", FURTHER)
def test_other_results_keep_to_the_budgets_too(
    tmp_path_factory: pytest.TempPathFactory, what: str
) -> None:
    fields = FURTHER[what]
    with opened(tmp_path_factory.mktemp("home")) as engine:
        for number in range(10):
            text = f"{fields['text']} {number} {SUBJECTS[number]}"
            engine.save(**fields | {"text": text, "project": "harbor-api-gateway"})
        answer = call(Served(engine), "memory_search", {"query": f"{QUERY} 支付超时"})
    assert answer.structured["results"]
    assert tokens(answer.text) <= MOST_TEXT
    assert tokens(answer.structured) <= MOST_DATA
