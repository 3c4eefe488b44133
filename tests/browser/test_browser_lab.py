"""A person compares two recipes, moves a constant, keeps what works, and says what was right."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest
from browser_site import Site, Watched, attributes, expect, figure, in_order, visit
from playwright.sync_api import Locator, Page

from recollect import Recollect
from recollect.recipes.tree import constants
from recollect_evaluation.own_questions import own_scores

WORDS = "token refresh"
SHOWN = 10
SEVERITY = "stages.score.signals.severity.weight"
WORDED = "stages.score.signals.semantic.with_vectors"


def rows(page: Page, side: str) -> Locator:
    return page.locator(f"[data-side={side}] [data-row]")


def rank(page: Page, side: str, engine: Recollect, recipe: str, **changes: float) -> list[str]:
    """Wait until the side shows what the engine ranks with these changes, and return it."""
    answer = engine.search(WORDS, recipe=recipe, limit=SHOWN, changes=changes)
    ids = [result.id for result in answer][:SHOWN]
    in_order(rows(page, side), "data-id", ids)
    return ids


def field(page: Page, side: str, constant: str) -> Locator:
    return page.locator(f'input[name="{side}.set.{constant}"]')


def slider(page: Page, side: str, constant: str) -> Locator:
    return page.locator(f'[data-constants={side}] input[type=range][aria-label="{constant}"]')


@pytest.fixture
def lab(page: Page, site: Site) -> Page:
    visit(page, site.at("/lab", q=WORDS))
    return page


@pytest.fixture
def own_recipe(site: Site) -> Iterator[str]:
    name = "my-own"
    yield name
    (site.home / "recipes" / f"{name}.toml").unlink(missing_ok=True)


# Two lists


def test_two_recipes_rank_one_query(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/lab"))
    expect(page.locator("[data-empty]")).to_contain_text("Two recipes, one query")
    suggested = page.locator("[data-example]").all_inner_texts()
    assert suggested
    titles = {memory.title for memory in engine.list(limit=100)}
    assert titles.issuperset(example for example in suggested if not example.endswith("?"))
    assert not titles.isdisjoint(suggested)
    page.locator("#lab-q").fill(WORDS)  # that is all: the form is live
    rank(page, "left", engine, "vault")
    rank(page, "right", engine, "blend")
    expect(page).to_have_url(re.compile(r"/lab\?q=token\+refresh&left=vault&right=blend"))
    expect(page).to_have_title(f"{WORDS} · Lab · Recollect")
    expect(page.locator("[data-took]")).to_have_text([re.compile(r"\d+ ms")] * 2)


def test_lines_join_what_both_lists_hold(lab: Page, engine: Recollect) -> None:
    left = rank(lab, "left", engine, "vault")
    right = rank(lab, "right", engine, "blend")
    lines = lab.locator("[data-lines] path")
    ways = dict(
        zip(attributes(lines, "dataset.id"), attributes(lines, "attributes.d.value"), strict=True)
    )
    assert set(ways) == {*left, *right}
    both = {*left} & {*right}
    assert both
    assert {id for id, way in ways.items() if "C" in way} == both  # a curve, and else a stub

    found = engine.search(WORDS, recipe="vault", limit=SHOWN)
    places = {result.id: place for place, result in enumerate(found)}
    for place, id in enumerate(right):
        move = rows(lab, "right").nth(place).locator("[data-move]")
        if id not in places:
            expect(move).to_have_text("only here")
        elif places[id] == place:
            expect(move).to_contain_text("same rank on both sides")
        else:
            expect(move).to_have_attribute("data-ranks", f"{places[id] + 1} → {place + 1}")


def test_another_recipe_is_chosen(lab: Page, engine: Recollect) -> None:
    lab.locator("#right-recipe").select_option("echovault")
    rank(lab, "right", engine, "echovault")
    rank(lab, "left", engine, "vault")
    expect(lab.locator("#right-recipe")).to_be_focused()
    expect(lab).to_have_url(re.compile("right=echovault"))
    lab.go_back()
    rank(lab, "right", engine, "blend")


def test_why_stands_in_the_row_on_both_sides(lab: Page, engine: Recollect) -> None:
    left = rank(lab, "left", engine, "vault")
    first = next(id for id in rank(lab, "right", engine, "blend") if id in left)
    button = lab.locator(f'[data-side=right] [data-row][data-id="{first}"] [data-why]')
    button.click()
    for side, recipe in (("left", "vault"), ("right", "blend")):
        row = lab.locator(f'[data-side={side}] [data-row][data-id="{first}"]')
        picture = row.locator("[data-waterfall]")
        expect(picture).to_be_visible()
        [result] = [r for r in engine.search(WORDS, recipe=recipe, limit=SHOWN) if r.id == first]
        total = figure(picture.locator("[data-signal-total] td.number").inner_text())
        assert total == pytest.approx(result.score, rel=1e-3)
        names = [leaf.name for leaf in result.explain.leaves()]
        assert attributes(picture.locator("[data-signal]"), "dataset.signal") == names
    expect(button).to_be_focused()
    expect(lab.locator("#compare")).to_have_attribute("data-compare", first)
    lab.keyboard.press("Escape")
    expect(lab.locator("[data-why-here], #compare")).to_have_count(0)
    expect(button).to_be_focused()


def test_both_sides_say_how_well_they_answer_ones_own_questions(
    page: Page, site: Site, engine: Recollect
) -> None:
    """A slider that makes a question worse says so; what was accepted does not count by itself."""
    [right] = [one.id for one in engine.search(WORDS, limit=1)]
    engine.feedback("which token refresh is the right one", right, accept=True)
    try:
        nothing = {"fuse.weights.keyword": 0.0, "fuse.weights.vector": 0.0}
        visit(page, site.at("/lab", q=WORDS, **{f"right.set.{k}": v for k, v in nothing.items()}))
        own = page.locator("[data-own=right]")
        expect(own.locator("[data-changes]")).to_contain_text("worse than unchanged")
        pairs = [(engine.recipes.with_changes("blend", nothing), engine.recipe("blend"))]
        found = own_scores(engine, pairs)
        expect(own.locator("b")).to_have_text(f"{found.scores[0].ndcg:.3f}")
        expect(page.locator("[data-own=left] [data-changes]")).to_have_count(0)
    finally:
        engine.feedback("which token refresh is the right one", right, undo=True)


def test_differences_are_listed(lab: Page) -> None:
    fold = lab.locator("[data-differences]")
    count = int(fold.get_attribute("data-differences") or 0)
    assert count
    fold.locator("summary").click()
    expect(lab.locator("[data-differences] tbody tr")).to_have_count(count)


# Constants


def test_every_constant_of_both_recipes_is_within_reach(lab: Page, engine: Recollect) -> None:
    for side, recipe in (("left", "vault"), ("right", "blend")):
        fields = lab.locator(f"[data-constants={side}] [data-range]")
        told = dict(zip(attributes(fields, "name"), attributes(fields, "value"), strict=True))
        held = {f"{side}.set.{one.name}": one.value for one in constants(engine.recipe(recipe))}
        assert {name: float(value) for name, value in told.items()} == pytest.approx(held)


def test_a_constant_is_found_by_its_name(lab: Page) -> None:
    panel = lab.locator("[data-constants=left]")
    panel.locator("[data-find]").fill("half_life")
    expect(panel.locator("[data-range]:visible")).to_have_count(1)
    panel.locator("[data-find]").fill("nothing like it")
    expect(panel.locator("[data-none]")).to_be_visible()


def test_moving_a_slider_ranks_anew_and_resetting_restores(lab: Page, engine: Recollect) -> None:
    before = rank(lab, "left", engine, "vault")
    handle = slider(lab, "left", SEVERITY)
    handle.focus()
    lab.keyboard.press("End")
    expect(field(lab, "left", SEVERITY)).to_have_value("1")
    after = rank(lab, "left", engine, "vault", **{SEVERITY: 1.0})
    assert after != before
    expect(lab).to_have_url(re.compile(rf"left\.set\.{SEVERITY}=1"))
    expect(handle).to_be_focused()
    total = lab.locator("[data-constants=left] [data-total]")
    expect(total).to_have_text("1 changed")
    expect(lab.locator("[data-summary]")).to_contain_text("moved")
    rank(lab, "right", engine, "blend")

    lab.locator("[data-constants=left] .constant.changed .reset").click()
    rank(lab, "left", engine, "vault")
    expect(total).to_be_hidden()
    expect(lab).not_to_have_url(re.compile("left.set"))


def test_several_constants_count_together_and_are_reset_together(
    page: Page, site: Site, engine: Recollect
) -> None:
    """A number beyond the slider's reach can be typed, and an address brings changes back."""
    changes = {SEVERITY: 0.0, WORDED: 2.5}
    visit(page, site.at("/lab", q=WORDS, **{f"left.set.{SEVERITY}": "0"}))
    field(page, "left", WORDED).fill("2.5")
    rank(page, "left", engine, "vault", **changes)
    page.reload()
    rank(page, "left", engine, "vault", **changes)
    expect(page.locator("[data-constants=left] [data-total]")).to_have_text("2 changed")
    page.locator("[data-constants=left] [data-reset-all]").click()
    rank(page, "left", engine, "vault")


