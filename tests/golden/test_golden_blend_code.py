"""The `blend` recipe over functions: a question in words is answered by what a function does, a
name by the function that has it. Source: docs/reference/recipes.md, blend.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from planned import PlannedServer, ids, part, settings, vault

from recollect import Recollect
from recollect.types import recompute

pytestmark = pytest.mark.usefixtures("each_store")

QUESTION = "how do we retry a failed request"
NAME = "where is backoff_delay used again"
# By title: what it does, and how near the model finds it to the question.
FUNCTIONS = {
    "backoff": (
        0.80,
        "def backoff(call, tries=3):\n    for attempt in range(tries):\n        try:\n"
        "            return call()\n        except OSError:\n            sleep(2 ** attempt)",
    ),
    # The words stand in its comment. It only writes a line.
    "handler": (
        0.65,
        "def handle(self, request):\n    # log what failed of the request; nobody may retry it\n"
        "    self.log.write(request.path, status=self.status, failed=True)\n    self.log.flush()",
    ),
    "wait": (0.60, "def wait(attempt):\n    return min(backoff_delay(attempt), LIMIT)"),
    **{
        f"getter{number}": (
            0.50 + number / 100,
            f"def get_{number}(self, key):\n    return self.rows[key].cells[{number}]",
        )
        for number in range(9)
    },
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    folder: Path = tmp_path_factory.mktemp("functions")
    memories = [
        {"id": title, "title": title, "text": text} for title, (_, text) in FUNCTIONS.items()
    ]
    with PlannedServer() as server:
        server.plan(QUESTION, {title: cosine for title, (cosine, _) in FUNCTIONS.items()})
        server.plan(NAME, {})
        with vault(folder, memories, settings(server)) as opened:
            yield opened


def test_the_function_that_does_it_stands_beside_a_comment_with_all_the_words(
    memory: Recollect,
) -> None:
    response = memory.search(QUESTION, recipe="blend")
    assert {*ids(response)[:2]} == {"backoff", "handler"}
    for result in response:
        assert recompute(result.explain) == pytest.approx(result.score)
    found, handler = sorted(response.results[:2], key=lambda result: result.id)
    assert part(handler, "keyword").value > part(found, "keyword").value
    assert part(handler, "vector").value < part(found, "vector").value


def test_a_name_finds_its_function_before_what_is_nearer_in_meaning(memory: Recollect) -> None:
    response = memory.search(NAME, recipe="blend")
    assert ids(response)[0] == "wait"
