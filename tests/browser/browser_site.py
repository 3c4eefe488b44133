"""A running server and its vault, and what a page is watched for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from recollect import Recollect

NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
SETTINGS = {"RECOLLECT_NOW": NOW.isoformat(), "RECOLLECT_RERANK__BUDGET_MS": "10000"}
RECOLLECT = str(Path(sys.executable).with_name("recollect"))


class Site(NamedTuple):
    """A running server and its home."""

    url: str
    home: Path
    environment: dict[str, str]

    def engine(self) -> Recollect:
        """The same vault at the same moment with the same models, to look at what the page did."""
        return Recollect(home=self.home, environment=self.environment)

    def at(self, path: str, **parameters: object) -> str:
        """The address of a page."""
        query = urlencode(parameters, doseq=True)
        return f"{self.url}{path}?{query}" if query else f"{self.url}{path}"


def surroundings(home: Path, **settings: str) -> dict[str, str]:
    return os.environ | {"RECOLLECT_HOME": str(home)} | SETTINGS | settings


def served(home: Path, *, auth: str = "", **settings: str) -> Iterator[Site]:
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
    """What pages did behind the scenes."""

    def __init__(self) -> None:
        self._allowed: list[str] = []
        self._said: list[str] = []
        self.elsewhere: list[str] = []

    def watch(self, page: Page) -> None:
        page.on("console", lambda said: self._hear(said.type, said.text))
        page.on("pageerror", lambda error: self._said.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def allow(self, pattern: str) -> None:
        """What this test means to provoke: a browser writes every 4xx into its console."""
        self._allowed.append(pattern)

    @property
    def problems(self) -> list[str]:
        allowed = self._allowed
        return [one for one in self._said if not any(re.search(what, one) for what in allowed)]

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self._said.append(f"{kind}: {text}")

    def _asked(self, url: str) -> None:
        if not url.startswith("http://127.0.0.1:"):
            self.elsewhere.append(url)


def visit(page: Page, address: str) -> None:
    """Open a page and wait until its scripts listen."""
    page.goto(address)
    ready(page)


def ready(page: Page) -> None:
    page.evaluate(
        "() => Promise.all([...document.querySelectorAll('script[type=module]')]"
        ".map(script => import(script.src)))"
    )


def settled(page: Page, **asked: object) -> None:
    """The search page shows the whole answer to this question, and waits for no other."""
    answer = page.locator("[data-answer]")
    expect(answer).to_have_attribute("data-asked", urlencode(asked, doseq=True))
    expect(page.locator("[data-answer]:not([data-pending])")).to_have_count(1)
    expect(page.locator("html")).not_to_have_attribute("data-busy", re.compile(""))


def shown(found: Locator, name: str) -> list[str]:
    """The values of an attribute of all that is found, in order."""
    return [str(value) for value in found.evaluate_all(f"all => all.map(o => o.{name})")]


def results(page: Page) -> list[str]:
    """The ids of the results, in the order in which they are shown."""
    return shown(page.locator("[data-result]"), "dataset.result")


def figure(text: str) -> float:
    """A number as the pages write it, with a sign that can be read."""
    return float(text.replace("−", "-").replace("+", "").replace(",", ""))


def in_order(found: Locator, attribute: str, values: list[str]) -> None:
    """Wait until exactly these stand there, in this order."""
    expect(found).to_have_count(len(values))
    for place, value in enumerate(values):
        expect(found.nth(place)).to_have_attribute(attribute, value)
