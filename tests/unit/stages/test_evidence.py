"""Evidence: strong, weak or none, whatever the reranker did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from planned_search import IDENTITY, NOW, PlannedModels, ranking

from recollect.context import SearchContext
from recollect.errors import ProviderError
from recollect.ingest.draft import complete, draft
from recollect.pipeline import run
from recollect.recipes.registry import BUILT_IN
from recollect.stages.evidence import EvidenceRule, JudgeEvidence, background, coverage
from recollect.stages.rerank_interpolation import RerankInterpolation
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Ranking, Response, Search

At = Callable[..., SearchContext]
BLEND = BUILT_IN["blend"]
[RULE] = [stage for stage in BLEND.stages if isinstance(stage, JudgeEvidence)]
# The toy models are known, so that their cosines and logits count.
KNOWN = structs.replace(RULE, fitted_with=("toy",))
# Read one by one, so that it may stop behind each.
ONE_BY_ONE = [
    structs.replace(stage, batch=1) if isinstance(stage, RerankInterpolation) else stage
    for stage in BLEND.stages[:-1]
]
RECIPE = structs.replace(BLEND, stages=(*ONE_BY_ONE, KNOWN))
TEXTS = [
    "The lighthouse keeper writes the log at noon",
    "Anchor chains are painted in spring",
    "The harbour crane was repaired by Wallin",
    "Fog signals sound every ninety seconds",
    "Pilots board the tanker at the outer buoy",
    "The ferry timetable changes in October",
    "Tide tables hang in the office of the harbour master",
    "Diesel is delivered on Tuesdays",
]
# A query, the cosine of its best memory, the verdict.
ASKED = [
    ("who repaired the harbour crane", 0.75, "strong"),
    ("who paid for the harbour crane inspection", 0.60, "weak"),
    ("which opera did the tenor sing", 0.40, "none"),
]


class StopsAfter:
    """A reranker that reads so many texts, and then no more: the deadline, without a clock."""

    identity = "toy:reranker"

    def __init__(self, texts: int, score: float) -> None:
        self._left = texts
        self._score = score

    def ready(self) -> None:
        """It is."""

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        self._left -= len(documents)
        if self._left < 0:
            raise ProviderError("It stopped.", transient=True)
        return [self._score] * len(documents)


def answered(
    folder: Path, query: str, cosine: float, rerankers: Sequence[StopsAfter | None]
) -> Iterator[Response]:
    """The query asked of the harbour's vault with each reranker: of its memories the third has this
    cosine, the others have 0.3."""
    store = SqliteStore(folder / "vault.db")
    with store.writing() as write:
        keys = [
            write.add(complete(draft({"text": text}), f"m{place}", None, NOW)).key
            for place, text in enumerate(TEXTS)
        ]
    cosines = [cosine if place == 2 else 0.3 for place in range(len(TEXTS))]
    rows = [np.array([near, (1 - near**2) ** 0.5], np.float32) for near in cosines]
    store.vectors.put(IDENTITY, 2, list(zip(keys, rows, strict=True)))
    for reranker in rerankers:
        models = PlannedModels([1.0, 0.0], reranker, budget_ms=60_000)
        yield run(RECIPE, Search(query=query, now=NOW), store=store, models=models)
    store.close()


@pytest.mark.parametrize(("query", "cosine", "verdict"), ASKED)
def test_the_verdict_is_the_same_however_far_the_reranker_came(
    tmp_path: Path, query: str, cosine: float, verdict: str
) -> None:
    """Whatever it says, and wherever it stops; the confidence stays within the verdict."""
    rerankers = [
        StopsAfter(texts, score)
        for texts in range(len(TEXTS) + 1)
        for score in (1e-6, 0.5, 1 - 1e-6)
    ]
    off, *others = answered(tmp_path, query, cosine, [None, *rerankers])
    assert off.evidence == verdict
    assert {one.evidence for one in others} == {verdict}
    assert {one.counts["reranked"] for one in others} == {0, 1, 2, 3, 4, 5, 6, 7, 8}
    least, most = {
        "strong": (KNOWN.strong, 1.0), "weak": (KNOWN.weak, KNOWN.strong), "none": (0.0, KNOWN.weak)
    }[verdict]  # fmt: skip
    assert all(least <= (one.confidence or 0.0) <= most for one in (off, *others))
    assert len({one.confidence for one in others}) > 1  # it is sharpened


def test_an_order_that_the_reranker_turned_round_has_the_same_verdict(search_at: At) -> None:
    at = search_at("harbour crane", dict(zip("abc", TEXTS[1:4], strict=True)))
    at.fused = ranking("fused", {"b": 3.0, "c": 2.0, "a": 1.0})
    turned = ranking("fused", {"a": 3.0, "c": 2.0, "b": 1.0})
    verdicts = {RULE.apply(one, at).judgement for one in (at.fused, turned)}
    assert len(verdicts) == 1


def test_nothing_found_is_no_evidence(search_at: At) -> None:
    judgement = RULE.apply(Ranking(), search_at("harbour crane")).judgement
    assert judgement is not None
    assert judgement == (0.0, "none")


# Words


def covered(search_at: At, query: str, *texts: str) -> list[float]:
    memories = {f"m{place}": text for place, text in enumerate(texts)}
    found = {"subwords": dict.fromkeys(memories, 1.0)}
    at = search_at(query, memories, channels=found)
    return [round(share, 2) for share in coverage(at, list(memories))]


@pytest.mark.parametrize(
    ("query", "texts", "shares"),
    [
        ("how long do we keep the crane", ["Keep cranes long", "Boats"], [1, 0]),
        ("Wo ist der Kran", ["Kran am Hafen"], [1]),
        ("who are we", ["It is who we are", "Boats"], [1, 0]),  # then they are all there is
    ],
)
def test_words_that_only_ask_do_not_count(
    search_at: At, query: str, texts: list[str], shares: list[float]
) -> None:
    assert covered(search_at, query, *texts) == shares


def test_every_field_counts(search_at: At) -> None:
    memory = {"text": "Round up", "kind": "decision", "project": "ledger", "why": "half cents"}
    at = search_at("ledger decision half cents", {"a": memory})
    assert coverage(at, ["a"]) == [1.0]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("定例会議", "定例会議は火曜日です"),
        ("什么是服务器备份", "服务器备份每晚运行"),
        ("ตารางเรือ", "ตารางเรือเปลี่ยนแล้ว"),
    ],
)
def test_a_run_without_spaces_counts_by_its_pairs(search_at: At, query: str, text: str) -> None:
    own, other = covered(search_at, query, text, "天气很好")
    assert own == 1
    assert other < 0.2


def test_what_stands_out_is_measured_against_the_weaker_half_of_the_others() -> None:
    assert background([]) == background([0.9]) == 0
    assert background([0.9, 0.2]) == 0.2
    assert background([0.1, 0.9, 0.3, 0.8, 0.2]) == pytest.approx(0.15)


# Vectors


def judged(search_at: At, query: str, text: str, cosine: float, rule: JudgeEvidence = KNOWN) -> str:
    at = search_at(
        query,
        {"a": text},
        vectors={"a": [1.0, 0.0]},
        asked=[1.0, 0.0],
        channels={"vector": {"a": cosine}},
    )
    at.fused = ranking("fused", {"a": 1.0})
    judgement = rule.apply(at.fused, at).judgement
    assert judgement is not None
    return judgement.evidence


@pytest.mark.parametrize(("cosine", "verdict"), [(0.95, "strong"), (0.3, "none")])
def test_a_meaning_that_is_near_is_evidence_without_a_shared_word(
    search_at: At, cosine: float, verdict: str
) -> None:
    assert judged(search_at, "how do people stay logged in", "Sessions end", cosine) == verdict


def test_cosines_of_an_unknown_model_do_not_count(search_at: At) -> None:
    assert judged(search_at, "stay logged in", "Sessions end", 0.95, RULE) == "none"


def test_cosines_do_not_count_for_a_script_that_the_model_cannot_read(search_at: At) -> None:
    assert judged(search_at, "天气预报", "服务器备份每晚运行", 0.95) == "none"


def test_a_memory_that_holds_every_word_needs_no_cosine(search_at: At) -> None:
    assert judged(search_at, "voucher", "The voucher ends in May", 0.3) == "strong"


def test_more_of_anything_never_lowers_the_confidence() -> None:
    for rule in (RULE.seen, RULE.words):
        assert min(rule.coverage, rule.cosine) >= 0
    assert EvidenceRule(bias=0.0, coverage=1.0).cosine == 0