def test_a_value_that_is_not_allowed_is_told_and_the_list_stays(
    lab: Page, engine: Recollect
) -> None:
    before = rank(lab, "left", engine, "vault")
    number = field(lab, "left", SEVERITY)
    number.fill("-5")
    number.blur()
    problem = lab.locator("[data-side=left] [data-problem]")
    expect(problem).to_contain_text(SEVERITY)
    expect(problem).to_contain_text("The list is the one from before.")
    in_order(rows(lab, "left"), "data-id", before)
    number.fill("0.5")
    rank(lab, "left", engine, "vault", **{SEVERITY: 0.5})
    expect(problem).to_have_count(0)


def test_a_constant_that_is_not_there_is_told(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/lab", q=WORDS, **{"left.set.stages.nothing": "1"}))
    expect(page.locator("[data-side=left] [data-problem]")).to_contain_text("stages.nothing")
    rank(page, "right", engine, "blend")


# Keeping it


def test_what_works_is_saved_as_a_recipe(
    lab: Page, site: Site, engine: Recollect, own_recipe: str
) -> None:
    slider(lab, "left", SEVERITY).focus()
    lab.keyboard.press("End")
    field(lab, "left", WORDED).fill("0.6")
    changes = {SEVERITY: 1.0, WORDED: 0.6}
    ids = rank(lab, "left", engine, "vault", **changes)
    side = lab.locator("[data-side=left]")
    side.locator("[data-saving] summary").click()
    written = side.locator("[data-toml]").inner_text()
    side.locator("[data-as]").fill(own_recipe)
    side.locator("[data-save]").click()
    expect(lab.locator("[data-toasts]")).to_contain_text(f"Saved as {own_recipe}.")
    expect(lab.locator("#left-recipe")).to_have_value(own_recipe)

    text = (site.home / "recipes" / f"{own_recipe}.toml").read_text()
    signals = {"severity": {"weight": 1.0}, "semantic": {"with_vectors": 0.6}}
    kept = {"extends": "vault", "stages": {"score": {"signals": signals}}}
    assert tomllib.loads(text) == kept == tomllib.loads(written)
    rank(lab, "left", engine, own_recipe)
    assert [one.id for one in engine.search(WORDS, recipe=own_recipe, limit=SHOWN)][:SHOWN] == ids
    expect(lab.locator("[data-constants=left] [data-total]")).to_be_hidden()

    side.locator("[data-owned] summary").click()
    side.locator("[data-name]").fill("my-renamed")
    lab.keyboard.press("Enter")
    expect(lab.locator("#left-recipe")).to_have_value("my-renamed")
    assert engine.recipe("my-renamed").name == "my-renamed"
    side.locator("[data-owned] summary").click()
    side.get_by_role("button", name="Delete my-renamed").click()
    expect(lab.locator("#left-recipe")).to_have_value("vault")
    assert not list(site.home.glob("recipes/*.toml"))


def test_a_name_that_is_taken_is_replaced_only_on_demand(
    lab: Page, site: Site, engine: Recollect, own_recipe: str, watched: Watched
) -> None:
    """It was taken after the page was opened: the server has to say so."""
    watched.allow("status of 409")
    engine.save_recipe(own_recipe, extends="vault", changes={WORDED: 0.9})
    file = site.home / "recipes" / f"{own_recipe}.toml"
    before = file.read_text()
    side = lab.locator("[data-side=left]")
    field(lab, "left", SEVERITY).fill("0.75")
    rank(lab, "left", engine, "vault", **{SEVERITY: 0.75})
    side.locator("[data-saving] summary").click()
    side.locator("[data-as]").fill(own_recipe)
    lab.keyboard.press("Enter")
    expect(side.locator("[data-save-said]")).to_contain_text("already")
    assert file.read_text() == before
    side.locator("[data-replace-it]").click()
    expect(lab.locator("[data-toasts]")).to_contain_text(f"Saved as {own_recipe}.")
    assert tomllib.loads(file.read_text())["stages"]["score"]["signals"] == {
        "severity": {"weight": 0.75}
    }


def test_a_name_that_cannot_be_is_told(
    lab: Page, site: Site, engine: Recollect, watched: Watched
) -> None:
    watched.allow("status of 400")
    side = lab.locator("[data-side=left]")
    field(lab, "left", SEVERITY).fill("0.75")
    rank(lab, "left", engine, "vault", **{SEVERITY: 0.75})
    side.locator("[data-saving] summary").click()
    said = side.locator("[data-save-said]")
    for name in ("", "No Capitals", "vault"):
        said.evaluate("said => { said.textContent = '' }")  # what was told of the one before
        side.locator("[data-as]").fill(name)
        side.locator("[data-save]").click()
        expect(said).to_contain_text(re.compile("name", re.IGNORECASE))
        assert not list(site.home.glob("recipes/*.toml"))


# Feedback


@pytest.fixture
def unjudged(engine: Recollect) -> Iterator[None]:
    """Nothing is said of any result of the query, neither before nor after."""

    def take_back() -> None:
        ids = {event.memory_id for event in engine.store.feedback.list_all()}
        for id in engine.feedback_on(WORDS, sorted(ids)):
            engine.feedback(WORDS, id, undo=True)

    take_back()
    yield
    take_back()


def voting(page: Page, side: str, id: str, name: str) -> Locator:
    return page.locator(f'[data-side={side}] [data-row][data-id="{id}"] [data-vote={name}]')


def test_accepting_and_dismissing_is_remembered(
    unjudged: None, lab: Page, engine: Recollect
) -> None:
    accepted, dismissed = engine.opinions()
    left = rank(lab, "left", engine, "vault")
    [right, *others] = rank(lab, "right", engine, "blend")
    wrong = next(id for id in others if id in left)

    voting(lab, "right", right, "accept").click()
    expect(voting(lab, "right", right, "accept")).to_have_attribute("aria-pressed", "true")
    assert engine.opinions() == (accepted + 1, dismissed)
    voting(lab, "right", wrong, "dismiss").click()
    # The documented recipe ranks as before, and shows what was said.
    expect(voting(lab, "left", wrong, "dismiss")).to_have_attribute("aria-pressed", "true")
    assert engine.opinions() == (accepted + 1, dismissed + 1)
    assert engine.feedback_on(WORDS, [right, wrong]) == {right: True, wrong: False}
    told = lab.locator("[data-learned=left]")
    expect(told).to_contain_text(f"{accepted + 1} accepted, {dismissed + 1} dismissed")
    corrected = rank(lab, "right", engine, "blend")
    assert corrected[0] == right
    assert wrong not in corrected  # it went below the last that is shown

    voting(lab, "left", wrong, "undo").click()
    expect(voting(lab, "left", wrong, "undo")).to_have_count(0)
    assert engine.feedback_on(WORDS, [right, wrong]) == {right: True}
    assert wrong in rank(lab, "right", engine, "blend")
    expect(voting(lab, "right", right, "accept")).to_have_attribute("aria-pressed", "true")
    expect(voting(lab, "right", wrong, "dismiss")).to_have_attribute("aria-pressed", "false")


@pytest.mark.usefixtures("context")
def test_a_dismissed_result_that_left_the_list_can_be_taken_back(
    unjudged: None, page: Page, site: Site, engine: Recollect
) -> None:
    """By the message, which stays here however slow the machine is. The focus is not lost."""
    page.add_init_script(
        "const later = setTimeout;"
        "window.setTimeout = (run, ms) => ms === 10000 ? 0 : later(run, ms);"
    )
    visit(page, site.at("/lab", q=WORDS))
    [_, wrong, *_] = before = rank(page, "right", engine, "blend")
    voting(page, "right", wrong, "dismiss").click()
    expect(voting(page, "right", wrong, "dismiss")).to_have_count(0)
    after = rank(page, "right", engine, "blend")
    assert wrong not in after
    expect(rows(page, "right").nth(1).locator("[data-title]")).to_be_focused()
    page.locator("[data-toasts]").get_by_role("button", name="Undo").click()
    in_order(rows(page, "right"), "data-id", before)
    assert engine.feedback_on(WORDS, [wrong]) == {}


def test_weights_learn_from_thirty_events_on(page: Page, site: Site, engine: Recollect) -> None:
    while sum(engine.store.feedback.counts()) < 29:
        engine.feedback("a question of no other test", "auth-jwt-001", accept=True)
    before = sum(engine.store.feedback.counts())
    visit(page, site.at("/lab", q=WORDS))
    page.locator("[data-side=left] [data-feedback] summary").click()
    missing = page.locator("[data-learned=left] [data-missing]")
    expect(missing).to_have_attribute("data-missing", str(max(0, 30 - before)))
    rows(page, "left").first.locator("[data-vote=accept]").click()
    expect(missing).to_have_attribute("data-missing", "0")
    learned = engine.learned_weights("vault").weights
    changed = [name for name, (declared, now) in learned.items() if declared != now]
    assert "semantic" in changed
    table = page.locator("[data-learned=left]")
    weights = table.locator("[data-weight].changed")
    expect(weights).to_have_count(len(changed))
    assert attributes(weights, "dataset.weight") == changed
    for name, pair in learned.items():
        cells = table.locator(f"[data-weight={name}] td.number")
        assert [figure(text) for text in cells.all_inner_texts()] == pytest.approx(pair, rel=1e-3)
    rank(page, "left", engine, "vault")


# Without script, and on a narrow screen


def test_the_lab_works_without_script(
    scriptless: Page, site: Site, engine: Recollect, own_recipe: str
) -> None:
    page = scriptless
    page.goto(site.at("/lab", q=WORDS))
    field(page, "left", SEVERITY).fill("1")
    page.locator("[data-apply]").click()
    ids = rank(page, "left", engine, "vault", **{SEVERITY: 1.0})
    page.locator("[data-side=left] [data-saving] summary").click()
    page.locator("#left-as").fill(own_recipe)
    page.locator("[data-side=left] [data-save]").click()
    expect(page.locator("#left-recipe")).to_have_value(own_recipe)
    in_order(rows(page, "left"), "data-id", ids)


def test_a_narrow_screen_shows_one_side_at_a_time(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 375, "height": 800})
    visit(page, site.at("/lab", q=WORDS))
    expect(page.locator("[data-side=left]")).to_be_visible()
    expect(page.locator("[data-side=right]")).to_be_hidden()
    page.locator("[data-tab=right]").click()
    expect(page.locator("[data-side=right]")).to_be_visible()
    expect(page.locator("[data-side=left]")).to_be_hidden()
