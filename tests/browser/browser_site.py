"""A running server and its vault, and what a page is watched for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from playwright import sync_api
from playwright.sync_api import Error, Frame, Locator, Page

from patience import LONGEST_S
from recollect import Recollect

NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
SETTINGS = {"RECOLLECT_NOW": NOW.isoformat(), "RECOLLECT_RERANK__BUDGET_MS": "600000"}
RECOLLECT = str(Path(sys.executable).with_name("recollect"))


class Site(NamedTuple):
    """A running server and its home."""

    url: str
    home: Path
    environment: dict[str, str]

    def engine(self) -> Recollect:
        """An engine on the same vault, at the same time, with the same models."""
        return Recollect(home=self.home, environment=self.environment)

    def at(self, path: str, **parameters: object) -> str:
        """The address of a page."""
        query = urlencode(parameters, doseq=True)
        return f"{self.url}{path}?{query}" if query else f"{self.url}{path}"


def surroundings(home: Path, **settings: str) -> dict[str, str]:
    return os.environ | {"RECOLLECT_HOME": str(home)} | SETTINGS | settings


def serve_site(home: Path, *, auth: str = "", **settings: str) -> Iterator[Site]:
    """A server that asks for no token, unless `auth`."""
    environment = surroundings(home, **settings)
    process = subprocess.Popen(
        [RECOLLECT, "serve", "--port", "0", *([] if auth else ["--no-auth"])],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+?/", process.stdout.readline())
        assert found is not None, "The server did not start."
        yield Site(found[0].rstrip("/"), home, environment)
    finally:
        process.terminate()
        process.communicate(timeout=60)


class Watched:
    """The requests, errors and console messages of pages."""

    def __init__(self) -> None:
        self._allowed: list[str] = []
        self._said: list[str] = []
        self._listeners: dict[Any, Any] = {
            "framenavigated": self._arrive,
            "console": lambda said: self._hear(said.type, said.text),
            "pageerror": lambda error: self._hear("error", str(error)),
            "request": lambda request: self._asked(request.url),
        }
        self._arrived = False  # until then the page is still where another test left it
        self.elsewhere: list[str] = []

    def watch(self, page: Page) -> None:
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def leave(self, page: Page) -> None:
        for event, listener in self._listeners.items():
            page.remove_listener(event, listener)

    def allow(self, pattern: str) -> None:
        """Expect errors that this test provokes: a browser logs every 4xx."""
        self._allowed.append(pattern)

    @property
    def problems(self) -> list[str]:
        allowed = self._allowed
        return [one for one in self._said if not any(re.search(what, one) for what in allowed)]

    def _arrive(self, frame: Frame) -> None:
        self._arrived = True

    def _hear(self, kind: str, text: str) -> None:
        if self._arrived and kind in ("error", "warning"):
            self._said.append(f"{kind}: {text}")

    def _asked(self, url: str) -> None:
        if not url.startswith("http://127.0.0.1:"):
            self.elsewhere.append(url)


def visit(page: Page, address: str) -> None:
    """Open a page and wait until its scripts listen and its first field has the focus."""
    page.goto(address)
    ready(page)


def ready(page: Page) -> None:
    page.evaluate(
        "() => Promise.all([...document.querySelectorAll('script[type=module]')]"
        ".map(script => import(script.src)))"
        # A field with `autofocus` has the focus once the page is drawn.
        ".then(() => new Promise(drawn =>"
        " requestAnimationFrame(() => requestAnimationFrame(drawn))))"
    )


# Expectations that hold only of what is there.
OF_AN_ELEMENT = {
    "to_be_checked", "to_be_focused", "to_be_visible", "to_contain_text", "to_have_attribute",
    "to_have_css", "to_have_text", "to_have_value",
}  # fmt: skip


class Expected:
    """Playwright's expectations, which describe the whole page each time that something is not yet
    as it should be. That takes longer than all else here, so an element or an address is waited
    for first."""

    def __init__(self, actual: Page | Locator) -> None:
        self._actual = actual

    def __getattr__(self, name: str) -> Any:
        if isinstance(self._actual, Locator) and name in OF_AN_ELEMENT:
            self._actual.first.wait_for(state="attached")
        return getattr(sync_api.expect(self._actual), name)

    def to_have_url(self, url: str | re.Pattern[str]) -> None:
        page = self._actual
        assert isinstance(page, Page)
        if isinstance(url, str):
            repeat_until(lambda: page.evaluate("location.href"), url)
        else:
            repeat_until(lambda: bool(url.search(page.evaluate("location.href"))), True)


def expect(actual: Page | Locator) -> Expected:
    return Expected(actual)


SETTLED = """asked => {
  const answers = document.querySelectorAll("[data-answer]");
  return answers.length === 1 && answers[0].dataset.asked === asked
    && !answers[0].hasAttribute("data-pending")
    && !document.documentElement.hasAttribute("data-busy");
}"""


def wait_for_answer(page: Page, **asked: object) -> None:
    """The search page shows the whole answer to this question, and waits for no other."""
    wanted = urlencode(asked, doseq=True)
    repeat_until(lambda: page.evaluate(SETTLED, wanted), True)


def attributes(found: Locator, name: str) -> list[str]:
    """The values of an attribute of all that is found, in order."""
    return [str(value) for value in found.evaluate_all(f"all => all.map(o => o.{name})")]


def results(page: Page) -> list[str]:
    """The ids of the results, in the order in which they are shown."""
    return attributes(page.locator("[data-result]"), "dataset.result")


def figure(text: str) -> float:
    """A number as the pages write it, with a sign that can be read."""
    return float(text.replace("−", "-").replace("+", "").replace(",", ""))


def in_order(found: Locator, attribute: str, values: list[str]) -> None:
    """Wait until there are exactly these, in this order."""
    script = f"all => all.map(o => o.getAttribute('{attribute}'))"
    repeat_until(lambda: found.evaluate_all(script), values)


def repeat_until(ask: Callable[[], object], wanted: object) -> None:
    """Ask a page until it answers what it should."""
    give_up = time.monotonic() + LONGEST_S
    while (answer := _answer(ask)) != wanted:
        assert time.monotonic() < give_up, f"It is {answer}, not {wanted}."
        time.sleep(0.03)


def _answer(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except Error as error:  # the page was just being replaced
        return error
