"""The tokens that a model must read: the list of tools, and an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from mcp_sessions import open_engine
from mcp_tokens import as_sent, tokens

from recollect.errors import UserError
from recollect.interfaces.mcp.calls import Served, ToolAnswer
from recollect.interfaces.mcp.tools import call, list_tools

# Characters of a list of tools as it is sent: all but the output schemas, and these.
MOST_LISTED = {"default": (6000, 3200), "all": (8500, 3600)}
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
    with open_engine(tmp_path_factory.mktemp("home")) as engine:
        for number, subject in enumerate(SUBJECTS):
            engine.save(**realistic(number, subject))
        yield Served(engine)


def search(served: Served, **given: object) -> ToolAnswer:
    return call(served, "memory_search", {"query": QUERY, **given})


@pytest.mark.parametrize("project", [None, "harbor-api"])
@pytest.mark.parametrize("which", MOST_LISTED)
def test_the_lists_of_tools_keep_to_their_budgets(which: str, project: str | None) -> None:
    listed = list_tools(None, project, (which,))
    outputs = [tool.pop("outputSchema") for tool in listed]
    assert len(outputs) >= 7
    most_input, most_output = MOST_LISTED[which]
    assert len(as_sent(listed)) <= most_input
    assert len(as_sent(outputs)) <= most_output


def test_ten_long_results_keep_to_their_budgets(served: Served) -> None:
    answer = search(served)
    assert len(answer.structured["results"]) == 10
    assert tokens(answer.text) <= MOST_TEXT
    assert tokens(answer.structured) <= MOST_DATA


def test_every_result_of_ten_shows_what_matched(served: Served) -> None:
    answer = search(served)
    passages = [line for line in answer.text.splitlines() if line.startswith("> ")]
    assert len(passages) == 10
    assert all("imeout" in passage or "retries" in passage for passage in passages)
    assert all(result["passage"] for result in answer.structured["results"])


def test_fewer_results_have_longer_passages(served: Served) -> None:
    shortest = min(
        len(result["passage"]) for result in search(served, limit=3).structured["results"]
    )
    longest = max(len(result.get("passage", "")) for result in search(served).structured["results"])
    assert longest < shortest
    assert tokens(search(served, limit=3).text) <= MOST_TEXT


def test_a_single_result_shows_more_than_a_line_of_what_matched(served: Served) -> None:
    answer = search(served, limit=1)
    [result] = answer.structured["results"]
    assert len(result["passage"]) > 500
    assert len(answer.text) > 500
    assert tokens(answer.text) <= MOST_TEXT
    assert tokens(answer.structured) <= MOST_DATA


LONG = "\n\n".join(
    f"## Chapter {number}\n\n" + "\n".join(f"Line {line} of {number}." for line in range(200))
    for number in range(1, 41)
)
WHOLE = 5000  # tokens of what memory_retrieve answers unless it is told otherwise


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with open_engine(tmp_path_factory.mktemp("home")) as engine:
        engine.save(id="book", title="A book", text=LONG, details="## Appendix\n\nThe end.")
        engine.save(id="line", title="One line", text="word " * 40_000)
        engine.save(id="why", title="A long reason", text="Short.", why="reason " * 13_000)
        for number in range(20):
            engine.save(id=f"note-{number}", title=f"Note {number}", text=f"{number} words. " * 600)
        yield Served(engine)


def retrieve(served: Served, *ids: str, **given: object) -> ToolAnswer:
    answer = call(served, "memory_retrieve", {"ids": list(ids), **given})
    assert tokens(answer.text) <= WHOLE
    assert tokens(answer.structured) <= WHOLE
    return answer


@pytest.mark.parametrize("id", ["book", "line", "why"])
def test_a_long_memory_is_read_part_by_part_and_nothing_is_lost(read: Served, id: str) -> None:
    [memory] = read.engine.show([id])
    seen: set[object] = set()
    texts: list[str] = []
    following: str | None = ""
    while following is not None:
        answer = retrieve(read, id, **({"part": following} if following else {}))
        [shown] = answer.structured["memories"]
        assert not {"text", "details"} & set(shown), "A part cannot pass for the whole."
        texts.append(shown["part"]["text"])
        following = shown["part"].get("next")
        assert (f'part="{following}"' in answer.text) is bool(following)
        assert following not in seen
        seen.add(following)
    assert len(texts) > 2
    words = " ".join([memory.text, memory.details, memory.why]).split()
    assert len(" ".join(texts).split()) >= len(words)
    assert texts[-1].split()[-1] == words[-1]


def test_a_part_is_a_heading_lines_or_a_page(read: Served) -> None:
    [chapter] = retrieve(read, "book", part="chapter 7").structured["memories"]
    assert chapter["part"]["text"].startswith("## Chapter 7\n\nLine 0 of 7.")
    assert "of 8." not in chapter["part"]["text"]
    first, _ = chapter["part"]["lines"]
    [lines] = retrieve(read, "book", part=f"{first}-{first + 2}").structured["memories"]
    assert lines["part"]["text"] == "## Chapter 7\n\nLine 0 of 7."
    assert lines["part"]["lines"] == [first, first + 2]
    [page] = retrieve(read, "book", part="2").structured["memories"]
    assert page["part"]["next"] == "3"
    assert "Chapter 1" in page["part"]["headings"]
    text = retrieve(read, "book", part="Appendix").text
    assert "> text: ## Appendix" in text
    assert "> The end." in text


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("Chapter 99", "has no part 'Chapter 99'; its headings: > Chapter 1 · Chapter 2"),
        ("99999-", "no lines '99999-'; it has"),
        ("999", "no page 999; it has"),
        ("0", "no page 0; it has"),
    ],
)
def test_a_part_that_is_not_there_is_refused_with_what_is(
    read: Served, part: str, sentence: str
) -> None:
    with pytest.raises(UserError, match=re.escape(sentence)):
        retrieve(read, "book", part=part)


def test_many_memories_share_the_tokens_and_short_ones_stay_whole(read: Served) -> None:
    ids = ["book", *(f"note-{number}" for number in range(19))]
    answer = retrieve(read, *ids)
    assert [memory["id"] for memory in answer.structured["memories"]] == ids
    assert all("part" in memory for memory in answer.structured["memories"])
    for number in range(20):
        read.engine.save(id=f"small-{number}", title=f"Small {number}", text="A few words. " * 12)
    small = retrieve(read, *(f"small-{number}" for number in range(20)))
    assert len(small.structured["memories"]) == 20
    read.engine.save(id="short", title="Short", text="One line.")
    book, short = retrieve(read, "book", "short").structured["memories"]
    assert "part" in book
    assert short["text"] == "One line."
    with pytest.raises(UserError, match="one id"):
        retrieve(read, "book", "short", part="1")
    [more] = call(read, "memory_retrieve", {"ids": ["book"], "max_tokens": 100_000}).structured[
        "memories"
    ]
    assert more["text"] == LONG


def test_a_long_history_keeps_to_the_tokens_too(read: Served) -> None:
    read.engine.save(id="edited", title="Edited", text="a " * 3000)
    for number in range(40):
        read.engine.edit("edited", text=f"{number} " * 3000)
    answer = call(read, "memory_retrieve", {"ids": ["edited"], "history": True})
    assert tokens(answer.text) <= 2 * WHOLE
    assert tokens(answer.structured) <= 2 * WHOLE
    assert len(answer.structured["history"]["edited"]) < 41
    assert "older versions not shown" in answer.text


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
    with open_engine(tmp_path_factory.mktemp("home")) as engine:
        for number in range(10):
            text = f"{fields['text']} {number} {SUBJECTS[number]}"
            engine.save(**fields | {"text": text, "project": "harbor-api-gateway"})
        answer = call(Served(engine), "memory_search", {"query": f"{QUERY} 支付超时"})
    assert answer.structured["results"]
    assert tokens(answer.text) <= MOST_TEXT
    assert tokens(answer.structured) <= MOST_DATA
