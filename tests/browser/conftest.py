"""A real browser against a real server over the sample memories.

Chromium is looked for, then installed as Debian's package where this machine allows it; where there
is none, these tests are skipped and say so.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from recollect import Recollect
from recollect.demo.load import sample

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL = ("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "chromium")
# A browser in a test asks nobody but the server, and needs no screen, and no sandbox within one.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
RECOLLECT = str(Path(sys.executable).with_name("recollect"))


def chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def installed_chromium() -> str | None:
    """Debian's package, installed once however many test processes ask."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return None
    with (Path(tempfile.gettempdir()) / "recollect-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if found := chromium():
            return found
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 240}
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        try:
            subprocess.run(("apt-get", "update", "--quiet"), env=environment, **quiet)  # type: ignore[call-overload]
            subprocess.run(INSTALL, env=environment, **quiet)  # type: ignore[call-overload]
        except subprocess.TimeoutExpired:
            return None
    return chromium()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium() or installed_chromium()
    if path is None:
        pytest.skip("There is no Chromium here, and Debian's package could not be installed.")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()


class Site(NamedTuple):
    """A running server and its home."""

    url: str
    home: Path

    def engine(self) -> Recollect:
        """The same vault, to look at what the page did."""
        return Recollect(home=self.home)


def served(home: Path, **settings: str) -> Iterator[Site]:
    environment = os.environ | {
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_NOW": NOW.isoformat(),
        "RECOLLECT_RERANK__BUDGET_MS": "10000",
        **settings,
    }
    process = subprocess.Popen(
        [RECOLLECT, "serve", "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+?/", process.stdout.readline())
        assert found is not None, "The server did not start."
        yield Site(found[0].rstrip("/"), home)
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """The sample memories, for tests that may change them; one server a file of tests."""
    home = tmp_path_factory.mktemp("site")
    with Recollect(home=home, clock=lambda: NOW) as memory:
        memory.save_all(list(sample(NOW)))
    yield from served(home)


@pytest.fixture(scope="module")
def empty_site(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """A vault without a single memory."""
    yield from served(tmp_path_factory.mktemp("empty"))


class Watched:
    """What a page did behind the scenes."""

    def __init__(self, page: Page) -> None:
        self.problems: list[str] = []
        self.elsewhere: list[str] = []
        page.on("console", lambda said: self._said(said.type, said.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda request: self._asked(page, request.url))

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(f"{kind}: {text}")

    def _asked(self, page: Page, url: str) -> None:
        if not url.startswith("http://127.0.0.1:"):
            self.elsewhere.append(url)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    made.set_default_timeout(15_000)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that must raise no console error and ask no other origin, whatever the test does."""
    opened = context.new_page()
    watched = Watched(opened)
    yield opened
    assert watched.problems == []
    assert watched.elsewhere == []
