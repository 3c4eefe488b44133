"""Every interface gives the same ids, scores, explanations and sentences."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from parity_interfaces import INTERFACES, Interface, Refused
from parity_scenario import NOW, REFUSALS, SEARCHES, STEPS, WITH_MODELS, Step

from recollect import Recollect
from recollect.demo import sample
from recollect.errors import RecollectError
from recollect.interfaces.mcp.texts import for_tools
from recollect.settings_reading import load_settings

Answers = dict[str, dict[str, Any]]  # by interface, then by the step's name
MODELS = {
    "without models": {
        "RECOLLECT_EMBEDDING__PROVIDER": "none",
        "RECOLLECT_RERANK__PROVIDER": "none",
    },
    # No answer depends on how quick the machine is, or on whether a model was used before.
    "with the bundled models": {
        "RECOLLECT_RERANK__BUDGET_MS": "600000",
        "RECOLLECT_CONTEXT__SEMANTIC": "always",
    },
}


def environment(home: Path, models: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_NOW": NOW,
        **MODELS[models],
    }


def run_step(interface: Interface, step: Step) -> Any:
    """Return the answer without its timings, or the sentence of the refusal."""
    try:
        answer = getattr(interface, step.what)(**step.given)
    except (Refused, RecollectError) as error:
        return {"refused": for_tools(str(error))}  # as MCP words it
    if step.what == "search":
        assert answer.pop("timings_ms")["total"] > 0
    return answer


def fill(home: Path, told: dict[str, str]) -> None:
    with Recollect(home=home, settings=load_settings(home, told), environment=told) as engine:
        engine.save_all(list(sample(engine.now())))
        assert engine.embed_now() is None


def collect(models: str, folder: Path) -> Answers:
    """Return each interface's answers on its own copy of a vault with the sample memories."""
    first = folder / "first"
    fill(first, environment(first, models))
    answers: Answers = {}
    for name, opened in INTERFACES.items():
        home = folder / name.replace(" ", "-")
        shutil.copytree(first, home)
        with opened(environment(home, models)) as interface:
            answers[name] = {step.name: run_step(interface, step) for step in SCENARIOS[models]}
    return answers


def collect_from_postgres(models: str, folder: Path, url: str) -> dict[str, Any]:
    """Return the library's answers on a vault in PostgreSQL."""
    told = environment(folder, models) | {
        "RECOLLECT_STORE__URL": url,
        "RECOLLECT_STORE__VAULT": f"parity-{os.getpid()}-{len(models)}",
    }
    fill(folder, told)
    with INTERFACES["library"](told) as interface:
        return {step.name: run_step(interface, step) for step in SCENARIOS[models]}


@pytest.fixture(scope="module")
def answers_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Answers]:
    @cache
    def answers(models: str) -> Answers:
        return collect(models, tmp_path_factory.mktemp("parity"))

    return answers


SCENARIOS = {"without models": STEPS, "with the bundled models": WITH_MODELS}
CASES = [(models, step) for models, steps in SCENARIOS.items() for step in steps]
OTHERS = [name for name in INTERFACES if name != "library"]


def name_of(value: object) -> str:
    return f"{value.what}: {value.name}" if isinstance(value, Step) else str(value)


@pytest.mark.parametrize("interface", OTHERS)
@pytest.mark.parametrize(("models", "step"), CASES, ids=name_of)
def test_every_interface_answers_like_the_library(
    answers_of: Callable[[str], Answers], models: str, step: Step, interface: str
) -> None:
    answers = answers_of(models)
    expected, answer = answers["library"][step.name], answers[interface][step.name]
    if interface == "MCP":  # marks are for a page
        expected = json.loads(re.sub("</?mark>", "", json.dumps(expected)))
    assert answer == expected


@pytest.mark.parametrize("models", MODELS)
def test_a_vault_in_postgresql_answers_like_one_in_a_file(
    answers_of: Callable[[str], Answers], models: str, tmp_path: Path, postgres_url: str
) -> None:
    found = collect_from_postgres(models, tmp_path, postgres_url)
    for name, expected in answers_of(models)["library"].items():
        assert found[name] == expected, name


def test_the_steps_do_what_their_names_say(answers_of: Callable[[str], Answers]) -> None:
    """Refusals are refused, all other steps are answered, and most searches find something."""
    for models, steps in SCENARIOS.items():
        answers = answers_of(models)["library"]
        assert len(answers) == len(steps), "each step has a name of its own"
        refused = {name for name, answer in answers.items() if answer and "refused" in answer}
        assert refused == {step.name for step in REFUSALS if step in steps}
    answers = answers_of("without models")["library"]
    empty = {step.name for step in SEARCHES if not answers[step.name]["results"]}
    # Without vectors, router wants every word of the question.
    assert empty == {"no word at all", "nothing found", "an empty query", "recipe router"}


def test_vectors_and_reranking_take_part_where_models_are_on(
    answers_of: Callable[[str], Answers],
) -> None:
    found = answers_of("with the bundled models")["library"]["recipe blend"]
    assert found["counts"]["vector"] > 0
    assert found["counts"]["reranked"] > 0
    assert found["degraded"] == []
