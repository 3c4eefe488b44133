"""No text that anyone can type raises, or becomes syntax where it is not meant to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import pytest
from corpora import NOISE, RECIPES, Pair, questions, vaults
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from recollect import UserError
from recollect.checks import LONGEST_QUERY
from recollect.present.response import VIEWS

fast = settings(max_examples=examples(60))
LONG = " ".join(f"word{n} alpha" for n in range(670))[:LONGEST_QUERY]
SURROGATES = "".join(chr(point) for point in (0xD800, 0x61, 0xDFFF))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with vaults(tmp_path_factory.mktemp("vault"), seed=3) as opened:
        yield opened


def ask(pair: Pair, recipe: str, text: str, view: str | None = None, *, deep: bool = False) -> None:
    for memory in pair:
        try:
            response = memory.search(text, recipe=recipe, view=view, deep=deep)
        except UserError as error:
            if recipe != "gnosis" or "keyword" not in str(error):
                raise
        else:
            assert response.query == text.replace("\0", " ")


@pytest.mark.parametrize("recipe", RECIPES)
@given(text=questions, view=st.sampled_from([None, *VIEWS]))
@example(text='"', view="snippet")
@example(text="NEAR(", view="snippet")
@example(text='alpha " OR "', view="snippet")
@example(text="a\0b", view="full")
@example(text="\0", view="snippet")
@example(text="*reads", view="snippet")
@example(text="(" * 99 + "alpha" + ")" * 99, view="snippet")
@example(text="alpha" + " NOT beta" * 300, view="snippet")
@example(text="(alpha OR beta AND " * 60 + "x" + ")" * 60, view="snippet")
@example(text="\u202eשלום 東京", view="preview")
@example(text="😀" * 200, view="pointer")
@fast
def test_no_query_text_raises(pair: Pair, recipe: str, text: str, view: str | None) -> None:
    ask(pair, recipe, text, view)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_longest_query_is_one_like_any_other(pair: Pair, recipe: str, view: str) -> None:
    ask(pair, recipe, LONG, view)


def test_a_long_query_says_which_of_its_words_were_keywords(pair: Pair) -> None:
    for recipe in ("blend", "vault", "echovault", "router", "covalence"):
        [note] = [n for n in pair.bare.search(LONG, recipe=recipe).notes if "Long query" in n]
        assert "100" in note
    exactly = " ".join(f"word{n}" for n in range(100))
    assert pair.bare.search(exactly, recipe="covalence").notes == ()


@given(text=questions)
@fast
def test_deep_search_raises_for_keywords_alone(pair: Pair, text: str) -> None:
    ask(pair, "gnosis", text, deep=True)


@pytest.mark.parametrize("recipe", RECIPES)
def test_text_that_is_not_utf8_is_refused_in_a_sentence(pair: Pair, recipe: str) -> None:
    for memory in pair:
        with pytest.raises(UserError, match="not valid UTF-8"):
            memory.search(SURROGATES, recipe=recipe)
        with pytest.raises(UserError, match="not valid UTF-8"):
            memory.context(SURROGATES)


@given(text=questions)
@fast
def test_punctuation_is_never_syntax_in_vault_and_covalence(pair: Pair, text: str) -> None:
    """Anything but letters, digits and underscores could as well be a blank."""
    bare = re.sub(r"\W", " ", unicodedata.normalize("NFC", text))
    for recipe in ("vault", "covalence"):
        if recipe == "covalence" and (not bare.strip()) != (not text.replace("\0", " ").strip()):
            continue  # nothing but punctuation is a question that finds nothing, not a browse
        asked, plain = (
            {one.id for one in pair.bare.search(one_text, recipe=recipe, limit=200)}
            for one_text in (text, bare)
        )
        assert asked == plain


@given(sign=st.sampled_from(NOISE), place=st.integers(0, 2))
@fast
def test_a_lone_sign_neither_adds_nor_removes_in_echovault(
    pair: Pair, sign: str, place: int
) -> None:
    """Pieces are joined with OR: a piece without a letter or digit finds nothing."""
    if any(character.isalnum() or character == "\ue000" for character in sign):
        return
    pieces = ["alpha", "cat"]
    pieces.insert(place, sign)
    asked, plain = (
        {one.id: one.score for one in pair.bare.search(text, recipe="echovault", limit=100)}
        for text in (" ".join(pieces), "alpha cat")
    )
    assert asked == plain


@given(text=questions, limit=st.sampled_from([1, 3, 10**9]))
@fast
def test_context_takes_any_text(pair: Pair, text: str, limit: int) -> None:
    for memory in pair:
        for semantic in ("auto", "always", "never"):
            found = memory.context(text, limit=limit, semantic=semantic)
            assert len({one.id for one in found.memories}) == len(found.memories) <= limit
