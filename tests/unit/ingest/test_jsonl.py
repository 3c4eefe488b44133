"""JSON Lines: bad lines are named by number, and what is written reads back the same."""

from __future__ import annotations

import msgspec
import pytest
from suites.stores.samples import NOON, full_memory, odd_memories

from recollect.ingest.draft import complete_draft
from recollect.ingest.exchange import as_line, parse_line, raw_lines
from recollect.types import Memory


def reasons(*raw: bytes) -> list[tuple[int, str]]:
    return [
        (line.number, line.reason) for line in map(parse_line, raw_lines(raw)) if line.draft is None
    ]


def read(*raw: bytes) -> list[Memory]:
    found = [line.draft for line in map(parse_line, raw_lines(raw))]
    return [complete_draft(one, one.id or "made", None, NOON) for one in found if one is not None]


def test_a_written_memory_reads_back_with_every_field() -> None:
    assert read(as_line(full_memory("full"))) == [full_memory("full")]


def test_odd_texts_read_back_unchanged() -> None:
    for number, odd in enumerate(odd_memories(100)):
        memory = msgspec.structs.replace(
            odd,
            id=f"m{number}",
            title=odd.title + "x",
            kind=odd.kind + "x",
            tags=tuple(dict.fromkeys(tag + "x" for tag in odd.tags)),
        )
        line = as_line(memory)
        assert line.count(b"\n") == 1, "A memory is one line, whatever it holds."
        assert read(line) == [memory]


def test_bad_lines_are_named_and_the_rest_is_read() -> None:
    raw = (b'{"title": "a"}\n', b"{oops\n", b"\n", b'{"titel": "b"}\n', b'{"title": "c"}')
    found = reasons(*raw)
    assert [number for number, _ in found] == [2, 4]
    assert found[0][1].startswith("It is not valid JSON: ")
    assert "'titel' is not a field" in found[1][1]
    assert [one.title for one in read(*raw)] == ["a", "c"]


@pytest.mark.parametrize("raw", [b"[]", b'"title"', b"1", b"null", b"true"])
def test_a_line_that_is_no_object_is_named(raw: bytes) -> None:
    assert reasons(raw) == [(1, "It is not a JSON object.")]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"title": "\\ud800"}', b'{"title": "a"} {"title": "b"}',
        b'{"title": NaN}', b"{'title': 'a'}", b'{"title": "a",}', b"[" * 100_000, b"\x00",
        b"\xff\xfe{\x00}\x00",
    ],
)  # fmt: skip
def test_a_line_that_is_no_json_is_named(raw: bytes) -> None:
    [(number, reason)] = reasons(raw)
    assert number == 1
    assert reason.startswith("It is not valid JSON: ")
    assert reason.endswith(".")
    assert "\n" not in reason


def test_a_line_that_is_not_utf_8_is_named() -> None:
    assert reasons(b'{"title": "\xff"}') == [(1, "It is not valid UTF-8 text.")]


def test_nul_in_a_text_is_named() -> None:
    assert reasons(b'{"title": "a\\u0000b"}') == [
        (1, "title holds a NUL character, which text cannot hold.")
    ]


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm() -> None:
    assert [one.title for one in read(b'\xef\xbb\xbf{"title": "a"}\r\n', b"\r\n")] == ["a"]


def test_each_line_tells_its_size_for_the_progress_bar() -> None:
    raw = (b'{"title": "a"}\n', b"oops\n")
    assert [line.size for line in map(parse_line, raw_lines(raw))] == [15, 5]
