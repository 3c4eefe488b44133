"""Reading: rendered Markdown, the preview next to results, passages of files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_site import Site, expect, repeat_until, results, visit
from playwright.sync_api import Page

from recollect import Recollect

ID = "browser-beacon-001"
WORDS = "token refresh"
TEXT = """<!-- who edits this file -->
## Beacon rotation

See auth-jwt-001 and **never** guess.

```python
def rotate(): return 1
```
"""


@pytest.fixture(scope="module")
def beacon(engine: Recollect, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A memory in Markdown, and a followed file of three passages; gone again afterwards."""
    folder = tmp_path_factory.mktemp("notes")
    parts = [
        f"# {name}\n\n{name} beaconfile {'words ' * 150}\n" for name in ("One", "Two", "Three")
    ]
    (folder / "guide.md").write_text("\n".join(parts), encoding="utf-8")
    engine.save(id=ID, title="Beacon `rotate`", text=TEXT, kind="decision", project="harbor-api")
    engine.add_folder(folder, project="beacons")
    yield folder
    engine.remove_folder(folder)
    engine.forget([ID], purge=True)


def test_markdown_is_rendered_in_the_preview_the_snippet_and_the_page(
    page: Page, site: Site, beacon: Path
) -> None:
    visit(page, site.at("/", q="beacon rotation guess"))
    row = page.locator(f"[data-result={ID}]")
    expect(row.locator(".snippet strong").first).to_have_text("Beacon rotation")
    assert "##" not in row.locator(".snippet").inner_text()
    assert "<!--" not in row.locator(".snippet").inner_text()
    expect(row.locator(".snippet mark").first).to_have_text("Beacon")
    row.locator("[data-open]").focus()
    preview = page.locator(f"[data-preview-of={ID}]")
    expect(preview.locator(".prose h3")).to_have_text("Beacon rotation")
    expect(preview.locator("[data-text]")).to_have_attribute("dir", "auto")
    page.keyboard.press("Enter")
    expect(page.locator("h1 code")).to_have_text("rotate")
    expect(page.locator("[data-text] .k").first).to_have_text("def")
    expect(page.locator("[data-text] h2")).to_have_text("Beacon rotation")
    page.locator("[data-text] a").click()
    expect(page).to_have_url(site.at("/memory/auth-jwt-001"))


def test_eight_results_fit_beside_the_preview_which_follows_the_keys(
    page: Page, site: Site, engine: Recollect
) -> None:
    engine.embed_now()  # what other tests saved: a notice of missing vectors would take room
    visit(page, site.at("/", q=WORDS))
    preview = page.locator("[data-preview-of]")
    ids = results(page)
    expect(preview).to_have_attribute("data-preview-of", ids[0])
    rows = page.locator("[data-result]")
    bottoms = rows.evaluate_all("all => all.map(row => row.getBoundingClientRect().bottom)")
    assert sum(bottom <= 900 for bottom in bottoms) >= 8
    expect(page.locator("[data-count]")).to_contain_text("found, the best 10 shown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    expect(preview).to_have_attribute("data-preview-of", ids[1])
    expect(rows.nth(1)).to_have_attribute("data-chosen", "")
    actions = rows.nth(1).locator(".judge")
    expect(actions).to_have_css("opacity", "1")
    expect(rows.nth(4).locator(".judge")).to_have_css("opacity", "0")
    label = rows.nth(0).locator(".strip").get_attribute("aria-label")
    assert label == "among the best matches"
    page.keyboard.press("e")
    expect(page).to_have_url(site.at(f"/edit/{ids[1]}"))


def test_a_result_is_pinned_and_forgotten_by_a_key_and_brought_back(
    page: Page, site: Site, engine: Recollect, beacon: Path
) -> None:
    visit(page, site.at("/", q="beacon rotation guess"))
    row = page.locator(f"[data-result={ID}]")
    row.locator("[data-open]").focus()
    for tier in ("core", "capture"):
        page.keyboard.press("p")
        repeat_until(lambda: engine.show([ID])[0].tier, tier)
        expect(row.locator("[data-pin]")).to_have_attribute(
            "aria-pressed", "true" if tier == "core" else "false"
        )
    page.keyboard.press("x")
    expect(row).to_have_count(0)
    page.locator("[data-toasts]").get_by_role("button", name="Undo").click()
    expect(row.locator("[data-open]")).to_be_focused()
    assert engine.show([ID])[0].id == ID


def test_a_passage_of_a_file_names_its_place_and_its_neighbours(
    page: Page, site: Site, engine: Recollect, beacon: Path
) -> None:
    visit(page, site.at("/", q="Two beaconfile", project="beacons"))
    row = page.locator("[data-result]").first
    expect(row.locator("[data-file]")).to_contain_text("guide.md:")
    assert row.locator("[data-edit], [data-forget]").count() == 0
    row.locator("[data-open]").focus()
    preview = page.locator("[data-preview-of]")
    expect(preview.locator("[data-editor]")).to_have_attribute(
        "href", f"vscode://file{beacon}/guide.md:5"
    )
    expect(preview.locator("[data-passage] summary")).to_contain_text(["One", "Three"])
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("One › Two")
    expect(page.locator("[data-place]")).to_contain_text("guide.md:5")
    assert page.locator("[data-edit], [data-forget]").count() == 0


@pytest.mark.parametrize("id", [".", ".."])
def test_an_id_of_dots_is_opened(page: Page, site: Site, engine: Recollect, id: str) -> None:
    engine.save(id=id, title="Beacon of dots", text="zebrawood")
    visit(page, site.at("/", q="zebrawood"))
    page.locator("[data-open]").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-id]")).to_have_text(id)
    engine.forget([id], purge=True)
