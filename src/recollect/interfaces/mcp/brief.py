"""Memories in few tokens, for models: two lines each, then the passage that matched.

    1. > Tokens live 15 minutes
    decision · harbor-api · 2026-10-12 · expired 2026-11-01 · tokens-live-k3f9
    > …a refresh token is good for thirty days…

Ten results take at most 600 tokens as text and 700 as data: their passages are cut to what fits.
What stands behind a `>` is a memory's own text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from math import ceil
from typing import Any

import msgspec
from msgspec.structs import replace

from recollect.present.history import history_json
from recollect.present.response import degraded_json, result_json
from recollect.present.snippet import PASSAGE_CHARACTERS, pieces
from recollect.present.views import ScanView, SnippetView
from recollect.present.visible import one_line
from recollect.present.words import heading_line, place_in_file, state_json, title_of
from recollect.query.passages import CUT, longer, window
from recollect.query.terms import keywords
from recollect.store.history import Version
from recollect.times import iso
from recollect.types import Memory, Response, Result
from recollect.vaults.known import HOME

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


# What is cut to what fits; and what the two keys take.
KEYS, KEY_TOKENS = ("title", "passage"), 6
# Tokens of a result where ten are asked for; of fewer, each may have more. A little below the 60
# and 70 that are promised: the estimate may be 5 % too low.
TEXT_TOKENS, DATA_TOKENS = 57, 66
FEWEST = 10
LEAST = 5  # tokens of a passage that are worth showing
SCORE_DIGITS = 3
LONGEST_DIFFERENCE = 300  # tokens of what a change did to one field


def row_json(memory: Memory, now: datetime | None = None) -> dict[str, Any]:
    """Return the two lines of a memory as data; with `now`, whether it no longer holds."""
    named = {"title": heading_line(memory), "kind": memory.kind, "project": memory.project}
    date = {"date": f"{memory.updated_at:%Y-%m-%d}"}
    state = state_json(memory, now) if now else {}
    return {"id": memory.id, **{k: value for k, value in named.items() if value}, **date, **state}


def full_title(result: Result) -> str:
    """The title in one line; empty where it has none, so that what matched takes its place."""
    return " ".join(one_line(title_of(result.memory)).split())


def place_of(result: Result) -> str:
    """`notes/setup.md:14`; empty where it stands in no file. The title has the headings."""
    return place_in_file(replace(result.file, heading="")) if result.file else ""


def without_marks(response: Response) -> Response:
    """Return the response without the `<mark>` of snippets: they are for a page."""
    results = []
    for result in response:
        if isinstance(result.shown, SnippetView):
            plain = "".join(text for text, _ in pieces(result.shown.snippet))
            result = replace(result, shown=replace(result.shown, snippet=plain))
        results.append(result)
    return replace(response, results=tuple(results))


def with_longer_passages(response: Response) -> Response:
    """Return the response with passages as long as so few results may have; views other than a
    scan stay as they are."""
    size = PASSAGE_CHARACTERS * FEWEST // max(1, len(response.results))
    if size <= PASSAGE_CHARACTERS:
        return response
    words, results = keywords(response.query), []
    for result in response:
        if result.passage and isinstance(result.shown, ScanView):
            found = longer(result.memory, result.passage, words, size)
            result = replace(result, passage=found, shown=replace(result.shown, snippet=found.text))
        results.append(result)
    return replace(response, results=tuple(results))


def fitted(
    titles: Sequence[str], passages: Sequence[str], query: str, room: int
) -> tuple[list[str], list[str]]:
    """Titles and passages, the longest of them cut until all take no more than `room` tokens
    together. Of a passage, the part with the query's words stays."""
    most = largest_size(sorted(map(estimated_tokens, (*titles, *passages))), room)
    words = keywords(query)
    kept = [_cut(title, (), max(most, LEAST)) for title in titles]
    return kept, [_cut(text, words, most if most >= LEAST else 0) for text in passages]


def largest_size(sizes: Sequence[int], room: int) -> int:
    """The largest size that all may have so that they fit; `sizes` is sorted."""
    for place, size in enumerate(sizes):
        share = room // (len(sizes) - place)
        if size >= share:
            return share
        room -= size
    return max(sizes, default=0)


def _cut(text: str, words: Sequence[str], most: int) -> str:
    size = estimated_tokens(text)
    if size <= most:
        return text
    characters = most * len(text) // size
    return f"{window(text, words, characters).rstrip(CUT)}{CUT}" if characters else ""


def brief_history(versions: Sequence[Version], room: int) -> list[dict[str, Any]]:
    """Return the newest versions that fit into `room` tokens, at least one: what changed each, with
    long differences cut, and without the whole memory, which `as_of` reads."""
    rows: list[dict[str, Any]] = []
    for row in history_json(versions):
        del row["memory"]
        row["differences"] = [_cut(each, (), LONGEST_DIFFERENCE) for each in row["differences"]]
        room -= estimated_tokens(msgspec.json.encode(row).decode())
        if rows and room < 0:
            break
        rows.append(row)
    return rows


def response_json(response: Response, *, brief: bool) -> dict[str, Any]:
    """The response as data: what the text says of each result, and no more. Not `brief`: every
    field that the view has."""
    answer: dict[str, Any] = {}
    answer["results"] = results = [_result(result, brief) for result in response]
    if response.as_of:
        answer["as_of"] = iso(response.as_of)
    if response.evidence:
        answer["evidence"] = response.evidence
    for name in ("understood", "notes"):
        if found := getattr(response, name):
            answer[name] = list(found)
    if response.facets:
        answer["facets"] = response.facets
    if response.degraded:
        answer["degraded"] = degraded_json(response)
    if brief:
        titles = [full_title(result) for result in response]
        passages = [" ".join(str(result.fields["snippet"]).split()) for result in response]
        taken = estimated_tokens(msgspec.json.encode(answer).decode()) + KEY_TOKENS * len(results)
        room = DATA_TOKENS * max(len(results), FEWEST) - taken
        cut = zip(results, *fitted(titles, passages, response.query, room), strict=True)
        for result, *texts in cut:
            result |= {key: text for key, text in zip(KEYS, texts, strict=True) if text}
    return answer


def _result(result: Result, brief: bool) -> dict[str, Any]:
    shown = _row(result) if brief else result_json(result, explain=False, whole=False)
    shown["score"] = round(result.score, SCORE_DIGITS)
    for name in ("same", "replaces", "seems_to_replace", "joined"):
        if others := getattr(result, name):
            shown[name] = [other.id for other in others]
    for name in ("superseded_by", "seems_replaced_by"):
        if newer := getattr(result, name):
            shown[name] = newer.id
    return shown


def _row(result: Result) -> dict[str, Any]:
    """Return the fields of a brief result, without the title: it comes with the passage."""
    shown = row_json(result.memory)
    shown.pop("title", None)
    if result.vault != HOME:
        shown["vault"] = result.vault
    if result.validity.startswith("expired"):
        shown["expired"] = True
    elif result.validity:
        shown["validity"] = result.validity
    if place := place_of(result):
        shown["file"] = place
    return shown
