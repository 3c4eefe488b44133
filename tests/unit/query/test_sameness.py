"""When two texts say the same: of two that do only one is kept, so a doubt makes two."""

from __future__ import annotations

import pytest

from recollect.query.sameness import REVERSING, TURNING, same_in_order, split_words

TWELVE = "Harbor ships parcels every Friday morning once Anna and Tom tested login, search, mail"

# Two facts that share nearly every word, and must both be kept.
DIFFERENT = {
    "an order": ("Postgres replaced MySQL", "MySQL replaced Postgres"),
    "a direction": ("Send invoices to Anna from Bob", "Send invoices from Anna to Bob"),
    "a number": ("The pool holds 10 connections", "The pool holds 20 connections"),
    "a version": ("Harbor runs v1.4", "Harbor runs v1.5"),
    "a decimal point": ("The ratio is 1:5", "The ratio is 1.5"),
    "a minus": ("The limit is -5 degrees", "The limit is 5 degrees"),
    "a unit": ("It costs $50", "It costs 50%"),
    "an inch": ('The gap is 5" wide', "The gap is 5' wide"),
    "a power": ("The field is 10\u00b2 wide", "The field is 102 wide"),
    "a comparison": ("latency < 5 is required", "latency > 5 is required"),
    "an equation": ("a == b holds", "a != b holds"),
    "a name": ("Anna owns billing", "Tom owns billing"),
    "a language": ("C++ is banned", "C# is banned"),
    "a dot": ("Keep .env out of git", "Keep env out of git"),
    "a negation": ("We deploy on Fridays", "We never deploy on Fridays"),
    "a contraction": (
        "We can deploy the harbor service to production on any Friday morning with review",
        "We can't deploy the harbor service to production on any Friday morning with review",
    ),
    "a curly contraction": ("It is safe to retry", "It isn\u2019t safe to retry"),
    "a switch": (
        "The flag for shipment export in the harbor staging cluster is on",
        "The flag for shipment export in the harbor staging cluster is off",
    ),
    "a prefix": (
        "Blocking sockets serve every outgoing webhook call of the harbor gateway today",
        "Non-blocking sockets serve every outgoing webhook call of the harbor gateway today",
    ),
    "a tense": ("Anna is the owner of billing", "Anna was the owner of billing"),
    "a conjunction": ("Tokens and sessions expire", "Tokens or sessions expire"),
    "a question": ("We ship on Friday", "We ship on Friday?"),
    "a stem": ("The review is important", "The review is imported"),
    "a longer stem": ("Our university login", "Our universal login"),
    "a sign": ("Build status ✅", "Build status ❌"),
    "a face": ("The launch went :)", "The launch went :("),
    "a box": ("[x] rotate the keys", "[ ] rotate the keys"),
    "a vowel sign": ("यह दिन है", "यह दीन है"),
    "an accent": ("Das Maß ist voll", "Das Mass ist voll"),
    "a plan": ("We follow plan A today", "We follow plan today"),
    "a pronoun": ("I prefer tabs", "You prefer tabs"),
    "no words at all": ("🙂", "🔥"),
    "articles alone": ("the", "an"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_texts_that_differ_by_one_thing_that_counts_are_two(what: str) -> None:
    one, other = DIFFERENT[what]
    assert not same_in_order(one, other)
    assert not same_in_order(other, one)


@pytest.mark.parametrize(
    "more",
    [
        "not", "never", "without", "only", "non-stop", "don't", "off", "was", "will", "nicht", "не",
        "2", "v2", "#7", "?", "✅", "Lena", "README", "नहीं",
    ],
)  # fmt: skip
def test_one_word_more_that_counts_makes_two_of_a_long_text(more: str) -> None:
    assert same_in_order(TWELVE, f"{TWELVE} again")
    for longer in (f"{TWELVE} {more}", TWELVE.replace("Anna", f"{more} Anna")):
        assert not same_in_order(TWELVE, longer)
        assert not same_in_order(longer, TWELVE)


@pytest.mark.parametrize(
    "again",
    [
        TWELVE,
        TWELVE.upper(),
        TWELVE.lower(),
        f"The {TWELVE}.",
        f"  {TWELVE.replace(' ', chr(10))}!  ",
        f"“{TWELVE.replace('Friday', '(Friday)')}”",
        TWELVE.replace(",", ";").replace("morning", "morning —"),
        TWELVE.replace("every", "nearly-every every").replace("nearly-every ", ""),
        f"{TWELVE} again",
        TWELVE.replace("parcels", "small parcels"),
    ],
)
def test_case_punctuation_and_a_few_words_more_are_the_same(again: str) -> None:
    assert same_in_order(TWELVE, again)
    assert same_in_order(again, TWELVE)


def test_the_same_letters_in_another_encoding_are_the_same() -> None:
    assert same_in_order("Le caf\u00e9 ferme", "Le cafe\u0301 ferme")
    assert same_in_order("It's done", "It\u2019s done")


def test_a_few_words_are_a_tenth_and_no_more() -> None:
    nine = "one two three four five six seven eight nine"
    assert same_in_order(nine, f"{nine} ten")
    assert not same_in_order(nine, f"{nine} ten eleven")
    assert not same_in_order("one two three four five", "one two three four five six")


def test_a_text_is_the_same_as_itself_even_without_words() -> None:
    for text in ("", "the", "—", "...", "🙂", "日本語のメモ"):
        assert same_in_order(text, text)


def test_words_keep_what_belongs_to_them() -> None:
    text = "The pool (of C++ workers) holds 50% — see `.env`, “v1.4”, don’t!"
    assert split_words(text) == [
        "pool", "of", "C++", "workers", "holds", "50%", "see", ".env", "“v1.4”", "don't",
    ]  # fmt: skip


def test_every_turning_word_counts_here_too() -> None:
    """There as stems, here as written."""
    assert TURNING - {"befor"} <= REVERSING
    assert "before" in REVERSING
