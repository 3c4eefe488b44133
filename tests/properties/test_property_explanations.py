"""Every score comes out of its explanation, for random questions, in all recipes."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

import pytest
from corpora import RECIPES, Pair, filters, questions, vaults, words
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect import Filter, Response, UserError
from recollect.present.response import as_lines, term_json
from recollect.types import OPERATIONS, SESSION, Term, recompute

fast = settings(max_examples=examples(40))


@pytest.fixture(scope="module", params=[1, 2])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, each_store: str
) -> Iterator[Pair]:
    with vaults(tmp_path_factory.mktemp("vault"), seed=request.param) as opened:
        yield opened


def answers(
    pair: Pair, text: str, limit: int | None = None, filter: Filter | None = None
) -> Iterator[Response]:
    """The question, in every recipe, with and without models; gnosis may want a keyword."""
    for memory in pair:
        for recipe in RECIPES:
            deep = (False, True) if recipe == "gnosis" else (False,)
            for wide in deep:
                try:
                    yield memory.search(
                        text, recipe=recipe, limit=limit, deep=wide, filter=filter or Filter()
                    )
                except UserError as error:
                    if recipe != "gnosis" or "keyword" not in str(error):
                        raise


def check(term: Term) -> None:
    """An inner value follows from the values of its parts; a weighted leaf from its raw value."""
    assert isfinite(term.value)
    if term.parts:
        assert term.value == OPERATIONS[term.formula]([part.value for part in term.parts])
    elif term.weight is not None:
        assert term.raw is not None
        assert term.value == term.weight * term.raw
    for part in term.parts:
        check(part)


def check_explained(response: Response) -> None:
    for result in response:
        assert result.explain.name == response.recipe
        assert result.explain.value == result.score
        assert recompute(result.explain) == result.score
        check(result.explain)
        node = term_json(result.explain)
        assert node["value"] == result.score
        assert len(list(as_lines(result.explain))) >= 1


def check_order(response: Response) -> None:
    """The best first, equal ones by id; sessions, which `vault` gives one score, by relevance."""
    scores = [result.score for result in response]
    assert scores == sorted(scores, reverse=True)
    by_id = [
        (-result.score, result.id)
        for result in response
        if response.recipe != "vault" or result.memory.kind != SESSION
    ]
    assert by_id == sorted(by_id)
    assert len({result.id for result in response}) == len(response)
    assert response.counts["returned"] == len(response)


def check_ranges(response: Response) -> None:
    """`vault` is a weighted mean of values in 0…1, `gnosis` a share of 1, `covalence` at most
    first in both lists with every bonus."""
    slack = 1e-6  # float32 cosines
    for result in response:
        if response.recipe in ("vault", "gnosis"):
            assert -slack <= result.score <= 1 + slack
        if response.recipe == "covalence" and response.query.strip():
            assert 0 < result.score <= 0.9 * (2 / 61 + 0.2 / 61 + 0.01) + 0.0033 + slack


@given(text=questions, limit=st.none() | st.integers(1, 40), filter=st.just(Filter()) | filters)
@fast
def test_terms_recompute_results_come_best_first_equal_ones_by_id_and_scores_stay_in_range(
    pair: Pair, text: str, limit: int | None, filter: Filter
) -> None:
    """One answer for all of it: the searches are what takes time."""
    for response in answers(pair, text, limit, filter):
        check_explained(response)
        check_order(response)
        check_ranges(response)


@given(text=words, limit=st.integers(1, 30))
@fast
def test_a_smaller_limit_gives_the_beginning_of_the_same_answer(
    pair: Pair, text: str, limit: int
) -> None:
    """In recipes whose candidates do not depend on so small a limit: a cut through equal scores
    keeps those with the smallest ids."""
    for memory in pair:
        for recipe in ("router", "covalence"):
            whole = memory.search(text, recipe=recipe, limit=100)
            part = memory.search(text, recipe=recipe, limit=limit)
            assert [one.id for one in part] == [one.id for one in whole][:limit]
            assert [one.score for one in part] == [one.score for one in whole][:limit]


@given(text=words)
@settings(fast, max_examples=examples(40))
def test_the_same_question_has_the_same_answer(pair: Pair, text: str) -> None:
    first, second = (
        [(one.recipe, [(r.id, r.score, r.explain) for r in one]) for one in answers(pair, text)]
        for _ in range(2)
    )
    assert first == second
