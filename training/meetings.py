"""Pairs from QMSum, meetings with questions about them: a question, and the turn of the meeting
that its answer was written from.

    git clone … QMSum
    python training/meetings.py QMSum >> pairs.jsonl

An annotator named the turns that a question is about, and wrote its answer. Of these turns the two
are taken that share most rare words with both. A topic is a question, too. Half of what else was
said serves as wrong answers. QMSum is under the MIT licence.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SHORTEST, LONGEST = 40, 600
ANSWERS = 2
MONTHS = "January March April June August October November".split()


class Said(NamedTuple):
    turn: int
    speaker: str
    text: str


def clean(text: str) -> str:
    """As a person would write it: no marks of the transcription, no blank before a comma."""
    text = re.sub(r"\{[^}]*\}|@ @", "", text)
    text = re.sub(r"\s+([,.?!;:'])", r"\1", re.sub(r"\s+", " ", text))
    return re.sub(r" ' ?(s|re|ve|ll|d|m|t)\b", r"'\1", text).strip()


def pieces(text: str) -> Iterator[str]:
    """A turn, cut between sentences where it is long."""
    piece = ""
    for sentence in re.split(r"(?<=[.?!]) ", text):
        if piece and len(piece) + len(sentence) > LONGEST:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}".strip()
    yield piece


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]{3,}", text.lower()))


def asked(meeting: dict[str, Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """Each question and topic, the answer where there is one, and where it was talked about."""
    for one in meeting["specific_query_list"]:
        yield one["query"], one["answer"], one["relevant_text_span"]
    for one in meeting["topic_list"]:
        yield one["topic"], "", one["relevant_text_span"]


def rows(name: str, meeting: dict[str, Any], chance: random.Random) -> Iterator[dict[str, str]]:
    said = [
        Said(number, turn["speaker"], piece)
        for number, turn in enumerate(meeting["meeting_transcripts"])
        for piece in pieces(clean(turn["content"]))
        if len(piece) >= SHORTEST
    ]
    having = Counter(word for one in said for word in words(one.text))
    day = f"{chance.randint(1, 28)} {chance.choice(MONTHS)} {chance.randint(2019, 2024)}"

    def row(question: str, one: Said) -> dict[str, str]:
        return {"q": question, "t": f"{one.speaker}, {day}", "d": one.text, "s": "qmsum",
                "g": f"qm{name}"}  # fmt: skip

    answers = set()
    for question, answer, spans in asked(meeting):
        near = {turn for first, last in spans for turn in range(int(first), int(last) + 1)}
        wanted = words(f"{question} {answer}")

        def shared(one: Said, wanted: set[str] = wanted) -> float:
            common = wanted & words(one.text)
            rare = sum(math.log((len(said) + 1) / (having[word] + 1)) for word in common)
            return rare / (60 + len(one.text)) ** 0.3

        best = sorted((one for one in said if one.turn in near), key=shared, reverse=True)
        for one in best[:ANSWERS]:
            answers.add(one)
            yield row(question, one)
    yield from (row("", one) for one in said if one not in answers and chance.random() < 0.5)


def main() -> None:
    chance = random.Random(5)
    for file in sorted(Path(sys.argv[1]).glob("data/ALL/*/*.json")):
        for row in rows(file.stem, json.loads(file.read_text(encoding="utf-8")), chance):
            print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
