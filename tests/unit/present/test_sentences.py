"""Text for people: safe characters, and sentences about a search, the same in every interface."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime
from typing import Any

import pytest

from recollect.present import sentences
from recollect.present.response import SnippetView
from recollect.present.sentences import one_line, quoted, visible, visible_json
from recollect.types import Degraded, Memory, Reach, Response, Result, leaf

THEN, NOW = datetime(2026, 1, 14, tzinfo=UTC), datetime(2026, 8, 21, tzinfo=UTC)


def memory(id: str, changed: datetime = NOW) -> Memory:
    return Memory(id=id, title=id, created_at=THEN, updated_at=changed)


def result(id: str = "deploy-2", **others: Any) -> Result:
    term = leaf("blend", 1.0, "1")
    shown = SnippetView("", "", "", [], "")
    return Result(
        id=id, score=1.0, vault="agent", memory=memory(id), explain=term, shown=shown, **others
    )


def response(results: tuple[Result, ...] = (), **fields: Any) -> Response:
    counts = {"keyword": 3, "pool": 3, "reranked": 0, "returned": 1, "dropped": {}}
    usual: dict[str, Any] = {
        "query": "deploy", "recipe": "blend", "view": "scan", "intent": "keyword", "topics": {},
        "degraded": (), "notes": (), "timings_ms": {"rerank": 299.8, "total": 310.0},
    }  # fmt: skip
    counts |= fields.pop("counts", {})
    return Response(results=results, counts=counts, **usual | fields)


@pytest.mark.parametrize(
    ("evidence", "start"),
    [("strong", "Strong evidence"), ("weak", "Weak evidence"), ("none", "Probably not")],
)
def test_the_evidence_is_said_in_a_word(evidence: str, start: str) -> None:
    assert sentences.evidence(response((result(),), evidence=evidence)).startswith(start)


def test_nothing_is_said_where_nothing_was_judged_or_there_is_no_result() -> None:
    assert sentences.evidence(response((result(),))) == ""
    assert sentences.evidence(response(evidence="none")) == ""


def test_what_was_read_as_a_time_is_said() -> None:
    assert sentences.understood(response()) == []
    found = sentences.understood(response(understood=("last week = 2026-08-10 to 2026-08-16",)))
    assert found == ["Understood: last week = 2026-08-10 to 2026-08-16"]


def test_what_is_not_shown_is_one_number() -> None:
    assert sentences.not_shown(response()) == ""
    dropped = {"pool": 33, "limit": 1028}
    assert sentences.not_shown(response(counts={"dropped": dropped})) == "1,061 more not shown"


def test_a_result_names_those_it_stands_for() -> None:
    found = result(
        same=(memory("deploy-3"), memory("deploy-4")),
        replaces=(memory("deploy-1", THEN),),
        superseded_by=memory("deploy-9"),
    )
    assert list(sentences.others(found)) == [
        "says the same as deploy-3, deploy-4",
        "replaces deploy-1 (2026-01-14)",
        "replaced by deploy-9 (2026-08-21)",
    ]
    believed = result(seems_to_replace=(memory("deploy-1"),), seems_replaced_by=memory("deploy-9"))
    assert not list(sentences.others(believed)), "a belief is not said"


@pytest.mark.parametrize(
    ("degraded", "counts", "sentence"),
    [
        (Degraded("vector", "no model"), {}, "No search by meaning: no model"),
        (Degraded("rerank", "no model"), {}, "No reranking: no model"),
        (Degraded("vector", "2 wait"), {"vector": 3}, "Incomplete search by meaning: 2 wait"),
        (Degraded("rerank", "it broke"), {"reranked": 3}, "Incomplete reranking: it broke"),
        (Degraded("rerank", "any reason", Reach(8, 20)), {"reranked": 8},
         "The reranker read 8 of 20 results in time; the rest keep their order."),
        (Degraded("laptop", "It is asleep."), {}, "Without laptop: It is asleep."),
        (Degraded("laptop/rerank", "any reason", Reach(0, 2)), {},
         "The reranker read none of 2 results in time; they keep their order."),
    ],
)  # fmt: skip
def test_a_part_that_is_missing_or_incomplete_is_named(
    degraded: Degraded, counts: dict[str, int], sentence: str
) -> None:
    assert sentences.degraded(degraded, response(counts=counts)) == sentence


EVIL = "a\u202eb\x1b[2Jc\x7fd\x9be\U000e0041f\u2066g\rh"


def test_no_character_that_steers_or_reorders_or_hides_is_left() -> None:
    shown = visible(EVIL)
    assert shown == "a<U+202E>b␛[2Jc␡d<U+009B>e<U+E0041>f<U+2066>g␍h"
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    left = {c for c in visible(every) if unicodedata.category(c) == "Cc"}
    assert left == {"\t", "\n"}
    orders = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not {c for c in visible(every) if unicodedata.bidirectional(c) in orders}


@pytest.mark.parametrize("text", ["plain", "naïve 日本語 👩‍💻", "שלום", "a\tb\nc"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert visible_json(json.dumps(text, ensure_ascii=False)) == json.dumps(
        text, ensure_ascii=False
    )


def test_json_reads_back_as_what_was_written() -> None:
    encoded = visible_json(json.dumps({EVIL: EVIL}, ensure_ascii=False))
    assert json.loads(encoded) == {EVIL: EVIL}
    assert visible(encoded) == encoded


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_every_kind_of_line_is_quoted_and_joined(end: str) -> None:
    assert quoted(f"one{end}two") == "> one\n> two"
    assert one_line(f"one{end}two") == "one two"
