"""Random vaults for the property tests, the same on every run, and random questions for them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from model_server import ModelServer
from recollect import Filter, Memory, Recollect
from recollect.errors import ProviderError
from recollect.ingest.draft import make_draft
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import any_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RECIPES = ("blend", "vault", "echovault", "gnosis", "router", "covalence")
WORDS = (
    "alpha beta gamma delta deploy release login auth database sqlite error crash slow latency "
    "café 東京 İstanbul naïve id_42 v1 1 x the and OR NEAR show how cat"
).split()
KINDS = ("fact", "preference", "summary", "result", "preference_done", "task_done", "session")


def fields(chance: random.Random, number: int) -> dict[str, Any]:
    """One memory. Few words and few dates, so that equal scores are common."""

    def text(most: int) -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(0, most)))

    made: dict[str, Any] = {
        "id": f"m{number * 37 % 101:03}",
        "title": text(3) or "untitled",
        "text": text(12),
        "context": text(3),
        "why": text(2),
        "tags": chance.sample(WORDS, k=chance.randint(0, 3)),
        "kind": chance.choice(KINDS),
        "severity": chance.choice(["critical", "warning", "suggestion", None]),
        "domain": chance.choice(["ops", "web", ""]),
        "project": chance.choice(["harbor", "tower", ""]),
        "source": chance.choice(["codex", "cursor"]),
        "space": chance.choice(["home", ""]),
        "tier": chance.choice(["core", "file", "capture"]),
        "updated_at": (NOW - chance.randint(-2, 8) * timedelta(days=100)).isoformat(),
    }
    if chance.random() < 0.3:
        made["valid_until"] = (NOW + chance.randint(-2, 4) * timedelta(days=30)).isoformat()
    return made


class Pair(NamedTuple):
    """One vault, opened twice: without any model, and with an embedder and a reranker."""

    bare: Recollect
    dense: Recollect

    def every(self) -> list[Memory]:
        return list(self.bare.export())


@contextmanager
def vaults(folder: Path, seed: int, size: int = 60) -> Iterator[Pair]:
    """A vault of random memories, three of them forgotten again; every live one has a vector."""
    chance = random.Random(seed)
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer(dimensions=300))
        bare = stack.enter_context(_opened(folder, Settings(Embedding("none"), Rerank("none"))))
        bare.save_all([make_draft(fields(chance, number)) for number in range(size)])
        bare.forget([f"m{number * 37 % 101:03}" for number in range(3)])
        models = Settings(
            Embedding("openai", model="toy", base_url=server.openai_url),
            Rerank("http", model="toy", base_url=server.url, budget_ms=60_000),
        )
        dense = _opened(folder, models)
        stack.callback(_close_models, dense)
        stack.enter_context(dense)
        assert dense.embed_now() is None
        yield Pair(bare, dense)


def _opened(folder: Path, settings: Settings) -> Recollect:
    return Recollect(
        folder / "vault.db", home=folder, settings=settings, environment={}, clock=lambda: NOW
    )


def _close_models(memory: Recollect) -> None:
    for open_model in (memory.models.embedder, memory.models.reranker):
        with suppress(ProviderError):
            getattr(open_model(), "close", lambda: None)()


# Questions

NOISE = (
    '"', "'", "(", ")", "AND", "OR", "NOT", "NEAR(", "NEAR(alpha beta, 2)", "*", "^", ":", "-",
    "{title}", "title:", "+", ",", '""', "\0", "\t", "\u00a0", "🙂", "👩‍👩‍👧", "שלום", "\u202e",
    "%", "\\", "?", "--", ";", "a" * 300, "e\u0301", "\ue000", "2026-03-01",
)  # fmt: skip

words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
mixtures = st.lists(st.sampled_from([*WORDS, *NOISE]), max_size=8).map(" ".join)
texts = st.text(max_size=30)
questions = words | mixtures | texts

filters = st.builds(
    Filter,
    project=st.none() | st.sampled_from(["harbor", "tower", "nowhere", ("harbor", "tower")]),
    source=st.none() | st.sampled_from(["codex", "cursor"]),
    domain=st.none() | st.sampled_from(["ops", "web"]),
    kind=st.none() | st.sampled_from([*KINDS, (KINDS[0], KINDS[-1])]),
    space=st.none() | st.just("home"),
    tags=st.lists(st.sampled_from(["alpha", "BETA", "show", "café"]), max_size=1).map(tuple),
    without_tags=st.lists(st.sampled_from(["Alpha", "beta", "CAFÉ"]), max_size=1).map(tuple),
    without_projects=st.lists(st.sampled_from(["harbor", "tower"]), max_size=1).map(tuple),
    without_sources=st.lists(st.sampled_from(["codex", ""]), max_size=1).map(tuple),
    since=st.none() | st.integers(-2, 8).map(lambda n: NOW - n * timedelta(days=100)),
    until=st.none() | st.integers(-2, 8).map(lambda n: NOW - n * timedelta(days=100)),
)


def passes(memory: Memory, filter: Filter) -> bool:
    """The filter once more, in plain Python."""
    for name in ("project", "source", "domain", "kind", "space"):
        wanted = getattr(filter, name)
        if wanted is not None and getattr(memory, name) not in any_of(wanted):
            return False
    if filter.since is not None and memory.updated_at < filter.since:
        return False
    if filter.until is not None and memory.updated_at > filter.until:
        return False
    if memory.kind in filter.without_kinds:
        return False
    if memory.project in filter.without_projects or memory.source in filter.without_sources:
        return False
    held = {tag.lower() for tag in memory.tags}
    if any(tag.lower() in held for tag in filter.without_tags):
        return False
    return all(tag.lower() in held for tag in filter.tags)
