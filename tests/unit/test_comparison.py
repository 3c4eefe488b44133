"""Duplicates and contradictions, by words, by meaning, by file."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from recollect.engine import Recollect, comparison
from recollect.engine.session import Session
from recollect.lifetime import Lifetime
from recollect.query import vector_pairs
from recollect.query.sameness import nearly_equal, same_facts
from recollect.query.vector_pairs import near_pairs
from recollect.settings import Embedding, Rerank, Settings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
PAIRS = Path(__file__).parents[1] / "answers" / "duplicates.jsonl"
LONG = "The harbour master closes the outer gate when the wind comes from the north east"


def open_vault(folder: Path, settings: Settings = OFF) -> Recollect:
    return Recollect(
        folder / "vault.db",
        home=folder / "home",
        settings=settings,
        environment={},
        clock=lambda: NOW,
    )


def save(memory: Recollect, id: str, text: str, **fields: object) -> None:
    memory.save(id=id, text=text, **fields)


def test_the_same_words_are_found_whatever_their_case_and_punctuation(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        save(memory, "a", "Deploys happen on Tuesday.")
        save(memory, "b", "deploys happen on tuesday")
        save(memory, "c", "Deploys happen on Friday.")
        [group] = memory.duplicates()
        assert (group.reason, group.sure, sorted(group.ids)) == ("same words", 1.0, ["a", "b"])


def test_nearly_the_same_words_are_found_and_other_numbers_are_not(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        save(memory, "a", LONG)
        save(memory, "b", f"{LONG} again")
        save(memory, "c", f"{LONG} 12")
        save(memory, "d", f"{LONG} not")
        [group] = memory.duplicates()
        assert group.reason == "nearly the same words"
        assert group.ids == ("b", "a")  # the longest is the one to keep
        assert 0.9 <= group.sure < 1


def test_a_pinned_memory_is_the_one_to_keep(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        save(memory, "a", LONG)
        save(memory, "b", LONG, details="More of it.")
        memory.pin(["a"])
        [group] = memory.duplicates()
        assert group.ids == ("a", "b")


def test_of_two_projects_only_the_same_words_are_found_and_of_two_spaces_nothing(
    tmp_path: Path,
) -> None:
    with open_vault(tmp_path) as memory:
        save(memory, "a", LONG, project="one")
        save(memory, "b", f"{LONG} again", project="two")
        save(memory, "c", LONG, project="one", space="other")
        assert memory.duplicates() == []
        save(memory, "d", LONG, project="three")
        [group] = memory.duplicates()
        assert (group.reason, group.sure, sorted(group.ids)) == ("same words", 0.5, ["a", "d"])


def test_what_does_not_hold_any_more_is_not_compared(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        save(memory, "a", LONG)
        save(memory, "b", LONG, valid_until="2026-01-01")
        save(memory, "c", LONG)
        memory.forget(["c"])
        assert memory.duplicates() == []


def test_a_file_in_two_folders_is_found(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.md").write_text(f"# Gate\n\n{LONG}\n")
    (tmp_path / "two" / "other.md").write_text("# Other\n\nSomething else.\n")
    with open_vault(tmp_path) as memory:
        for name in ("one", "two"):
            memory.add_folder(tmp_path / name)
        [group] = memory.duplicates()
        assert (group.reason, group.sure, len(group.ids)) == ("same file", 1.0, 2)
        assert group.about == f"{tmp_path}/one/note.md, {tmp_path}/two/note.md"


def test_the_same_meaning_is_found_in_other_words_and_a_contradiction_is_none(
    tmp_path: Path,
) -> None:
    day = timedelta(days=1)
    said = {
        "a": "Marta is allergic to peanuts.",
        "b": "Marta has a peanut allergy.",
        "c": "The API rate limit is 100 requests per minute.",
        "d": "The API rate limit is now 500 requests per minute.",
        "e": "The spare tyre is in the garage.",
    }
    with open_vault(tmp_path, Settings(rerank=OFF.rerank)) as memory:
        for number, (id, text) in enumerate(said.items()):
            made = NOW - (9 - number) * day
            memory.save(id=id, text=text, created_at=made.isoformat(), updated_at=made.isoformat())
        memory.embed_now()
        found = comparison.compare_all(memory.session)
        [group] = found.duplicates
        assert (group.reason, sorted(group.ids)) == ("same meaning", ["a", "b"])
        assert 0.6 <= group.sure <= 0.9
        assert found.contradictions == (comparison.Contradiction("c", "d"),)


def test_texts_in_letters_that_the_model_does_not_know_do_not_mean_the_same(tmp_path: Path) -> None:
    """To the bundled English model they look alike."""
    with open_vault(tmp_path, Settings(rerank=OFF.rerank)) as memory:
        save(memory, "backup", "สำรองฐานข้อมูลทุกคืนเวลาตีสองและเก็บไว้สามสิบวัน")
        save(memory, "meeting", "ประชุมทุกวันจันทร์ที่ห้องประชุมใหญ่")
        memory.embed_now()
        assert comparison.compare_all(memory.session).duplicates == ()
        assert memory.similar(memory.store.memories.get(["meeting"])["meeting"]) == []


def test_no_pair_that_says_different_things_has_the_same_facts_and_words() -> None:
    """The pairs that the least cosine was measured on: every one above it that is apart is told
    apart by its facts; benchmarks/duplicates.py has the cosines."""
    alike = [
        ("Clara manages the design team.", "Clara joined the design team."),
        ("Error 502 comes from the load balancer.", "Error 504 comes from the load balancer."),
        ("The contract ends in June.", "The contract was signed in June."),
    ]
    lines = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    apart = {(line["one"], line["other"]) for line in lines if not line["same"]}
    assert apart.issuperset(alike)
    assert not any(same_facts(*pair) for pair in alike)
    kept = [line for line in lines if line["same"] and same_facts(line["one"], line["other"])]
    assert len(kept) >= 24


def test_a_process_that_stays_compares_again_when_the_vault_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []
    compare = comparison._compare

    def count(session: Session, progress: Callable[[int], None]) -> object:
        runs.append(1)
        return compare(session, progress)

    monkeypatch.setattr(comparison, "_compare", count)
    monkeypatch.setattr(comparison, "RESTS", 0)
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=OFF, environment={}, lifetime=Lifetime.SERVER
    ) as memory:
        save(memory, "a", LONG)
        assert memory.duplicates() == memory.duplicates() == []
        assert len(runs) == 1
        with open_vault(tmp_path) as other:
            save(other, "b", LONG)
        assert len(memory.duplicates()) == 1
        assert len(runs) == 2


# What finds the pairs


def test_every_pair_of_nearly_equal_sets_is_found_without_comparing_all() -> None:
    random = np.random.default_rng(5)
    words = [f"w{number}" for number in range(300)]
    texts = [frozenset(random.choice(words, 12)) for _ in range(150)]
    texts += [text | {f"new{place}"} for place, text in enumerate(texts[:30])]
    texts += [frozenset(sorted(text)[1:]) for text in texts[:30]]
    wanted = {
        frozenset((one, two))
        for one in range(len(texts))
        for two in range(one)
        if texts[one] <= texts[two] or texts[two] <= texts[one]
        if min(len(texts[one]), len(texts[two])) >= 0.9 * max(len(texts[one]), len(texts[two]))
    }
    found = {frozenset(pair) for pair in nearly_equal(texts, 0.9)}
    assert len(wanted) > 30
    assert wanted == found


@pytest.mark.parametrize("few", [5_000, 100])
def test_near_vectors_are_found_among_few_and_among_many(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time by buckets: as if there were many."""
    monkeypatch.setattr(vector_pairs, "FEW", few)
    random = np.random.default_rng(3)
    vectors = random.standard_normal((600, 32)).astype(np.float32)
    vectors[300:330] = vectors[:30] + 0.1 * random.standard_normal((30, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = near_pairs(vectors, 0.9)
    assert set(found) == {(place, place + 300) for place in range(30)}
    assert found[0, 300] == pytest.approx(float(vectors[0] @ vectors[300]), abs=1e-5)
