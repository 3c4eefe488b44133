"""Memories and vectors to put into a store under test."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from recollect.store.history import Author, Change
from recollect.types import Filter, Memory, Severity, Tier

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.store.base import Vector

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CHANGE = Change("save", Author("test"), lambda: NOON)
DAY = timedelta(days=1)
EVERYTHING = Filter()
PLENTY = 1000

ODD_PIECES = (
    "plain words", "ÄÖÜ ß ẞ", "日本語のメモ", "نص عربي", "e\u0301 \u00e9", "\U0010ffff\ue000",
    "👩\u200d👧 🏳️\u200d🌈", "\ufeff\u200b\u2028\u2029\x85", "tab\tnew\nline\r\n", "\x01\x1f\x7f",
    "'quotes\" \\back\\ \\u0041", "</script><mark>", "a,b;c|d", "[1, null]", "{}", "%s %00", "NULL",
    "0", "1e5", "   ",
)  # fmt: skip

# A filter, what a memory that passes it says of itself, and what one that does not says.
FILTERS: tuple[tuple[Filter, Mapping[str, Any], Mapping[str, Any]], ...] = (
    (Filter(project="harbor"), {"project": "harbor"}, {"project": "Harbor"}),
    (Filter(source="chat"), {"source": "chat"}, {"source": ""}),
    (Filter(domain="auth"), {"domain": "auth"}, {"domain": "authors"}),
    (Filter(kind="decision"), {"kind": "decision"}, {"kind": "fact"}),
    (Filter(project=("harbor", "quay")), {"project": "quay"}, {"project": ""}),
    (Filter(source=("chat", "mail")), {"source": "mail"}, {"source": "Mail"}),
    (Filter(domain=("auth", "api")), {"domain": "api"}, {"domain": ""}),
    (
        Filter(kind=("decision", "bug"), project=("harbor", "quay"), without_projects=("quay",)),
        {"kind": "bug", "project": "harbor"},
        {"kind": "bug", "project": "quay"},
    ),
    (Filter(without_sources=("chat", "")), {"source": "mail"}, {"source": "chat"}),
    (Filter(space="team"), {"space": "team"}, {"space": "own"}),
    (Filter(tags=("ÜBER", "b")), {"tags": ("b", "c", "über")}, {"tags": ("b", "c")}),
    (Filter(without_tags=("ÜBER", "d")), {"tags": ("b",)}, {"tags": ("b", "über")}),
    (Filter(without_projects=("quay", "")), {"project": "harbor"}, {"project": "quay"}),
    (Filter(since=NOON), {"updated_at": NOON}, {"updated_at": NOON - timedelta(microseconds=1)}),
    (Filter(until=NOON), {"updated_at": NOON}, {"updated_at": NOON + timedelta(microseconds=1)}),
    (Filter(without_kinds=("session", "draft")), {"kind": "fact"}, {"kind": "draft"}),
    (
        Filter(project="harbor", without_kinds=("session",)),
        {"project": "harbor", "kind": "fact"},
        {"project": "harbor", "kind": "session"},
    ),
    (Filter(among=tuple(f"inside-{number}" for number in range(9))), {}, {}),
    (Filter(among=(*map("inside-{}".format, range(9)), "nowhere"), kind="fact"), {}, {}),
)

MODEL = "toy:model"
OTHER = "toy:other"
WIDTH = 24
CLOSE = 1e-6  # the rounding of unit vectors to float32


def memory(id: str, **fields: Any) -> Memory:
    """A memory with an id, a title, and what else is given."""
    return Memory(
        **{"id": id, "title": f"About {id}", "created_at": NOON, "updated_at": NOON, **fields}
    )


def full_memory(id: str = "full") -> Memory:
    """A memory in which every field is given, each with a value of its own."""
    return memory(
        id,
        title="Rotate the signing keys",
        text="Every ninety days.",
        context="Learned in the audit.",
        why="A leaked key ages.",
        impact="Tokens stay short-lived.",
        details="Step by step:\n1. make a key\n2. publish it",
        tags=("Security", "keys", "ops"),
        kind="procedure",
        severity="critical",
        domain="auth",
        project="harbor",
        source="review",
        tier="core",
        space="team",
        path="docs/keys.md",
        created_at=datetime(1999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        updated_at=datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC),
        valid_from=datetime(1, 1, 1, tzinfo=UTC),
        valid_until=datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        superseded_by="keys-by-hand",
        archived_at=datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=UTC),
    )


def shuffle(items: Iterable[Any]) -> list[Any]:
    mixed = list(items)
    random.Random(7).shuffle(mixed)
    return mixed


def random_memories(count: int) -> list[Memory]:
    """Memories of a few common and some rare words, with tags that are words too."""
    chance = random.Random(1)
    words = [f"w{number}" for number in range(40)]

    def some(most: int) -> list[str]:
        return [words[int(39 * chance.random() ** 3)] for _ in range(chance.randrange(most))]

    return [
        memory(
            f"r{number:03}",
            title=" ".join(some(5)) or "untitled",
            text=" ".join(some(30)),
            context=" ".join(some(4)).upper(),
            tags=tuple(dict.fromkeys(some(4))),
        )
        for number in range(count)
    ]


def odd_memories(count: int) -> list[Memory]:
    """Memories whose every field is drawn from texts that have broken something somewhere."""
    chance = random.Random(2)

    def text() -> str:
        drawn = "".join(chance.choices(ODD_PIECES, k=chance.randrange(4)))
        return drawn + "".join(_characters(chance, chance.randrange(6)))

    def moment() -> datetime:
        return datetime(1, 1, 1, tzinfo=UTC) + timedelta(
            days=chance.randrange(3_652_058), microseconds=chance.randrange(86_400_000_000)
        )

    fields = ("title", "text", "context", "why", "impact", "kind", "domain", "project", "source")
    return [
        Memory(
            id=f"{number}{text()}",
            **{name: text() for name in (*fields, "space", "path")},
            details=text() * 50,
            tags=tuple(dict.fromkeys(text() for _ in range(chance.randrange(5)))),
            severity=chance.choice([None, *get_args(Severity)]),
            tier=chance.choice(get_args(Tier)),
            created_at=moment(),
            updated_at=moment(),
            valid_from=chance.choice([None, moment()]),
            valid_until=chance.choice([None, moment()]),
            superseded_by=chance.choice(["", text()]),
            archived_at=chance.choice([None, moment()]),
        )
        for number in range(count)
    ]


def _characters(chance: random.Random, count: int) -> Iterator[str]:
    """Any characters but NUL and lone surrogates, which no memory holds."""
    while count:
        code = chance.randrange(1, 0x110000)
        if not 0xD800 <= code < 0xE000:
            yield chr(code)
            count -= 1


def browsing_memories() -> list[Memory]:
    """In browsing order: three tiers, three times, two ids at each, in two projects and kinds."""
    kinds = ("fact", "session", "fact")
    return [
        memory(
            f"{'cab'[place]}-{letter}-{tier}",
            tier=tier,
            updated_at=NOON - place * DAY,
            project="harbor" if letter == "x" else "",
            kind=kinds[place],
        )
        for tier in ("core", "capture", "file")
        for place in range(3)
        for letter in "xy"
    ]


def axis(place: int, width: int = WIDTH) -> Vector:
    row = np.zeros(width, np.float32)
    row[place] = 1
    return row


def random_vectors(ids: Iterable[str], width: int = WIDTH) -> dict[str, Vector]:
    named = list(ids)
    rows = np.random.default_rng(len(named)).standard_normal((len(named), width))
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return dict(zip(named, unit, strict=True))


def by_cosine(vectors: Mapping[str, Vector], query: Vector) -> list[tuple[str, float]]:
    """Plain numpy: every memory and its cosine, the nearest first."""
    rows = np.stack(list(vectors.values())).astype(np.float64)
    wide = query.astype(np.float64)
    cosines = rows @ wide / (np.linalg.norm(rows, axis=1) * np.linalg.norm(wide))
    return sorted(zip(vectors, cosines.tolist(), strict=True), key=lambda one: (-one[1], one[0]))
