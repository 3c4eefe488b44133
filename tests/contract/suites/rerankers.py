"""The contract of every reranker: subclass `RerankerContract` under pytest to check yours."""

from __future__ import annotations

from recollect.models.base import Reranker

QUERY = "How large should the database connection pool be?"

DOCUMENTS = (
    "Anna prefers tea to coffee in the morning.",
    "The database connection pool should be ten connections large.",
    "The deploy failed because the disk was full.",
    "Rotate the signing keys every ninety days.",
)
ANSWER = 1  # the place of the document that answers the query

ODD_DOCUMENTS = (
    "日本語のメモを検索する",
    "👩‍👩‍👧‍👦 🏳️‍🌈",
    "a lone surrogate \ud800 in the middle",
    '"quotes", \\backslashes\\ and </tags>',
    "word " * 3000,
)


class RerankerContract:
    """The laws of `Reranker`, one test each. `reranker` is called once per test."""

    # How far a score may move when the same pair is scored again, perhaps in other company.
    tolerance: float = 1e-3

    def reranker(self) -> Reranker:
        """The reranker under test, ready for use."""
        raise NotImplementedError("Return the reranker to check.")

    def test_one_score_in_range_per_document(self) -> None:
        _check_scores(self.reranker().scores(QUERY, DOCUMENTS), len(DOCUMENTS))

    def test_the_document_that_answers_scores_highest(self) -> None:
        scores = self.reranker().scores(QUERY, DOCUMENTS)
        assert max(range(len(scores)), key=scores.__getitem__) == ANSWER, f"Scores: {scores}."

    def test_a_score_follows_its_document_whatever_the_order(self) -> None:
        reranker = self.reranker()
        forwards = reranker.scores(QUERY, DOCUMENTS)
        backwards = reranker.scores(QUERY, DOCUMENTS[::-1])[::-1]
        _check_close(forwards, backwards, self.tolerance)

    def test_a_score_does_not_depend_on_the_other_documents(self) -> None:
        reranker = self.reranker()
        together = reranker.scores(QUERY, DOCUMENTS)
        alone = [reranker.scores(QUERY, [document])[0] for document in DOCUMENTS]
        _check_close(together, alone, self.tolerance)

    def test_the_same_question_gives_the_same_scores(self) -> None:
        reranker = self.reranker()
        first, second = (reranker.scores(QUERY, DOCUMENTS) for _ in range(2))
        _check_close(first, second, self.tolerance)

    def test_the_same_document_twice_is_scored_twice(self) -> None:
        scores = self.reranker().scores(QUERY, [DOCUMENTS[ANSWER]] * 2)
        _check_scores(scores, 2)
        _check_close(scores[:1], scores[1:], self.tolerance)

    def test_no_documents_give_no_scores(self) -> None:
        assert self.reranker().scores(QUERY, []) == []

    def test_odd_and_long_texts_are_scored_like_any_other(self) -> None:
        reranker = self.reranker()
        for query in (QUERY, *ODD_DOCUMENTS[:-1]):
            _check_scores(reranker.scores(query, ODD_DOCUMENTS), len(ODD_DOCUMENTS))

    def test_identity_is_a_stable_text_of_one_line(self) -> None:
        reranker = self.reranker()
        before = reranker.identity
        reranker.scores(QUERY, DOCUMENTS)
        assert before == reranker.identity, "The identity changed by use."
        assert before.strip(), "The identity is empty."
        assert len(before.splitlines()) == 1, "The identity must be one line."


def _check_scores(scores: list[float], count: int) -> None:
    assert len(scores) == count, f"{count} documents gave {len(scores)} scores."
    assert all(0 <= score <= 1 for score in scores), f"Not all scores are in 0…1: {scores}."


def _check_close(some: list[float], others: list[float], tolerance: float) -> None:
    pairs = zip(some, others, strict=True)
    assert all(abs(a - b) <= tolerance for a, b in pairs), f"{some} differs from {others}."
