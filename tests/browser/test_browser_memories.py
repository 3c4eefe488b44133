"""A person reads a memory, changes it, forgets it, brings it back, and writes a new one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser_site import Site, Watched, attributes, expect, ready, serve_site, visit
from playwright.sync_api import Browser, Page

from recollect import Recollect
from recollect.errors import NotFound
from recollect.types import Memory

ID = "browser-lighthouse-001"


@pytest.fixture
def memory(engine: Recollect) -> Iterator[Memory]:
    """One of our own, that is gone again afterwards."""
    yield engine.save(
        id=ID,
        title="The lighthouse job runs at four",
        text="It reads https://example.com/lighthouse and writes a report.",
        why="Nobody is awake then.",
        tags=["lighthouse", "nightly"],
        project="harbor-api",
        kind="decision",
    )
    engine.forget([ID], purge=True)


def now(engine: Recollect, id: str = ID) -> Memory:
    [memory] = engine.show([id])
    return memory


# Reading


def test_a_memory_is_shown_whole(page: Page, site: Site, memory: Memory) -> None:
    visit(page, site.at(f"/memory/{memory.id}"))
    expect(page.get_by_role("heading", level=1)).to_have_text(memory.title)
    expect(page.locator("[data-text]")).to_have_text(memory.text)
    expect(page.locator(".aspect").filter(has_text="Why")).to_contain_text(memory.why)
    expect(page.locator("[data-tags] a")).to_contain_text(["lighthouse", "nightly"])
    expect(page.locator("[data-id]")).to_have_text(memory.id)
    link = page.get_by_role("link", name="https://example.com/lighthouse")
    expect(link).to_have_attribute("rel", "noreferrer noopener nofollow")


def test_what_is_related_is_shown(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/memory/auth-jwt-001"))
    links = page.locator("[data-related-list] .entry-title")
    expect(links.first).to_be_visible()
    ids = [result.id for result in engine.related("auth-jwt-001")]
    assert [path.removeprefix("/memory/") for path in attributes(links, "pathname")] == ids
    links.first.click()
    expect(page).to_have_url(site.at(f"/memory/{ids[0]}"))


def test_a_memory_that_is_not_there_is_told(page: Page, site: Site, watched: Watched) -> None:
    watched.allow("status of 404")
    visit(page, site.at("/memory/nowhere"))
    expect(page.locator("[data-problem]")).to_contain_text("nowhere")


# Changing


def test_a_change_is_saved(page: Page, site: Site, engine: Recollect, memory: Memory) -> None:
    visit(page, site.at(f"/memory/{memory.id}"))
    page.locator("[data-edit]").click()
    ready(page)
    page.locator("#field-title").fill("The lighthouse job runs at five")
    page.locator("#field-text").fill("Moved by an hour.\n\nThe report is kept.")
    page.get_by_role("checkbox", name="nightly").uncheck()
    page.locator("#field-add-tags").fill("harbour light")
    page.keyboard.press("Enter")  # makes a tag of it, and does not send the form
    expect(page.get_by_role("checkbox", name="harbour light")).to_be_checked()
    page.locator("[data-save]").click()
    expect(page.locator("[data-done] p")).to_have_text("The change was saved.")
    expect(page).to_have_url(site.at(f"/memory/{memory.id}"))
    after = now(engine)
    assert after.title == "The lighthouse job runs at five"
    assert after.text == "Moved by an hour.\n\nThe report is kept."
    assert after.tags == ("lighthouse", "harbour light")
    assert (after.why, after.project, after.kind) == (memory.why, memory.project, memory.kind)
    page.reload()
    expect(page.locator("[data-done]")).to_have_count(0)


def test_saving_without_a_change_changes_nothing(
    page: Page, site: Site, engine: Recollect, memory: Memory
) -> None:
    before = now(engine)
    visit(page, site.at(f"/edit/{memory.id}"))
    page.locator("#field-title").press("Control+Enter")
    expect(page.locator("[data-done] p")).to_have_text("Nothing was changed.")
    assert now(engine) == before


def test_what_cannot_be_saved_is_told_at_its_field(
    page: Page, site: Site, engine: Recollect, memory: Memory, watched: Watched
) -> None:
    watched.allow("status of 400")
    visit(page, site.at(f"/edit/{memory.id}"))
    page.locator("#field-valid_until").fill("tomorrow-ish")
    page.locator("#field-title").fill("Kept")
    page.locator("[data-save]").click()
    expect(page.locator("[data-problem]")).to_contain_text("Valid until")
    expect(page.locator("#field-valid_until")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#field-valid_until")).to_have_value("tomorrow-ish")
    expect(page.locator("#field-title")).to_have_value("Kept")
    assert now(engine).title == memory.title


@pytest.mark.parametrize("choice", ["mine", "theirs"])
def test_a_change_by_somebody_else_meanwhile_is_shown(
    page: Page, site: Site, engine: Recollect, memory: Memory, watched: Watched, choice: str
) -> None:
    watched.allow("status of 412")
    visit(page, site.at(f"/edit/{memory.id}"))
    engine.edit(memory.id, title="Theirs", why="Theirs too")
    page.locator("#field-title").fill("Mine")
    page.locator("#field-text").fill("My text")
    page.locator("[data-save]").click()
    conflict = page.locator("[data-conflict]")
    expect(conflict).to_be_visible()
    title = conflict.locator("[data-difference=title]")
    expect(title).to_contain_text("Mine")
    expect(title).to_contain_text("Theirs")
    expect(conflict.locator("[data-difference=why]")).to_contain_text("Theirs too")
    expect(conflict.locator("[data-difference]")).to_have_count(2)
    assert now(engine).title == "Theirs"
    title.locator(f"input[value={choice}]").check()
    page.locator("[data-save]").click()
    expect(page.locator("[data-done] p")).to_have_text("The change was saved.")
    after = now(engine)
    assert after.title == choice.capitalize()
    assert (after.text, after.why) == ("My text", "Theirs too")


def test_what_was_typed_outlives_the_memory(
    page: Page, site: Site, engine: Recollect, memory: Memory, watched: Watched
) -> None:
    watched.allow("status of 404")
    visit(page, site.at(f"/edit/{memory.id}"))
    engine.forget([memory.id])
    page.locator("#field-title").fill("Not lost")
    page.locator("[data-save]").click()
    expect(page.locator("[data-problem]")).to_contain_text("was forgotten in the meantime")
    expect(page.locator("#field-title")).to_have_value("Not lost")


def test_a_memory_is_pinned(page: Page, site: Site, engine: Recollect, memory: Memory) -> None:
    visit(page, site.at(f"/memory/{memory.id}"))
    page.locator("[data-pin] button").click()
    expect(page.locator("[data-done]")).to_contain_text("Pinned")
    expect(page.locator(".memory-badges")).to_contain_text("core")
    assert now(engine).tier == "core"
    page.locator("[data-pin] button", has_text="Unpin").click()
    expect(page.locator("[data-done]")).to_contain_text("Unpinned")
    assert now(engine).tier == memory.tier


# Another vault


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """A home with one memory, and a team's vault with another; no models."""
    home, team = tmp_path_factory.mktemp("own"), tmp_path_factory.mktemp("team") / "vault.db"
    off = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}
    with Recollect(team, home=home, environment=off) as vault:
        vault.save(id="theirs", title="The foghorn of the team", text="It sounds twice.")
    with Recollect(home=home, environment=off) as vault:
        vault.save(id="ours", title="Our foghorn", text="It sounds once.")
    table = f'[[vaults]]\nname = "harbour"\ntier = "team"\npath = "{team}"\n'
    (home / "config.toml").write_text(table)
    yield from serve_site(home, **off)


