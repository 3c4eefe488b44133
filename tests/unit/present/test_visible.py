"""Characters that steer, reorder or hide are shown by name; JSON keeps them as escapes."""

from __future__ import annotations

import json
import unicodedata

import pytest

from recollect.present.visible import one_line, quoted, visible, visible_json

EVIL = "a\u202eb\x1b[2Jc\x7fd\x9be\U000e0041f\u2066g\rh"


def test_no_character_that_steers_or_reorders_or_hides_is_left() -> None:
    shown = visible(EVIL)
    assert shown == "a<U+202E>b␛[2Jc␡d<U+009B>e<U+E0041>f<U+2066>g␍h"
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    left = {c for c in visible(every) if unicodedata.category(c) == "Cc"}
    assert left == {"\t", "\n"}
    orders = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not {c for c in visible(every) if unicodedata.bidirectional(c) in orders}


@pytest.mark.parametrize("text", ["plain", "naïve 日本語 👩‍💻", "שלום", "a\tb\nc"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert visible_json(json.dumps(text, ensure_ascii=False)) == json.dumps(
        text, ensure_ascii=False
    )


def test_json_reads_back_as_what_was_written() -> None:
    encoded = visible_json(json.dumps({EVIL: EVIL}, ensure_ascii=False))
    assert json.loads(encoded) == {EVIL: EVIL}
    assert visible(encoded) == encoded


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_every_kind_of_line_is_quoted_and_joined(end: str) -> None:
    assert quoted(f"one{end}two") == "> one\n> two"
    assert one_line(f"one{end}two") == "one two"
