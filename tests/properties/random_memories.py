"""Random memories and queries, a model for their vectors, and what is compared of two answers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from recollect import Response
from toy_models import embed

NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
WORDS = (
    "harbor token gateway deploy postgres index cache redis queue invoice stripe webhook retry "
    "session login migration schema backup editor zed neovim kettle garden train ticket port"
).split()
NAMES = ("getUserByID", "v1.4.2", "INC-4471", "9443", "retry_after", "日本語の検索")
KINDS = ("fact", "bug", "decision", "preference", "summary", "result")
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


def told(response: Response) -> dict[str, Any]:
    """What an answer says, wherever its memories are."""
    return {
        "results": [
            (
                one.id,
                one.score,
                one.validity,
                [m.id for m in (*one.same, *one.replaces, *one.seems_to_replace)],
            )
            for one in response
        ],
        "understood": response.understood,
        "evidence": (response.evidence, response.confidence),
        "notes": response.notes,
        "topics": response.topics,
        "facets": response.facets,
    }
