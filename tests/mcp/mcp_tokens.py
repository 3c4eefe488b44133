"""An estimate of the tokens that a model reads.

The words are cut by the vocabulary of the bundled model. It is made for prose and would count every
sign of JSON apart, so signs are joined as the tokenizers of chat models join them: one to the word
behind it, up to three to each other. On these schemas and answers this comes within 8 % of
`o200k_base` and `cl100k_base`, mostly within 3 %.
"""

from __future__ import annotations

import json
import re
from functools import cache
from math import ceil
from typing import Any

from tokenizers import Tokenizer

from recollect.models.base import WEIGHTS

PIECES = re.compile(r"[^\w\s]?[^\W\d_]+|\d{1,3}|(?:[^\w\s]|_)+(?![^\W\d_])|[^\w\s]+|_|\n+")


@cache
def vocabulary() -> Tokenizer:
    cut: Tokenizer = Tokenizer.from_file(str(WEIGHTS / "bge-small-en-v1.5" / "tokenizer.json"))
    cut.no_padding()
    cut.no_truncation()
    return cut


def tokens(value: Any) -> int:
    """Of a text, or of a value as compact JSON."""
    text = value if isinstance(value, str) else as_sent(value)
    return sum(_size(piece) for piece in PIECES.findall(text))


def as_sent(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _size(piece: str) -> int:
    if piece[-1].isalpha():
        word = piece if piece[0].isalpha() else piece[1:]
        return len(vocabulary().encode(word, add_special_tokens=False).ids)
    return 1 if piece[0].isdigit() or piece[0] == "\n" else ceil(len(piece) / 3)
