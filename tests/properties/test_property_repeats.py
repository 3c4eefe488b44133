"""Whatever is saved after whatever else: no word, tag or field of either is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from recollect import Filter, Recollect
from recollect.ingest.draft import make_draft
from recollect.query.fts5 import all_of
from recollect.query.sameness import same_in_order, split_words
from recollect.query.terms import STOP_WORDS
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.base import KeywordQuery

few = settings(max_examples=examples(150))
many = settings(max_examples=examples(500))
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))

WORDS = (
    "the a of to from is was on off not and or keys rotate rotates rotated rotating Anna Tom "
    "harbor university universal C++ C# -5 5 5.1 51 v1.4 < > ✅ ❌ don't non-stop caf\u00e9 "
    "cafe\u0301 日本語 दिन दीन — x a-b a b"
).split()
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and one that differs a little: words more, less, other, moved, shouted."""
    first = draw(sentences)
    second = list(first)
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(second)))
        change = draw(st.sampled_from(["more", "less", "other", "upper", "mark"]))
        if change == "more":
            second.insert(place, draw(st.sampled_from(WORDS)))
        elif second[place:]:
            turned = {
                "less": [],
                "other": [draw(st.sampled_from(WORDS))],
                "upper": [second[place].upper()],
                "mark": [second[place] + draw(st.sampled_from(".,;:!?)\"'…"))],
            }
            second[place : place + 1] = turned[change]
    return " ".join(first), " ".join(second)


def distinctive(text: str) -> set[str]:
    """The words that one could look for: all but stop words and mere signs."""
    words = {word.lower() for word in split_words(text)}
    return {word for word in words if any(map(str.isalnum, word))} - STOP_WORDS


@given(texts=pairs())
@example(texts=("a-b-c-d-e-f-g-h-i-j-kappa omega", "a b c d e f g h i j omega"))
@many
def test_the_fuller_of_two_that_are_the_same_has_every_word_of_both(texts: tuple[str, str]) -> None:
    one, other = texts
    assert same_in_order(one, other) is same_in_order(other, one)
    if same_in_order(one, other):
        fuller = max(texts, key=lambda text: len(split_words(text)))
        assert distinctive(fuller) == distinctive(one) | distinctive(other)


memories = st.fixed_dictionaries(
    {},
    optional={
        "why": st.sampled_from(["", "The audit", "the audit", "A leak"]),
        "tags": st.lists(st.sampled_from(["ops", "OPS", "keys"]), max_size=2),
        "project": st.sampled_from(["", "harbor"]),
        "kind": st.sampled_from(["fact", "decision"]),
        "valid_until": st.sampled_from(["2026-03-01", "2026-05-01"]),
    },
)


@given(texts=pairs(), first=memories, second=memories)
@few
def test_every_word_of_two_memories_is_found_after_both_were_saved(
    texts: tuple[str, str], first: dict[str, Any], second: dict[str, Any]
) -> None:
    """No lost writes: by the index of words as they are written, in the project they are of."""
    rows = [{"text": text, **fields} for text, fields in zip(texts, (first, second), strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vault.db"
        with Recollect(path, home=folder, settings=OFF, environment={}) as vault:
            for row in rows:
                vault.save_all([make_draft(row)])
            for row in rows:
                check_held(vault, row)


def check_held(vault: Recollect, row: dict[str, Any]) -> None:
    """One live memory has all that the row says."""
    place = Filter(project=row.get("project", ""))
    said = make_draft(row).fields
    for word in distinctive(row["text"]):
        asked = all_of([word])
        found = vault.store.keyword.match(
            KeywordQuery("plain", asked, {"title": 1, "text": 1}, 5, place)
        ).matches
        vocable = any(map(str.isalpha, word)) or any(map(str.isdigit, word))
        assert found or not vocable, f"{word!r} is found nowhere"
    holding = [
        one
        for one in vault.list(place)
        if distinctive(row["text"]) <= distinctive(one.text)
        and {tag.lower() for tag in row.get("tags", ())} <= {tag.lower() for tag in one.tags}
        and row.get("why", "").lower() in one.why.lower()
        and all(
            getattr(one, name) == said[name] for name in ("kind", "valid_until") if name in said
        )
    ]
    assert holding, f"No memory says all of {row}."
