"""Every page can be used by everyone: judged by axe-core, in light and dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from browser_site import NOW, Site, Watched, expect, ready, serve_site
from playwright.sync_api import Browser, BrowserContext, Page

from recollect import Recollect
from recollect.auth.access import HomeAccess
from recollect.auth.capabilities import SEARCH
from recollect.auth.credentials import SessionStore
from recollect.auth.token_store import TokenStore, digest, load_own_token
from recollect.demo import sample
from recollect.interfaces.cli.desktop import PAGE

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 375, "height": 800}
WORDS = "token refresh"
GRAVE = ("serious", "critical")
EVERYTHING: dict[str, Any] = {
    "resultTypes": ["violations"],
    "rules": {"target-size": {"enabled": True}},
}
COLOURS: dict[str, Any] = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
BUT_COLOURS: dict[str, Any] = {
    "resultTypes": ["violations"],
    "rules": {"target-size": {"enabled": True}, "color-contrast": {"enabled": False}},
}


# One of each kind that the pages show differently: axe-core looks at every word of every row.
FEW = {
    "auth-jwt-001", "auth-jwt-000", "auth-refresh-race-001", "auth-session-notes-001",
    "core-workstyle-001", "file-harbor-token-lifecycle",
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("few")
    with Recollect(home=home, clock=lambda: NOW) as memory:
        memory.save_all([draft for draft in sample(NOW) if draft.fields["id"] in FEW])
    yield from serve_site(home)


# The elements with text, by all that its contrast depends on: the letters, and what lies behind
# them up to the first that nothing shines through. Their ancestors lie there; where it is asked
# for, whatever else is painted at the same place counts too, and text at no place is like no other.
LOOKS = """everything => {
  const looks = {};
  const painted = (stack) => {
    const found = [];
    for (const one of stack) {
      const { backgroundColor, backgroundImage, opacity, mixBlendMode } = getComputedStyle(one);
      found.push(backgroundColor, backgroundImage, opacity, mixBlendMode);
      if (backgroundColor.startsWith("rgb(") && opacity === "1") break;
    }
    return found;
  };
  const at = (element) => {
    for (const again of [false, true]) {
      if (again) element.scrollIntoView({ block: "start", behavior: "instant" });
      const { left, top, width, height } = element.getClientRects()[0];
      const stack = document.elementsFromPoint(left + width / 2, top + height / 2);
      const place = stack.indexOf(element);
      if (place < 0) continue;
      const above = stack.slice(0, place).filter(one => !element.contains(one));
      return ["above", ...above.flatMap(one => painted([one])), ...painted(stack.slice(place))];
    }
    return [Math.random()];
  };
  for (const element of document.body.querySelectorAll("*")) {
    const says = [...element.childNodes].some(one => one.nodeType === 3 && one.data.trim());
    if (!(says || element.value || element.placeholder)) continue;
    const { width, height } = element.getBoundingClientRect(); // small: for screen readers alone
    if (width < 2 || height < 2 || !element.checkVisibility({ visibilityProperty: true })) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    const look = [color, fontSize, fontWeight, textShadow, element.matches(":disabled")];
    const ancestors = [];
    for (let behind = element; behind; behind = behind.parentElement) ancestors.push(behind);
    look.push(...painted(ancestors), ...(everything ? at(element) : []));
    (looks[look.join()] ??= []).push(element);
  }
  if (everything) scrollTo(0, 0);
  return looks;
}"""
seen: set[str] = set()  # the looks with which nothing is wrong, on whichever page


def violations(page: Page, options: dict[str, Any]) -> list[str]:
    with_judge(page)
    found = page.evaluate("async options => (await axe.run(options)).violations", options)
    return grave(found)


def violations_of_new_looks(page: Page, *, everything: bool = False) -> list[str]:
    with_judge(page)
    judge = f"""async ([seen, options, everything]) => {{
      const looks = Object.entries(({LOOKS})(everything));
      const fresh = looks.filter(([look]) => !seen.includes(look));
      const where = fresh.flatMap(([, elements]) => elements);
      const found = where.length ? (await axe.run(where, options)).violations : [];
      return [fresh.map(([look]) => look), found];
    }}"""
    looks, found = page.evaluate(judge, [[*seen], COLOURS, everything])
    if not (wrong := grave(found)):
        seen.update(looks)
    return wrong


def with_judge(page: Page) -> None:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)


def grave(found: Any) -> list[str]:
    return [
        f"{one['id']}: {node['target']} {node['html'][:120]} {node.get('failureSummary', '')}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


def nothing(page: Page) -> None:
    """As it is."""


def with_why(page: Page) -> None:
    page.locator("[data-why] > summary").first.click()
    page.locator("[data-did] > summary").click()


def with_keys(page: Page) -> None:
    page.locator("[data-keys-open]").click()


def with_palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name="Timeline")).to_be_visible()


def with_capture(page: Page) -> None:
    page.keyboard.press("n")
    expect(page.get_by_role("dialog", name="New memory")).to_be_visible()


def with_filters(page: Page) -> None:
    expect(page.locator("[data-filter-piece]")).to_have_count(1)


def with_comparison(page: Page) -> None:
    expect(page.locator("#compare")).to_be_visible()
    for fold in ("saving", "feedback"):
        page.locator(f"[data-side=left] [data-{fold}] > summary").click()


def with_related(page: Page) -> None:
    expect(page.locator("[data-related-list]")).to_be_visible()


def with_check(page: Page) -> None:
    page.locator("[data-check] button").click()
    expect(page.locator("[data-checked]")).to_be_visible()


PAGES: list[tuple[str, Callable[[Page], None]]] = [
    ("/", nothing),
    (f"/?q={WORDS}&kind=decision", with_why),
    (f"/?q={WORDS}", with_keys),
    ("/?q=decisions+last+year+-zzqx&ignore=kind+decision&project=nowhere", nothing),
    ("/lab", nothing),
    # All constants are rows of one kind, and this recipe has the fewest.
    (f"/lab?q={WORDS}&open=auth-jwt-001&left.set.limits.default=11&right=router", with_comparison),
    ("/memory/auth-jwt-001", with_related),
    ("/edit/auth-jwt-001", nothing),
    ("/new", nothing),
    ("/browse?kind=decision", with_filters),
    ("/timeline", with_filters),
    ("/upkeep", with_check),
    ("/project/harbor-api", nothing),
    ("/live", nothing),
    ("/review", with_palette),
    ("/trash", with_capture),
]


def check_page(page: Page, address: str, prepared: Callable[[Page], None]) -> None:
    """On a wide and a narrow screen, in light and dark. The colours of what looks as something that
    was judged are as good."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(address)
    ready(page)
    prepared(page)
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert violations(page, BUT_COLOURS) == []
        if size is WIDE:
            assert violations_of_new_looks(page, everything=True) == []
            seen.update(page.evaluate(f"() => Object.keys(({LOOKS})())"))
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert violations_of_new_looks(page) == []
        page.emulate_media(color_scheme="light")


