"""A person keeps the page open while agents work: the feed, the lists, a server that restarts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from browser_site import NOW, Site, Watched, attributes, expect, repeat_until, visit
from playwright.sync_api import Page

from patience import until
from recollect import Filter, Recollect

PROJECT = "live-project"


@pytest.fixture(scope="module")
def agent(site: Site) -> Iterator[Recollect]:
    """An agent in another process; what it saved is gone afterwards."""
    with Recollect(
        home=site.home, environment=site.environment, interface="mcp", client="an-agent"
    ) as opened:
        yield opened
        ids = opened.select_ids(filter=Filter(project=PROJECT))
        opened.forget(ids)


def wait_connected(page: Page) -> None:
    """Until the page follows what happens."""
    expect(page.locator("[data-feed-state]")).to_have_text(re.compile("Updating live"))


def test_the_feed_shows_what_happens_and_who_did_it(
    page: Page, site: Site, agent: Recollect
) -> None:
    visit(page, site.at("/live"))
    wait_connected(page)
    saved = agent.save(title="Wombats dig at night", project=PROJECT)
    row = page.locator("[data-activity]").first
    expect(row).to_contain_text("saved")
    expect(row.locator(".activity-who")).to_have_text("an-agent")
    agent.search("wombats dig", project=PROJECT)
    expect(page.locator("[data-activity=search]").first).to_contain_text("Wombats dig at night")
    agent.forget([saved.id])
    expect(page.locator("[data-activity=forget]").first).to_contain_text("forgot")


@pytest.mark.usefixtures("context")
def test_ages_go_on_while_the_page_is_open(page: Page, site: Site, agent: Recollect) -> None:
    agent.save(title="Told a while ago", project=PROJECT)
    page.clock.install(time=NOW)
    visit(page, site.at("/live"))
    age = page.locator("[data-activity] time").first
    expect(age).to_have_text("just now")

    def has_grown() -> bool:  # the server's text is there before the script that counts
        page.clock.run_for(200_000)
        return age.inner_text().endswith("minutes ago")

    until(has_grown)


def test_a_locked_vault_is_told_as_such(page: Page, site: Site, cleared: None) -> None:
    events = 'event: locked\ndata: {"why": "The vault is locked."}\n\n'
    page.route(
        "**/live/events*",
        lambda route: route.fulfill(content_type="text/event-stream", body=events),
    )
    visit(page, site.at("/live"))
    bar = page.locator("[data-server-bar]")
    expect(bar).to_contain_text("The vault is locked.")
    expect(bar.get_by_role("link", name="Unlock it")).to_have_attribute("href", "/")


def test_the_feed_stands_still_under_the_pointer(page: Page, site: Site, agent: Recollect) -> None:
    visit(page, site.at("/live"))
    wait_connected(page)
    page.locator("[data-activity]").first.hover()
    before = attributes(page.locator("[data-activity]"), "textContent")
    agent.save(title="While somebody reads", project=PROJECT)
    expect(page.locator("[data-feed-state]")).to_have_text("Paused, 1 new")
    assert attributes(page.locator("[data-activity]"), "textContent") == before
    page.mouse.move(0, 0)
    expect(page.locator("[data-activity]").first).to_contain_text("While somebody reads")


def test_the_feed_is_narrowed_to_a_project_and_a_client(
    page: Page, site: Site, engine: Recollect, agent: Recollect
) -> None:
    agent.save(title="Of the agent", project=PROJECT)
    engine.save(title="Of the library", project=PROJECT)
    visit(page, site.at("/live", project=PROJECT))
    page.get_by_label("Done by").select_option("an-agent")
    expect(page).to_have_url(site.at("/live", project=PROJECT, by="an-agent"))
    who = page.locator(".activity-who")
    expect(who.first).to_be_visible()
    assert {*attributes(who, "textContent")} == {"an-agent"}
    expect(page.locator(".feed")).not_to_contain_text("Of the library")


def test_a_list_takes_in_what_is_new_without_a_reload(
    page: Page, site: Site, agent: Recollect
) -> None:
    """A list updates by itself at the top of the page; a scrolled page offers a button."""
    agent.save(title="The first of the project", project=PROJECT)
    with page.expect_request("**/live/events"):
        visit(page, site.at("/browse", project=PROJECT))
    page.evaluate("() => { window.stays = true; }")
    rows = page.locator("[data-row]")
    known = rows.count()
    agent.save(title="The second of the project", project=PROJECT)
    expect(rows).to_have_count(known + 1)

    visit(page, site.at("/browse"))
    page.evaluate("() => scrollTo(0, 400)")
    first = rows.nth(12)
    place = first.bounding_box()
    with page.expect_request("**/live/events"):
        pass
    saved = agent.save(title="The third of the project", project=PROJECT, tier="core")
    button = page.locator("[data-new]")
    expect(button).to_have_text("1 new")
    assert first.bounding_box() == place
    button.click()
    expect(page.locator(f"[data-row='{saved.id}']")).to_be_visible()
    expect(button).to_have_count(0)


def test_a_server_that_is_away_is_told_and_comes_back(
    page: Page, site: Site, watched: Watched, cleared: None
) -> None:
    watched.allow("ERR_|Failed to load")
    visit(page, site.at("/live"))
    wait_connected(page)
    page.context.set_offline(True)
    page.evaluate("() => dispatchEvent(new Event('pagehide'))")
    page.evaluate("() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    bar = page.locator("[data-server-bar]")
    expect(bar).to_contain_text("cannot be reached")
    page.context.set_offline(False)
    repeat_until(lambda: bar.is_hidden(), True)
    wait_connected(page)
