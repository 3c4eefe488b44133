"""Matching memories with the parts of a file, before and after the file has changed."""

from __future__ import annotations

from itertools import islice

from recollect.documents.document import Chunk
from recollect.folders.file_reading import StoredChunk, matching_memories, new_ids
from recollect.store.folders import Folder


def folder(path: str) -> Folder:
    return Folder(1, path, "notes", redact=True, followed=False, files=1)


def chunk(text: str, heading: str = "") -> Chunk:
    return Chunk(text, heading, 1, 2)


def test_what_says_the_same_stays_what_it_is_wherever_it_moves() -> None:
    before = [StoredChunk("a", "A", "one"), StoredChunk("b", "B", "two")]
    assert matching_memories(before, [chunk("two", "B"), chunk("new", "C"), chunk("one", "A")]) == [
        "b",
        None,
        "a",
    ]


def test_a_part_under_another_heading_is_known_by_its_text() -> None:
    assert matching_memories([StoredChunk("a", "Old", "one")], [chunk("one", "New")]) == ["a"]


def test_a_part_with_another_text_is_known_by_its_heading() -> None:
    before = [StoredChunk("a", "A", "one"), StoredChunk("b", "B", "two")]
    assert matching_memories(before, [chunk("changed", "A"), chunk("two", "B")]) == ["a", "b"]


def test_parts_under_one_heading_keep_their_order() -> None:
    before = [
        StoredChunk("a", "A", "one"),
        StoredChunk("b", "A", "two"),
        StoredChunk("c", "A", "three"),
    ]
    assert matching_memories(before, [chunk("1", "A"), chunk("two", "A"), chunk("3", "A")]) == [
        "a",
        "b",
        "c",
    ]


def test_a_part_that_keeps_half_of_its_lines_is_known_by_them() -> None:
    before = [StoredChunk("a", "A", "one\ntwo\nthree"), StoredChunk("b", "B", "four\nfive")]
    assert matching_memories(
        before, [chunk("zero\none\ntwo", "C"), chunk("four\nsix\nseven", "D")]
    ) == [
        "a",
        "b",
    ]
    assert matching_memories(before, [chunk("three\nnine", "C")]) == [None]


def test_no_memory_is_two_parts() -> None:
    before = [StoredChunk("a", "A", "same"), StoredChunk("b", "A", "same")]
    assert matching_memories(before, [chunk("same", "A")] * 3) == ["a", "b", None]


def test_the_same_part_of_the_same_file_gets_the_same_ids_again() -> None:
    one = [*islice(new_ids(folder("/srv/notes"), "a/b.md", chunk("text", "A")), 3)]
    assert one == [*islice(new_ids(folder("/srv/notes"), "a/b.md", chunk("text", "A")), 3)]
    assert len(set(one)) == 3
    others = [
        next(new_ids(folder("/srv/others"), "a/b.md", chunk("text", "A"))),
        next(new_ids(folder("/srv/notes"), "a/c.md", chunk("text", "A"))),
        next(new_ids(folder("/srv/notes"), "a/b.md", chunk("text", "B"))),
        next(new_ids(folder("/srv/notes"), "a/b.md", chunk("texts", "A"))),
    ]
    assert len({one[0], *others}) == 5


def test_an_id_can_be_read_and_has_no_white_space() -> None:
    [id] = islice(new_ids(folder("/srv"), "Über uns/Häfen & Kräne.md", chunk("x")), 1)
    assert id.startswith("uber-uns-hafen-krane-md-")
    [odd] = islice(new_ids(folder("/srv"), "会議.md", chunk("x")), 1)
    assert odd.split() == [odd]