def test_the_judge_sees_what_is_wrong(page: Page, site: Site) -> None:
    """A judge that finds nothing anywhere might as well be asleep."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(site.url)
    page.evaluate("() => { document.querySelector('[data-count]').style.color = 'var(--line)' }")
    page.evaluate("() => { document.documentElement.lang = '' }")
    found = " ".join(violations(page, EVERYTHING))
    assert "color-contrast" in found
    assert "html-has-lang" in found
    page.emulate_media(color_scheme="dark")
    for _ in range(2):  # what is wrong once is wrong on the next page too
        assert "data-count" in " ".join(violations_of_new_looks(page))


def test_the_judge_sees_text_that_lies_on_something_of_nearly_its_own_colour(
    page: Page, site: Site
) -> None:
    """Which is none of its ancestors, and the same text lies well elsewhere."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.goto(site.url)
    assert violations_of_new_looks(page, everything=True) == []
    assert violations_of_new_looks(page, everything=True) == []
    page.evaluate(
        """() => {
          const count = document.querySelector("[data-count]");
          const { left, top, width, height } = count.getBoundingClientRect();
          const box = document.body.appendChild(document.createElement("div"));
          Object.assign(box.style, {
            position: "absolute", left: `${left}px`, top: `${top}px`, width: `${width}px`,
            height: `${height}px`, background: "gray", zIndex: 1,
          });
          Object.assign(count.style, { position: "relative", zIndex: 2 });
        }"""
    )
    assert "data-count" in " ".join(violations_of_new_looks(page, everything=True))


@pytest.mark.parametrize(("path", "prepared"), PAGES, ids=[path for path, _ in PAGES])
def test_a_page_is_for_everyone(
    page: Page, site: Site, path: str, prepared: Callable[[Page], None]
) -> None:
    check_page(page, site.url + path, prepared)


@pytest.mark.parametrize("path", ["/", "/lab", "/browse", "/timeline", "/upkeep"])
def test_an_empty_vault_is_for_everyone(page: Page, empty_site: Site, path: str) -> None:
    check_page(page, empty_site.url + path, nothing)


@pytest.mark.parametrize("path", ["/nowhere", "/?q=x&since=yesteryear"])
def test_what_is_refused_is_told_to_everyone(
    page: Page, site: Site, watched: Watched, path: str
) -> None:
    watched.allow("status of 40[04]")
    check_page(page, site.url + path, nothing)


