"""Measure waiting times on the page: the first paint of a search, the answer to a keystroke, and a
row of the live feed after another process has saved, in a real Chromium on this machine, without
rerank; and the size of a page of ten results. Without --vectors the vault has none, and only words
are searched. `--feed` measures the feed alone, over a small vault. The vault is kept in the folder
for temporary files, so that a second run needs a minute."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from bench_blend import fill, save
from bench_serving import serving
from data import data_argument, median, passages, questions
from embeddings import cache_argument
from recollect import Recollect

WARM_UP = 5
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
ANSWERS = """() => performance.getEntriesByType('resource')
    .filter(entry => entry.name.includes('/results?')).map(entry => entry.duration)"""

WEIGHT = """() => ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
    .reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--vectors", action="store_true", help="those that embeddings.py made")
    parser.add_argument("--home", type=Path, help="a home that is filled already")
    parser.add_argument("--feed", action="store_true", help="the live feed alone")
    args = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("There is no Chromium here; Debian's package is named chromium.", file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        home = args.home or filled(args)
        provider = "builtin" if args.vectors else "none"
        environment = os.environ | {
            "RECOLLECT_HOME": str(home),
            "RECOLLECT_RERANK__PROVIDER": "none",
            "RECOLLECT_EMBEDDING__PROVIDER": provider,
        }
        asked = [] if args.feed else questions(args.data, args.queries + WARM_UP)
        with serving(environment) as port:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            if asked:
                report("first paint of a search", first_paints(page, port, asked), 100)
                report("answer to a keystroke", keystrokes(page, port, asked), 60)
                heavy = weight(page, port, asked[0])
                print(f"{'a page of ten results':<28}{heavy:>7.1f} kB (aim 150)")
            saved = feed(page, port, home, environment, args.queries + WARM_UP)
            report("a save until its row", saved, 300)
            browser.close()
    return 0


def filled(args: argparse.Namespace) -> Path:
    """Return the home with the vault to measure; make it unless an earlier run has left it."""
    kind = "feed" if args.feed else f"{args.passages}{'-vectors' if args.vectors else ''}"
    home = Path(tempfile.gettempdir()) / f"recollect-bench-page-{kind}"
    ready = home / "filled"
    if not ready.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        if args.vectors:
            fill(home, args.data, args.cache, args.passages)
        elif not args.feed:
            save(home, passages(args.data, args.passages))
        ready.touch()
    return home


def weight(page: Page, port: int, text: str) -> float:
    """Return the kilobytes that a browser with an empty cache loads for a search: the page, its
    scripts and styles, and the memory next to the list."""
    fresh = page.context.browser.new_page()  # type: ignore[union-attr]
    fresh.goto(f"http://127.0.0.1:{port}/?{urlencode({'q': text})}", wait_until="networkidle")
    size = float(fresh.evaluate(WEIGHT))
    fresh.close()
    return size / 1000


def first_paints(page: Page, port: int, asked: list[str]) -> list[float]:
    """Return milliseconds from following a link to a search until its first paint."""
    times = []
    for text in asked:
        page.goto(f"http://127.0.0.1:{port}/?{urlencode({'q': text})}", wait_until="networkidle")
        times.append(float(page.evaluate(PAINT)))
    return times[WARM_UP:]


def keystrokes(page: Page, port: int, asked: list[str]) -> list[float]:
    """Return milliseconds from request to the last byte of the answer, for each request while
    typing."""
    times: list[float] = []
    for text in asked:
        page.goto(f"http://127.0.0.1:{port}/", wait_until="networkidle")
        page.locator("[data-box]").press_sequentially(text[:24], delay=140)
        page.wait_for_load_state("networkidle")
        times += page.evaluate(ANSWERS)
    return times[WARM_UP:]


# Since 1970, as Python's clock has it: the row notes when it came.
NOTE = """() => new MutationObserver(() => { window.came = Date.now(); })
    .observe(document.querySelector("[data-feed]"), { childList: true })"""
CAME = """async () => {
    while (!window.came) await new Promise(soon => setTimeout(soon, 5));
    return window.came;
}"""


def feed(page: Page, port: int, home: Path, environment: dict[str, str], times: int) -> list[float]:
    """Return milliseconds from the end of another process's save until the page has its row."""
    page.goto(f"http://127.0.0.1:{port}/live")
    page.wait_for_selector("[data-feed-state]:not(:empty)")
    page.evaluate(NOTE)
    taken = []
    with Recollect(home=home, environment=environment) as memory:
        for number in range(times):
            page.evaluate("() => { window.came = 0; }")
            memory.save(title=f"Noted as number {number} of the benchmark at {time.time_ns()}")
            saved = time.time() * 1000
            taken.append(float(page.evaluate(CAME)) - saved)
    return taken[WARM_UP:]


def report(what: str, times: list[float], aim: int) -> None:
    times = sorted(times)
    p95 = times[int(0.95 * len(times))]
    print(f"{what:<28}{median(times):>7.1f} ms, p95 {p95:.1f} ms, {len(times)} times (aim {aim})")


if __name__ == "__main__":
    sys.exit(main())
