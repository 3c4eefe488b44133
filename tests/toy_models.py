"""Made-up but deterministic models: a hashed bag of words, and the overlap of words."""

from __future__ import annotations

import hashlib
import re

# Words of a group share one feature, so that texts can be alike in meaning without sharing words.
SYNONYMS = (
    {"slow", "latency", "performance", "tuning", "optimize", "optimise", "optimizing", "speed"},
    {"auth", "authentication", "login", "credentials", "password", "signin"},
    {"database", "db", "sqlite", "postgres", "postgresql", "sql"},
    {"bug", "defect", "error", "failure", "crash", "broken"},
    {"deploy", "deployment", "release", "rollout", "ship"},
    {"car", "automobile", "vehicle"},
)
MEANING = {word: sorted(group)[0] for group in SYNONYMS for word in group}


def embed(text: str, dimensions: int = 64) -> list[float]:
    """A bag of words, hashed: each word (or its group of synonyms) adds ±1 to one place.

    Place 0 is a small constant, so that no text, the empty one included, is a zero vector.
    """
    row = [0.1] + [0.0] * (dimensions - 1)
    for word in _words(text):
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        row[1 + (number >> 1) % (dimensions - 1)] += 1.0 if number & 1 else -1.0
    return row


def overlap(query: str, text: str) -> float:
    """The share of the query's words (or their synonyms) that the text holds, 0…1."""
    wanted = set(_words(query))
    return len(wanted & set(_words(text))) / len(wanted) if wanted else 0.0


def _words(text: str) -> list[str]:
    return [MEANING.get(word, word) for word in re.findall(r"\w+", text.lower())]
