"""The explanation of a rank, and the details of a search."""

from __future__ import annotations

import re

import pytest
from browser_site import Site, attributes, expect, figure, visit, wait_for_answer
from playwright.sync_api import Locator, Page

from recollect import Recollect
from recollect.types import Response, Result, Term

WORDS = "token refresh"
SPENT = re.compile(r"^\d+\.\d$")
QUESTION = "how long do access tokens live"


def open_why(page: Page, result: Result) -> Locator:
    """The picture of this result's score."""
    why = page.locator(f"[data-result='{result.id}'] [data-why]")
    why.locator("summary").click()
    picture = why.locator("[data-waterfall]")
    expect(picture).to_be_visible()
    return picture


def shares(picture: Locator) -> list[tuple[str, float]]:
    """Return the share of each signal in the picture."""
    rows = picture.locator("[data-signal]")
    told = attributes(rows.locator("td.number"), "firstChild.textContent")
    return list(zip(attributes(rows, "dataset.signal"), map(figure, told), strict=True))


def is_a_sum(term: Term) -> bool:
    return not term.parts or (term.formula == "sum" and all(map(is_a_sum, term.parts)))


@pytest.mark.parametrize(
    ("recipe", "asked"),
    [
        ("blend", {"q": WORDS}),
        ("blend", {"q": QUESTION}),
        ("vault", {"q": WORDS}),
        ("gnosis", {"q": WORDS, "project": "lantern-web"}),  # a reranker reads all of it: few
    ],
)
def test_the_shares_add_up_to_the_score(
    page: Page, site: Site, engine: Recollect, recipe: str, asked: dict[str, str]
) -> None:
    answer = engine.search(asked["q"], recipe=recipe, limit=10, project=asked.get("project"))
    visit(page, site.at("/", recipe=recipe, **asked))
    sums = 0
    for place in (0, 1, len(answer) - 1):
        result = answer.results[place]
        card = page.locator("[data-result]").nth(place)
        expect(card).to_have_attribute("data-result", result.id)
        picture = open_why(page, result)
        within = _last_place(result.score, answer)
        written = picture.locator("[data-signal-total] td.number").inner_text()
        shown_first = card.locator(".result-head, .snippet, .about").all_inner_texts()
        assert written not in " ".join(shown_first)  # a score stands in its explanation alone
        total = figure(written)
        assert total == pytest.approx(result.score, abs=within)
        told = shares(picture)
        assert sum(value for _, value in told) == pytest.approx(total, abs=within * len(told))
        if is_a_sum(result.explain):
            sums += 1
            leaves = list(result.explain.leaves())
            assert [name for name, _ in told] == [leaf.name for leaf in leaves]
            values = [value for _, value in told]
            assert values == pytest.approx([leaf.value for leaf in leaves], abs=within)
    assert sums or recipe == "gnosis"


def _last_place(score: float, answer: Response) -> float:
    """Figures have four digits of the largest score, and half of the last may be rounded."""
    largest = max(abs(score), *(abs(result.score) for result in answer))
    return max(1e-8, largest / 1000)


def test_the_arithmetic_appears_under_the_pointer_and_the_focus(
    page: Page, site: Site, engine: Recollect
) -> None:
    [first, *_] = engine.search(WORDS, recipe="vault").results
    [leaf, other, *_] = first.explain.leaves()
    visit(page, site.at("/", q=WORDS, recipe="vault"))
    picture = open_why(page, first)
    row = picture.locator(f"[data-signal='{leaf.name}']")
    how = row.locator(".how")
    expect(how).to_have_css("opacity", "0")
    row.hover()
    expect(how).to_have_css("opacity", "1")
    expect(how).to_contain_text(leaf.formula)
    page.mouse.move(0, 0)
    expect(how).to_have_css("opacity", "0")
    row.focus()
    expect(how).to_have_css("opacity", "1")
    page.keyboard.press("Tab")
    expect(how).to_have_css("opacity", "0")
    next_one = picture.locator(f"[data-signal='{other.name}'] .how")
    expect(next_one).to_have_css("opacity", "1")
    expect(next_one).to_contain_text(other.formula)


def test_what_was_found_dropped_and_how_long_it_took_is_told(
    page: Page, site: Site, engine: Recollect
) -> None:
    answer = engine.search(QUESTION, limit=10)
    counts = dict(answer.counts)
    dropped = counts.pop("dropped")
    assert isinstance(dropped, dict)
    visit(page, site.at("/", q=QUESTION))
    did = page.locator("[data-did]")
    did.locator("summary").click()
    kept, times = did.locator("table").all()
    names = {
        "pool": "candidates after merging",
        "reranked": "read by the reranker",
        "returned": "shown",
    }
    told = dict(
        zip(
            attributes(kept.locator("th"), "textContent"),
            map(figure, attributes(kept.locator("td"), "textContent")),
            strict=True,
        )
    )
    for name, count in counts.items():
        assert told.pop(names.get(name, f"channel {name}")) == count
    assert sorted(told.values()) == sorted(-count for count in dropped.values())
    assert "not shown: ranked below the results shown" in told

    rows = times.locator("tr")
    stages = [name for name in answer.timings_ms if name.startswith("stages.")]
    assert stages
    for stage in stages:
        named = f"stage {stage.removeprefix('stages.')}"
        expect(rows.filter(has_text=named).locator("td.number")).to_have_text(SPENT)


def test_a_search_without_results_still_says_what_it_did(page: Page, site: Site) -> None:
    visit(page, site.at("/", q=WORDS, project="nowhere"))
    did = page.locator("[data-did]")
    did.locator("summary").click()
    expect(did.get_by_role("row", name="shown 0")).to_be_visible()


def test_an_open_picture_stays_open_when_results_are_narrowed(
    page: Page, site: Site, engine: Recollect
) -> None:
    visit(page, site.at("/", q=WORDS))
    [decision, *_] = engine.search(WORDS, kind="decision").results
    open_why(page, decision)
    page.locator('[data-filters] [data-chip="kind:decision"]').click()
    wait_for_answer(page, q=WORDS, kind="decision")
    card = page.locator(f"[data-result='{decision.id}']")
    expect(card.locator("[data-waterfall]")).to_be_visible()