def test_a_memory_of_another_vault_names_it_and_offers_no_change(
    page: Page, shared: Site, watched: Watched
) -> None:
    watched.allow("status of 400")
    visit(page, shared.at("/", q="foghorn team"))
    page.locator("[data-result=theirs] [data-open]").focus()
    preview = page.locator("[data-preview-of=theirs]")
    for place in (preview, page.locator("[data-memory=theirs]")):
        expect(place.locator("[data-vault]")).to_have_text("in the vault harbour")
        expect(place.locator(":is([data-edit], [data-pin], [data-forget])")).to_have_count(0)
        expect(place.locator("[data-supersede]")).to_have_count(0)
        page.locator("[data-result=theirs] [data-open]").click() if place is preview else None
    page.goto(shared.at("/edit/theirs"))
    expect(page.locator("[data-problem]")).to_contain_text("in the vault 'harbour'")
    visit(page, shared.at("/memory/ours"))
    expect(page.locator("[data-vault]")).to_have_count(0)
    expect(page.locator("[data-edit]")).to_have_count(1)


# Forgetting


def test_forgetting_can_be_undone(
    page: Page, site: Site, engine: Recollect, memory: Memory
) -> None:
    visit(page, site.at(f"/memory/{memory.id}"))
    page.locator("[data-forget] button").click()
    expect(page.locator("[data-done]")).to_contain_text(memory.title)
    expect(page).to_have_url(site.at("/browse"))
    with pytest.raises(NotFound):
        engine.show([memory.id])
    engine.save(id="saved-meanwhile", title="An agent of the same person saves meanwhile")
    page.locator("[data-done] [data-undo]").click()
    expect(page.locator("[data-done]")).to_contain_text("Undone: forget of")
    assert now(engine) == memory
    assert now(engine, "saved-meanwhile")
    page.reload()
    expect(page.locator("[data-done]")).to_have_count(0)  # it is said once
    engine.forget(["saved-meanwhile"], purge=True)


