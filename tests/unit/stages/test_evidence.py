"""Evidence: strong, weak or none, whatever the reranker did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs
from planned_search import IDENTITY, NOW, PlannedModels, ranking
from suites.stores.samples import CHANGE

from recollect.context import SearchContext
from recollect.errors import ProviderError
from recollect.ingest.draft import complete, draft
from recollect.pipeline import run
from recollect.recipes.base import Recipe
from recollect.recipes.registry import BUILT_IN
from recollect.stages.evidence import EvidenceRule, JudgeEvidence, Signs, background, reading
from recollect.stages.rerank_interpolation import RerankInterpolation
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Ranking, Response, Search

At = Callable[..., SearchContext]
BLEND = BUILT_IN["blend"]
[RULE] = [stage for stage in BLEND.stages if isinstance(stage, JudgeEvidence)]
# The toy models are known, so that their cosines and logits count.
KNOWN = structs.replace(RULE, fitted_with=("toy",))
# Read one by one, so that it may stop behind each, and however far apart they stand.
ONE_BY_ONE = [
    structs.replace(stage, batch=1, bound=100.0)
    if isinstance(stage, RerankInterpolation)
    else stage
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
    folder: Path,
    query: str,
    cosine: float,
    rerankers: Sequence[StopsAfter | None],
    recipe: Recipe = RECIPE,
) -> Iterator[Response]:
    """The query asked of the harbour's vault with each reranker: of its memories the third has this
    cosine, the others have 0.3."""
    store = SqliteStore(folder / "vault.db")
    with store.writing(CHANGE) as write:
        keys = [
            write.add(complete(draft({"text": text}), f"m{place}", None, NOW)).key
            for place, text in enumerate(TEXTS)
        ]
    cosines = [cosine if place == 2 else 0.3 for place in range(len(TEXTS))]
    rows = [np.array([near, (1 - near**2) ** 0.5], np.float32) for near in cosines]
    store.vectors.put(IDENTITY, 2, list(zip(keys, rows, strict=True)))
    for reranker in rerankers:
        models = PlannedModels([1.0, 0.0], reranker, budget_ms=60_000)
        yield run(recipe, Search(query=query, now=NOW), store=store, models=models)
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


@pytest.mark.parametrize("query", ["クレーンを修理したのは誰ですか", "wer hat den Kran repariert"])
@pytest.mark.parametrize(("cosine", "verdict"), [(0.9, "strong"), (0.32, "none")])
def test_a_model_for_many_languages_is_believed_in_any_of_them(
    tmp_path: Path, query: str, cosine: float, verdict: str
) -> None:
    """The question shares no word with what answers it."""
    many = structs.replace(RULE, many_with=("toy",))
    recipe = structs.replace(BLEND, stages=(*BLEND.stages[:-1], many))
    [found] = answered(tmp_path, query, cosine, [None], recipe)
    assert found.evidence == verdict


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


def signs(search_at: At, query: str, *texts: str | dict[str, str]) -> list[Signs]:
    """What speaks for each of these memories."""
    memories = {f"m{place}": text for place, text in enumerate(texts)}
    at = search_at(query, memories, channels={"subwords": dict.fromkeys(memories, 1.0)})
    at.fused = ranking("fused", dict.fromkeys(memories, 1.0))
    return RULE.signs(at)


def covered(search_at: At, query: str, *texts: str | dict[str, str]) -> list[float]:
    return [round(one.coverage, 2) for one in signs(search_at, query, *texts)]


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
    assert covered(search_at, "ledger decision half cents", memory) == [1.0]


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


def test_letters_that_every_thai_text_has_are_no_words(search_at: At) -> None:
    own, other = covered(
        search_at, "ตารางเรือข้ามฟาก", "ตารางเรือข้ามฟากเปลี่ยนแล้ว", "รางวัลการเขียนข่าวของฟาร์ม"
    )
    assert own == 1
    assert other < 0.1


def test_a_hindi_word_is_one_word_with_its_vowel_signs(search_at: At) -> None:
    """The index splits it there, and its pieces stand in any text."""
    own, other = covered(
        search_at, "बिजली का बिल कितना है", "बिजली का बिल 900 रुपये", "बाजार में लाल जीप"
    )
    assert own == 1
    assert other == 0


def test_words_that_stand_together_are_told_from_words_far_apart(search_at: At) -> None:
    far = f"Crane {'rope ' * 30} inspection"
    together, apart = signs(search_at, "crane inspection", "The inspection of the crane", far)
    assert together.near == together.coverage == apart.coverage == 1
    assert apart.near == pytest.approx(0.5)


def test_words_are_known_that_stand_anywhere_in_any_form(search_at: At) -> None:
    [held] = signs(search_at, "cranes of Wallin", "The crane was painted")
    assert held.known == held.coverage == pytest.approx(0.5)
    assert held.held == pytest.approx(1)


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


@pytest.mark.parametrize(("others", "verdict"), [(0.45, "strong"), (0.78, "weak")])
def test_a_cosine_counts_more_where_the_others_are_far_below_it(
    search_at: At, others: float, verdict: str
) -> None:
    cosines = {"a": 0.8, **dict.fromkeys("bcdefgh", others)}
    at = search_at(
        "who pays for the crane",
        {id: "Cranes" if id == "a" else "Boats" for id in cosines},
        vectors={id: [1.0, 0.0] for id in cosines},
        asked=[1.0, 0.0],
        channels={"vector": cosines},
    )
    at.fused = ranking("fused", cosines)
    judgement = KNOWN.apply(at.fused, at).judgement
    assert judgement is not None
    assert judgement.evidence == verdict


def test_a_language_that_the_model_cannot_read_has_its_own_rule() -> None:
    read = Signs(0.3, 0.3, 0.3, 1.0, 0.5, cosine=0.85, lead=0.1)
    for signs, rule in (
        (read, RULE.seen),
        (read._replace(reads="letters"), RULE.foreign),
        (read._replace(cosine=None, lead=0.0), RULE.words),
        (read._replace(cosine=None, lead=0.0, reads="nothing"), RULE.unread),
    ):
        assert RULE.verdict([signs]).confidence == rule.confidence(signs)
    assert RULE.foreign.cosine < RULE.seen.cosine


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("who repaired the harbour crane", "language"),
        ("Terraform module for DNS", "language"),
        ("kubectl rollout", "language"),
        ("Wer hat den Kran am Hafen repariert", "letters"),
        ("¿Quién reparó la grúa del puerto?", "letters"),
        ("кто починил кран", "nothing"),
        ("", "language"),
    ],
)
def test_another_language_is_told_by_its_words(text: str, reads: str) -> None:
    assert reading(text) == reads


def test_a_memory_that_holds_every_word_needs_no_cosine(search_at: At) -> None:
    assert judged(search_at, "voucher", "The voucher ends in May", 0.3) == "strong"


def test_more_of_anything_never_lowers_the_confidence() -> None:
    for rule in (RULE.seen, RULE.foreign, RULE.words, RULE.unread):
        assert min(structs.astuple(rule)[1:]) >= 0
    for rule in (RULE.words, RULE.unread):
        assert rule.cosine == rule.lead == 0
    assert EvidenceRule(bias=0.0, coverage=1.0).cosine == 0
