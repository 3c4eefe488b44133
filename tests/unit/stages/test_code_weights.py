"""A question in words weighs source code by its meaning more than by its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recollect.context import SearchContext
from recollect.stages.code_weights import CodeWeights, sign_share
from recollect.types import Hit, Ranking, combine, ranked, recompute, weighted

Search = Callable[..., SearchContext]
STAGE = CodeWeights(factors={"keyword": 0.5, "vector": 1.5})
QUESTION = "how do we retry a failed request"
BACKOFF = """
def backoff(call, tries=3):
    for attempt in range(tries):
        try:
            return call()
        except OSError:
            sleep(2 ** attempt)
"""
# Its comment has the words; it does something else.
HANDLER = """
def handle(self, request):
    # a failed request is logged, we do not retry
    self.log.write(request.path, status=self.status)
    self.log.flush(status=self.status, path=request.path)
"""
NOTE = "A failed request is sent again, at most three times, and then given up."
CODE = {
    "go": "func (s *Store) Get(id int) (*Row, error) {\n\treturn s.rows[id], nil\n}",
    "rust": "pub fn get(&self, id: usize) -> Option<&Row> {\n    self.rows.get(id)\n}",
    "typescript": "export const get = (id: number): Row | null => rows.get(id) ?? null;",
    "sql": "SELECT row_id FROM rows WHERE (kind = 1 AND size <= 10) OR row_id = ?;",
    "shell": 'for f in "$1"/*.log; do\n  [ -s "$f" ] || rm "$f"; n=$((n + 1))\ndone',
}


def asked_with_vectors(search_at: Search, query: str, memories: dict[str, Any]) -> SearchContext:
    return search_at(query, memories, channels={"vector": {}})


def fused(**parts: tuple[float, float]) -> Ranking:
    """Hits by how much they stand out in words and in meaning."""
    return ranked(
        Hit(id, combine("fused", "sum", [weighted("keyword", 1.0, words, "matching words"),
                                         weighted("vector", 1.5, meaning, "similar meaning")]))
        for id, (words, meaning) in parts.items()
    )  # fmt: skip


@pytest.mark.parametrize("language", CODE)
def test_source_code_is_known_by_its_signs_in_any_language(language: str) -> None:
    assert sign_share(CODE[language]) > STAGE.prose + STAGE.ramp


def test_prose_has_hardly_any() -> None:
    assert sign_share(NOTE) == 0
    assert (
        sign_share("The bakery (open since 1990; now closed) sold bread and rolls.") < STAGE.prose
    )
    assert sign_share("") == 0


def test_a_question_in_words_finds_code_by_what_it_does(search_at: Search) -> None:
    context = asked_with_vectors(search_at, QUESTION, {"backoff": BACKOFF, "handler": HANDLER})
    before = fused(handler=(4.0, 1.0), backoff=(1.0, 2.5))
    assert before.ids == ("handler", "backoff")
    after = STAGE.apply(before, context)
    assert after.ids == ("backoff", "handler")
    for hit in after:
        assert recompute(hit.why) == hit.score
        assert [part.how for part in hit.why.parts] == [
            "matching words (source code: weight 1 × 0.5)",
            "similar meaning (source code: weight 1.5 × 1.5)",
        ]


def test_what_is_no_code_keeps_its_score(search_at: Search) -> None:
    context = asked_with_vectors(search_at, QUESTION, {"handler": HANDLER, "note": NOTE})
    before = fused(handler=(2.0, 1.0), note=(2.0, 1.0))
    scores = {hit.memory_id: hit.score for hit in STAGE.apply(before, context)}
    assert scores == {"note": 3.5, "handler": 3.25}
    assert STAGE.apply(fused(note=(2.0, 1.0)), context) == fused(note=(2.0, 1.0))


@pytest.mark.parametrize(
    "query",
    ["where is parse_qsl used again", "why does HttpClient retry requests", "retry requests",
     'the line "failed request" in the log', "what changed in retry since version 2.31"],
)  # fmt: skip
def test_a_name_or_a_few_words_are_looked_up_as_ever(search_at: Search, query: str) -> None:
    context = asked_with_vectors(search_at, query, {"backoff": BACKOFF, "handler": HANDLER})
    before = fused(handler=(4.0, 1.0), backoff=(1.0, 2.5))
    assert STAGE.apply(before, context) == before


def test_a_chunk_of_a_source_file_is_code_whatever_it_looks_like(search_at: Search) -> None:
    listing = {"text": "MOVE TOTAL TO OUTPUT-LINE. WRITE OUTPUT-LINE.", "kind": "code"}
    context = asked_with_vectors(search_at, QUESTION, {"listing": listing, "note": NOTE})
    assert STAGE.likeness(context.memory("listing")) == 1.0
    assert STAGE.likeness(context.memory("note")) == 0.0


def test_a_message_with_code_in_it_is_prose(search_at: Search) -> None:
    message = f"{NOTE} {NOTE} {NOTE} Like this:\n```python\n{BACKOFF}\n```"
    context = asked_with_vectors(search_at, QUESTION, {"message": message})
    assert sign_share(message) > STAGE.prose
    assert STAGE.likeness(context.memory("message")) == 0.0


def test_between_prose_and_code_the_factor_grows_evenly(search_at: Search) -> None:
    half = "=" * 4 + "a" * 96
    context = asked_with_vectors(search_at, QUESTION, {"half": half})
    assert STAGE.likeness(context.memory("half")) == pytest.approx(0.5)
    (hit,) = STAGE.apply(fused(half=(4.0, 0.0)), context)
    assert hit.score == pytest.approx(3.0)


def test_without_vectors_words_count_as_ever(search_at: Search) -> None:
    before = fused(handler=(4.0, 1.0), backoff=(1.0, 2.5))
    context = search_at(QUESTION, {"backoff": BACKOFF, "handler": HANDLER})
    assert STAGE.apply(before, context) == before
