"""A person browses, looks at the timeline, sees to the vault; and meets a vault that is empty."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from browser_site import (
    NOW,
    Site,
    Watched,
    attributes,
    expect,
    figure,
    in_order,
    ready,
    serve_site,
    surroundings,
    visit,
)
from msgspec.structs import replace
from playwright.sync_api import Browser, Locator, Page, Request

from recollect import Filter, Recollect
from recollect.demo import sample
from recollect.interfaces.web.chips import MOST_ROWS

PER_PAGE = 50


def list_rows(page: Page) -> Locator:
    return page.locator("[data-row]")


def chips(page: Page, group: str) -> dict[str, int]:
    """Return the filters with their counts."""
    found = page.locator(f"[data-filter-piece] [data-group={group}] a:has(.count)")
    labels, counts = (
        attributes(found.locator(what), "textContent") for what in (".chip-name", ".count")
    )
    numbers = zip(labels, map(int, map(figure, counts)), strict=True)
    return {label: count for label, count in numbers if count}


# Browsing


def test_browsing_has_the_documented_order_and_goes_on_and_back(
    page: Page, site: Site, engine: Recollect
) -> None:
    memories = engine.list(limit=1000)
    ids = [memory.id for memory in memories]
    assert PER_PAGE < len(ids) <= 2 * PER_PAGE
    visit(page, site.at("/browse"))
    in_order(list_rows(page), "data-row", ids[:PER_PAGE])
    tiers = attributes(page.locator("[data-tier]"), "dataset.tier")
    assert tiers == list(dict.fromkeys(memory.tier for memory in memories[:PER_PAGE]))
    expect(page.locator("[data-total]")).to_have_text(f"{len(ids)} memories")
    page.locator("[data-older]").click()
    in_order(list_rows(page), "data-row", ids[PER_PAGE:])
    expect(page.locator("[data-older]")).to_have_count(0)
    page.locator("[data-newer]").click()
    in_order(list_rows(page), "data-row", ids[:PER_PAGE])
    expect(page.locator("[data-newer]")).to_have_count(0)


def test_browsing_works_with_keys(page: Page, site: Site, engine: Recollect) -> None:
    ids = [memory.id for memory in engine.list(limit=1000)]
    visit(page, site.at("/browse"))
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator(".entry-title").first).to_be_focused()
    page.keyboard.press("]")
    expect(page.locator("[data-newer]")).to_be_visible()
    ready(page)
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(site.at(f"/memory/{ids[PER_PAGE + 1]}"))


def test_filters_narrow_the_listing_and_count(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/browse"))
    expect(page.locator("[data-filter-piece]")).to_be_visible()
    facets = engine.facets()
    for group in ("project", "kind", "tags", "source"):
        assert chips(page, group) == dict([*getattr(facets, group).items()][:MOST_ROWS])
    page.locator("[data-group=tags] summary").click()
    more = len(facets.tags) - MOST_ROWS
    page.locator("[data-group=tags]").get_by_role("link", name=f"{more} more").click()
    chip_names = page.locator("[data-names=tags] .chip-name")
    expect(chip_names).to_have_count(len(facets.tags))
    names = attributes(chip_names, "textContent")
    assert names == [*facets.tags]
    page.go_back()

    page.locator("[data-group=kind] .facet-value").filter(has_text="decision").click()
    narrowed = Filter(kind="decision")
    in_order(list_rows(page), "data-row", [one.id for one in engine.list(narrowed, 50)])
    expect(page.locator("[data-filter-piece]")).to_be_visible()
    assert chips(page, "project") == engine.facets(narrowed).project

    page.locator("[data-group=project] .facet-value").filter(has_text="harbor-api").click()
    both = Filter(kind="decision", project="harbor-api")
    in_order(list_rows(page), "data-row", [one.id for one in engine.list(both, 50)])
    page.locator("[data-applied] a").filter(has_text="kind decision").click()
    project = Filter(project="harbor-api")
    in_order(list_rows(page), "data-row", [one.id for one in engine.list(project, 50)])
    page.locator("[data-group=changed] .facet-value").filter(has_text="Past month").click()
    recent = Filter(project="harbor-api", since=NOW - timedelta(days=30))
    in_order(list_rows(page), "data-row", [one.id for one in engine.list(recent, 50)])


def test_a_listing_without_anything_says_so(page: Page, site: Site) -> None:
    visit(page, site.at("/browse", project="nowhere"))
    expect(page.locator("[data-empty]")).to_contain_text("Nothing matches")
    page.get_by_role("link", name="Show everything").click()
    expect(list_rows(page)).to_have_count(PER_PAGE)


# Projects and tags


def test_a_project_and_a_tag_are_places(
    page: Page, site: Site, engine: Recollect, watched: Watched
) -> None:
    here = Filter(project="harbor-api")
    visit(page, site.at("/projects"))
    page.locator("[data-names=projects] a").filter(has_text="harbor-api").click()
    total = sum(engine.dates(here).made.values())
    expect(page.locator("[data-total]")).to_have_text(f"{total} memories")
    wanted = {
        "decisions": engine.list(replace(here, kind="decision", valid_at=NOW), 6, newest=True),
        "core": engine.list(replace(here, tier="core"), 6),
        "expiring": engine.list_ending(here, 6, since=NOW, until=NOW + timedelta(days=30)),
        "newest": engine.list(here, 6, newest=True),
    }
    for part, memories in wanted.items():
        rows = page.locator(f"[data-part={part}] [data-row]")
        assert attributes(rows, "dataset.row") == [memory.id for memory in memories], part
    others = attributes(page.locator("[data-names=projects] .chip-name"), "textContent")
    assert "lantern-web" in others
    assert "harbor-api" not in others
    page.locator("[data-names=tags] a").filter(has_text="jwt").click()
    expect(page.locator("h1")).to_have_text("#jwt")
    watched.allow("status of 404")
    page.goto(site.at("/project/nowhere"))
    expect(page.locator("[data-problem]")).to_contain_text("'nowhere'")


# The timeline


def by_month(counts: dict[date, int]) -> Counter[str]:
    months: Counter[str] = Counter()
    for day, count in counts.items():
        months[f"{day:%B} {day.year}"] += count
    return months


def test_the_timeline_shows_when_memories_were_made_and_expire(
    page: Page, site: Site, engine: Recollect
) -> None:
    dates, of_files = engine.dates(), engine.dates(Filter(tier="file")).made
    made, files, expiring = map(by_month, (dates.made, of_files, dates.expiring))
    visit(page, site.at("/timeline", span="all", by="month"))
    bars = page.locator("[data-bar]")
    told = [str(bar) for bar in attributes(bars, "getAttribute('aria-label')")]
    assert sorted(told) == sorted(
        f"{month}: {made[month]} created{f' ({files[month]} from files)' if files[month] else ''}, "
        f"{expiring[month]} expiring"
        for month in {*made, *expiring}
    )
    written = {month: made[month] - files[month] for month in made if made[month] > files[month]}
    for kind, counts in (("made", written), ("of-files", files)):
        tall = [
            (float(height), counts[label.partition(":")[0]])
            for label, height in zip(told, _heights(bars, kind), strict=True)
            if height
        ]
        assert len(tall) == len(counts)
        for height, number in tall:  # by its root, and both kinds on one scale
            assert height / number**0.5 == pytest.approx(tall[0][0] / tall[0][1] ** 0.5, rel=0.02)

    page.locator("[data-table] summary").click()
    rows = [row.inner_text().split("\t") for row in page.locator("[data-table] tbody tr").all()]
    assert {month: int(count) for month, count, _ in rows if int(count)} == made
    assert {month: int(count) for month, _, count in rows if int(count)} == expiring


def _heights(bars: Locator, kind: str) -> list[str]:
    """Return the heights of the bars of that kind; empty without a bar."""
    return list(
        bars.evaluate_all(
            f"all => all.map(o => o.querySelector('rect.{kind}')?.getAttribute('height') ?? '')"
        )
    )


def test_the_timeline_tells_and_zooms_by_a_bar_and_by_a_drag(
    page: Page, site: Site, engine: Recollect
) -> None:
    visit(page, site.at("/timeline", by="month"))
    bars, readout = page.locator("[data-bar]"), page.locator("[data-readout]")
    place = next(
        at for at, label in enumerate(attributes(bars, "getAttribute('aria-label')"))
        if label.startswith("February 2026")
    )  # fmt: skip
    bars.nth(place).focus()
    expect(readout).to_contain_text("February 2026")
    page.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("March 2026")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    days = {"first": "2026-02-01", "last": "2026-02-28"}
    expect(page).to_have_url(site.at("/timeline", **days))
    month = Filter(
        made_since=datetime(2026, 2, 1, tzinfo=UTC), made_before=datetime(2026, 3, 1, tzinfo=UTC)
    )
    made = engine.list(month, 20, newest=True)
    in_order(page.locator("[data-made] [data-row]"), "data-row", [one.id for one in made])
    ready(page)
    box = page.locator("[data-chart]").bounding_box()
    assert box is not None
    at = [(box["x"] + box["width"] * share, box["y"] + 40) for share in (0.26, 0.74)]
    page.mouse.move(*at[0])
    page.mouse.down()
    page.mouse.move(*at[1], steps=3)
    page.mouse.up()
    expect(page).to_have_url(site.at("/timeline", first="2026-02-08", last="2026-02-21"))
    page.locator("[data-whole]").click()
    holding = {one.id for one in engine.list(limit=1000) if one.valid_until}
    rows = attributes(page.locator("[data-valid] [data-row]"), "dataset.row")
    assert rows
    assert {*rows} <= holding


def test_what_expires_soon_and_what_has_expired_is_listed(
    page: Page, site: Site, engine: Recollect
) -> None:
    ends = {one.id: one.valid_until for one in engine.list(limit=1000) if one.valid_until}
    soon = sorted((end, id) for id, end in ends.items() if NOW < end <= NOW + timedelta(days=30))
    gone = sorted(((end, id) for id, end in ends.items() if end <= NOW), reverse=True)
    assert soon
    assert gone
    visit(page, site.at("/timeline"))
    in_order(page.locator("[data-expiry=soon] [data-row]"), "data-row", [id for _, id in soon])
    in_order(page.locator("[data-expiry=expired] [data-row]"), "data-row", [id for _, id in gone])


def test_the_timeline_is_narrowed(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/timeline", span="all", by="year"))
    page.locator("[data-group=project] .facet-value").filter(has_text="lantern-web").click()
    expect(page.locator("[data-applied]")).to_contain_text("lantern-web")
    total = sum(engine.dates(Filter(project="lantern-web")).made.values())
    expect(page.locator(".page-head .total")).to_contain_text(f"{total} memories")


# Upkeep


def test_upkeep_counts_what_the_vault_holds_and_checks_it(
    page: Page, site: Site, engine: Recollect
) -> None:
    stats = engine.stats()
    visit(page, site.at("/upkeep"))
    tiles = page.locator("[data-counts] dd")
    counts = [
        stats["memories"],
        stats["forgotten"],
        stats["tags"],
        stats["feedback"]["accepted"],
        stats["feedback"]["dismissed"],
    ]
    expect(tiles).to_have_text([f"{count:,}" for count in counts])
    expect(page.locator("[data-vault]")).to_have_text(stats["vault"])
    expect(page.locator("[data-models]")).to_contain_text(stats["embedding"])
    expect(page.locator("[data-vectors]")).to_contain_text(f"{stats['vectors']} of")
    expect(page.locator("[data-degraded]")).to_have_count(0)
    page.locator("[data-check] button").click()
    expect(page.locator("[data-checked]")).to_have_attribute("data-checked", "0")
    expect(page.locator("[data-checked]")).to_contain_text("OK")
    expect(page.locator("[data-finding]")).to_have_count(len(engine.doctor()))
    expect(page.locator("[data-broken]")).to_have_count(0)


def test_upkeep_looks_after_folders_backups_and_settings(
    page: Page, site: Site, engine: Recollect, tmp_path: Path
) -> None:
    (tmp_path / "tides.md").write_text("# Tides\nThey turn at noon.\n", encoding="utf-8")
    visit(page, site.at("/upkeep"))
    page.locator("#folder-path").fill(str(tmp_path))
    page.get_by_role("button", name="Add", exact=True).click()
    folder = page.locator(f'[data-folder="{tmp_path}"]')
    expect(folder).to_contain_text("1")
    assert [one.files for one in engine.folders() if one.path == str(tmp_path)] == [1]
    folder.locator("summary").click()
    folder.get_by_role("button", name="Remove it").click()
    expect(folder).to_have_count(0)
    assert str(tmp_path) not in {one.path for one in engine.folders()}
    page.get_by_role("button", name="Back up now").click()
    expect(page.locator("[data-outcome]")).to_contain_text("Saved and verified")
    assert list((site.home / "backups").glob("*.db"))
    budget = page.locator('[data-setting="rerank.budget_ms"]')
    expect(budget).to_contain_text("RECOLLECT_RERANK__BUDGET_MS")
    expect(page.locator("[data-places]")).to_contain_text(str(site.home / "vault.db"))


@pytest.fixture
def lease() -> Iterator[ExitStack]:
    """While it is held, the server makes no vectors by itself."""
    with ExitStack() as held:
        yield held


@pytest.fixture
def neglected(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, lease: ExitStack
) -> Iterator[Site]:
    """A vault whose memories have no vectors yet, and whose vocabulary is lost."""
    home = tmp_path_factory.mktemp("neglected")
    without = surroundings(home, RECOLLECT_EMBEDDING__PROVIDER="none")
    memory = lease.enter_context(Recollect(home=home, environment=without))
    memory.save_all(list(sample(NOW))[:3])
    with memory.store.database.writing() as file:
        file.execute("DELETE FROM vocabulary")
    assert lease.enter_context(memory.store.vectors.lease())
    yield from serve_site(home)


def test_missing_vectors_are_told_and_made(page: Page, neglected: Site, lease: ExitStack) -> None:
    visit(page, neglected.at("/upkeep"))
    expect(page.locator("[data-waiting-note]")).to_contain_text("3 memories have no vector yet")
    expect(page.locator("[data-waiting]")).to_have_text("3")
    lease.close()
    page.locator("[data-embed] button").click()
    expect(page.locator("[data-vectors]")).to_contain_text("3 of 3 memories have a vector.")
    expect(page.locator("[data-toasts]")).to_contain_text("All memories now have vectors.")
    expect(page.locator("[data-degraded]")).to_have_count(0)


def test_what_is_broken_is_shown_and_repaired(
    page: Page, neglected: Site, lease: ExitStack
) -> None:
    lease.close()
    visit(page, neglected.at("/upkeep"))
    page.locator("[data-check] button").click()
    expect(page.locator("[data-broken]")).not_to_have_count(0)
    page.locator("[data-repair] button").click()
    expect(page.locator("[data-checked]")).to_have_attribute("data-checked", "0")
    with neglected.engine() as engine:
        assert not any(finding.problem for finding in engine.doctor())


# Everywhere


def test_an_empty_vault_says_what_to_do_on_every_page(page: Page, empty_site: Site) -> None:
    for path, where in (
        ("/", "[data-start=empty]"),
        ("/browse", "[data-start=empty]"),
        ("/timeline", "[data-start=empty]"),
        ("/upkeep", "[data-start=empty]"),
    ):
        visit(page, empty_site.at(path))
        expect(page.locator(where)).to_contain_text("No memories yet")
    visit(page, empty_site.at("/lab"))
    expect(page.locator("[data-empty]")).to_contain_text("has no memories")
    visit(page, empty_site.at("/", q="anything"))
    expect(page.locator("[data-empty]")).to_contain_text("No memory matches")


def test_the_menu_leads_everywhere_and_tells_where_one_is(page: Page, site: Site) -> None:
    visit(page, site.url)
    for name in ("Lab", "Browse", "Timeline", "Upkeep", "Search"):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()
        expect(page.locator("[aria-current=page]")).to_have_text(name)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)


@pytest.mark.usefixtures("cleared")
def test_the_theme_is_switched_and_kept(page: Page, site: Site) -> None:
    page.emulate_media(color_scheme="light")
    visit(page, site.url)
    light = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    page.locator("[data-theme-toggle]").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("body")).not_to_have_css("background-color", light)
    page.goto(site.at("/browse"))
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize("path", ["/nowhere", "/memory/nowhere"])
def test_a_page_that_is_not_there_is_told(
    page: Page, site: Site, watched: Watched, path: str
) -> None:
    watched.allow("status of 404")
    page.goto(site.at(path))
    expect(page.locator("[data-problem]")).to_be_visible()
    page.get_by_role("link", name="Back to search").click()
    expect(page.locator("[data-box]")).to_be_visible()


@pytest.mark.usefixtures("context")
def test_a_page_weighs_little(page: Page, site: Site) -> None:
    """The results of a search with everything that the browser loads for them, as it is sent."""
    loaded: list[Request] = []
    page.on("requestfinished", lambda one: loaded.append(one))
    page.goto(site.at("/", q="token refresh"), wait_until="networkidle")
    assert any(re.search(r"/search\.js", one.url) for one in loaded)
    assert any(re.search(r"/base\.css", one.url) for one in loaded)
    assert sum(one.sizes()["responseBodySize"] for one in loaded) < 50_000
