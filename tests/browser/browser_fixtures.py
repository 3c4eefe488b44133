"""A real browser against a real server over the sample memories.

Chromium without windows is looked for, then installed as Debian's package where this machine allows
it, then any other; where there is none, these tests are skipped and say so.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_site import NOW, Site, Watched, serve_site
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from recollect import Recollect
from recollect.demo import sample

# It draws no windows of its own: the same pages at half the cost.
SHELL = "chromium-headless-shell"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Where nobody answers, another browser will do.
APT = ("apt-get", "--quiet", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10")
UPDATE = ("update",)
INSTALL = ("install", "--yes", "--no-install-recommends")
# A browser in a test asks nobody but the server, and needs no screen, and no sandbox within one.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
# A page lives for a second: no compiler that pays later, few large tiles, no new frame and process
# for each address. Together a quarter of what a visit costs. Of two lists of features the last
# counts, so this one repeats what Playwright switches off.
CHEAP = (
    "--js-flags=--no-opt --no-maglev",
    "--default-tile-width=1024", "--default-tile-height=1024",
    "--renderer-process-limit=1",
    "--disable-features=RenderDocument,ProactivelySwapBrowsingInstance,IsolateOrigins,site-per-process,"
    "AvoidCorsURLLoaderRestartOnRedirect,AvoidUnnecessaryBeforeUnloadCheckSync,"
    "DestroyProfileOnBrowserClose,HttpsFirstBalancedModeAutoEnable,HttpsUpgrades,MediaRouter,"
    "NetworkTimeServiceQuerying,OptimizationHints,PaintHolding,PreconnectToSearch,"
    "ThirdPartyStoragePartitioning",
)  # fmt: skip

WIDE: ViewportSize = {"width": 1280, "height": 900}
# Longer than anything takes on a slow machine with much else to do: what passes waits for nothing.
TIMEOUT_MS = 20_000


def chromium() -> str | None:
    """The cheapest there is or that can be installed."""
    return _found(SHELL) or _installed(SHELL) or _found(*NAMES) or _installed("chromium")


def _found(*names: str) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


def _installed(package: str) -> str | None:
    """Debian's package, installed once however many test processes ask."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return None
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 240}
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with (Path(tempfile.gettempdir()) / "recollect-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            # Not every Debian has both, and what is known of packages may be old or nothing.
            for command in ((*INSTALL, package), UPDATE, (*INSTALL, package)):
                if found := _found(package):
                    return found
                subprocess.run((*APT, *command), env=environment, **quiet)  # type: ignore[call-overload]
        except subprocess.TimeoutExpired:
            return None
    return _found(package)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip("There is no Chromium here, and Debian's package could not be installed.")
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *CHEAP])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """One server with the sample memories for each test process. Tests may change them: pages are
    compared with the engine, not with the samples."""
    home = tmp_path_factory.mktemp("site")
    with Recollect(home=home, clock=lambda: NOW) as memory:
        memory.save_all(list(sample(NOW)))
        memory.embed_now()
    yield from serve_site(home)


@pytest.fixture(scope="session")
def engine(site: Site) -> Iterator[Recollect]:
    """The vault of the site, for what the page must agree with."""
    with site.engine() as opened:
        yield opened


@pytest.fixture(scope="session")
def empty_site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """A vault without a single memory."""
    yield from serve_site(tmp_path_factory.mktemp("empty"))


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = new_context(browser)
    yield made
    made.close()


def new_context(browser: Browser) -> BrowserContext:
    made = browser.new_context(viewport=WIDE)
    made.set_default_timeout(TIMEOUT_MS)
    return made


@pytest.fixture
def watched() -> Iterator[Watched]:
    """Pages must raise no console error and ask no other origin, whatever the test does."""
    seen = Watched()
    yield seen
    assert seen.problems == []
    assert seen.elsewhere == []


@pytest.fixture(scope="session")
def tabs(browser: Browser) -> Iterator[list[Page]]:
    """The page that tests share, once there is one: a new one costs more than what it shows."""
    opened: list[Page] = []
    yield opened
    for tab in opened:
        tab.context.close()


@pytest.fixture
def page(
    request: pytest.FixtureRequest, browser: Browser, tabs: list[Page], watched: Watched
) -> Iterator[Page]:
    """A page that others had before, unless the test asks for a `context` of its own. That does
    one that leaves what cannot be `cleared`, a clock or scripts of its own, or needs one that has
    not loaded anything."""
    if own := "context" in request.fixturenames:
        tab = request.getfixturevalue("context").new_page()
    elif tabs:
        [tab] = tabs
        tab.set_viewport_size(WIDE)
        tab.emulate_media(color_scheme="null", reduced_motion="null")
        tab.mouse.move(0, 0)
    else:
        tabs.append(tab := new_context(browser).new_page())
    watched.watch(tab)
    failed = request.session.testsfailed
    yield tab
    watched.leave(tab)
    if not own and request.session.testsfailed != failed:
        tabs.remove(tab)
        tab.context.close()


@pytest.fixture
def cleared(page: Page) -> Iterator[None]:
    """For a test that leaves something in the browser: cookies, what a page stores, permissions,
    routes, a network that is away."""
    yield
    page.unroute_all(behavior="ignoreErrors")
    page.context.set_offline(False)
    page.context.clear_permissions()
    page.context.clear_cookies()
    page.evaluate("() => localStorage.clear()")


@pytest.fixture(scope="session")
def scriptless(browser: Browser) -> Iterator[Page]:
    """A page in which no script runs."""
    with browser.new_context(java_script_enabled=False) as context:
        yield context.new_page()
