"""The main flow in Firefox: search, open, compare in the lab, see to the vault."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from browser_site import Site
from firefox import Firefox, firefox, running_firefox

from recollect import Recollect

WORDS = "token refresh"
SEVERITY = "left.set.stages.score.signals.severity.weight"
IDS = "[...document.querySelectorAll('{}')].map(one => one.dataset.{}).join()"


@pytest.fixture(scope="module")
def fox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    if not os.environ.get("FIREFOX"):
        pytest.skip("Firefox costs more than it finds as a rule; `make firefox` asks it.")
    program = firefox()
    if program is None:
        pytest.skip("There is no Firefox here; Debian's package is named firefox-esr.")
    with running_firefox(program, tmp_path_factory.mktemp("firefox")) as opened:
        yield opened


def ids(engine: Recollect, recipe: str, **changes: float) -> str:
    found = engine.search(WORDS, recipe=recipe, limit=10, changes=changes)
    return ",".join(result.id for result in found.results[:10])


def test_the_main_flow_works_in_firefox(fox: Firefox, site: Site, engine: Recollect) -> None:
    fox.visit(site.at("/"))
    fox.type("[data-box]", WORDS)
    wanted = ids(engine, "blend")
    fox.wait(IDS.format("[data-result]", "result") + " === arguments[0]", wanted)
    title = fox.run("return document.querySelector('[data-open]').textContent")
    fox.wait("document.querySelector('[data-preview]').textContent.includes(arguments[0])", title)
    fox.type("[data-open]", "\ue007")  # Enter
    fox.wait("location.pathname === '/memory/' + arguments[0]", wanted.partition(",")[0])
    fox.wait("document.querySelector('h1')?.textContent.trim() === arguments[0]", title)

    fox.visit(site.at("/lab", q=WORDS))
    row = "[data-side=left] [data-row]"
    fox.wait(IDS.format(row, "id") + " === arguments[0]", ids(engine, "vault"))
    set_it = "const one = document.querySelector('input[name=\"' + arguments[0] + '\"]');"
    fox.run(set_it + "one.value = 1; one.dispatchEvent(new Event('input'));", SEVERITY)
    after = ids(engine, "vault", **{SEVERITY.removeprefix("left.set."): 1.0})
    fox.wait(IDS.format(row, "id") + " === arguments[0]", after)
    fox.click(f"{row} [data-why]")
    fox.wait("document.querySelector('[data-why-here] [data-waterfall]')?.checkVisibility()")

    fox.visit(site.at("/upkeep"))
    fox.click("[data-check] button")
    fox.wait("document.querySelector('[data-checked]')?.dataset.checked === '0'")
    assert fox.problems() == []
