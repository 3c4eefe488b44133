"""How many tokens a chat model makes of a text, estimated without a tokenizer."""

from __future__ import annotations

import re
from math import ceil

# What tokenizers cut text into: a word with the sign before it, three digits, signs in a row.
PIECES = re.compile(r"[^\w\s]?[^\W\d_]+|\d{1,3}|(?:[^\w\s]|_)+(?![^\W\d_])|[^\w\s]+|_|\n+")
WORD, SIGNS = 6, 3  # characters of a token


def estimated_tokens(text: str) -> int:
    """Within 8 % of `o200k_base` on answers in English, more in other languages."""
    return sum(_piece_tokens(piece) for piece in PIECES.findall(text))


def _piece_tokens(piece: str) -> int:
    if piece[-1].isalpha() and piece.isascii():
        return ceil((len(piece) - (not piece[0].isalpha())) / WORD)
    return 1 if piece[0].isdigit() or piece[0] == "\n" else ceil(len(piece.encode()) / SIGNS)
