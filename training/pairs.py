"""The training pairs: reading them, the forms that a text is shown in, and their tokens.

A pair is a query and the text that answers it. A memory's title may be a person and a date, a file
name, a heading, or nothing, and a model that saw one form only would learn the form. So each text
has FORMS, and all texts that a query is compared with are shown in the same one. In the last form
the text stands between others, as a fact stands in a long message or note.
"""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

# Conversations: a text's title is who says it and when, its group is the conversation.
CONVERSATIONS = ("persona", "taskmaster", "friendsqa")
# What reads like an encyclopedia; there the bundled embedder was good before.
WIKI_LIKE = ("iirc", "qasc", "strategyqa", "pubmedqa", "qasper")
PREFIX = "Represent this sentence for searching relevant passages: "
# Texts are of 450 characters when they are reranked: about so many tokens.
WINDOW = 110


class Text(NamedTuple):
    source: str
    title: str
    text: str
    group: str


class Pair(NamedTuple):
    query: str
    text: int
    source: str


class Corpus(NamedTuple):
    texts: list[Text]
    pairs: list[Pair]


def read_pairs(file: Path) -> Corpus:
    places: dict[Text, int] = {}
    pairs = []
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            group = row["g"] if row["s"] in CONVERSATIONS else ""
            text = Text(row["s"], row["t"], row["d"], group)
            place = places.setdefault(text, len(places))
            if row["q"]:
                pairs.append(Pair(row["q"], place, row["s"]))
    return Corpus(list(places), pairs)


def _as_it_is(one: Text) -> str:
    return f"{one.title}\n{one.text}".strip()


def _dated_line(one: Text) -> str:
    who, _, when = one.title.partition(", ")
    return f"[{when}] {who}: {one.text}" if when else f"{who}: {one.text}"


def _said(one: Text) -> str:
    return f"{one.title.partition(', ')[0]}: {one.text}"


def _under_the_date(one: Text) -> str:
    who, _, when = one.title.partition(", ")
    return f"{when}\n{who} said: {one.text}".strip()


def _text_alone(one: Text) -> str:
    return one.text


def _on_one_line(one: Text) -> str:
    return f"{one.title}: {one.text}" if one.title else one.text


def _file_name(one: Text) -> str:
    """As a note in a folder is called; an identifier in separate words."""
    words = re.sub(r"([a-z])([A-Z])|_", r"\1 \2", one.title)
    return f"{re.sub(r'[^a-z0-9]+', '-', words.lower()).strip('-')}.md\n{one.text}"


Form = Callable[[Text], str]
SPOKEN: tuple[Form, ...] = (_as_it_is, _dated_line, _said, _under_the_date)
WRITTEN: tuple[Form, ...] = (_as_it_is, _text_alone, _on_one_line, _file_name)
FORMS = len(WRITTEN) + 1
# How often each form is shown.
SHARES = (0.32, 0.17, 0.17, 0.17, 0.17)
# Of a text that stands between others so many characters are shown, of each other as many.
PIECE = 260


def shown(corpus: Corpus, form: int) -> list[str]:
    """Every text of the corpus in one form."""
    if form == len(WRITTEN):
        return _between_others(corpus)
    return [(SPOKEN if one.source in CONVERSATIONS else WRITTEN)[form](one)
            for one in corpus.texts]  # fmt: skip


def _between_others(corpus: Corpus) -> list[str]:
    """Each text with one or two others of its conversation or source, before or behind it."""
    chance = random.Random(11)
    alike: dict[tuple[str, str], list[int]] = {}
    for place, one in enumerate(corpus.texts):
        alike.setdefault((one.source, one.group), []).append(place)
    made = []
    for one in corpus.texts:
        near = alike[one.source, one.group]
        pieces = [corpus.texts[chance.choice(near)].text[:PIECE]
                  for _ in range(chance.choice((1, 2)))]  # fmt: skip
        pieces.insert(chance.randrange(len(pieces) + 1), one.text[:PIECE])
        made.append("\n".join(filter(None, (one.title, " ".join(pieces)))))
    return made


class Tokens:
    """Texts as token numbers, without the special ones; processes share the one array."""

    def __init__(self, lists: Sequence[Sequence[int]]) -> None:
        self._ends = np.cumsum([0, *map(len, lists)])
        self._numbers = np.concatenate([np.asarray(one, np.uint16) for one in lists])

    def __getitem__(self, place: int) -> np.ndarray:
        return self._numbers[self._ends[place] : self._ends[place + 1]].astype(np.int32)

    def __len__(self) -> int:
        return len(self._ends) - 1


def tokenizer(file: Path) -> Callable[[Sequence[str]], Tokens]:
    made = Tokenizer.from_file(str(file))
    made.no_padding()
    made.no_truncation()

    def tokens(texts: Sequence[str]) -> Tokens:
        return Tokens([one.ids for one in made.encode_batch(texts, add_special_tokens=False)])

    return tokens


def focused(query: np.ndarray, text: np.ndarray, size: int) -> np.ndarray:
    """So many tokens of a text where most of the query's stand; the product does it by words."""
    if len(text) <= size:
        return text
    found = np.concatenate([[0], np.cumsum(np.isin(text, query))])
    inside = found[size:] - found[:-size]
    first = int(inside.argmax())
    return text[first : first + size]
