"""The review: what wants a decision, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.engine.review import ReviewItem, find_secrets
from recollect.errors import NotFound, UserError
from recollect.interfaces.cli.review import review_each
from recollect.interfaces.operations import plain
from recollect.settings import (
    Embedding,
    PolicySettings,
    Rerank,
    ReviewSettings,
    Secrets,
    Settings,
)
from recollect.types import ReviewKind

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
LONG = "The harbour master closes the outer gate when the wind comes from the north east"
SECRET = "The key is ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def opened(folder: Path, settings: Settings = OFF, now: datetime = NOW) -> Recollect:
    return Recollect(
        folder / "vault.db", home=folder, settings=settings, environment={}, clock=lambda: now
    )


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with opened(tmp_path) as held:
        yield held


def items(memory: Recollect, kind: ReviewKind | None = None) -> list[ReviewItem]:
    return list(memory.review(kind=kind).items)


def twins(memory: Recollect) -> ReviewItem:
    for id in ("a", "b"):
        memory.save(id=id, text=LONG, source="log", tags=[id])
    [item] = items(memory)
    return item


def test_duplicates_are_merged(memory: Recollect) -> None:
    item = twins(memory)
    assert (item.kind, item.suggested, item.sure) == ("duplicate", "merge", 1.0)
    assert memory.decide(item.id, "merge") == f"Merged into {item.memories[0].id}."
    [left] = memory.list()
    assert set(left.tags) == {"a", "b"}
    assert items(memory) == []


def test_what_was_kept_comes_back_only_when_one_of_its_memories_changes(memory: Recollect) -> None:
    item = twins(memory)
    assert memory.decide(item.id, "keep") == "Kept."
    assert items(memory) == []
    memory.edit("a", add_tags=["new"])
    [again] = items(memory)
    assert again.id == item.id


def test_later_is_a_week(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.decide(twins(memory).id, "later")
        assert items(memory) == []
    with opened(tmp_path, now=NOW + timedelta(days=8)) as memory:
        assert len(items(memory)) == 1


@pytest.mark.parametrize("decision", ["merge", "supersede", "forget"])
def test_an_undo_brings_the_item_back(memory: Recollect, decision: str) -> None:
    """Several memories that one replaces are taken back at once."""
    for id in ("a", "b", "c"):
        memory.save(id=id, text=LONG, source="log", tags=[id])
    [item] = items(memory)
    assert len(item.memories) == 3
    memory.decide(item.id, decision)
    assert item.memories not in [one.memories for one in items(memory)]
    memory.undo()
    assert [one.memories for one in items(memory)] == [item.memories]


def test_of_duplicates_all_but_the_one_to_keep_are_forgotten(memory: Recollect) -> None:
    item = twins(memory)
    memory.decide(item.id, "forget")
    assert [one.id for one in memory.list()] == [item.memories[0].id]


def test_what_expired_and_what_expires_soon_is_shown(memory: Recollect) -> None:
    for id, until in (("old", "2026-05-01"), ("soon", "2026-06-05"), ("far", "2026-09-01")):
        memory.save(id=id, title=f"Until {id}", valid_until=until, source="log")
    gone, soon = items(memory)
    assert (gone.kind, gone.why) == ("expired", "It was valid until 2026-05-01.")
    assert (soon.kind, soon.why) == ("expiring", "It is valid until 2026-06-05.")
    memory.decide(gone.id, "forget")
    memory.decide(soon.id, "edit", changes={"valid_until": "2027-01-01"})
    assert items(memory) == []
    assert {one.id for one in memory.list()} == {"soon", "far"}


def test_captures_without_a_source_that_were_never_of_use_are_shown(memory: Recollect) -> None:
    for id, source in (("weak", ""), ("used", ""), ("signed", "log")):
        memory.save(id=id, title=f"Note {id}", source=source, created_at="2026-01-01")
    memory.show(["used"])
    [item] = items(memory)
    assert (item.kind, [one.id for one in item.memories]) == ("unused", ["weak"])


def test_the_newer_of_two_that_contradict_takes_the_place_of_the_older(tmp_path: Path) -> None:
    with opened(tmp_path, Settings(rerank=OFF.rerank)) as memory:
        for id, day, limit in (("old", "2026-05-01", "100"), ("new", "2026-05-20", "now 500")):
            text = f"The API rate limit is {limit} requests per minute."
            memory.save(id=id, text=text, created_at=day, updated_at=day, source="docs")
        memory.embed_now()
        [item] = items(memory)
        assert (item.kind, item.suggested) == ("contradiction", "supersede")
        assert [one.id for one in item.memories] == ["old", "new"]
        assert memory.show(["old"])[0].superseded_by == ""  # only proposed
        assert memory.decide(item.id, "supersede") == "new takes the place of old."
        assert memory.show(["old"])[0].superseded_by == "new"
        assert [one.kind for one in items(memory)] == []


# Secrets


def test_a_secret_saved_before_its_rule_is_found_and_replaced(tmp_path: Path) -> None:
    with opened(tmp_path, replace(OFF, secrets=Secrets(redact=False))) as memory:
        memory.save(id="leak", text=SECRET, source="log")
        memory.save(id="clean", text="Nothing to hide", source="log")
        assert items(memory) == []  # it is kept on purpose
    with opened(tmp_path) as memory:
        [item] = items(memory)
        assert (item.kind, item.suggested) == ("secret", "edit")
        assert "github token" in item.why
        assert "ghp_" not in item.why
        memory.decide(item.id, "edit")
        assert "ghp_" not in memory.show(["leak"])[0].text
        assert items(memory) == []


def test_a_look_for_secrets_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.engine.review.AT_ONCE", 2)
    monkeypatch.setattr("recollect.store.upkeep.MOST_CHANGED", 0)
    with opened(tmp_path, replace(OFF, secrets=Secrets(redact=False))) as memory:
        for number in range(5):
            memory.save(id=f"m{number}", text=SECRET if number == 3 else f"Text {number}")
    with opened(tmp_path) as memory:
        assert find_secrets(memory.session) == {}
        assert [*find_secrets(memory.session)] == ["m3"]
    custom = replace(OFF, secrets=Secrets(patterns={"text": "Text 0"}))
    with opened(tmp_path, custom) as memory:  # other rules: from the beginning
        assert [*find_secrets(memory.session)] == ["m0"]


# Agents and people


def test_an_agent_proposes_and_a_person_decides(memory: Recollect) -> None:
    item = twins(memory)
    assert memory.decide_or_propose(item.id, "merge").startswith("Proposed: merge.")
    [waiting] = items(memory)
    assert waiting.proposed == "merge"
    assert len(memory.list()) == 2
    memory.decide(item.id, "keep")
    assert items(memory) == []


def test_an_agent_decides_where_the_settings_allow_it(tmp_path: Path) -> None:
    with opened(tmp_path, replace(OFF, review=ReviewSettings(agents_decide=True))) as memory:
        memory.decide_or_propose(twins(memory).id, "merge")
        assert len(memory.list()) == 1


def test_a_policy_that_asks_stands_in_the_review(tmp_path: Path) -> None:
    policy = PolicySettings(what="archive", after="1 year")
    with opened(tmp_path, replace(OFF, policies={"unused": policy})) as memory:
        memory.save(id="a", title="Old", created_at="2024-01-01", updated_at="2024-01-01",
                    source="log")  # fmt: skip
        [item] = items(memory)
        assert item.kind == "policy"
        assert "Policy unused: 1 memory would be archived, more than half" in item.why
        memory.decide(item.id, "keep")
        assert items(memory) == []


# Wrong input, data, the terminal


def test_wrong_decisions_are_refused_with_what_is_allowed(memory: Recollect) -> None:
    item = twins(memory)
    with pytest.raises(UserError, match=r"'burn' is no decision .* merge, supersede, forget"):
        memory.decide(item.id, "burn")
    with pytest.raises(NotFound, match=r"There is no item 'duplicate-0'"):
        memory.decide("duplicate-0", "keep")
    with pytest.raises(UserError, match=r"There is no kind 'odd' .* candidate, secret"):
        memory.review(kind="odd")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="Say what to change"):
        memory.decide(item.id, "edit")
    with pytest.raises(NotFound, match="'c' is not part of this item"):
        memory.decide(item.id, "edit", changes={"id": "c", "text": "x"})


def test_items_are_data(memory: Recollect) -> None:
    item = twins(memory)
    data: Any = plain(memory.review())
    assert data["counts"] == {"duplicate": 1}
    [first] = data["items"]
    assert first["id"] == item.id
    assert [one["id"] for one in first["memories"]] == [one.id for one in item.memories]


def test_one_key_decides_each_item(memory: Recollect, capsys: pytest.CaptureFixture[str]) -> None:
    twins(memory)
    memory.save(id="old", title="Until May", valid_until="2026-05-01", source="log")
    keys = iter(["x", "m", "q"])
    review_each(memory, memory.review(), lambda question: next(keys), lambda text: text)
    printed = capsys.readouterr().out
    assert "Merged into" in printed
    assert "The rest stays" in printed
    assert [item.kind for item in items(memory)] == ["expired"]
    keys = iter(["e"])
    review_each(memory, memory.review(), lambda question: next(keys), lambda text: "Until June")
    assert memory.show(["old"])[0].text == "Until June"
