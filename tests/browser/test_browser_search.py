"""A person searches: by typing, with chips, without a mouse, without script, without a server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest
from browser_site import (
    NOW,
    Site,
    Watched,
    attributes,
    expect,
    in_order,
    ready,
    results,
    serve_site,
    visit,
    wait_for_answer,
)
from playwright.sync_api import Error, Page, Route

from recollect import Filter, Recollect
from recollect.interfaces.web.chips import MOST_ROWS
from recollect.present import sentences

WORDS = "token refresh"  # too few for the reranker to be asked
WHOLE = re.compile(r"/results\?(?!.*quick)")
QUESTION = "how long do access tokens live"
HOSTILE = "hostile-001"
BELOW = """one => {
  let next = one.nextElementSibling;
  while (next.hidden) next = next.nextElementSibling;
  return Math.round(next.getBoundingClientRect().top);
}"""
LONG_WORD = "Donaudampfschiff" * 80


def found(engine: Recollect, text: str, **asked: object) -> list[str]:
    return [result.id for result in engine.search(text, limit=10, **asked)]


def read_counts(page: Page) -> dict[str, str]:
    """Return the text of each filter with a count, by its key."""
    chips = page.locator("[data-filters] [data-chip]:has(.count)")
    keys = attributes(chips, "dataset.chip")
    assert len(keys) == len(set(keys)), "every filter stands there once"
    counts = zip(keys, attributes(chips.locator(".count"), "textContent"), strict=True)
    return {key: count for key, count in counts if count != "0"}


def agree(told: dict[str, str], wanted: dict[str, str]) -> None:
    """The filters say that, of tags those that have room."""
    tags = [key for key in wanted if key.startswith("tag:")]
    assert len([key for key in told if key.startswith("tag:")]) == min(len(tags), MOST_ROWS)
    kept = {key: count for key, count in wanted.items() if key in told or key not in tags}
    assert told == kept


def facets(engine: Recollect, text: str, **asked: object) -> dict[str, str]:
    """Return the expected filters."""
    counts = engine.search(text, facets=True, **asked).facets
    names = {"project": "project", "kind": "kind", "tag": "tags", "source": "source"}
    told = {
        f"{name}:{value}": f"{count:,}"
        for name, facet in names.items()
        for value, count in counts[facet].items()
    }
    ages = {f"since:{age}": f"{count:,}" for age, count in counts["age"].items() if count}
    return told | ages


# Typing


def test_results_appear_while_one_types(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.url)
    expect(page.locator("[data-box]")).to_be_focused()
    page.keyboard.type(WORDS)
    wait_for_answer(page, q=WORDS)
    assert results(page) == found(engine, WORDS)
    total = sentences.count_found(engine.search(WORDS, limit=10))
    expect(page.locator("[data-count]")).to_have_text(f"{total} found, the best 10 shown")


def test_the_address_follows_and_back_returns(page: Page, site: Site) -> None:
    visit(page, site.url)
    page.keyboard.insert_text(WORDS)
    wait_for_answer(page, q=WORDS)
    assert page.url == site.at("/", q=WORDS)
    expect(page).to_have_title(f"{WORDS} · Recollect")
    before = results(page)
    page.go_back()
    wait_for_answer(page)
    expect(page.locator("[data-start=ready]")).to_be_visible()
    expect(page.locator("[data-box]")).to_have_value("")
    page.go_forward()
    wait_for_answer(page, q=WORDS)
    expect(page.locator("[data-box]")).to_have_value(WORDS)
    assert results(page) == before


def test_an_address_shows_the_same_as_typing(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/", q=WORDS))
    wait_for_answer(page, q=WORDS)
    assert results(page) == found(engine, WORDS)


@pytest.mark.usefixtures("cleared")
def test_an_older_answer_never_replaces_a_newer_one(page: Page, site: Site) -> None:
    """The first request is held back until the answer to the second is shown."""
    held: list[Route] = []
    late = page.request.get(site.at("/results", q="invoice", quick="1")).text()

    def answer(route: Route) -> None:
        if "q=invoice&" in route.request.url and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/results?*", answer)
    visit(page, site.url)
    box = page.locator("[data-box]")
    with page.expect_request(re.compile("q=invoice&")):
        box.fill("invoice")
    box.fill(WORDS)
    wait_for_answer(page, q=WORDS)
    newer = results(page)
    with suppress(Error):  # the page may have given the request up
        held[0].fulfill(body=late, content_type="text/html")
    page.evaluate("() => new Promise(done => setTimeout(done))")
    wait_for_answer(page, q=WORDS)
    assert results(page) == newer


def test_the_match_is_marked(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/", q=WORDS))
    first = engine.search(WORDS, limit=10, mark=True).results[0]
    marks = re.findall("<mark>(.*?)</mark>", first.marked)
    assert marks
    expect(page.locator(f"[data-result={first.id}] mark")).to_have_text(marks)


def test_a_question_is_reranked(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.url)
    page.keyboard.insert_text(QUESTION)
    wait_for_answer(page, q=QUESTION)
    answer = engine.search(QUESTION, limit=10)
    assert results(page) == [result.id for result in answer]
    read = answer.counts["reranked"]
    assert read
    expect(page.locator("[data-reranking]")).to_have_text(f"Reranked the best {read}")
    expect(page.locator("[data-evidence]")).to_have_attribute("data-evidence", answer.evidence)


@pytest.mark.usefixtures("context")
def test_the_order_does_not_change_under_ones_hand(
    page: Page, site: Site, engine: Recollect
) -> None:
    """The reranked order is offered, not applied, while the focus is in the list."""
    before = found(engine, QUESTION, changes={"stages.rerank.least_words": 1_000_000})
    after = found(engine, QUESTION)
    assert before != after
    held: list[Route] = []
    page.route(WHOLE, lambda route: held.append(route))
    page.clock.install(time=NOW)
    visit(page, site.url)
    page.clock.pause_at(NOW + timedelta(hours=1))  # the page's time goes on only as told here
    page.locator("[data-box]").fill(QUESTION)
    page.clock.run_for(150)
    expect(page.locator("[data-answer][data-pending]")).to_be_visible()
    in_order(page.locator("[data-result]"), "data-result", before)
    expect(page.locator("[data-reranking]")).to_have_text("Reranking the best results…")
    with page.expect_request(WHOLE):
        page.clock.run_for(300)
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-open]").first).to_be_focused()
    [whole] = held
    whole.continue_()
    offer = page.locator("[data-reorder]")
    expect(offer).to_be_visible()
    assert results(page) == before
    offer.click()
    in_order(page.locator("[data-result]"), "data-result", after)
    expect(offer).to_have_count(0)


def test_times_in_words_are_read_and_can_be_taken_as_words(page: Page, site: Site) -> None:
    visit(page, site.at("/", q="what changed last week"))
    told = page.locator("[data-understood]")
    expect(told).to_contain_text("last week = 2026-03-02 … 2026-03-08")
    page.get_by_role("link", name="Search for the words only").click()
    wait_for_answer(page, q="what changed last week", literal="true")
    expect(told).to_contain_text("Searching for the words only.")
    page.get_by_role("link", name="Understand times, kinds and exclusions").click()
    wait_for_answer(page, q="what changed last week")
    expect(told).to_contain_text("2026-03-02")


def test_each_reading_has_a_button_that_takes_just_that_one_back(page: Page, site: Site) -> None:
    query = "bugs last week -token"
    visit(page, site.at("/", q=query))
    buttons = page.locator("[data-understood]").get_by_role("button")
    named = ["last week = 2026-03-02 … 2026-03-08", "kind bug", "newest first", "without token"]
    assert buttons.all_text_contents() == [f"{name} ×" for name in named]
    kind = page.get_by_role("button", name="Ignore: kind bug")
    kind.focus()
    page.keyboard.press("Space")
    wait_for_answer(page, q=query, ignore="kind bug")
    again = page.get_by_role("button", name="Use: kind bug")
    expect(again).to_be_focused()
    expect(page.get_by_role("button", name="Ignore: without token")).to_be_visible()
    again.click()
    wait_for_answer(page, q=query)
    expect(kind).to_be_focused()
    kind.press("Enter")
    wait_for_answer(page, q=query, ignore="kind bug")
    page.locator("[data-box]").press("End")
    page.locator("[data-box]").press_sequentially("s")
    wait_for_answer(page, q=f"{query}s")  # another query is read anew


def test_more_results_follow_on_demand(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/", q=WORDS))
    page.locator("[data-more]").click()
    wait_for_answer(page, q=WORDS, limit=20)
    assert results(page) == [result.id for result in engine.search(WORDS, limit=20)]


def test_another_recipe_ranks_anew(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/", q=WORDS))
    page.locator("[data-recipe]").select_option("vault")
    wait_for_answer(page, q=WORDS, recipe="vault")
    assert page.url == site.at("/", q=WORDS, recipe="vault")
    assert results(page) == found(engine, WORDS, recipe="vault")


@pytest.fixture
def replacement(engine: Recollect) -> Iterator[tuple[str, str]]:
    """The ids of a statement and of a later one that replaces it."""
    stated = {
        "mirror-001": ("Package mirror: 20 gigabytes for wheels", "Emptied every night.", 90),
        "mirror-002": ("Package mirror: 60 gigabytes for wheels", "The builds need more room.", 9),
    }
    for id, (title, text, days) in stated.items():
        at = NOW - timedelta(days=days)
        engine.save(id=id, title=title, text=text, kind="fact", project="home", updated_at=at)
    engine.supersede("mirror-001", "mirror-002")
    engine.embed_now()
    yield "mirror-001", "mirror-002"
    engine.forget(list(stated), purge=True)


def test_what_replaces_an_older_memory_says_so(
    page: Page, site: Site, replacement: tuple[str, str]
) -> None:
    older, newer = replacement
    visit(page, site.at("/", q="package mirror"))
    said = page.locator(f"[data-result={newer}] [data-replaces]")
    expect(said).to_have_text("Replaces Package mirror: 20 gigabytes for wheels (2025-12-14)")
    expect(said.locator("a")).to_have_attribute("href", f"/memory/{older}")
    shown_ids = results(page)
    assert shown_ids.index(newer) < shown_ids.index(older)


# Filters


def test_chips_count_what_the_engine_counts(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/", q=WORDS))
    agree(read_counts(page), facets(engine, WORDS))
    visit(page, site.at("/", q=WORDS, project="harbor-api"))
    # The other projects still say how many they would add.
    others = {k: v for k, v in facets(engine, WORDS).items() if k.startswith("project:")}
    agree(read_counts(page), facets(engine, WORDS, project="harbor-api") | others)
    page.locator('[data-chip="project:lantern-web"]').click()
    wait_for_answer(page, q=WORDS, project=["harbor-api", "lantern-web"])
    page.locator('[data-chip="not:kind:session"]').click()
    both = {"project": ("harbor-api", "lantern-web"), "without_kinds": ("session",)}
    wait_for_answer(page, q=WORDS, project=["harbor-api", "lantern-web"], not_kind="session")
    assert results(page) == [result.id for result in engine.search(WORDS, limit=10, **both)]


def test_chips_filter_combine_and_toggle(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/", q=WORDS))
    everything = results(page)
    rows = page.locator("[data-group=kind] .facet-value")
    kinds = attributes(rows, "dataset.chip")

    def chip(key: str) -> None:
        page.locator(f'[data-filters] [data-chip="{key}"]').click()

    chip("kind:decision")
    wait_for_answer(page, q=WORDS, kind="decision")
    assert results(page) == found(engine, WORDS, kind="decision") != everything
    pressed = page.locator('[data-filters] [data-chip="kind:decision"]')
    expect(pressed).to_have_attribute("aria-pressed", "true")
    expect(pressed).to_be_focused()
    assert attributes(rows, "dataset.chip") == kinds  # no row has moved

    chip("not:kind:decision")
    wait_for_answer(page, q=WORDS, not_kind="decision")
    assert results(page) == found(engine, WORDS, without_kinds=("decision",))
    chip("kind:decision")
    wait_for_answer(page, q=WORDS, kind="decision")

    chip("tag:auth")
    wait_for_answer(page, q=WORDS, kind="decision", tag="auth")
    assert results(page) == found(engine, WORDS, kind="decision", tags=("auth",))
    assert len(page.locator("[data-chosen] [data-chip^='chosen:']").all()) == 3  # and one for all

    chip("kind:decision")
    wait_for_answer(page, q=WORDS, tag="auth")
    assert results(page) == found(engine, WORDS, tags=("auth",))
    page.locator('[data-chosen] [data-chip="chosen:tag:auth"]').click()
    wait_for_answer(page, q=WORDS)
    assert results(page) == everything
    page.go_back()
    wait_for_answer(page, q=WORDS, tag="auth")


def test_filters_narrow_what_is_there_before_anything_is_asked(
    page: Page, site: Site, engine: Recollect
) -> None:
    visit(page, site.url)
    expect(page.locator("[data-count]")).to_have_text(
        f"{sum(engine.facets().kind.values())} memories"
    )
    page.locator('[data-filters] [data-chip="project:home"]').click()
    wait_for_answer(page, project="home")
    count = engine.facets().project["home"]
    expect(page.locator("[data-count]")).to_have_text(f"{count} memories")


def test_filters_that_nothing_passes_can_be_taken_away(page: Page, site: Site) -> None:
    visit(page, site.at("/", q=WORDS, project="nowhere"))
    empty = page.locator("[data-empty]")
    expect(empty).to_contain_text("Nothing passes these filters")
    empty.get_by_role("link", name="Search without filters").click()
    wait_for_answer(page, q=WORDS)
    expect(page.locator("[data-result]")).to_have_count(10)


def test_a_narrow_screen_shows_filters_on_demand(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 375, "height": 800})
    visit(page, site.at("/", q=WORDS))
    filters = page.locator("[data-filters]")
    expect(filters).to_be_hidden()
    page.get_by_text("Filters", exact=True).click()
    expect(filters).to_be_visible()
    filters.locator('[data-chip="kind:decision"]').click()
    wait_for_answer(page, q=WORDS, kind="decision")
    expect(filters).to_be_visible()
    page.locator("#show-filters").focus()
    page.keyboard.press("Space")
    expect(filters).to_be_hidden()


# What is told


def test_a_start_offers_queries_that_find_something(page: Page, site: Site) -> None:
    visit(page, site.url)
    example = page.locator("[data-example]").first
    words = example.inner_text()
    example.click()
    wait_for_answer(page, q=words)
    expect(page.locator("[data-box]")).to_have_value(words)
    expect(page.locator("[data-result]").first).to_be_visible()


def test_words_that_stand_nowhere_are_no_evidence(
    page: Page, site: Site, engine: Recollect
) -> None:
    assert engine.search("zzqx").evidence == "none"
    visit(page, site.at("/", q="zzqx"))
    told = page.locator("[data-evidence]")
    expect(told).to_have_attribute("data-evidence", "none")
    expect(told).to_have_text("Probably not in your memories")
    expect(page.locator("[data-result]").first).to_be_hidden()
    expect(page.locator(".strip")).to_have_count(0)
    page.locator("[data-nearest] > summary").click()
    assert len(results(page)) == 10
    expect(page.locator("[data-result]").first).to_be_visible()


def test_the_results_stay_where_they_are_while_one_types(
    page: Page, site: Site, cleared: None
) -> None:
    """Whatever the line above them has to say: a time that was read, notes, no evidence."""
    visit(page, site.at("/", q=WORDS))
    tops = set()
    for words in (WORDS, "what changed last week", "bugs last week -token", "zzqx"):
        page.locator("[data-box]").fill(words)
        wait_for_answer(page, q=words)
        tops.add(page.locator("[data-summary]").evaluate(BELOW))
    assert len(tops) == 1, tops


def test_filters_that_nothing_has_stand_behind_the_others(page: Page, site: Site) -> None:
    visit(page, site.at("/", q=WORDS, kind="decision", project="lantern-web"))
    for group in ("tags", "source"):
        counts = page.locator(f"[data-group={group}] .count").all_text_contents()
        assert counts
        empty = [count == "0" for count in counts]
        assert empty == sorted(empty)


def test_what_is_done_beside_the_list_stays_in_the_search(
    page: Page, site: Site, engine: Recollect
) -> None:
    saved = engine.save(title="A walrus counts quasars", text="Nobody else counts them.")
    address = site.at("/", q="walrus quasars")
    visit(page, address)
    page.keyboard.press("ArrowDown")
    preview = page.locator(f"[data-preview-of='{saved.id}']")
    preview.get_by_role("button", name="Pin").click()
    expect(preview.get_by_role("button", name="Unpin")).to_be_visible()
    preview.get_by_role("button", name="Forget").click()
    expect(page.locator(f"[data-result='{saved.id}']")).to_have_count(0)
    expect(page.locator(".toast").last).to_contain_text("Forgotten: A walrus counts quasars")
    page.locator("[data-open]").first.focus()
    page.keyboard.press("u")
    expect(page.locator(f"[data-result='{saved.id}'] [data-open]")).to_be_focused()
    expect(page.locator(".toast").last).to_contain_text("Undone: forget of")
    page.locator(".toast").last.get_by_role("button", name="Redo").click()
    expect(page.locator(f"[data-result='{saved.id}']")).to_have_count(0)
    page.locator("header").get_by_role("button", name="Undo").click()  # Tab reaches it
    expect(page.locator(f"[data-result='{saved.id}']")).to_be_visible()
    assert page.url == address
    assert engine.show([saved.id])[0].tier == "core"
    engine.forget([saved.id], purge=True)


def test_an_undo_of_many_asks_first(page: Page, site: Site, engine: Recollect) -> None:
    ids = [f"many-{number}" for number in range(6)]
    for number, id in enumerate(ids):
        engine.save(id=id, title=f"Counted {number}")
    engine.forget(ids)
    visit(page, site.at("/", q=WORDS))
    page.locator("header").get_by_role("button", name="Undo").click()
    asked = page.locator(".toast").last
    expect(asked).to_contain_text("Your last change is the forget of “Counted 0”, and 5 more.")
    assert engine.list(Filter(among=tuple(ids))) == []
    asked.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast").last).to_contain_text("Undone: forget")
    assert len(engine.list(Filter(among=tuple(ids)))) == 6
    engine.forget(ids, purge=True)


def test_escape_leaves_the_box_so_that_the_letters_work(page: Page, site: Site) -> None:
    visit(page, site.url)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("[data-open]").first).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")


def test_text_from_right_to_left_is_shown_so_everywhere(
    page: Page, site: Site, engine: Recollect
) -> None:
    title, text = "החלטה: PostgreSQL 16", "אנחנו משתמשים ב-PostgreSQL 16, לא MySQL."
    engine.save(id="hebrew", title=title, text=text)
    engine.save(id="hebrew-too", title=f"{title}.", text=text)
    engine.save(id="hebrew-old", title=title, valid_until=NOW - timedelta(minutes=1))
    engine.save(id="hebrew-gone", title=f"{title}!")
    engine.forget(["hebrew-gone"])
    review = "/review?kind=expired&items=1"
    lab = "/lab?q=PostgreSQL+16"
    for path in ("/browse", "/related/hebrew", review, "/trash", "/timeline", lab):
        visit(page, f"{site.url}{path}")
        shown_there = page.get_by_text(title, exact=False).locator("visible=true").first
        expect(shown_there).to_be_visible()
        assert shown_there.evaluate("one => getComputedStyle(one).direction") == "rtl", path
    # A long heading is cut at its end, which is on the left.
    visit(page, site.at("/", q="PostgreSQL 16"))
    heading = page.locator("[data-result^=hebrew] h2").first
    assert heading.evaluate("one => getComputedStyle(one).direction") == "rtl"
    engine.forget(["hebrew", "hebrew-too", "hebrew-old", "hebrew-gone"], purge=True)


def test_where_nothing_matches_at_all_it_is_said(page: Page, site: Site) -> None:
    visit(page, site.at("/", q="zzqx", recipe="vault", **{"set.recall.vector.when": "never"}))
    expect(page.locator("[data-empty]")).to_be_visible()
    expect(page.locator("[data-result]")).to_have_count(0)


def test_a_model_that_is_away_is_told(page: Page, site: Site) -> None:
    """A server on the same vault whose models do not answer."""
    nobody = "http://127.0.0.1:9"
    settings = {
        "RECOLLECT_EMBEDDING__PROVIDER": "ollama",
        "RECOLLECT_EMBEDDING__MODEL": "nomic-embed-text",
        "RECOLLECT_EMBEDDING__BASE_URL": nobody,
        "RECOLLECT_RERANK__PROVIDER": "http",
        "RECOLLECT_RERANK__MODEL": "a-reranker",
        "RECOLLECT_RERANK__BASE_URL": nobody,
    }
    with contextmanager(serve_site)(site.home, **settings) as degraded:
        visit(page, degraded.at("/", q=QUESTION))
        told = page.locator("[data-degraded]")
        expect(page.locator("[data-note]")).to_contain_text("former embedding model serves")
        expect(told.filter(has_text="No reranking")).to_contain_text("before reranking")
        expect(page.locator("[data-reranking]")).to_have_text("Not reranked")
        expect(page.locator("[data-result]").first).to_be_visible()


def test_a_recipe_that_is_not_there_is_told(page: Page, site: Site, watched: Watched) -> None:
    watched.allow(r"status of 40[04]")
    visit(page, site.at("/", q=WORDS, recipe="nowhere"))
    expect(page.locator("[data-problem]")).to_contain_text("nowhere")
    page.locator("[data-recipe]").select_option("blend")
    wait_for_answer(page, q=WORDS)
    expect(page.locator("[data-result]")).to_have_count(10)


def test_a_filter_that_cannot_be_read_is_told_and_removed(
    page: Page, site: Site, watched: Watched
) -> None:
    watched.allow(r"status of 400")
    visit(page, site.at("/", q=WORDS, since="yesteryear"))
    problem = page.locator("[data-problem]")
    expect(problem).to_contain_text("yesteryear")
    problem.get_by_role("link", name="Search without filters").click()
    wait_for_answer(page, q=WORDS)
    expect(page.locator("[data-result]")).to_have_count(10)


@pytest.mark.usefixtures("cleared")
def test_a_server_that_is_away_is_told_and_asked_again(
    page: Page, site: Site, engine: Recollect, watched: Watched
) -> None:
    watched.allow("ERR_INTERNET_DISCONNECTED")
    visit(page, site.at("/", q="invoice"))
    before = results(page)
    page.context.set_offline(True)
    page.locator("[data-box]").fill(WORDS)
    away = page.locator("[data-away]")
    expect(away).to_be_visible()
    expect(away).to_contain_text("The server cannot be reached")
    assert results(page) == before
    page.context.set_offline(False)
    # The page may have asked again by itself, and hidden the button.
    page.evaluate("document.querySelector('[data-retry]')?.click()")
    wait_for_answer(page, q=WORDS)
    expect(away).to_be_hidden()
    assert results(page) == found(engine, WORDS)


# Keys


def test_a_search_from_end_to_end_without_a_mouse(
    page: Page, site: Site, engine: Recollect
) -> None:
    press = page.keyboard.press
    visit(page, site.at("/", q="invoice"))
    box, links = page.locator("[data-box]"), page.locator("[data-open]")
    box.evaluate("box => box.blur()")
    press("/")
    expect(box).to_be_focused()
    page.keyboard.insert_text(WORDS)  # what was there is selected, and typed over
    wait_for_answer(page, q=WORDS)
    press("ArrowDown")
    expect(links.nth(0)).to_be_focused()
    press("j")
    expect(links.nth(1)).to_be_focused()
    press("ArrowDown")
    press("k")
    expect(links.nth(1)).to_be_focused()

    why = page.locator("[data-result]").nth(1).locator("[data-why]")
    press("w")
    expect(why.locator("[data-waterfall]")).to_be_visible()
    press("w")
    expect(why.locator("[data-waterfall]")).to_be_hidden()

    press("?")
    keys = page.locator("[data-keys]")
    expect(keys).to_be_visible()
    expect(keys.get_by_role("button", name="Close")).to_be_focused()
    press("Escape")
    expect(keys).to_be_hidden()
    expect(links.nth(1)).to_be_focused()

    press("Escape")
    expect(box).to_be_focused()
    press("Escape")
    wait_for_answer(page)
    expect(box).to_have_value("")
    expect(page.locator("[data-start=ready]")).to_be_visible()

    page.keyboard.insert_text(WORDS)
    wait_for_answer(page, q=WORDS)
    second = found(engine, WORDS)[1]
    press("ArrowDown")
    press("ArrowDown")
    press("Enter")
    expect(page).to_have_url(site.at(f"/memory/{second}"))
    page.go_back()
    wait_for_answer(page, q=WORDS)


@pytest.mark.usefixtures("cleared")
def test_letters_can_be_switched_off(page: Page, site: Site) -> None:
    visit(page, site.at("/", q=WORDS))
    page.locator("[data-keys-open]").click()
    page.locator("[data-keys-on]").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    ready(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    expect(page.locator("[data-open]").first).to_be_focused()


# Feedback


def test_right_and_wrong_are_remembered(page: Page, site: Site, engine: Recollect) -> None:
    accepted, dismissed = engine.opinions()
    # So few that the one that is dismissed stays on the page.
    visit(page, site.at("/", q="carrier outage", kind="summary"))
    first = page.locator("[data-result]").first
    right, wrong = (first.locator(f"[form=judge][name={name}]") for name in ("right", "wrong"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    expect(right).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-toasts]")).to_contain_text(f"In all, {accepted + 1} right")
    assert engine.opinions() == (accepted + 1, dismissed)
    page.keyboard.press("d")
    expect(wrong).to_have_attribute("aria-pressed", "true")
    expect(right).to_have_attribute("aria-pressed", "false")
    assert engine.opinions() == (accepted, dismissed + 1)
    id = first.get_attribute("data-result")
    page.reload()
    again = page.locator(f"[data-result={id}] [form=judge][name=wrong]")
    expect(again).to_have_attribute("aria-pressed", "true")
    undo = page.locator(f"[data-result={id}] [form=judge][name=undo]")
    page.locator("[data-nearest] > summary").click()  # nothing else answers it
    undo.click()
    expect(undo).to_be_hidden()
    expect(again).to_have_attribute("aria-pressed", "false")
    assert engine.opinions() == (accepted, dismissed)


@pytest.mark.usefixtures("cleared")
def test_an_id_is_copied(page: Page, site: Site) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, site.at("/", q=WORDS))
    [id, *_] = results(page)
    page.locator("[data-copies]").first.click()
    expect(page.locator("[data-toasts]")).to_contain_text("Copied.")
    assert page.evaluate("() => navigator.clipboard.readText()") == id


# Without script, and with bad intent


def test_everything_works_without_script(scriptless: Page, site: Site, engine: Recollect) -> None:
    words = "session storage"  # no other test says what was right for them
    page = scriptless
    page.goto(site.url)
    page.locator("[data-box]").fill(words)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=session"))
    in_order(page.locator("[data-result]"), "data-result", found(engine, words))
    page.locator('[data-filters] [data-chip="kind:decision"]').click()
    narrowed = found(engine, words, kind="decision")
    in_order(page.locator("[data-result]"), "data-result", narrowed)
    page.locator("[data-why] > summary").first.click()
    expect(page.locator("[data-waterfall]").first).to_be_visible()
    accepted, dismissed = engine.opinions()
    page.locator("[form=judge][name=right]").first.click()
    expect(page.locator("[aria-pressed=true][name=right]")).to_have_count(1)
    assert engine.opinions() == (accepted + 1, dismissed)
    in_order(page.locator("[data-result]"), "data-result", narrowed)


@pytest.fixture
def hostile(engine: Recollect) -> Iterator[str]:
    """A memory that tries to be more than text, in every field that a page shows."""
    script = "<script>window.hit = 1</script>"
    image = '<img src="x" onerror="window.hit = 2">'
    engine.save(
        id=HOSTILE,
        title=f"Kraken {script} \"quoted\" 'single' & </mark><mark>x</title>",
        text=f"{image} kraken </mark></script> \u202eleftwards\u202c שלום {LONG_WORD} {{{{7*7}}}}",
        context=image,
        details=f"{script} javascript:window.hit=3",
        tags=[script, f'"{image}', LONG_WORD[:100]],
        project=f'"><i>{image}',
        kind=f"kind{image}",
        source=f"'>{script}",
        valid_until=NOW + timedelta(days=3),
        updated_at=NOW,
    )
    yield HOSTILE
    engine.forget([HOSTILE], purge=True)


def test_a_memory_is_text_whatever_it_holds(page: Page, site: Site, hostile: str) -> None:
    """On every page that shows it, and on a narrow screen, which its long words must not widen."""
    page.set_viewport_size({"width": 375, "height": 800})
    paths = (
        "/?q=kraken", "/", "/browse", "/lab?q=kraken", "/timeline", "/upkeep",
        f"/memory/{hostile}", f"/edit/{hostile}", f"/related/{hostile}",
    )  # fmt: skip
    for path in paths:
        visit(page, site.url + path)
        expect(page.locator("[aria-busy=true], [aria-label=Counting]")).to_have_count(0)
        assert "window.hit" in page.content(), path
        assert page.evaluate("() => window.hit") is None, path
        assert page.locator("main img, main i, main script").count() == 0, path
        fits = page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert fits, f"{path} is wider than the screen"


def test_marks_of_a_memorys_own_are_text_too(page: Page, site: Site, hostile: str) -> None:
    visit(page, site.at("/", q="kraken"))
    card = page.locator(f"[data-result={hostile}]")
    title = "<script>window.hit = 1</script> \"quoted\" 'single' & </mark><mark>x</title>"
    expect(card.locator("[data-open]")).to_contain_text(title)
    snippet = card.locator(".snippet")
    expect(snippet).to_contain_text('<img src="x" onerror="window.hit = 2">')
    expect(snippet).to_contain_text("kraken </mark></script>")
    expect(snippet.locator("mark")).to_have_text(["kraken"])
    visit(page, site.at(f"/memory/{hostile}"))
    expect(page.locator("[data-text]")).to_contain_text("{{7*7}}")
