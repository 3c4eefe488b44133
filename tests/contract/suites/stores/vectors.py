"""Finding by meaning: `VectorIndex`."""

from __future__ import annotations

from itertools import combinations

from recollect.hashing import with_checksum
from recollect.store.base import Coverage
from recollect.types import Span
from suites.stores.helpers import (
    Contract,
    change,
    forget,
    keys_of,
    nearest,
    purge_everything,
    put,
    refusal,
    save,
)
from suites.stores.samples import (
    CLOSE,
    EVERYTHING,
    FILTERS,
    MODEL,
    OTHER,
    WIDTH,
    axis,
    by_cosine,
    memory,
    random_vectors,
    shuffle,
)


class VectorContract(Contract):
    def test_nearest_are_the_nearest_exactly(self) -> None:
        store = self.store()
        vectors = random_vectors([f"m{number:03}" for number in range(200)])
        save(store, *(memory(id) for id in vectors))
        put(store, MODEL, vectors)
        for query in random_vectors("abc").values():
            expected = by_cosine(vectors, query)
            for limit in (1, 2, 10, 199, 200, 500):
                found = store.vectors.nearest(MODEL, query, limit, EVERYTHING)
                assert [one.memory_id for one in found] == [id for id, _ in expected[:limit]]
                for one, (_, cosine) in zip(found, expected, strict=False):
                    assert abs(one.score - cosine) < CLOSE
        assert store.vectors.nearest(MODEL, query, 0, EVERYTHING) == []

    def test_similarities_are_the_cosines_and_those_of_nearest(self) -> None:
        store = self.store()
        vectors = random_vectors([f"m{number:03}" for number in range(50)])
        save(store, *(memory(id) for id in [*vectors, "without"]))
        put(store, MODEL, vectors)
        query = random_vectors("q")["q"]
        expected = dict(by_cosine(vectors, query))
        near = store.vectors.nearest(MODEL, query, 50, EVERYTHING)
        nearest = {one.memory_id: one.score for one in near}
        for asked in (list(vectors), list(vectors)[::7], ["m003"]):
            found = store.vectors.similarities(MODEL, query, [*asked, "without", "nowhere"])
            assert found.keys() == set(asked)
            assert found == {id: nearest[id] for id in asked}, "Two channels, two cosines."
            assert all(abs(found[id] - expected[id]) < CLOSE for id in asked)
        assert store.vectors.similarities(MODEL, query, []) == {}

    def test_between_are_the_cosines_of_each_two_in_the_order_asked_for(self) -> None:
        store = self.store()
        vectors = random_vectors([f"m{number}" for number in range(12)])
        save(store, *(memory(id) for id in [*vectors, "without"]))
        put(store, MODEL, vectors)
        asked = [*shuffle(vectors), "without", "nowhere"]
        found = store.vectors.between(MODEL, asked)
        expected = [pair for pair in combinations(asked, 2) if set(pair) <= set(vectors)]
        assert list(found) == expected
        for (one, other), cosine in found.items():
            assert abs(cosine - dict(by_cosine(vectors, vectors[one]))[other]) < CLOSE
        for few in ([], ["m1"], ["m1", "without"], ["nowhere", "without"]):
            assert store.vectors.between(MODEL, few) == {}
        assert store.vectors.between(OTHER, asked) == {}

    def test_between_leaves_out_memories_in_passages(self) -> None:
        store = self.store()
        stored = save(store, memory("long"), memory("a"), memory("b"))
        rows = [(stored["long"].key, axis(0)), (stored["long"].key, axis(1))]
        rows += [(stored["a"].key, axis(0)), (stored["b"].key, axis(1))]
        spans = [Span(0, 5), Span(5, 9), Span(0, 5), Span(0, 5)]
        store.vectors.put(MODEL, WIDTH, rows, spans=spans)
        assert store.vectors.between(MODEL, ["long", "a", "b"]) == {("a", "b"): 0.0}
        found = store.vectors.read_vectors(MODEL, ["b", "nowhere", "long"])
        assert list(found) == ["b", "long"]
        assert [one.span for one in found["long"]] == spans[:2]
        assert [one.vector.tolist() for one in found["long"]] == [
            axis(0).tolist(),
            axis(1).tolist(),
        ]

    def test_between_follows_what_is_forgotten(self) -> None:
        store = self.store()
        save(store, memory("a"), memory("b"))
        put(store, MODEL, {"a": axis(0), "b": axis(0)})
        assert abs(store.vectors.between(MODEL, ["b", "a"])["b", "a"] - 1) < CLOSE
        forget(store, "b")
        assert store.vectors.between(MODEL, ["b", "a"]) == {}

    def test_equal_vectors_have_equal_cosines_and_are_cut_by_id(self) -> None:
        for width in (3, 24, 385):
            store = self.store()
            ids = [f"twin-{number:03}" for number in range(101)]
            save(store, *(memory(id) for id in shuffle(ids)))
            store.vectors.begin(MODEL, width)
            one, query = random_vectors("vq", width).values()
            put(store, MODEL, dict.fromkeys(ids, one))
            for limit in (1, 5, 100, 101):
                found = store.vectors.nearest(MODEL, query, limit, EVERYTHING)
                assert [each.memory_id for each in found] == ids[:limit]
                assert len({each.score for each in found}) == 1
            purge_everything(store)

    def test_vector_filters_hold_before_the_cut(self) -> None:
        for filter, passing, failing in FILTERS:
            store = self.store()
            near = {f"outside-{n}": axis(0) for n in range(20)}
            far = {f"inside-{n}": axis(n + 1) for n in range(4)}
            save(store, *(memory(id, **failing) for id in near))
            save(store, *(memory(id, **passing) for id in far))
            put(store, MODEL, near | far)
            for limit in range(1, 6):
                found = nearest(store, axis(0), limit, filter)
                assert found == list(far)[:limit], filter
            purge_everything(store)

    def test_a_cut_vector_is_compared_as_if_it_were_made_that_short(self) -> None:
        store = self.store()
        vectors = random_vectors([f"m{number:02}" for number in range(40)])
        save(store, *(memory(id) for id in vectors))
        put(store, MODEL, vectors)
        query = random_vectors("q")["q"]
        expected = by_cosine({id: row[:5] for id, row in vectors.items()}, query[:5])
        found = store.vectors.nearest(MODEL, query, 10, EVERYTHING, dimensions=5)
        assert [one.memory_id for one in found] == [id for id, _ in expected[:10]]
        near = store.vectors.similarities(MODEL, query, ["m07"], dimensions=5)
        assert abs(near["m07"] - dict(expected)["m07"]) < CLOSE
        uncut = store.vectors.nearest(MODEL, query, 10, EVERYTHING)
        assert store.vectors.nearest(MODEL, query, 10, EVERYTHING, WIDTH) == uncut

    def test_a_vector_of_another_dimension_is_refused_and_nothing_is_lost(self) -> None:
        store = self.store()
        stored = save(store, memory("a"), memory("b"))
        put(store, MODEL, {"a": axis(0)})
        for identity in (MODEL, OTHER):
            rows = [(stored["b"].key, axis(0, WIDTH + 1))]
            refused = refusal(store.vectors.put, identity, WIDTH + 1, rows)
            assert (refused.stored, refused.offered) == (WIDTH, WIDTH + 1)
            assert str(WIDTH) in str(refused)
            assert str(WIDTH + 1) in str(refused)
        assert store.memories.get(["a", "b"]).keys() == {"a", "b"}
        assert nearest(store, axis(0)) == ["a"]
        assert store.vectors.coverage(MODEL) == Coverage(1, 2)
        assert store.vectors.coverage(OTHER) == Coverage(0, 2)

    def test_a_question_of_another_dimension_is_refused_even_when_cut(self) -> None:
        store = self.store()
        save(store, memory("a"))
        put(store, MODEL, {"a": axis(0)})
        longer = axis(0, WIDTH + 1)
        for cut in (0, 4):
            refused = refusal(store.vectors.nearest, MODEL, longer, 5, EVERYTHING, cut)
            assert (refused.stored, refused.offered) == (WIDTH, WIDTH + 1)
            refused = refusal(store.vectors.similarities, MODEL, longer, ["a"], cut)
            assert (refused.stored, refused.offered) == (WIDTH, WIDTH + 1)

    def test_a_model_that_is_begun_may_have_another_dimension_and_the_former_serves(self) -> None:
        store = self.store()
        assert store.vectors.model() is None
        save(store, memory("a"))
        put(store, MODEL, {"a": axis(0)})
        store.vectors.begin(OTHER, 5)
        assert store.vectors.coverage(OTHER) == Coverage(0, 1)
        put(store, OTHER, {"a": axis(2, 5)})
        assert nearest(store, axis(2, 5), identity=OTHER) == ["a"]
        stored = save(store, memory("b"))
        put(store, MODEL, {"b": axis(3)})
        assert nearest(store, axis(3)) == ["b", "a"]
        assert store.vectors.model() == MODEL
        assert store.vectors.adopt(OTHER) == 2
        assert store.vectors.model() == OTHER
        assert nearest(store, axis(0)) == []
        refused = refusal(store.vectors.put, MODEL, WIDTH, [(stored["b"].key, axis(3))])
        assert (refused.stored, refused.offered) == (5, WIDTH)

    def test_a_model_that_changed_its_dimension_starts_anew(self) -> None:
        store = self.store()
        save(store, memory("a"), memory("b"))
        put(store, MODEL, {"a": axis(0), "b": axis(1)})
        assert nearest(store, axis(0)) == ["a", "b"]
        store.vectors.begin(MODEL, WIDTH)
        assert store.vectors.coverage(MODEL) == Coverage(2, 2)
        store.vectors.begin(MODEL, 5)
        assert store.vectors.coverage(MODEL) == Coverage(0, 2)
        put(store, MODEL, {"b": axis(2, 5)})
        assert nearest(store, axis(2, 5)) == ["b"]
        assert store.vectors.coverage(MODEL) == Coverage(1, 2)

    def test_the_vectors_of_two_models_never_mix(self) -> None:
        store = self.store()
        save(store, memory("a"), memory("b"))
        put(store, MODEL, {"a": axis(0)})
        put(store, OTHER, {"b": axis(0)})
        assert nearest(store, axis(0)) == ["a"]
        assert nearest(store, axis(0), identity=OTHER) == ["b"]
        assert nearest(store, axis(0), identity="toy:unknown") == []
        assert store.vectors.adopt(OTHER) == 1
        assert nearest(store, axis(0)) == []
        assert nearest(store, axis(0), identity=OTHER) == ["b"]

    def test_a_vector_that_is_put_again_replaces_the_first(self) -> None:
        store = self.store()
        save(store, memory("a"))
        for place in range(3):
            put(store, MODEL, {"a": axis(place)})
            assert store.vectors.similarities(MODEL, axis(place), ["a"]) == {"a": 1.0}
            near = store.vectors.nearest(MODEL, axis(0), 5, EVERYTHING)
            assert [(one.memory_id, one.score) for one in near] == [("a", float(place == 0))]
            assert store.vectors.coverage(MODEL) == Coverage(1, 1)

    def test_a_memory_in_passages_counts_once_by_its_nearest(self) -> None:
        store = self.store()
        save(store, memory("a"), memory("b"), memory("c"))
        put(store, MODEL, {"b": axis(1), "c": axis(3)})
        [key] = keys_of(store, "a")
        spans = [Span(0, 10), Span(8, 20), Span(18, 30)]
        rows = [(key, axis(place)) for place in range(3)]
        store.vectors.put(MODEL, WIDTH, rows, spans=spans)
        for place, span in enumerate(spans):
            near = store.vectors.nearest(MODEL, axis(place), 1, EVERYTHING)[0]
            assert near[:4] == ("a", 1.0, place + 1, span)  # `b` may be as near; ids decide
            assert store.vectors.similarities(MODEL, axis(place), ["a"]) == {"a": 1.0}
        every = store.vectors.nearest(MODEL, axis(0), 3, EVERYTHING)
        assert [one.memory_id for one in every] == ["a", "b", "c"], "A passage took a place."
        assert store.vectors.coverage(MODEL) == Coverage(3, 3)
        change(store, "a", text="new words")
        assert store.vectors.similarities(MODEL, axis(0), ["a"]) == {}, "A passage was left over."

    def test_the_tokens_of_the_nearest_passage_are_found_until_its_text_changes(self) -> None:
        store = self.store()
        save(store, memory("a"), memory("b"), memory("c"))
        put(store, MODEL, {"c": axis(3)})
        keys = keys_of(store, "a", "b")
        spans = [Span(0, 10), Span(8, 20), Span(0, 0)]
        rows = [(keys[0], axis(0)), (keys[0], axis(1)), (keys[1], axis(2))]
        store.vectors.put(MODEL, WIDTH, rows, spans=spans, tokens=[b"first", b"second"])
        asked = ["a", "b", "c", "nowhere"]
        for place, tokens in enumerate([b"first", b"second"]):
            near = store.vectors.nearest_passages(MODEL, axis(place), asked)
            assert near == {"a": (spans[place], tokens)}, "A memory without tokens has a passage."
        stored = store.vectors.read_vectors(MODEL, ["a", "b"])
        assert [one.tokens for id in "ab" for one in stored[id]] == [b"first", b"second", b""]
        store.vectors.put(MODEL, WIDTH, rows[:2], spans=spans, tokens=[b"first"])
        near = store.vectors.nearest_passages(MODEL, axis(1), ["a"])
        assert near == {"a": (spans[0], b"first")}, "It is the nearest of those with tokens."
        store.vectors.put(MODEL, WIDTH, [(keys[0], axis(1))], tokens=[b"whole"])
        near = store.vectors.nearest_passages(MODEL, axis(1), ["a"])
        assert near == {"a": (Span(0, 0), b"whole")}
        change(store, "a", text="new words")
        assert store.vectors.nearest_passages(MODEL, axis(1), ["a"]) == {}

    def test_what_is_embedded_is_listed_with_whether_its_tokens_are_intact(self) -> None:
        store = self.store()
        save(store, memory("a", title="A"), memory("b"), memory("c"), memory("d"))
        keys = keys_of(store, "a", "b", "c")
        rows = [(key, axis(0)) for key in keys]
        store.vectors.put(MODEL, WIDTH, rows, tokens=[with_checksum(b"ok"), b"damaged"])
        listed = store.vectors.list_embedded(MODEL, 0, 10)
        assert [(one.key, one.has_tokens) for one in listed] == [
            (keys[0], True), (keys[1], False), (keys[2], False),
        ]  # fmt: skip
        assert listed[0].text.startswith("A")
        assert store.vectors.list_embedded(MODEL, keys[0], 1) == listed[1:2]
        assert store.vectors.list_embedded("toy:unknown", 0, 10) == []

    def test_a_large_store_finds_the_nearest_too(self) -> None:
        """More vectors than are compared one by one: what the scan proposes holds the answers."""
        store = self.store()
        vectors = random_vectors([f"m{number:05}" for number in range(6000)])
        save(store, *(memory(id) for id in vectors))
        put(store, MODEL, vectors)
        queries = random_vectors([f"q{number}" for number in range(20)])
        for query in queries.values():
            expected = [id for id, _ in by_cosine(vectors, query)[:10]]
            assert nearest(store, query, 10) == expected
        forget(store, expected[0])
        assert nearest(store, query, 9) == expected[1:]
