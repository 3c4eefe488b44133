"""Answers that a person would give, over three vaults: a developer's year, a team's wiki, and notes
in many languages. Each line of a `-questions.jsonl` names what is wanted.

`first`: one of these is the first result. `all`: the first results are these, in this order, or
in any with `any_order`. `never`: none of these is a result. `above`: the one stands above the
other. `evidence`: the verdict. `now`: asked as of that day. `held_out`: asked by the benchmark
alone. `models`: words alone do not find it. Those that need no model are asked here;
`benchmarks/answers.py` asks all of them.

`replacements.jsonl` has pairs of memories, half of them hard negatives. `replaced` says if the
newer replaces the older, `about` what the pair tests. Each pair was put into a `half` at
random. The rule was chosen by the misses of the `fitted` one; of the other only the figures were
seen, more than once. `benchmarks/replacements.py` prints both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from judged import ASKED_AT, is_right, judged_pairs, precision_and_recall, questions
from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings

HERE = Path(__file__).parent
VAULTS = ("developer", "team", "languages")
WITHOUT_MODELS = ("listing", "exclusions", "details")


@pytest.fixture(scope="module", params=VAULTS)
def vault_and_questions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Recollect, list[dict[str, Any]]]]:
    settings = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
    path = tmp_path_factory.mktemp(request.param) / "vault.db"
    with Recollect(path, settings=settings) as memory:
        lines = (HERE / f"{request.param}.jsonl").read_text(encoding="utf-8").splitlines()
        for line in lines:
            memory.save(**json.loads(line))
        yield memory, questions(HERE / f"{request.param}-questions.jsonl")


@pytest.mark.parametrize("group", WITHOUT_MODELS)
def test_answers_are_as_judged(
    vault_and_questions: tuple[Recollect, list[dict[str, Any]]], group: str
) -> None:
    memory, every = vault_and_questions
    wrong = []
    for question in every:
        if question["group"] == group and not {"held_out", "models"} & {*question}:
            now = datetime.fromisoformat(question.get("now", ASKED_AT))
            response = memory.search(question["query"], now=now, limit=10)
            if not is_right(question, response):
                wrong.append((question["query"], [result.id for result in response][:5]))
    assert not wrong


def test_nine_of_ten_claimed_replacements_are_right(tmp_path: Path) -> None:
    with Recollect(tmp_path / "vault.db") as memory:
        pairs = judged_pairs(memory, HERE / "replacements.jsonl")
    assert len(pairs) >= 150
    assert sum(not pair.replaced for pair in pairs) >= len(pairs) / 2
    precision, recall = precision_and_recall(pairs)
    assert precision >= 0.93
    assert recall >= 0.28
