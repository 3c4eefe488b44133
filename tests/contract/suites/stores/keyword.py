"""Finding by words: `KeywordIndex`."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from recollect.store.base import COLUMNS, KeywordQuery
from suites.stores.helpers import (
    WORD_INDEXES,
    Contract,
    forget,
    match,
    matches,
    purge_everything,
    save,
)
from suites.stores.samples import (
    CHANGE,
    EVERYTHING,
    FILTERS,
    PLENTY,
    memory,
    random_memories,
    shuffle,
)

CLOSE = 1e-9  # what the order of a sum may change


class KeywordContract(Contract):
    def test_a_word_is_found_in_each_column_of_each_word_index(self) -> None:
        store = self.store()
        for index in WORD_INDEXES:
            for column in COLUMNS[index]:
                id = f"{index}-{column}"
                word = id.replace("-", "")
                fields: dict[str, Any] = {column: (word,) if column == "tags" else word}
                stored = memory(**{"id": id, "title": "t"} | fields)
                save(store, stored)
                assert matches(store, word, index) == [stored.id], f"{column} of {index}"

    def test_the_stemmed_index_finds_other_forms_and_the_plain_one_does_not(self) -> None:
        store = self.store()
        save(store, memory("a", text="We were migrating databases."))
        assert matches(store, "migrate") == ["a"]
        assert matches(store, "migrate", "plain") == []
        assert matches(store, "migrating", "plain") == ["a"]

    def test_weights_decide_which_match_is_better(self) -> None:
        store = self.store()
        save(store, memory("in-text", title="x", text="anchor"))
        save(store, memory("in-title", title="anchor", text="x"))
        for index in WORD_INDEXES:
            for best, worst in (("title", "text"), ("text", "title")):
                weights = {best: 10.0, worst: 1.0}
                found = match(store, '"anchor"', index, weights=weights, limit=2)
                assert [one.memory_id for one in found] == [f"in-{best}", f"in-{worst}"]
                assert found[0].score > found[1].score > 0, "Larger must be better."

    def test_halves_with_common_statistics_rank_as_the_whole(self) -> None:
        store = self.store()
        every = random_memories(120)
        halves = every[:30], every[30:]
        for expression in ('"w1" OR "w2" OR "w30"', '{title} : ("w1" OR "w2")', '"w1 w2"'):
            weights = dict.fromkeys(COLUMNS["stemmed"], 1.0)
            query = KeywordQuery("stemmed", expression, weights, 10, EVERYTHING)
            save(store, *every)
            expected = store.keyword.match(query).matches
            common = store.keyword.statistics("stemmed", expression)
            purge_everything(store)
            found, counted = [], []
            for half in halves:
                save(store, *half)
                found += store.keyword.match(replace(query, common=common)).matches
                counted.append(store.keyword.statistics("stemmed", expression))
                purge_everything(store)
            left, right = counted
            assert common.rows == left.rows + right.rows
            assert common.tokens == left.tokens + right.tokens
            assert common.holding == tuple(map(sum, zip(left.holding, right.holding, strict=True)))
            found.sort(key=lambda one: (-one.score, one.memory_id))
            assert [one.memory_id for one in found[:10]] == [one.memory_id for one in expected]
            for one, other in zip(found, expected, strict=False):
                assert abs(one.score - other.score) < CLOSE

    def test_a_lower_limit_gives_the_start_of_the_same_answer(self) -> None:
        store = self.store()
        save(store, *random_memories(120))
        whole = match(store, '"w1" OR "w2"', limit=PLENTY)
        assert 20 < len(whole) < 120
        assert whole == sorted(whole, key=lambda one: (-one.score, one.memory_id))
        for limit in range(len(whole) + 2):
            assert match(store, '"w1" OR "w2"', limit=limit) == whole[:limit]

    def test_equal_scores_are_cut_by_id(self) -> None:
        store = self.store()
        ids = [f"twin-{number:02}" for number in range(30)]
        save(store, memory("better", title="anchor anchor", text="anchor"))
        save(store, *(memory(id, title="anchor", text="x") for id in shuffle(ids)))
        for index in WORD_INDEXES:
            for limit in (1, 2, 7, 30, 31):
                weights = {"title": 1.0, "text": 1.0}
                found = matches(store, "anchor", index, limit=limit, weights=weights)
                assert found == ["better", *ids][:limit]

    def test_keyword_filters_hold_before_the_limit(self) -> None:
        for filter, passing, failing in FILTERS:
            store = self.store()
            outside = [memory(f"outside-{n}", title="anchor " * 9, **failing) for n in range(20)]
            inside = [memory(f"inside-{n}", text="an anchor", **passing) for n in range(3)]
            save(store, *outside, *inside)
            for index in WORD_INDEXES:
                found = matches(store, "anchor", index, limit=3, filter=filter)
                assert sorted(found) == ["inside-0", "inside-1", "inside-2"], filter
            purge_everything(store)

    def test_an_empty_expression_or_limit_matches_nothing(self) -> None:
        store = self.store()
        save(store, memory("a", text="anchor"))
        assert match(store, "") == match(store, '"anchor"', limit=0) == []

    def test_changed_words_are_found_and_the_old_ones_are_not(self) -> None:
        store = self.store()
        stored = save(store, memory("a", text="lighthouse", tags=("beacon",)))["a"]
        with store.writing(CHANGE) as write:
            write.replace(stored, memory("a", text="anchor", tags=("chain",)))
        for index in WORD_INDEXES:
            assert matches(store, "anchor", index) == matches(store, "chain", index) == ["a"]
            assert matches(store, "lighthouse", index) == matches(store, "beacon", index) == []

    def test_tokens_are_words_as_the_stemmed_index_keeps_them_in_order(self) -> None:
        store = self.store()
        text = "The Cafés were MIGRATING databases, 2 by 2: naïve!"
        found = store.keyword.tokens(text)
        assert len(found) == 9
        assert found[:2] == ["the", "cafe"], "Case, accents and endings are folded."
        assert found.count("2") == 2, "Every word comes, each time it stands there."
        assert store.keyword.tokens("migrate database") == found[3:5]
        assert store.keyword.tokens("") == store.keyword.tokens(" ,;! ") == []

    def test_the_terms_of_an_index_are_listed_by_how_they_begin(self) -> None:
        """As the index keeps them, and only those of live memories."""
        store = self.store()
        save(store, memory("a", title="Anchors", text="anchored", why="ankle", tags=("Ann",)))
        save(store, memory("b", text="anchorPoint of the harbour", impact="angular"))
        assert store.keyword.terms("stemmed", "an") == [
            "anchor", "anchorpoint", "angular", "ankl", "ann"
        ]  # fmt: skip
        assert store.keyword.terms("plain", "anch") == ["anchored", "anchorpoint", "anchors"]
        assert store.keyword.terms("subwords", "anchor") == ["anchor", "anchorpoint"]
        assert store.keyword.terms("stemmed", "zz") == []
        forget(store, "b")
        assert store.keyword.terms("stemmed", "an") == ["anchor", "ankl", "ann"]
        assert store.keyword.terms("subwords", "anchor") == []

    def test_words_with_the_same_tokens_find_each_other(self) -> None:
        store = self.store()
        forms = ("migrate", "migrating", "Migrated", "anchor", "ANCHORS", "über", "uber", "日本語")
        for form in forms:
            save(store, memory("said", title="x", text=form))
            for other in forms:
                same = store.keyword.tokens(form) == store.keyword.tokens(other)
                assert matches(store, other) == (["said"] if same else []), (form, other)
            purge_everything(store)
