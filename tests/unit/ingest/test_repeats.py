"""Saying something again makes no twin, and whatever is said stays in the vault."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory, Recollect
from recollect.ingest.draft import LONG_SUFFIX, SUFFIX, make_draft, make_id
from recollect.ingest.exchange import raw_lines
from recollect.ingest.saving import MOST_READ, Saved
from recollect.settings import Embedding, Rerank, Settings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
KEYS = "Signing keys of the harbor gateway rotate every ninety days in the night"
MARCH, MAY = "2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"


class Ticking(Recollect):
    """A day passes with every look at the clock."""

    def __init__(self, folder: Path) -> None:
        self.days = 0
        super().__init__(
            folder / "vault.db", home=folder, settings=OFF, environment={}, clock=self._tick
        )

    def _tick(self) -> datetime:
        self.days += 1
        return NOW + self.days * DAY


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Ticking]:
    opened = Ticking(tmp_path)
    with opened:
        yield opened
        assert [one for one in opened.doctor() if one.problem] == []


def save(vault: Recollect, **fields: object) -> Saved:
    [saved] = vault.save_all([make_draft(fields)])
    return saved


def import_rows(vault: Recollect, *rows: dict[str, Any]) -> tuple[int, ...]:
    """Return how many were added, updated and left unchanged."""
    return vault.import_lines(raw_lines([json.dumps(row).encode() for row in rows]))[:3]


def list_memories(vault: Recollect) -> list[Memory]:
    return list(vault.export())


# What is another fact


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"text": KEYS}, {"text": KEYS.replace("ninety", "sixty")}),
        ({"text": KEYS}, {"text": KEYS.replace("harbor", "tower")}),
        ({"text": KEYS}, {"text": KEYS.replace("rotate", "do not rotate")}),
        ({"text": "Postgres replaced MySQL"}, {"text": "MySQL replaced Postgres"}),
        ({"text": KEYS}, {"text": KEYS, "project": "harbor"}),
        ({"text": KEYS, "project": "tower"}, {"text": KEYS, "project": "harbor"}),
        ({"text": KEYS, "space": "team"}, {"text": KEYS}),
        ({"text": KEYS}, {"text": KEYS, "kind": "decision"}),
        ({"text": KEYS, "kind": "decision"}, {"text": KEYS, "kind": "fact"}),
        ({"text": KEYS, "path": "a.md"}, {"text": KEYS, "path": "b.md"}),
        ({"text": KEYS, "valid_until": MARCH}, {"text": KEYS, "valid_until": MAY}),
        ({"text": KEYS, "valid_until": MARCH}, {"text": f"{KEYS}.", "valid_until": MAY}),
        ({"text": KEYS, "valid_from": MARCH}, {"text": f"{KEYS}.", "valid_from": MAY}),
        ({"text": KEYS}, {"title": KEYS}),
        ({"text": KEYS}, {"text": KEYS, "title": "Keys"}),
        ({"title": "Keys", "text": KEYS}, {"title": "Locks", "text": KEYS}),
        ({"title": "✅", "text": KEYS}, {"title": "❌", "text": KEYS}),
        ({"text": KEYS, "why": "The audit"}, {"text": KEYS, "why": "A leak"}),
        ({"text": KEYS, "details": "1 then 2"}, {"text": KEYS, "details": "2 then 1"}),
        ({"text": KEYS, "impact": "Slow"}, {"text": f"{KEYS}!", "impact": "Fast"}),
        ({"text": KEYS, "context": "Ops"}, {"text": f"{KEYS}!", "context": "Dev"}),
        ({"title": "a", "text": "b"}, {"title": "ab"}),
        ({"title": "a", "why": "b"}, {"title": "a", "impact": "b"}),
        ({"text": KEYS}, {"text": KEYS, "id": "mine"}),
    ],
    ids=str,
)
def test_what_differs_in_one_thing_that_counts_stays_two_memories(
    vault: Recollect, first: dict[str, Any], second: dict[str, Any]
) -> None:
    vault.save(**first)
    before = list_memories(vault)
    saved = save(vault, **second)
    assert (saved.outcome, saved.repeated) == ("added", False)
    assert len(list_memories(vault)) == 2
    assert before[0] in list_memories(vault), "What was there is as it was."
    again = [save(vault, **fields).outcome for fields in (first, second)]
    assert again == ["unchanged", "unchanged"]
    assert len(list_memories(vault)) == 2


def test_a_project_in_another_case_is_the_same_project(vault: Recollect) -> None:
    vault.save(text=KEYS, project="harbor")
    saved = save(vault, text=KEYS, project="Harbor")
    assert (saved.outcome, saved.repeated) == ("unchanged", True)


def test_two_ids_that_were_given_are_two_memories_whatever_they_say(vault: Recollect) -> None:
    for id in ("a", "b"):
        assert save(vault, id=id, text=KEYS).outcome == "added"
    assert save(vault, id="a", text=f"{KEYS} again").repeated is False
    assert sorted(one.text for one in list_memories(vault)) == [KEYS, f"{KEYS} again"]


def test_an_import_never_merges(vault: Recollect) -> None:
    rows = [{"text": KEYS + more} for more in ("", ".", " again")]
    assert import_rows(vault, *rows) == (3, 0, 0)
    assert import_rows(vault, *rows) == (0, 0, 3)
    assert len(list_memories(vault)) == 3


def test_an_import_keeps_what_holds_at_another_time(vault: Recollect) -> None:
    """Equal words made equal ids, and the second memory replaced the first."""
    rows = [{"text": KEYS, "valid_until": day} for day in (MARCH, MAY)]
    assert import_rows(vault, *rows) == (2, 0, 0)
    assert import_rows(vault, *rows) == (0, 0, 2)
    assert len({one.valid_until for one in list_memories(vault)}) == 2


def test_an_import_counts_what_it_repeats_itself(vault: Recollect) -> None:
    rows: list[dict[str, object]] = [
        {"id": "a", "title": "first", "text": "kept"},
        {"id": "a", "title": "second"},
        {"id": "a", "title": "second"},
        {"id": "a", "title": "third", "tags": ["x"]},
        {"title": "same", "text": "words"},
        {"title": "same", "text": "words"},
    ]
    assert import_rows(vault, *rows) == (2, 2, 2)
    assert {(one.title, one.text) for one in list_memories(vault)} == {
        ("third", "kept"),
        ("same", "words"),
    }


def test_an_import_replaces_tags_and_null_keeps_what_was_there(vault: Recollect) -> None:
    row = {"id": "a", "title": "x"}
    import_rows(vault, row | {"tags": ["old", "both"], "valid_until": MAY})
    before = list_memories(vault)
    assert import_rows(vault, row | {"tags": None, "valid_until": None}) == (0, 0, 1)
    assert list_memories(vault) == before
    for tags in (["both", "new"], []):
        import_rows(vault, row | {"tags": tags})
        assert list_memories(vault)[0].tags == tuple(tags)


def test_memories_whose_made_ids_are_equal_are_all_kept_and_found_again(
    vault: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_id, "__defaults__", (0,))  # no letters: all of one title are equal
    rows = [{"title": "Same", "text": f"text {number}"} for number in range(9)]
    assert import_rows(vault, *rows[:4]) == (4, 0, 0)
    assert import_rows(vault, *rows[4:]) == (5, 0, 0)
    before = list_memories(vault)
    assert {one.text for one in before} == {row["text"] for row in rows}
    assert {len(one.id) for one in before} == {len("same-"), len("same-") + LONG_SUFFIX}
    assert import_rows(vault, *reversed(rows)) == (0, 0, 9)
    assert list_memories(vault) == before


def test_an_import_leaves_alone_what_was_edited_since(vault: Recollect) -> None:
    row = {"title": "Deploy", "text": "on Fridays"}
    for turn in range(5):
        assert import_rows(vault, row) == (1, 0, 0)
        assert import_rows(vault, row) == (0, 0, 1)
        [imported] = [one for one in list_memories(vault) if one.text == row["text"]]
        vault.edit(imported.id, text=f"edit {turn}")
    assert sorted(one.text for one in list_memories(vault)) == [f"edit {n}" for n in range(5)]
    first = make_id(row)
    assert len(first) == len("deploy-") + SUFFIX
    assert all(one.id.startswith(first) for one in list_memories(vault))


# What is the same fact


@pytest.mark.parametrize(
    ("again", "kept"),
    [
        (KEYS, KEYS),
        (KEYS.upper(), KEYS),
        (f"The {KEYS.lower()}!", KEYS),
        (KEYS.replace(" ", "\n"), KEYS),
        (f"{KEYS} again", f"{KEYS} again"),
        (KEYS.replace(" the night", " night"), KEYS),
        (KEYS.removesuffix(" night"), KEYS),
    ],
)
def test_the_same_in_nearly_the_same_words_is_one_memory_in_the_fuller_words(
    vault: Recollect, again: str, kept: str
) -> None:
    first = save(vault, text=KEYS)
    saved = save(vault, text=again)
    assert saved.repeated
    assert saved.outcome == ("unchanged" if kept == KEYS else "updated")
    assert [(one.id, one.text) for one in list_memories(vault)] == [(first.memory.id, kept)]


def test_the_same_in_another_encoding_is_one_memory(vault: Recollect) -> None:
    save(vault, text="Das Caf\u00e9 \u00f6ffnet")
    assert save(vault, text="Das Cafe\u0301 o\u0308ffnet").repeated
    assert len(list_memories(vault)) == 1


def test_the_fuller_text_is_the_one_with_more_words_not_with_more_blanks(vault: Recollect) -> None:
    """Fillers made the text with a word less look longer, and the word was lost."""
    blanks = "gateway keys rotate in a night, the audit of the port, of the shop, of the bank"
    fuller = "gateway keys rotate in night, audit of port, of shop, of bank silently"
    save(vault, text=blanks)
    assert save(vault, text=fuller).repeated
    assert [one.text for one in list_memories(vault)] == [fuller]


def test_a_repetition_adds_what_it_knows_and_empties_nothing(vault: Recollect) -> None:
    first = vault.save(
        title="Keys", text=KEYS, why="The audit asked for it", tags=["ops", "keys"],
        severity="critical", domain="auth", source="chat",
    )  # fmt: skip
    vault.pin([first.id])
    saved = save(
        vault, title="keys", text=f"{KEYS} again", impact="Short outages", tags=["Keys", "audit"],
        severity="warning", domain="", why="", context="", source="mail",
    )  # fmt: skip
    after = saved.memory
    assert (saved.outcome, saved.repeated, after.id) == ("updated", True, first.id)
    assert list_memories(vault) == [after]
    assert (after.title, after.text) == ("Keys", f"{KEYS} again")
    assert (after.why, after.impact) == ("The audit asked for it", "Short outages")
    assert after.tags == ("ops", "keys", "Keys", "audit")
    assert (after.severity, after.domain, after.source) == ("warning", "auth", "mail")
    assert after.tier == "core", "What was pinned stays pinned."
    assert after.created_at == first.created_at
    assert after.updated_at > first.updated_at


def test_a_repetition_makes_a_memory_neither_younger_nor_older_than_it_is(vault: Recollect) -> None:
    first = vault.save(text=KEYS)
    old = datetime(2020, 1, 1, tzinfo=UTC)
    vault.save(text=f"{KEYS}!", tags=["ops"], created_at=old, updated_at=old)
    [after] = list_memories(vault)
    assert (after.created_at, after.updated_at) == (first.created_at, first.updated_at)
    vault.save(text=KEYS, tags=["keys"], updated_at=NOW + 99 * DAY)
    [last] = list_memories(vault)
    assert (last.tags, last.updated_at) == (("ops", "keys"), NOW + 99 * DAY)


def test_a_repetition_without_news_changes_nothing(vault: Recollect) -> None:
    vault.save(title="Keys", text=KEYS, tags=["ops"], severity="warning")
    before = list_memories(vault)
    for _ in range(2):
        saved = save(vault, title="keys!", text=KEYS.upper(), tags=["ops"])
        assert (saved.outcome, saved.repeated) == ("unchanged", True)
    assert list_memories(vault) == before


def test_texts_of_letters_and_signs_are_repeated_too(vault: Recollect) -> None:
    """No keyword finds them; the made id does. Their tags were replaced."""
    for text in ("x", "🙂", "C"):
        vault.save(text=text, tags=["a"])
        saved = save(vault, text=text, tags=["b"])
        assert saved.repeated
        assert saved.memory.tags == ("a", "b")


def test_the_same_words_are_found_however_many_match_better(vault: Recollect) -> None:
    long = KEYS + " ".join(f" word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
    first = vault.save(text=long, tags=["old"])
    for number in range(2 * MOST_READ):
        vault.save(id=f"n{number}", title=KEYS, text=KEYS)
    saved = save(vault, text=long, tags=["new"])
    assert (saved.memory.id, saved.memory.tags) == (first.id, ("old", "new"))


def test_what_holds_until_a_day_is_repeated_without_saying_so(vault: Recollect) -> None:
    vault.save(text=KEYS, valid_until=MAY, kind="decision", path="a.md")
    saved = save(vault, text=f"{KEYS}.", tags=["ops"])
    assert saved.repeated
    assert (saved.memory.kind, saved.memory.path) == ("decision", "a.md")
    assert saved.memory.valid_until == datetime(2026, 5, 31, tzinfo=UTC)


# In one batch, and after forgetting


def test_a_batch_that_repeats_itself_is_one_memory(vault: Recollect) -> None:
    rows: list[dict[str, object]] = [
        {"text": KEYS, "tags": ["a"]},
        {"text": f"{KEYS}!", "tags": ["b"]},
        {"text": "Other"},
    ]
    saved = vault.save_all([make_draft(row) for row in rows])
    assert [one.outcome for one in saved] == ["added", "updated", "added"]
    assert [one.repeated for one in saved] == [False, True, False]
    assert sorted((one.text, one.tags) for one in list_memories(vault)) == [
        ("Other", ()),
        (KEYS, ("a", "b")),
    ]


def test_a_batch_keeps_facts_apart_that_differ(vault: Recollect) -> None:
    rows = [{"text": f"Pool {number} of the harbor holds ten"} for number in range(30)]
    saved = vault.save_all([make_draft(row) for row in rows])
    assert {one.outcome for one in saved} == {"added"}
    assert len(list_memories(vault)) == 30


def test_what_was_forgotten_is_not_revived_by_other_words(vault: Recollect) -> None:
    first = vault.save(text=KEYS)
    vault.forget([first.id])
    saved = save(vault, text=f"{KEYS} again")
    assert (saved.outcome, saved.repeated) == ("added", False)
    assert [one.id for one in list_memories(vault)] == [saved.memory.id] != [first.id]
    vault.forget([first.id], undo=True)
    assert vault.show([first.id])[0].text == KEYS, "It was not written to while it was away."


@pytest.mark.parametrize("fields", [{"text": KEYS}, {"id": "mine", "title": "By hand"}], ids=list)
def test_what_was_forgotten_comes_back_when_the_same_is_said(
    vault: Recollect, fields: dict[str, str]
) -> None:
    first = vault.save(**fields)
    vault.forget([first.id])
    saved = save(vault, **fields)
    assert (saved.memory.id, saved.outcome, saved.repeated) == (first.id, "updated", False)
    assert list_memories(vault) == [first]


def test_what_an_edit_moved_elsewhere_is_not_what_is_repeated(vault: Recollect) -> None:
    """Its id was made of what it said before the edit."""
    first = vault.save(text=KEYS)
    for change in ({"project": "tower"}, {"project": None, "text": "Something else"}):
        vault.edit(first.id, **change)
        before = list_memories(vault)
        saved = save(vault, text=KEYS)
        assert (saved.outcome, saved.repeated) == ("added", False)
        assert set(before) < set(list_memories(vault))
        vault.forget([saved.memory.id], purge=True)


def test_an_end_can_be_added_to_what_had_none(vault: Recollect) -> None:
    vault.save(text=KEYS)
    [saved] = vault.save_all([make_draft({"text": KEYS, "valid_until": MAY})])
    assert (saved.outcome, saved.repeated) == ("updated", True)
    assert saved.memory.valid_until == datetime(2026, 5, 31, tzinfo=UTC)
    assert len(list_memories(vault)) == 1


def test_the_place_where_it_was_said_does_not_make_it_another_memory(vault: Ticking) -> None:
    """An agent that is asked twice names two lines of its transcript, or two transcripts."""
    first = save(vault, text=KEYS)
    for path in ("/home/dev/s1.jsonl:120", "/home/dev/s2.jsonl:7"):
        again = save(vault, text=KEYS, path=path)
        assert (again.memory.id, again.memory.path, again.repeated) == (first.memory.id, path, True)
    assert not save(vault, text=KEYS, path="/home/dev/keys.md").repeated
