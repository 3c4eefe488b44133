"""A vault that is split and searched together ranks as the whole one does: for random memories and
queries, with and without vectors, by every recipe that ranks several vaults as one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples import examples
from recollect import Recollect, Response
from recollect.ingest.draft import draft
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings, VaultSettings
from recollect.testing.toy_models import embed
from recollect.types import recompute

NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
WORDS = (
    "harbor token gateway deploy postgres index cache redis queue invoice stripe webhook retry "
    "session login migration schema backup editor zed neovim kettle garden train ticket port"
).split()
NAMES = ("getUserByID", "v1.4.2", "INC-4471", "9443", "retry_after", "日本語の検索")
KINDS = ("fact", "bug", "decision", "preference", "summary", "result")
POOLED = [name for name, recipe in BUILT_IN.items() if recipe.vaults == "pool"]
WHENS = ("since Monday", "last week", "in October", "three days ago", "last month")


class ToyEmbedder:
    """Hashed bags of words of length 1."""

    identity = "toy"
    local = True
    dimensions = 64

    def warm(self) -> bool:
        return True

    def queries(self, texts: Sequence[str]) -> Any:
        return self.documents(texts)

    def documents(self, texts: Sequence[str]) -> Any:
        rows = np.array([embed(text, self.dimensions) for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def memory_fields(chance: random.Random, number: int) -> dict[str, Any]:
    """Words, some often and some seldom, now and then a name; of some day of the year."""
    often = chance.choices(WORDS, weights=range(len(WORDS), 0, -1), k=chance.randint(1, 30))
    named = [chance.choice(NAMES)] if chance.random() < 0.2 else []
    made = NOW - timedelta(hours=chance.randint(0, 9000))
    fields: dict[str, Any] = {
        "id": f"m{number:03}-{chance.choice(WORDS)}",
        "title": " ".join(chance.choices(WORDS, k=chance.randint(1, 4))),
        "text": " ".join([*often, *named]),
        "tags": chance.sample(WORDS, chance.randint(0, 2)),
        "kind": chance.choice(KINDS),
        "project": chance.choice(("", "harbor", "billing")),
        "tier": chance.choice(("capture", "capture", "core")),
        "created_at": made.isoformat(),
        "updated_at": made.isoformat(),
    }
    if chance.random() < 0.1:
        fields["valid_until"] = (NOW - timedelta(days=chance.randint(-9, 9))).isoformat()
    return fields


def queries(chance: random.Random) -> Iterator[str]:
    """Words, names, a typing error, an exclusion, a list."""
    some = chance.sample(WORDS, 4)
    yield " ".join(some[: chance.randint(1, 4)])
    yield f"how do we {some[0]} the {some[1]}"
    yield f"{chance.choice(NAMES)} {some[2]}"
    yield f"{some[0]} {some[1][:-2]}{some[1][-1]}"
    yield f"{some[0]} {some[1]} -{some[2]}"
    yield chance.choice(
        (
            f'"--" {some[0]} OR {some[1]}',
            f'{some[0]} "?" {some[1]}*',
            f"NEAR({some[0]} {some[1]})",
            f'title : ("!" {some[0]})',
            f'"{some[0]} {some[1]}" OR {some[2]} NOT {some[3]}',
        )
    )
    yield f"{chance.choice(KINDS)}s {chance.choice(WHENS)}"


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


def told(response: Response) -> dict[str, Any]:
    """What an answer says, wherever its memories are."""
    return {
        "results": [
            (one.id, one.score, one.validity, [m.id for m in (*one.same, *one.replaces)])
            for one in response
        ],
        "understood": response.understood,
        "evidence": (response.evidence, response.confidence),
        "notes": response.notes,
        "topics": response.topics,
        "facets": response.facets,
    }


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
