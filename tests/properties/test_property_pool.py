"""A vault that is split and searched together ranks as the whole one does: for random memories and
queries, with and without vectors, by every recipe that ranks several vaults as one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from random_memories import NOW, ToyEmbedder, memory_fields, queries, told

from examples import examples
from recollect import Recollect
from recollect.ingest.draft import draft
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings, VaultSettings
from recollect.types import recompute

POOLED = [name for name, recipe in BUILT_IN.items() if recipe.vaults == "pool"]


@contextmanager
def opened(
    folder: Path, memories: Sequence[dict[str, Any]], *vaults: VaultSettings, vectors: bool
) -> Iterator[Recollect]:
    settings = Settings(
        embedding=Embedding(provider="none"), rerank=Rerank(provider="none"), vaults=vaults
    )
    with Recollect(home=folder, settings=settings, environment={}, clock=lambda: NOW) as memory:
        if vectors:
            memory.models.__dict__["_embedder"] = ToyEmbedder()
        memory.save_all([draft(dict(fields)) for fields in memories])
        memory.embed_now()
        yield memory


@pytest.mark.parametrize("seed", range(examples(24)))
def test_a_vault_that_is_split_ranks_as_the_whole_one(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    vectors = seed % 2 == 0
    memories = [memory_fields(chance, number) for number in range(chance.choice((4, 25, 60)))]
    parts: list[list[dict[str, Any]]] = [[], [], []]
    for fields in memories:  # of very different sizes, perhaps empty
        parts[chance.choice((0, 0, 0, 1, 1, 2))].append(fields)
    names = ["left", "right"]
    chance.shuffle(names)
    for name, part in zip(names, parts[1:], strict=True):
        with opened(tmp_path / name, part, vectors=vectors):
            pass
    vaults = [
        VaultSettings(name=name, tier="team", path=str(tmp_path / name / "vault.db"), priority=1.0)
        for name in names
    ]
    place = {
        f["id"]: name for name, part in zip(("agent", *names), parts, strict=True) for f in part
    }
    with (
        opened(tmp_path / "whole", memories, vectors=vectors) as whole,
        opened(tmp_path / "home", parts[0], *vaults, vectors=vectors) as split,
    ):
        for query in queries(chance):
            asked: dict[str, Any] = {
                "query": query,
                "recipe": chance.choice((*POOLED, "blend", "blend")),
                "limit": chance.choice((3, 10, 30)),
                "project": chance.choice((None, None, "harbor")),
                "facets": chance.random() < 0.3,
            }
            answer = split.search(asked.pop("query"), **asked)
            assert told(answer) == told(whole.search(query, **asked)), (query, asked)
            for result in answer:
                assert result.vault == place[result.id]
                assert recompute(result.explain) == result.score
