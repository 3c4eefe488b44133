"""Policies: what becomes of captures as time passes, and what is spared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.settings import (
    Embedding,
    HistorySettings,
    PolicySettings,
    Rerank,
    Settings,
    UsageSettings,
)
from recollect.settings_reading import load_settings

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
EXPIRE = PolicySettings(what="expire", kind="session", after="30d")
ARCHIVE = PolicySettings(what="archive", after="6 months")


def open_vault(folder: Path, *, keep: bool = True, **policies: PolicySettings) -> Recollect:
    settings = Settings(
        embedding=Embedding(provider="none"),
        rerank=Rerank(provider="none"),
        usage=UsageSettings(keep=keep),
        policies=policies,
    )
    return Recollect(
        folder / "vault.db", home=folder, settings=settings, environment={}, clock=lambda: NOW
    )


def save(memory: Recollect, id: str, days: int, **fields: object) -> None:
    made = (NOW - timedelta(days=days)).isoformat()
    memory.save(id=id, title=f"Note {id}", created_at=made, updated_at=made, **fields)


def live(memory: Recollect) -> set[str]:
    return {one.id for one in memory.list()}


def test_session_notes_expire_unless_they_were_of_use(tmp_path: Path) -> None:
    with open_vault(tmp_path, notes=EXPIRE) as memory:
        for id in ("old", "opened", "accepted"):
            save(memory, id, 40, kind="session")
        save(memory, "young", 20, kind="session")
        save(memory, "fact", 40)
        save(memory, "pinned", 40, kind="session", tier="core")
        memory.show(["opened"])
        memory.feedback("which note", "accepted", accept=True)
        [plan] = memory.tidy(dry_run=True)
        assert (plan.ids, plan.asks, plan.done) == (("old",), False, False)
        assert len(live(memory)) == 6
        [done] = memory.tidy()
        assert (done.ids, done.done, done.outcome) == (("old",), True, "forgotten")
        assert live(memory) == {"opened", "accepted", "young", "fact", "pinned"}
        memory.forget(["old"], undo=True)  # nothing is lost
        assert "old" in live(memory)


def test_what_no_search_returned_for_months_is_archived_and_still_findable(tmp_path: Path) -> None:
    with open_vault(tmp_path, unused=ARCHIVE) as memory:
        for id in ("anchor", "chain"):
            save(memory, id, 200)
        save(memory, "young", 20)
        memory.search("chain")
        [done] = memory.tidy()
        assert (done.ids, done.outcome) == (("anchor",), "archived")
        assert live(memory) == {"chain", "young"}
        assert [one.id for one in memory.search("anchor", archived=True)] == ["anchor"]
        assert memory.show(["anchor"])[0].archived_at == NOW
        assert memory.tidy()[0].ids == ()


def test_the_captures_of_each_project_are_capped(tmp_path: Path) -> None:
    with open_vault(tmp_path, cap=PolicySettings(what="cap", most=2)) as memory:
        for days in range(1, 5):
            save(memory, f"a{days}", days, project="a")
            save(memory, f"b{days}", days, project="b", kind="decision")
        save(memory, "file", 9, project="a", tier="file")
        save(memory, "core", 9, project="a", tier="core")
        memory.show(["a4"])  # used lately
        [done] = memory.tidy(yes=True)
        assert set(done.ids) == {"a2", "a3", "b3", "b4"}
        assert live(memory) == {"a1", "a4", "b1", "b2", "file", "core"}


def test_only_a_policy_that_says_so_purges(tmp_path: Path) -> None:
    with open_vault(
        tmp_path, gone=PolicySettings(what="purge", source="bot", after="1 year")
    ) as memory:
        save(memory, "old", 400, source="bot")
        save(memory, "other", 400)
        save(memory, "young", 300, source="bot")
        assert memory.tidy()[0].outcome == "purged"
        assert memory.store.memories.find(["old"]) == {}
        assert live(memory) == {"other", "young"}


def test_more_than_half_of_the_vault_is_touched_only_if_somebody_says_yes(tmp_path: Path) -> None:
    with open_vault(tmp_path, unused=ARCHIVE) as memory:
        for id in ("a", "b"):
            save(memory, id, 200)
        save(memory, "c", 1)
        [refused] = memory.tidy()
        assert (refused.asks, refused.done) == (True, False)
        assert len(live(memory)) == 3
        assert memory.tidy_daily()[0].done is False
        assert memory.tidy(yes=True)[0].done
        assert live(memory) == {"c"}


def test_a_server_removes_what_is_too_old_in_history_without_a_write(tmp_path: Path) -> None:
    last = NOW
    settings = Settings(
        embedding=Embedding(provider="none"),
        rerank=Rerank(provider="none"),
        history=HistorySettings(keep="90d"),
    )
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=settings, environment={}, clock=lambda: last
    ) as memory:
        memory.save(id="a", title="One")
        memory.edit("a", title="Two")
        last = NOW + timedelta(days=100)
        assert len(memory.history("a")) == 2
        memory.tidy_daily()
        assert len(memory.history("a")) == 1


def test_a_server_tidies_once_a_day(tmp_path: Path) -> None:
    with open_vault(tmp_path, notes=EXPIRE) as memory:
        assert len(memory.tidy_daily()) == 1
        assert memory.tidy_daily() == []
    with open_vault(tmp_path, notes=EXPIRE) as memory:  # another server of the same vault
        assert memory.tidy_daily() == []


def test_a_policy_that_goes_by_use_needs_it_counted(tmp_path: Path) -> None:
    wrong = pytest.raises(UserError, match=r"policy notes goes by how .* Set usage.keep to true")
    with open_vault(tmp_path, keep=False, notes=EXPIRE) as memory, wrong:
        memory.tidy()
    anyway = PolicySettings(what="expire", after="1d", unless_useful=False)
    with open_vault(tmp_path, keep=False, notes=anyway) as memory:
        assert memory.tidy()[0].ids == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[policies.x]\nwhat = "burn"\nafter = "1d"', "what cannot be 'burn'; allowed:"),
        ('[policies.x]\nwhat = "expire"', "[policies.x] needs after: it says expire"),
        ('[policies.x]\nwhat = "cap"', "[policies.x] needs most: it says cap"),
        ('[policies.x]\nwhat = "cap"\nmost = 5\nafter = "1d"', "after is not for cap"),
        ('[policies.x]\nwhat = "expire"\nafter = "soon"', "30d, 2w, 6 months, 1 year"),
        ('[policies.x]\nwhat = "expire"\nafter = "1d"\nsize = 3', "size is not a setting"),
        ("[policies.x]\nafter = '1d'", "[policies.x] needs a what"),
        ("policies = 3", "must be written as [policies.NAME]"),
    ],
)
def test_a_wrong_policy_is_named_with_what_is_allowed(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(UserError) as raised:
        load_settings(tmp_path, {})
    assert said in str(raised.value)
