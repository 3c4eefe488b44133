"""What a search knows of its query and its memories, made once and kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.errors import UserError
from recollect.models.base import Embedder

Search = Callable[..., SearchContext]


def test_a_memory_is_read_once_and_without_case_and_accents(search_at: Search) -> None:
    at = search_at("", {"m": {"title": "Café", "text": "Keys ROTATE.", "tags": ["Two"]}})
    text = at.text("m")
    assert all(map(text.holds, ("cafe", "Rotate", "two")))
    assert not text.holds("rot")
    assert at.text("m") is text


def test_exact_terms_are_exact_things_then_words_that_few_memories_hold(search_at: Search) -> None:
    """One of forty is few, and so are three; four are not, and v2 is exact by itself."""
    said = ["zephyr"] + ["kestrel"] * 3 + ["dunlin"] * 4 + ["plain v2"] * 32
    memories = {f"m{number}": text for number, text in enumerate(said)}
    at = search_at("plain zephyr v2 kestrel dunlin nowhere", memories)
    assert at.understanding.exact_terms == ["v2", "zephyr", "kestrel"]


@pytest.mark.parametrize("memories", [20, 60, 300])
def test_a_common_word_is_not_exact_however_few_memories_hold_it(
    search_at: Search, memories: int
) -> None:
    """A vault of less than a thousand memories cannot show by itself that "keep" is common."""
    said = {f"m{number}": "Plain." for number in range(memories - 1)}
    at = search_at("what should I keep and run with kamal", {**said, "a": "Keep kamal; it runs."})
    assert at.understanding.frequencies["keep"] == 1
    assert at.understanding.exact_terms == ["kamal"]


@pytest.mark.parametrize(
    ("query", "exact"),
    [
        ("welche Regeln gelten eigentlich für Kamal", ["kamal"]),
        ("Eigentlich gelten keine Regeln für kamal", []),
        ("où est-ce que nous gardons souvent la clé de Kamal", ["kamal"]),
        ("dónde guardamos siempre la llave de Kamal", ["kamal"]),
        ("где мы обычно храним ключ", []),
        ("eigentlich", ["eigentlich"]),  # asked for by itself
        ("where do we deploy kamal", ["kamal"]),
    ],
)
def test_a_common_word_of_another_language_is_not_exact_in_a_small_vault(
    search_at: Search, query: str, exact: list[str]
) -> None:
    """Which words of other languages are common nobody says: there a name has a capital."""
    said = {f"m{number}": "Plain." for number in range(59)}
    words = "eigentlich gelten keine souvent gardons siempre guardamos обычно храним ключ clé kamal"
    at = search_at(query, {**said, "a": words})
    assert at.understanding.exact_terms == exact


def test_in_a_large_vault_a_word_that_few_memories_hold_is_rare_whatever_it_is(
    search_at: Search,
) -> None:
    said = {f"m{number}": "Plain." for number in range(999)}
    at = search_at("keep", {**said, "a": "Keep."})
    assert at.understanding.exact_terms == ["keep"]


def test_in_a_small_vault_a_word_must_stand_in_one_of_ten_to_be_rare(search_at: Search) -> None:
    assert search_at("zephyr", {"a": "zephyr", "b": "plain"}).understanding.exact_terms == []


def test_in_a_vault_of_ten_one_memory_is_few(search_at: Search) -> None:
    memories = {f"m{number}": "zephyr" if number == 3 else "plain" for number in range(10)}
    assert search_at("zephyr plain", memories).understanding.exact_terms == ["zephyr"]


def test_the_words_of_an_exact_thing_are_not_counted_again(search_at: Search) -> None:
    assert search_at(
        "quick-fix-one 'a phrase'", {"a": "quick a phrase"}
    ).understanding.exact_terms == [
        "a phrase",
        "quick-fix-one",
    ]


def test_exact_things_are_bounded(search_at: Search) -> None:
    words = [f"word{letter}" for letter in "abcdefghijkl"]
    memories = {"a": " ".join(words), **{f"m{number}": "plain" for number in range(9)}}
    assert search_at(" ".join(words), memories).understanding.exact_terms == words[:8]


@pytest.mark.parametrize(("literal", "count"), [(False, 1), (True, 0)])
def test_times_are_read_where_they_are_wanted(search_at: Search, literal: bool, count: int) -> None:
    assert len(search_at("last week", literal=literal).understanding.periods) == count


VECTORS = {"a": (1.0, 0.0), "b": (0.6, 0.8), "c": (0.0, 1.0)}
THREE = dict.fromkeys((*VECTORS, "d"), "text")


def test_cosines_are_the_channels_and_those_looked_up(search_at: Search) -> None:
    at = search_at("q", THREE, asked=(1.0, 0.0), vectors=VECTORS, channels={"vector": {"a": 0.999}})
    assert at.cosines(["a", "b", "d"]) == pytest.approx({"a": 0.999, "b": 0.6})


def test_a_cosine_is_looked_up_once(search_at: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    at = search_at("q", THREE, asked=(1.0, 0.0), vectors=VECTORS, channels={"vector": {"a": 0.999}})
    found = at.cosines(["a", "b", "c", "d"])
    monkeypatch.setattr(at.store.vectors, "similarities", None)
    assert at.cosines(["d", "b"]) == {"a": 0.999, "b": found["b"]}


def test_cosines_between_are_of_each_two_in_order(search_at: Search) -> None:
    at = search_at("q", THREE, asked=(1.0, 0.0), vectors=VECTORS, channels={"vector": {}})
    assert at.cosines_between(["b", "d", "a", "c"]) == pytest.approx(
        {("b", "a"): 0.6, ("b", "c"): 0.8, ("a", "c"): 0.0}, abs=1e-6
    )


def test_without_the_vector_channel_there_are_no_cosines(search_at: Search) -> None:
    at = search_at("q", THREE, asked=(1.0, 0.0), vectors=VECTORS)
    assert at.cosines(["a"]) == {}
    assert at.cosines_between(["a", "b"]) == {}


def test_without_a_model_no_thread_is_started(
    search_at: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = search_at("anything", {"a": "Text."})
    monkeypatch.setattr("recollect.context.threading.Thread", None)
    at.embed_ahead()
    assert at.query_vector is None
    assert [one.channel for one in at.degraded] == ["vector"]


def test_wrong_settings_are_raised_though_the_query_is_embedded_ahead(search_at: Search) -> None:
    """Only a model that does not answer degrades; what the user can mend is an error."""
    at = search_at("anything", {"a": "Text."})

    def refuse() -> Embedder:
        raise UserError("embedding.model must be set.")

    at.models.embedder = refuse  # type: ignore[method-assign]
    at.embed_ahead()
    with pytest.raises(UserError, match="must be set"):
        _ = at.query_vector
