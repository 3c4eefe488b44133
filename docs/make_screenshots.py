"""Make docs/images/page-*.png: the page over the sample memories, in a real browser.

    python docs/make_screenshots.py [NAME…]     make them anew, or those of these names

It needs Chromium (Debian's package `chromium`), starts a server of its own on a free port, and asks
nobody else. The clock is set, so that ages stay what they are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2
from playwright.sync_api import Page, sync_playwright

from recollect import Recollect
from recollect.demo import sample

IMAGES = Path(__file__).parent / "images"
NOW = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
DESKTOP = (1280, 860)
SMALL = (960, 560)
QUESTION = "/?q=how+do+we+refresh+tokens"


def search(page: Page) -> None:
    """Results, with the first one's score opened."""
    page.wait_for_selector("[data-reranking]")
    page.locator("[data-why] summary").first.click()
    page.wait_for_selector("[data-waterfall]")
    page.wait_for_load_state("networkidle")  # the preview


def lab(page: Page) -> None:
    """Two recipes, and a slider that was moved."""
    page.wait_for_selector("[data-lines] path", state="attached")
    slider = page.locator('input[name="right.set.fuse.weights.vector"]').first
    slider.fill("0.4")
    slider.press("Enter")
    page.wait_for_selector(".constant.changed")
    page.wait_for_load_state("networkidle")


def live(page: Page) -> None:
    page.wait_for_selector("[data-feed-state]:not(:empty)")


# File, address, size, what to do before the picture is taken.
PICTURES = (
    ("page-search", QUESTION, DESKTOP, search),
    ("page-lab", "/lab?q=refresh+tokens&left=covalence&right=blend", DESKTOP, lab),
    ("page-live", "/live", SMALL, live),
)


def main() -> int:
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if chromium is None:
        print("There is no Chromium here; Debian's package is named chromium.", file=sys.stderr)
        return 1
    with serving() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, address, (width, height), prepare in PICTURES:
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="light",
                reduced_motion="reduce",
            )
            page.goto(url + address)
            prepare(page)
            page.mouse.move(0, 0)
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()
            print(f"{name}.png written.")
        browser.close()
    return 0


@contextmanager
def serving() -> Iterator[str]:
    """A server over the sample memories, with time enough for the reranker to read them all."""
    with tempfile.TemporaryDirectory() as home:
        fill(home)
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("recollect")), "serve", "--port", "0", "--no-auth"],
            env=os.environ
            | {
                "RECOLLECT_HOME": home,
                "HOME": home,
                "RECOLLECT_NOW": NOW.isoformat(),
                "RECOLLECT_RERANK__BUDGET_MS": "60000",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        found = re.search(r"http://\S+?/", process.stdout.readline())
        assert found is not None
        url = found[0].rstrip("/")
        try:
            while httpx2.get(f"{url}/readyz").status_code != 200:
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.communicate()


def fill(home: str) -> None:
    """The samples, and what two agents do with them."""
    with Recollect(home=home, clock=lambda: NOW) as memory:
        memory.save_all(list(sample(NOW)))
        memory.embed_now()
    for client, query, learned in (
        ("claude-code", "refresh tokens", "The staging certificate is renewed by hand until May"),
        (
            "codex",
            "slow shipment list",
            "Calls of the carrier's API are retried after 2, 4 and 8 s",
        ),
    ):
        with Recollect(home=home, clock=lambda: NOW, interface="mcp", client=client) as memory:
            memory.context(query, limit=3)
            memory.search(query, limit=2)
            memory.save(title=learned, project="harbor-api")


if __name__ == "__main__":
    sys.exit(main())
