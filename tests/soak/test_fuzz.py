"""A short round of every fuzz target; `make soak` runs long ones."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import pytest

if sys.platform == "win32":
    pytest.skip("the time limit is a signal of POSIX", allow_module_level=True)

import fuzzing
from fuzz_targets import all_targets
from fuzzing import Target, fuzz, mutate

from recollect.ingest.exchange import list_tools

# Readers that take some hundredths of a second for one input.
SLOW = ("Word", "code", "obsidian", "Markdown")
READERS = ("Markdown", "reStructuredText", "HTML", "notebook", "text", "PDF", "Word", "code a.py")


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Target]]:
    with all_targets(tmp_path_factory.mktemp("fuzz")) as targets:
        yield targets


def test_no_target_raises_or_takes_too_long(every: dict[str, Target]) -> None:
    assert every
    for name, target in every.items():
        inputs = 4 if any(slow in name for slow in SLOW) else 12
        tally = fuzz(name, target, 1, inputs=inputs)
        assert (tally.inputs, tally.failures) == (inputs, []), name


def test_queries_saves_recipes_and_each_reader_have_a_target(every: dict[str, Target]) -> None:
    assert {"queries", "saves", "recipes", "settings", "secrets", "patterns"} <= every.keys()
    assert {f"importer of {tool}" for tool in list_tools()} <= every.keys()
    assert {f"reader of {name}" for name in READERS} <= every.keys()


def test_the_same_seed_makes_the_same_inputs(every: dict[str, Target]) -> None:
    examples = every["queries"].examples
    first, second = ([mutate(examples, random.Random(n)) for n in range(50)] for _ in range(2))
    assert first == second
    assert len(set(first)) > 30


def test_the_harness_notices_an_error_and_an_input_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def attempt(raw: bytes, chance: random.Random) -> None:
        kind = chance.choice(("fine", "refused", "wrong", "endless"))
        if kind == "refused":
            raise KeyError
        if kind == "wrong":
            raise ValueError(raw)
        try:
            while kind == "endless":
                pass
        except Exception:  # as readers of documents have it
            return

    monkeypatch.setattr(fuzzing, "MOST_SECONDS", 0.02)
    target = Target((b"x",), attempt, (KeyError,))
    tally = fuzz("a target", target, 7, inputs=20)
    assert tally.inputs == 20
    assert {failure.split(": ")[1] for failure in tally.failures} == {"ValueError", "Overtime"}
    seed = int(tally.failures[0].split("seed ")[1].split(":")[0])
    assert fuzz("a target", target, seed, inputs=1).failures == tally.failures[:1]
