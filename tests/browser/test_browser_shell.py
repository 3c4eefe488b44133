"""A person goes anywhere by the palette, writes from any page, and decides the inbox by keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from urllib.parse import parse_qs, urlparse

import pytest
from browser_site import (
    NOW,
    Site,
    Watched,
    attributes,
    expect,
    ready,
    repeat_until,
    serve_site,
    visit,
)
from playwright.sync_api import Browser, Page, Route

from recollect import Filter, Recollect
from recollect.times import shift
from recollect.types import Memory

PROJECT = "shell-project"


@pytest.fixture(scope="module", autouse=True)
def tidy(engine: Recollect) -> Iterator[None]:
    """Remove afterwards what these tests save."""
    yield
    engine.forget([memory.id for memory in made(engine)])


def made(engine: Recollect) -> list[Memory]:
    return engine.list(Filter(project=PROJECT), 100)


def drop(page: Page, **files: str) -> None:
    """Drop files of these names on the page; a double underscore in a name is a dot."""
    page.evaluate(
        """files => {
          const data = new DataTransfer();
          for (const [name, text] of files) data.items.add(new File([text], name));
          dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
        }""",
        [[name.replace("__", "."), text] for name, text in files.items()],
    )


# The palette


def test_the_palette_leads_anywhere_by_keys(page: Page, site: Site) -> None:
    visit(page, site.at("/browse"))
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search, go to a page")
    expect(box).to_be_focused()
    expect(page.get_by_role("option", name="Timeline")).to_be_visible()
    groups = attributes(page.locator("[data-palette-group]"), "ariaLabel")
    assert groups == ["Commands", "Recent", "Projects", "Recipes"]
    page.keyboard.type("trash")
    chosen = page.locator(".palette [aria-selected=true]")
    expect(chosen).to_have_text("Trash")
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    page.keyboard.press("ArrowDown")
    expect(chosen).to_have_text("Search for “trash”")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page).to_have_url(site.at("/trash"))


def test_the_palette_finds_memories_and_searches(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/projects"))
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name="Timeline")).to_be_visible()
    page.keyboard.type("refresh tokens")
    best = engine.search("refresh tokens", limit=1).results[0].memory
    expect(page.get_by_role("group", name="Memories").get_by_role("option").first).to_be_visible()
    expect(page.get_by_role("group", name="Memories")).to_contain_text(best.title[:40])
    page.get_by_role("option", name="Search for “refresh tokens”").click()
    expect(page).to_have_url(site.at("/", q="refresh tokens"))


def test_a_question_mark_shows_all_keys(page: Page, site: Site) -> None:
    visit(page, site.at("/timeline"))
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("new memory")
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()


# A new memory


def test_n_opens_a_small_form_that_saves_and_stays(
    page: Page, site: Site, engine: Recollect, watched: Watched
) -> None:
    watched.allow("status of 400")
    engine.save(title="So that the project is there", project=PROJECT)
    visit(page, site.at(f"/project/{PROJECT}"))
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New memory")
    expect(dialog.get_by_label("What is worth keeping")).to_be_focused()
    expect(dialog.get_by_label("Project")).to_have_value(PROJECT)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("title")  # nothing was written yet
    dialog.get_by_label("What is worth keeping").fill("Typed anywhere, in a moment")
    dialog.get_by_label("Tags").fill("quick, small")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".toast")).to_contain_text("Saved.")
    expect(dialog).not_to_be_visible()
    assert page.url == site.at(f"/project/{PROJECT}")
    [saved] = [memory for memory in made(engine) if memory.text.startswith("Typed anywhere")]
    assert saved.tags == ("quick", "small")


def test_all_fields_takes_a_long_draft_along(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/browse"))
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New memory")
    draft = "A draft that no address could hold. " * 800
    dialog.get_by_label("What is worth keeping").fill(draft)
    dialog.get_by_label("Tags").fill("one, two")
    dialog.get_by_label("Project").fill(PROJECT)
    dialog.get_by_role("button", name="All fields").click()
    expect(page).to_have_url(site.at("/new"))
    expect(page.locator("#field-text")).to_have_value(draft)
    page.locator("[data-save]").click()
    expect(page.locator("[data-done] p")).to_have_text("Saved.")
    [saved] = [memory for memory in made(engine) if memory.text.startswith("A draft that")]
    assert saved.tags == ("one", "two")


def test_the_form_says_what_became_of_the_text(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/browse"))

    def saved(text: str) -> None:
        page.keyboard.press("n")
        page.get_by_label("What is worth keeping").fill(text)
        page.get_by_role("dialog").get_by_label("Project").fill(PROJECT)
        page.keyboard.press("Control+Enter")
        expect(page.locator("dialog[open]")).to_have_count(0)

    toast = page.locator(".toast").last
    saved("The key of the lighthouse is ghp_" + "a1B2" * 9)
    expect(toast).to_contain_text("Redacted 1 secret")
    saved("The lamp of the lighthouse is lit at dusk")
    expect(toast).to_contain_text("Saved.")
    saved("The lamp of the lighthouse is lit at dusk")
    expect(toast).to_contain_text("nothing was changed")


def test_keys_work_again_when_the_server_is_back(
    page: Page, site: Site, watched: Watched, cleared: None
) -> None:
    watched.allow("ERR_FAILED")
    visit(page, site.at("/projects"))
    page.route("**/palette/capture", lambda route: route.abort())
    page.keyboard.press("n")
    expect(page.locator(".toast.bad")).to_contain_text("cannot be reached")
    assert page.url == site.at("/projects")
    page.unroute_all()
    page.keyboard.press("n")
    expect(page.get_by_role("dialog", name="New memory")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/browse", "/review", "/projects"])
def test_single_letters_can_be_switched_off_on_every_page(
    page: Page, site: Site, cleared: None, path: str
) -> None:
    visit(page, site.at(path))
    page.evaluate("() => localStorage.setItem('letters', 'off')")
    page.evaluate("() => document.activeElement.blur()")
    for key in ("j", "n", "?", "u"):
        page.keyboard.press(key)
    assert page.evaluate("() => document.activeElement === document.body")
    expect(page.locator("dialog[open], .toast")).to_have_count(0)
    page.keyboard.press("Control+k")  # it is no single letter
    expect(page.get_by_role("dialog", name="Search and commands")).to_be_visible()


def test_without_script_the_link_leads_to_the_form(scriptless: Page, site: Site) -> None:
    scriptless.goto(site.at("/browse"))
    scriptless.locator("[data-capture-open]").first.click()
    assert scriptless.url == site.at("/new")


def test_a_selection_of_another_page_fills_the_form_and_saves_nothing(
    page: Page, site: Site, engine: Recollect
) -> None:
    """As the bookmarklet opens it."""
    visit(page, site.at("/new"))
    script = page.locator("[data-bookmarklet]").get_attribute("href") or ""
    assert script.startswith("javascript:")
    page.evaluate("() => { window.open = address => { window.opened = address; }; }")
    page.evaluate(
        """() => {
          document.title = "A page";
          getSelection().selectAllChildren(document.querySelector("h1"));
        }"""
    )
    page.evaluate(script.removeprefix("javascript:"))
    opened = urlparse(str(page.evaluate("window.opened")))
    assert parse_qs(opened.query) == {
        "title": ["A page"], "text": ["New memory"], "source": [site.at("/new")],
    }  # fmt: skip
    before = len(made(engine))
    fields = {"title": "Read elsewhere", "text": "<b>Words</b>", "source": "https://example.com/a"}
    visit(page, site.at("/new", **fields, project=PROJECT))
    assert len(made(engine)) == before
    for name, value in fields.items():
        expect(page.locator(f"#field-{name}")).to_have_value(value)
    page.locator("[data-save]").click()
    expect(page.locator("[data-done] p")).to_have_text("Saved.")
    [saved] = [memory for memory in made(engine) if memory.title == "Read elsewhere"]
    assert saved.source == fields["source"]


def test_dropped_files_become_memories(page: Page, site: Site, engine: Recollect) -> None:
    visit(page, site.at("/browse", project=PROJECT))
    drop(page, note__md="# A dropped note\n\nIts text.")
    dialog = page.get_by_role("dialog", name="New memory")
    expect(dialog.get_by_label("Title")).to_have_value("A dropped note")
    expect(dialog.get_by_label("Source")).to_have_value("note.md")
    dialog.get_by_role("button", name="Cancel").click()

    lines = [json.dumps({"title": f"Line {n}", "project": PROJECT}) for n in (1, 2)]
    drop(page, many__jsonl="\n".join(lines))
    page.get_by_role("dialog", name="Save 2 memories?").get_by_role("button", name="Save").click()
    expect(page.locator(".toast").last).to_contain_text("Saved 2 memories.")
    titles = {memory.title for memory in made(engine)}
    assert {"Line 1", "Line 2"} <= titles
    assert "A dropped note" not in titles

    drop(page, bad__jsonl=f"{lines[0]}\n{{")
    expect(page.locator(".toast.bad").last).to_contain_text("bad.jsonl, line 2, is not JSON")
    drop(page, large__txt="a" * 1_000_001)
    expect(page.locator(".toast.bad").last).to_contain_text("a memory has up to 1,000,000")


# The inbox, and what there was


def test_the_inbox_is_decided_by_one_key_each(page: Page, site: Site, engine: Recollect) -> None:
    gone = NOW - timedelta(days=3)
    for number in (1, 2):
        engine.save(
            id=f"shell-expired-{number}", title=f"Expired {number}", project=PROJECT,
            valid_until=gone + timedelta(minutes=number),
        )  # fmt: skip
    visit(page, site.at("/review", kind="expired"))
    items = page.locator("[data-item]")
    expect(items.first).to_be_visible()
    count, first = items.count(), items.first.get_attribute("data-item")
    address = page.url
    page.keyboard.press("x")
    expect(page.locator(".toast")).to_contain_text("Forgotten")
    repeat_until(lambda: items.count(), count - 1)
    page.keyboard.press("u")
    repeat_until(lambda: items.count(), count)
    assert items.first.get_attribute("data-item") == first
    page.keyboard.press("x")
    repeat_until(lambda: items.count(), count - 1)
    assert items.first.get_attribute("data-item") != first
    expect(page.locator("[data-current]")).to_be_focused()
    assert page.url == address
    page.keyboard.press("l")
    repeat_until(lambda: items.count(), count - 2)
    live = {memory.id for memory in engine.list(limit=1000)}
    assert len({"shell-expired-1", "shell-expired-2"} - live) <= 1


def test_the_inbox_is_there_before_its_items(page: Page, site: Site, cleared: None) -> None:
    """To find them takes seconds in a large vault."""
    held: list[Route] = []
    page.route("**/review/items*", lambda route: held.append(route))
    page.goto(site.at("/review"))
    expect(page.locator("[data-looking]")).to_contain_text("Looking for items")
    repeat_until(lambda: len(held), 1)
    held[0].continue_()
    expect(page.locator("[data-total]")).to_contain_text("to decide")


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """A vault with a history of a few days, and no models."""
    home = tmp_path_factory.mktemp("older")
    off = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}
    for days, title in ((4, "The first"), (1, "The second")):
        clock = partial(shift, NOW, -timedelta(days=days))
        with Recollect(home=home, environment=off, clock=clock) as memory:
            memory.save(title=title)
    yield from serve_site(home, **off)


def test_a_date_shows_the_list_as_it_was(page: Page, older: Site, watched: Watched) -> None:
    watched.allow("status of 400")  # a date before the first memory
    visit(page, older.at("/browse"))
    titles = page.locator(".entry-title")
    expect(titles).to_have_count(2)
    expect(page.get_by_label("As of")).to_have_attribute("min", "2026-03-11")
    page.get_by_label("As of").fill("2026-03-12")
    expect(page).to_have_url(older.at("/browse", as_of="2026-03-12"))
    expect(page.locator("[data-as-of]")).to_contain_text("2026-03-12")
    assert attributes(titles, "textContent") == ["The first"]
    ready(page)
    titles.first.click()
    expect(page.locator("[data-as-of]")).to_contain_text("2026-03-12")
    visit(page, older.at("/browse", as_of="2026-03-01"))
    expect(page.locator("[data-as-of]")).to_contain_text("history begins later")
    page.get_by_role("link", name="Show the current memories").click()
    expect(titles).to_have_count(2)


# The first minutes


def test_an_empty_vault_offers_the_first_steps_and_samples_that_go_again(
    page: Page, empty_site: Site
) -> None:
    visit(page, empty_site.url)
    steps = page.locator("[data-start=empty] h3")
    assert attributes(steps, "textContent") == [
        "Write the first one", "Try the samples", "Import", "Add a folder", "Connect an agent",
        "In a terminal",
    ]  # fmt: skip
    page.locator("[data-load-samples]").click()
    expect(page.locator("[data-samples]")).to_contain_text("80 memories here are samples.")
    ready(page)
    with empty_site.engine() as vault:
        vault.edit("auth-jwt-001", title="What somebody made of a sample")
        page.reload()
        page.get_by_text("Remove the samples").click()
        page.get_by_role("button", name="Move 79 samples to the trash").click()
        expect(page.locator("[data-done]")).to_contain_text("Removed 79 samples.")
        assert [memory.id for memory in vault.list()] == ["auth-jwt-001"]
        ready(page)
        page.keyboard.press("u")
        expect(page.locator("[data-count]").first).to_have_text("80 memories")
        assert sum(vault.facets().kind.values()) == 80
        vault.forget([memory.id for memory in vault.list(limit=100)])


def test_the_first_memory_ends_the_first_steps(page: Page, empty_site: Site) -> None:
    """Any client may save it, and the page may be anywhere."""
    with empty_site.engine() as vault:
        visit(page, empty_site.at("/browse"))
        expect(page.get_by_text("No memories yet")).to_be_visible()
        vault.save(id="first", title="Saved by an agent")
        expect(page.locator("[data-row=first]")).to_be_visible()
        vault.forget(["first"])
        visit(page, empty_site.url)
        page.keyboard.press("Escape")
        page.keyboard.press("n")
        page.get_by_label("What is worth keeping").fill("Saved on the page")
        page.keyboard.press("Control+Enter")
        expect(page.locator("[data-done]")).to_contain_text("Saved.")
        page.locator("[data-done] [data-undo]").click()
        expect(page.get_by_text("No memories yet")).to_be_visible()
