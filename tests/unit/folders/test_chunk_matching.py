"""Matching memories with the parts of a file, before and after the file has changed."""

from __future__ import annotations

from itertools import islice

import pytest

from recollect.documents.document import Chunk
from recollect.folders.file_reading import StoredChunk, matching_memories, new_ids
from recollect.store.folders import Folder


def folder(path: str) -> Folder:
    return Folder(1, path, "notes", redact=True, followed=False, files=1)


def chunk(text: str, heading: str = "") -> Chunk:
    return Chunk(text, heading, 1, 2)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["a A one", "b B two"], ["B two", "C new", "A one"], ["b", None, "a"]),
        (["a Old one"], ["New one"], ["a"]),
        (["a A one", "b B two"], ["A changed", "B two"], ["a", "b"]),
        (["a A one", "b A two", "c A three"], ["A 1", "A two", "A 3"], ["a", "b", "c"]),
        (["a A one\ntwo\nthree", "b B four\nfive"], ["C zero\none\ntwo", "D four\nsix\nseven"],
         ["a", "b"]),
        (["a A one\ntwo\nthree", "b B four\nfive"], ["C three\nnine"], [None]),
        (["a A same", "b A same"], ["A same"] * 3, ["a", "b", None]),
    ],
    ids=[
        "the same heading and text, wherever it moves", "the same text under another heading",
        "the same heading with another text", "parts under one heading keep their order",
        "half of the lines are the same", "fewer lines are the same", "no memory is two parts",
    ],
)  # fmt: skip
def test_a_part_keeps_its_memory(
    before: list[str], after: list[str], expected: list[str | None]
) -> None:
    """Each is written as id, heading and text, or as heading and text."""
    stored = [StoredChunk(*one.split(" ", 2)) for one in before]
    chunks = [chunk(text, heading) for heading, text in (one.split(" ", 1) for one in after)]
    assert matching_memories(stored, chunks) == expected


def test_the_same_part_of_the_same_file_gets_the_same_ids_again() -> None:
    def ids(
        root: str = "/srv/notes", file: str = "b.md", text: str = "text", under: str = "A"
    ) -> list[str]:
        return [*islice(new_ids(folder(root), file, chunk(text, under)), 3)]

    assert ids() == ids()
    assert len(set(ids())) == 3
    others = [ids(root="/srv/others"), ids(file="c.md"), ids(under="B"), ids(text="texts")]
    assert len({ids()[0], *(other[0] for other in others)}) == 5


def test_an_id_can_be_read_and_has_no_white_space() -> None:
    [id] = islice(new_ids(folder("/srv"), "Über uns/Häfen & Kräne.md", chunk("x")), 1)
    assert id.startswith("uber-uns-hafen-krane-md-")
    [odd] = islice(new_ids(folder("/srv"), "会議.md", chunk("x")), 1)
    assert odd.split() == [odd]
