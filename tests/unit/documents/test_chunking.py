"""Chunks of documents: every line is in one, and an edit leaves the others as they are."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.documents import chunking, markdown
from recollect.documents.chunking import (
    LONGEST,
    MOST,
    OVERLAP,
    SMALL,
    TARGET,
    WHOLE,
    split_document,
)
from recollect.documents.document import Chunk, Document, SectionStart

fast = settings(max_examples=examples(120))
WORDS = "the vault keeps what someone said and finds it again when a question asks for more".split()


def prose(length: int, seed: int = 0) -> str:
    """A paragraph of about this length, in lines of some 80 characters."""
    chance = random.Random(seed)
    lines: list[str] = []
    line = ""
    while sum(len(one) for one in lines) + len(line) < length:
        line += chance.choice(WORDS) + (". " if chance.random() < 0.1 else " ")
        if len(line) > 75:
            lines.append(line.strip())
            line = ""
    return "\n".join([*lines, line.strip()]).strip()


def paragraphs(count: int, length: int = 300, seed: int = 0) -> str:
    return "\n\n".join(prose(length, seed * 1000 + number) for number in range(count))


def of(text: str) -> Document:
    return markdown.document(text)


def check(document: Document, chunks: list[Chunk] | None = None) -> None:
    """Every line is covered, numbers are right, nothing is too long, and again it is the same."""
    chunks = split_document(document).chunks if chunks is None else chunks
    lines = document.text.split("\n")
    seen: Counter[int] = Counter()
    for one in chunks:
        assert one.text.strip()
        assert len(one.text) <= MOST
        first, last = one.first_line - document.first_line, one.last_line - document.first_line
        seen.update(range(first, last + 1))
        whole = "\n".join(lines[first : last + 1])
        if one.text != whole:  # it begins with the end of a long line, or is a part of one
            assert whole.endswith(one.text) or len(lines[first]) > LONGEST
            assert len(lines[first]) > OVERLAP
    assert all(seen[number] for number, line in enumerate(lines) if line.strip())
    assert [one.last_line for one in chunks] == sorted(one.last_line for one in chunks)
    assert chunks == split_document(document).chunks


def test_a_short_file_is_one_chunk_with_its_only_title_as_heading() -> None:
    text = "# Plan\n\nText.\n\n## First\n\nMore.\n\n## Second\n\nAnd more.\n"
    assert split_document(of(text)).chunks == [Chunk(text.strip(), "Plan", 1, 11)]


def test_a_short_file_of_several_titles_stands_under_none() -> None:
    assert [
        one.heading for one in split_document(of("# One\n\nText.\n\n# Two\n\nText.\n")).chunks
    ] == [""]


def test_a_file_of_blank_lines_has_no_chunks() -> None:
    assert split_document(Document("\n\n  \n", "text")).chunks == []


def test_a_long_file_is_split_at_its_headings_and_these_chunks_do_not_overlap() -> None:
    sections = [f"## Part {n}\n\n{paragraphs(3, seed=n)}" for n in range(6)]
    document = of("# Book\n\n" + "\n\n".join(sections) + "\n")
    chunks = split_document(document).chunks
    check(document, chunks)
    assert [one.heading for one in chunks] == [f"Book > Part {n}" for n in range(6)]
    assert chunks[0].text == f"# Book\n\n{sections[0]}"
    assert [one.text for one in chunks[1:]] == sections[1:]


def test_a_short_section_goes_with_its_neighbour_under_the_same_parent() -> None:
    document = of(
        f"# Book\n\n{prose(1500)}\n\n## Note\n\nShort.\n\n## Long\n\n{prose(900, 1)}\n\n"
        f"# Other\n\n{prose(700, 2)}\n"
    )
    check(document)
    assert [(one.heading, one.text.split("\n")[0]) for one in split_document(document).chunks] == [
        ("Book", "# Book"),
        ("Book", "## Note"),
        ("Other", "# Other"),
    ]


def test_a_short_last_section_goes_with_the_one_before_it() -> None:
    document = of(f"# Book\n\n{prose(1500)}\n\n## Long\n\n{prose(900, 1)}\n\n## Note\n\nShort.\n")
    check(document)
    assert split_document(document).chunks[-1].text.endswith("## Note\n\nShort.")
    assert len(split_document(document).chunks) == 2


def test_many_short_sections_are_neither_one_chunk_each_nor_one_large_one() -> None:
    document = of("\n".join(f"## Word {n}\n\n{prose(120, n)}\n" for n in range(60)))
    check(document)
    sizes = [len(one.text) for one in split_document(document).chunks]
    assert all(SMALL / 2 < size <= TARGET for size in sizes)


def test_a_heading_alone_goes_with_what_is_under_it_and_keeps_its_heading() -> None:
    document = of(f"# Book\n\n## Long\n\n{paragraphs(20)}\n\n## Next\n\n{paragraphs(5, seed=1)}\n")
    check(document)
    chunks = split_document(document).chunks
    assert chunks[0].text.startswith("# Book\n\n## Long\n")
    assert {one.heading for one in chunks} == {"Book > Long", "Book > Next"}


def test_a_long_section_is_split_at_paragraphs_each_with_the_end_of_the_one_before() -> None:
    document = of(f"# Long\n\n{paragraphs(20)}\n")
    chunks = split_document(document).chunks
    check(document, chunks)
    assert len(chunks) > 3
    for before, after in pairwise(chunks):
        shared = before.last_line - after.first_line + 1
        end = "\n".join(before.text.split("\n")[-shared:])
        assert 0 < len(end) <= OVERLAP
        assert after.text.startswith(end + "\n")
        assert before.text.endswith(end)
    lines = document.text.split("\n")
    assert all(one.last_line == len(lines) or not lines[one.last_line] for one in chunks[:-1])


def test_what_follows_a_long_line_begins_with_its_last_sentence() -> None:
    line = "A first sentence that goes on for a while. " * 30 + "The last one is here."
    document = Document("\n\n".join([line] * 4), "text")
    chunks = split_document(document).chunks
    check(document, chunks)
    assert chunks[1].text.startswith("A first sentence that goes on for a while. ")
    assert "\n\n".join([line[-20:], line]) in chunks[1].text
    assert chunks[1].first_line == 1


def test_a_block_of_code_stays_whole_in_a_long_section() -> None:
    code = "```python\n" + "\n\n".join(f"step_{n} = {n}" for n in range(40)) + "\n```"
    document = of(f"# Long\n\n{prose(1300)}\n\n{code}\n\n{paragraphs(5, seed=1)}\n")
    check(document)
    assert any(code in one.text for one in split_document(document).chunks)


def test_a_block_of_code_that_nothing_ends_is_split_all_the_same() -> None:
    document = of("# Long\n\n```\n" + "\n\n".join(f"step {n} is here" for n in range(900)))
    check(document)


def test_a_hash_in_a_block_of_code_is_no_heading() -> None:
    code = "```sh\n# not a heading\nls\n```"
    document = of("\n\n".join(f"# Part {n}\n\n{code}\n\n{prose(1500, n)}" for n in range(3)))
    check(document)
    assert {one.heading for one in split_document(document).chunks} == {
        "Part 0",
        "Part 1",
        "Part 2",
    }


@pytest.mark.parametrize("unit", ["word and ", "x", "漢字", "\t ", "a" * 300 + " "])
def test_a_huge_line_is_split_within(unit: str) -> None:
    line = unit * (20_000 // len(unit))
    document = Document(f"before\n{line}\nafter", "text")
    chunks = [
        one for one in split_document(document).chunks if one.first_line == one.last_line == 2
    ]
    check(document)
    assert "".join(line.split()).startswith("".join(chunks[0].text.split()) if chunks else "")
    for before, after in pairwise(chunks):
        assert any(
            before.text.endswith(after.text[:length].strip()) for length in range(1, OVERLAP + 1)
        )


def test_the_chunks_of_a_huge_line_hold_all_its_words() -> None:
    words = [f"word{n}" for n in range(5_000)]
    pieces = split_document(Document(" ".join(words), "text")).chunks
    assert list(dict.fromkeys(word for one in pieces for word in one.text.split())) == words


def test_line_numbers_are_those_of_the_file_below_front_matter() -> None:
    text = f"---\ntags: [a]\n---\n# Title\n\n{paragraphs(10)}\n"
    document = of(text)
    check(document)
    first = split_document(document).chunks[0]
    assert (first.first_line, first.text.split("\n")[0]) == (4, "# Title")
    assert text.split("\n")[first.last_line - 1] == first.text.split("\n")[-1]


def test_lines_of_a_document_that_has_none_of_its_own_are_where_they_come_from() -> None:
    document = Document("One\n\nTwo", "html", lines=(7, 7, 12))
    assert split_document(document).chunks == [Chunk("One\n\nTwo", "", 7, 12)]


def test_sections_that_are_out_of_place_are_passed_over() -> None:
    sections = (
        SectionStart(5, 1, "Far"),
        SectionStart(0, 1, "First"),
        SectionStart(0, 1, "Again"),
        SectionStart(-1, 1, "No"),
    )
    assert [
        one.heading for one in split_document(Document("a\nb", "text", sections=sections)).chunks
    ] == ["First"]


def test_more_chunks_than_a_file_may_have_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "MOST_CHUNKS", 3)
    made = split_document(of("\n\n".join(f"# Part {n}\n\n{prose(1500, n)}" for n in range(5))))
    assert len(made.chunks) == 3
    assert made.notes == ("2 of its 5 chunks are left out.",)


def book(sections: list[str]) -> str:
    return "\n\n".join(f"## Part {n}\n\n{text}" for n, text in enumerate(sections)) + "\n"


@fast
@given(st.integers(0, 7), st.integers(0, 100))
def test_another_paragraph_leaves_the_chunks_of_other_sections(where: int, seed: int) -> None:
    sections = [paragraphs(2 + (seed + n) % 9, seed=n) for n in range(8)]
    before = split_document(of("# Book\n\n" + book(sections))).chunks
    sections[where] = f"{prose(400, seed + 500)}\n\n{sections[where]}"
    after = split_document(of("# Book\n\n" + book(sections))).chunks
    others = [(one.text, one.heading) for one in before if f"Part {where}" not in one.heading]
    assert [
        (one.text, one.heading) for one in after if f"Part {where}" not in one.heading
    ] == others


def test_after_an_edit_among_short_sections_the_chunks_are_soon_the_same_again() -> None:
    sections = [prose(150, n) for n in range(80)]
    before = {one.text for one in split_document(of(book(sections))).chunks}
    sections[0] = prose(390, 1000)
    after = [one.text for one in split_document(of(book(sections))).chunks]
    assert sum(text not in before for text in after) <= 6


def test_after_an_edit_in_a_text_without_headings_the_chunks_are_soon_the_same_again() -> None:
    text = paragraphs(100)
    before = {one.text for one in split_document(Document(text, "text")).chunks}
    after = [
        one.text for one in split_document(Document(f"{prose(200, 999)}\n\n{text}", "text")).chunks
    ]
    assert sum(one not in before for one in after) <= len(after) // 2


lines = st.one_of(
    st.sampled_from(["", "", "# One", "## Two", "### Three", "Title\n===", "```", "- item", "   "]),
    st.text(alphabet="ab .#`é漢\t", max_size=120),
    st.integers(1, 6000).map(lambda length: "word " * (length // 5)),
    st.integers(1, 40).map(lambda number: prose(number * 40, number)),
)


@fast
@given(st.lists(lines, max_size=60))
def test_whatever_a_text_holds_every_line_is_in_a_chunk(written: list[str]) -> None:
    text = "\n".join(written)
    check(of(text))
    check(Document(text, "text"))


sections = st.tuples(st.integers(0, 80), st.integers(1, 5), st.sampled_from(["", "A", "B", "C"]))


@fast
@given(st.lists(sections, max_size=30), st.integers(0, 50))
def test_any_parts_leave_every_line_in_a_chunk(places: list[tuple[int, int, str]], n: int) -> None:
    made = tuple(SectionStart(*place) for place in sorted(places))
    text = "\n".join(prose(30 + n * number % 200, number) for number in range(40))
    check(Document(text, "python", sections=made))
    assert (
        len(text) < WHOLE or len(split_document(Document(text, "python", sections=made)).chunks) > 1
    )