# Writing


def test_a_new_memory_is_written_and_a_repeated_one_told(
    page: Page, site: Site, engine: Recollect
) -> None:
    title = "The tide tables are printed twice a year"
    text = "The harbour office prints the tide tables in May and in November."

    def written(text: str) -> str:
        visit(page, site.at("/new"))
        page.locator("#field-title").fill(title)
        page.locator("#field-text").fill(text)
        page.locator("#field-add-tags").fill("tides, print")
        page.locator("[data-save]").click()
        return page.locator("[data-memory]").get_attribute("data-memory") or ""

    before = sum(engine.facets().kind.values())
    id = written(text)
    expect(page.locator("[data-done] p")).to_have_text("Saved.")
    made = now(engine, id)
    assert (made.title, made.text, made.tags) == (title, text, ("tides", "print"))
    assert written(text) == id
    expect(page.locator("[data-done]")).to_contain_text("says exactly this")
    assert sum(engine.facets().kind.values()) == before + 1
    engine.forget([id], purge=True)


def test_a_memory_needs_a_title_or_a_text(page: Page, site: Site, watched: Watched) -> None:
    watched.allow("status of 400")
    visit(page, site.at("/new"))
    page.locator("[data-save]").click()
    expect(page.locator("[data-problem]")).to_contain_text("needs a title or a text")


def test_memories_are_changed_and_forgotten_without_script(
    scriptless: Page, site: Site, engine: Recollect, memory: Memory
) -> None:
    page = scriptless
    page.goto(site.at(f"/memory/{memory.id}"))
    page.get_by_role("link", name="Show related memories").click()
    expect(page.locator("[data-related-list]")).to_be_visible()
    page.goto(site.at(f"/edit/{memory.id}"))
    page.locator("#field-title").fill("Changed by hand")
    page.locator("#field-add-tags").fill("one, two")
    page.locator("[data-save]").click()
    expect(page.locator("[data-done] p")).to_have_text("The change was saved.")
    assert now(engine).tags == ("lighthouse", "nightly", "one", "two")
    page.locator("[data-forget] button").click()
    page.locator("[data-done] [data-undo]").click()
    expect(page.locator("[data-done]")).to_contain_text("Undone: forget of")
    assert now(engine).title == "Changed by hand"