TOKEN = "a-token-that-is-long-enough"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """A server that asks for a token, over a few memories and without models."""
    home = tmp_path_factory.mktemp("guarded")
    off = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}
    with Recollect(home=home, environment=off) as memory:
        memory.save(id="tides", title="Tide tables", text="High water at noon.")
    with contextmanager(serve_site)(home, auth="yes", RECOLLECT_TOKEN=TOKEN, **off) as running:
        yield running


@pytest.mark.usefixtures("cleared")
def test_a_server_that_asks_for_a_token_lets_people_log_in(
    page: Page, guarded: Site, watched: Watched
) -> None:
    watched.allow("status of 401")
    others = len(SessionStore(TokenStore(HomeAccess(guarded.home))).list_all())
    page.goto(guarded.at("/browse", kind="fact"))
    expect(page).to_have_url(guarded.at("/login", next="/browse?kind=fact"))
    check_page(page, page.url, nothing)
    page.get_by_label("Token").fill("not the right one at all")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page).to_have_url(guarded.at("/browse", kind="fact"))
    check_page(page, guarded.at("/sessions"), nothing)
    expect(page.locator("[data-session]")).to_have_count(others + 1)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Create").click()
    expect(page.locator("[data-created]")).to_be_focused()
    expect(page.locator("[data-created]")).to_be_in_viewport()
    secret = page.locator("[data-secret]").inner_text()
    page.locator("[data-created]").get_by_role("button", name="Copy").click()
    expect(page.locator(".toast")).to_contain_text("Copied.")
    assert page.evaluate("() => navigator.clipboard.readText()") == secret
    page.goto(guarded.at("/sessions"))
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.locator("header").evaluate("one => one.offsetHeight") < 100  # two lines
    for revoke in page.locator("#tokens td button").all():
        revoke.scroll_into_view_if_needed()
        assert revoke.evaluate("one => one.closest('.scroll').scrollLeft") == 0
    page.locator("[data-log-out]").click()
    expect(page).to_have_url(guarded.at("/login"))
    page.goto(guarded.at("/"))
    expect(page).to_have_url(guarded.at("/login"))


def test_a_link_from_a_file_logs_in_without_a_click(
    context: BrowserContext, guarded: Site, tmp_path: Path
) -> None:
    """As `recollect open` does it: the browser comes from a file, not from the server."""
    store = TokenStore(HomeAccess(guarded.home))
    link = SessionStore(store).create_link(digest(load_own_token(guarded.home, store)[0]))
    file = tmp_path / "open.html"
    file.write_text(PAGE.format(link=guarded.at(f"/login/{link}")))
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator("[data-box]")).to_be_visible()
    expect(page).to_have_url(guarded.at("/"))
    # So does a bookmarklet: the cookie does not come along from another site, and is asked for.
    file.write_text(f'<a href="{guarded.at("/new", title="Read elsewhere")}">Save</a>')
    page.goto(file.as_uri())
    page.get_by_role("link").click()
    expect(page.locator("#field-title")).to_have_value("Read elsewhere")
    page.context.clear_cookies()
    page.goto(file.as_uri())
    page.get_by_role("link").click()
    expect(page).to_have_url(guarded.at("/login", next="/new?title=Read+elsewhere"))


@pytest.mark.usefixtures("cleared")
def test_with_a_token_that_only_reads_the_page_offers_no_change_and_works(
    page: Page, guarded: Site
) -> None:
    token, _ = TokenStore(HomeAccess(guarded.home)).create([SEARCH], name="reader")
    page.goto(guarded.at("/login"))
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    expect(page.locator("[data-box]")).to_be_visible()
    page.goto(guarded.at("/", q="tide"))
    expect(page.locator("[data-result]")).to_have_count(1)
    expect(page.get_by_role("button", name="Right")).to_have_count(0)
    page.locator("[data-open]").focus()
    for key in ("a", "d", "w"):  # the first two would judge the result
        page.keyboard.press(key)
    expect(page.locator("[data-waterfall]")).to_be_visible()
    check_page(page, guarded.at("/memory/tides"), with_related_or_none)
    expect(page.locator("[data-edit], [data-forget], [data-pin]")).to_have_count(0)
    page.goto(guarded.at("/lab", q="tide"))
    ready(page)
    expect(page.locator("[data-vote], [data-saving]")).to_have_count(0)
    page.goto(guarded.at("/upkeep"))
    expect(page.locator("[data-check]")).to_have_count(0)


def with_related_or_none(page: Page) -> None:
    expect(page.locator("[data-related-list], [data-related-none]")).to_be_visible()
