"""Statements that seem to replace others, and the scales of their cosines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recollect.models.folder import embedding_models
from recollect.query.likeness import SAME_SCALE, SCALES, scale_of
from recollect.query.replacement import (
    ALIKE,
    CLAIMED_CHANGE,
    LONGEST,
    Statement,
    Tokens,
    replaced_by,
    seems_to_replace,
)
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Memory

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokens]:
    store = SqliteStore(tmp_path_factory.mktemp("vault") / "vault.db")
    yield store.keyword.tokens
    store.close()


def said(id: str, text: str, *, days: float = 0, **fields: Any) -> Memory:
    made = datetime(2026, 1, 1, 10, tzinfo=UTC) + timedelta(days=days)
    return Memory(id=id, title="", text=text, created_at=made, updated_at=made, **fields)


def find_replaced(tokens: Tokens, *memories: Memory, cosine: float = 0.85) -> dict[str, str]:
    ids = [memory.id for memory in memories]
    cosines = {(one, other): cosine for one in ids for other in ids if one != other}
    return replaced_by([Statement(each, tokens) for each in memories], cosines, NOW)


@pytest.mark.parametrize(
    ("old", "new", "cosine", "replaces"),
    [
        # A claimed change.
        ("Mails go out by Mailgun", "Mails no longer go out by Mailgun", CLAIMED_CHANGE, True),
        ("Mails go out by Mailgun", "Mails no longer go out", CLAIMED_CHANGE - 0.01, False),
        # One sentence but for one value.
        ("The API allows 100 requests", "The API allows 250 requests", ALIKE, True),
        ("The API allows 100 requests", "The API allows 250 requests", ALIKE - 0.01, False),
        # Two values differ, or another subject has the same value.
        ("Backups nightly reach Ada at work", "Backups hourly reach Bob at work", 0.9, False),
        ("Staging deploys every night", "Production deploys every night", 0.9, False),
        # Both hold.
        ("Reports go to the finance team", "Reports now go to the sales team too", 0.9, False),
        ("Reports go to the finance team", "Reports also go to the sales team", 0.9, False),
        # "Too" that adds nothing.
        ("Jobs run on Redis queues", "Redis was too slow: jobs moved to NATS queues", 0.8, True),
        # The last word differs.
        ("Deploys run on Jenkins", "Deploys run on Buildkite", 0.8, True),
        # One common word is no common subject.
        ("My editor is Neovim", "My editor is Zed", 0.9, False),
    ],
)  # fmt: skip
def test_likeness_alone_does_not_replace(
    tokens: Tokens, old: str, new: str, cosine: float, replaces: bool
) -> None:
    older, newer = said("old", old), said("new", new, days=1)
    assert seems_to_replace(Statement(older, tokens), Statement(newer, tokens), cosine) is replaces


@pytest.mark.parametrize(
    ("text", "share"),
    [("The gate closes at one", 2 / 3), ("The gate closes at noon on Sunday", 1.0), ("Tea", 0.0)],
)
def test_shared_words_are_a_share_of_the_shorter_statement(
    tokens: Tokens, text: str, share: float
) -> None:
    statement = Statement(said("old", "The gate closes at noon"), tokens)
    assert Statement(said("new", text), tokens).shared_words(statement) == pytest.approx(share)


OLD = "The API allows 100 requests a minute"
NEW = "The API allows 250 requests a minute"


def test_the_last_of_three_statements_replaces_both(tokens: Tokens) -> None:
    last = said("last", NEW.replace("250", "400"), days=2)
    found = find_replaced(tokens, said("old", OLD), said("new", NEW, days=1), last)
    assert found == {"old": "last", "new": "last"}


@pytest.mark.parametrize(
    "fields",
    [
        {"days": 0},  # the same moment: neither is newer
        {"days": -1},
        {"project": "tower"},
        {"space": "ada"},
        {"valid_until": NOW - timedelta(days=1)},
        {"valid_from": NOW + timedelta(days=1)},
        {"days": 400},  # not yet known
        {"tier": "file"},
    ],
)
def test_only_a_newer_valid_statement_of_the_same_place_replaces(
    tokens: Tokens, fields: dict[str, Any]
) -> None:
    newer = said("new", NEW, **{"days": 1, **fields})
    assert "old" not in find_replaced(tokens, said("old", OLD), newer)


def test_a_later_hour_of_the_same_day_replaces_and_a_page_does_not(tokens: Tokens) -> None:
    later = said("new", NEW, days=0.1)
    page = said("new", NEW + " and so on" * LONGEST, days=1)
    assert find_replaced(tokens, said("old", OLD), later) == {"old": "new"}
    assert find_replaced(tokens, said("old", OLD), page) == {}


def test_without_a_cosine_nothing_is_replaced(tokens: Tokens) -> None:
    both = [Statement(each, tokens) for each in (said("old", OLD), said("new", NEW, days=1))]
    assert replaced_by(both, {}, NOW) == {}


def test_unrelated_texts_of_the_other_model_are_unrelated_on_the_english_scale() -> None:
    scale = scale_of("builtin:multilingual@2ab123ed9ebd")
    assert 0.4 < scale.to_english(0.8) < 0.6
    assert scale.to_english(0.999) == 1.0
    assert scale.to_english(scale.to_own(0.67)) == pytest.approx(0.67)


def test_a_model_that_was_not_measured_keeps_its_cosines() -> None:
    for identity in ("builtin:bge-small-en-v1.5@x", "ollama:multilingual"):
        assert scale_of(identity) is SAME_SCALE
    assert {name.removeprefix("builtin:")[:-1] for name in SCALES} < {*embedding_models()}
