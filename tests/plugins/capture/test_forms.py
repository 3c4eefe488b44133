"""Remarks that a user makes outright are captured, and nothing that only looks like one."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from recollect.interfaces.hooks.answers import ASKING, PROMPT, START, SUMMARY
from recollect.plugins.capture import FORMS, LONGEST, MOST_IN_A_TURN, remarks, title_of
from recollect.types import CaptureForm

ROOT = Path(__file__).parents[3]
TAKEN = {
    "remember": (
        "remember that our staging database is on port 5433",
        "ok then, remember: the office VPN drops at noon",
        "for future reference: the CI token is rotated on Mondays",
        "keep in mind that we still support python 3.9",
    ),
    "always": (
        "always use tabs in Makefiles",
        "Please always ask before you delete a file.",
        "You must always run the migrations in a transaction",
        "whenever you change the schema, regenerate the client",
    ),
    "never": (
        "never push to main without asking me",
        "don’t ever run prettier on the vendored files",
        "we never use default exports",
    ),
    "from-now-on": (
        "From now on answer in German please",
        "use conventional commits from now on",
        "Going forward, all new endpoints need an openapi entry",
    ),
    "prefer": ("I prefer rebase over merge commits", "btw I prefer short answers, no lists"),
    "correction": (
        "no, we use vitest not jest",
        "That's wrong, we deploy with helm in this repo",
        "I told you to never use any",
        "wrong. Errors are wrapped with %w in this code base.",
    ),
}
LEFT = """
never mind
Always returns null when the list is empty
the parser always returns null
it never works on the first try
never seen that before
I always do that by mistake
you always break the tests
we never finished the migration
remember to run the tests now
remember when we broke prod?
do you remember the port
I don't remember saying that
no, use the other file
no, try again with the second one please
No, we need the second one
that's wrong, the test still fails
That's wrong, I meant the loader of the invoices
I said use the other branch
I told you to remove the header
if I said always use tabs, would you
suppose we always use UTC, what breaks
should we always use UTC?
should we always use UTC
I prefer the second option
I prefer option B of these
I'd prefer a smaller diff here
can you always log the id at the end
please always return an array from this function
never use a loop in this function
for now always use the old endpoint
add a comment that says never change this
The docs say: always use close()
as the README says "always use yarn for that"
> always use yarn for that
- always use yarn for that
he told me: never use yarn for that
    # always use yarn for that
`always use yarn for that`
from now on the class is named Foo
in the future we may need sharding
requests should never take longer than 2s
the list should always be sorted
we should always show it
you must always use it
I said I was fine with that but you still have references everywhere in this project
for the footer, I said we want capitals
Never gonna give you up
You don't have to always use the cache
/remember that our staging database is on port 5433
""".strip().splitlines()


@pytest.mark.parametrize(
    ("form", "turn"), [(f, turn) for f, all_ in TAKEN.items() for turn in all_]
)
def test_what_is_said_outright_is_taken_as_it_was_said(form: str, turn: str) -> None:
    [remark] = remarks(f"thanks. {turn}")
    assert remark.form == form
    assert remark.text in turn
    assert remark.title[0].isupper()


@pytest.mark.parametrize("turn", LEFT)
def test_what_only_looks_like_it_is_left(turn: str) -> None:
    assert remarks(turn) == []


def test_a_title_says_what_holds_and_keeps_a_no_that_belongs_to_it() -> None:
    assert title_of("ok. No, we use vitest not jest.") == "We use vitest not jest"
    assert title_of("no releases on Friday") == "No releases on Friday"
    assert title_of("never " + "word " * 40).endswith("word …")


def test_the_forms_are_those_of_the_settings() -> None:
    assert {form.name for form in FORMS} == set(get_args(CaptureForm)) == TAKEN.keys()
    assert all(form.about for form in FORMS)


@pytest.mark.parametrize(
    "paste",
    [
        "```\nalways use tabs in Makefiles\n```\nwhy does it fail",
        "the linter says:\nalways use tabs in Makefiles\nnever push to main",
        "the rules were:\n\nalways use tabs in Makefiles",
        "ValueError: bad input\nalways use tabs in Makefiles",
        "<rules>\nalways use tabs in Makefiles\n</rules>",
        'they wrote "We looked at it. Always use tabs in Makefiles. Thanks." to me',
        "\n".join(TAKEN["always"]),
    ],
)
def test_what_was_pasted_is_left(paste: str) -> None:
    assert remarks(paste) == []
    assert len(TAKEN["always"]) > MOST_IN_A_TURN


def test_own_words_beside_a_paste_are_taken() -> None:
    turn = "2026-10-12 08:14:02 ERROR never seen jti\n\nalways use tabs in Makefiles. ok?"
    assert [remark.form for remark in remarks(turn)] == ["always"]


def test_the_hooks_own_questions_are_left() -> None:
    said = (START, PROMPT, ASKING, SUMMARY)
    assert [remarks(text) for text in said] == [[], [], [], []]


@pytest.mark.parametrize(
    "turn",
    ["always " * 150_000, "<a>" * 300_000, "„always " * 100_000, "no, " + "our x " * 100_000,
     "remember that " + "x" * 1_000_000, '"' * 1_000_001, "always\n" * 150_000],
    ids=["words", "tags", "quotes", "our", "long", "marks", "lines"],
)  # fmt: skip
def test_a_turn_of_a_megabyte_is_read_no_further_than_its_start(turn: str) -> None:
    assert remarks(turn) == remarks(turn[:LONGEST])


def test_nine_of_ten_that_are_kept_are_worth_keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import bench_capture

    found = {split: bench_capture.judged(split) for split in bench_capture.splits()}
    assert sum(each.sessions for each in found.values()) >= 20
    for split, each in found.items():
        assert each.precision >= 0.9, (split, each.wrong)
        assert each.recall >= 0.5, (split, each.missed)
