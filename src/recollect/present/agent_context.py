"""The context of an agent as text and as JSON, within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from math import ceil
from typing import Any

import msgspec
from msgspec.structs import replace

from recollect.checks import too_small
from recollect.errors import UserError
from recollect.memory_json import memory_json
from recollect.present import sentences
from recollect.present.response import CHARACTERS_PER_TOKEN, degraded_json
from recollect.present.sentences import (
    HEADING,
    counted,
    one_line,
    quoted,
    title_of,
    two_lines,
    visible_json,
)
from recollect.present.snippet import PASSAGE_CHARACTERS
from recollect.query.passages import passage
from recollect.times import day, iso
from recollect.types import Context, Memory

# Fields that JSON has of every memory, and those it has only if they are set.
ALWAYS = ("id", "title", "text", "kind", "project", "tier", "tags", "created_at", "updated_at")
NEVER = ("details", "superseded_by", "archived_at")
WHERE_SET = tuple(n for n in Memory.__struct_fields__ if n not in (*ALWAYS, *NEVER))

Form = Callable[[Context], str]


def context_json(found: Context) -> dict[str, Any]:
    """Return the context for programs."""
    return {
        "memories": [_memory_json(memory, found) for memory in found.memories],
        "pinned": found.pinned,
        "matched": found.matched,
        "topped_up": found.topped_up,
        "left_out": found.left_out,
        "degraded": degraded_json(found.response) if found.response else [],
        **({"note": found.note} if found.note else {}),
        **({"as_of": iso(found.as_of)} if found.as_of else {}),
    }


def _memory_json(memory: Memory, found: Context) -> dict[str, Any]:
    whole = memory_json(memory)
    snippet = found.snippets.get(memory.id)
    return {
        **{name: whole[name] for name in ALWAYS},
        **{name: whole[name] for name in WHERE_SET if whole[name]},
        **({"snippet": snippet} if snippet else {}),
        "has_more": bool(memory.details) or memory.id in found.cut,
    }


def context_line(found: Context) -> str:
    """Return the JSON in one line, which leaves more tokens for memories."""
    return visible_json(msgspec.json.encode(context_json(found)).decode())


def context_text(found: Context, when: Callable[[datetime], str] = day) -> str:
    """Return titles and texts, then how they were found and how many did not fit. Lines of memories
    begin with `>`. `when`: formats times."""
    parts = [_memory_text(memory, found, when) for memory in found.memories]
    kinds = (
        (found.pinned, "pinned"), (found.matched, "found by search"), (found.topped_up, "newest"),
    )  # fmt: skip
    if parts:
        then = sentences.as_of(found.as_of)
        parts.insert(0, f"{then}, from memory:" if then else "From memory:")
        origins = ", ".join(f"{number} {kind}" for number, kind in kinds if number)
        parts.append(f"{counted(len(found.memories), 'memory')}: {origins}")
    elif not found.left_out:
        then = sentences.as_of(found.as_of)
        parts = [f"{then}: no memory here yet." if then else "No memory here yet."]
    if found.note:
        parts.append(found.note)
    if found.left_out:
        parts.append(f"{found.left_out:,} more not shown: they do not fit into the token budget")
    if response := found.response:
        parts += [one_line(sentences.degraded(part, response)) for part in response.degraded]
    return "\n\n".join(parts)


def _memory_text(memory: Memory, found: Context, when: Callable[[datetime], str]) -> str:
    """Return the heading, the text unless it is the heading, and the reasons."""
    whole = memory.text if title_of(memory) or len(memory.text) > HEADING else ""
    shown = {"": whole, "Context: ": memory.context, "Why: ": memory.why, "Impact: ": memory.impact}
    if memory.tier == "file":
        del shown["Context: "]  # the heading shows it
    shown["Details: "] = found.snippets.get(memory.id, "")
    body = "\n".join(f"{name}{text}" for name, text in shown.items() if text)
    return "\n".join(part for part in (two_lines(memory, when), quoted(body)) if part)


FORMS: tuple[Form, ...] = (context_text, context_line)


def fit_tokens(
    found: Context, max_tokens: int | None, words: Sequence[str], forms: Sequence[Form] = FORMS
) -> Context:
    """Cut the context to a number of tokens in each of the forms. In order, keep each memory that
    still fits, whole or as the passage with the words. Raise UserError if even an answer without
    memories is too long."""
    if max_tokens is None:
        return found
    if max_tokens < 1:
        raise UserError(too_small("max_tokens", max_tokens, 1))
    most = CHARACTERS_PER_TOKEN * max_tokens

    def sizes(*memories: Memory) -> list[int]:
        answer = _with(found, memories)
        return [len(form(answer)) + 1 for form in forms]  # and a line break

    empty = sizes()
    room = [most - size for size in empty]
    kept: list[Memory] = []
    for memory in found.memories:
        for shown in (memory, _shorten(memory, words)):
            costs = [size - bare for size, bare in zip(sizes(shown), empty, strict=True)]
            if all(cost <= left for cost, left in zip(costs, room, strict=True)):
                kept.append(shown)
                room = [left - cost for cost, left in zip(costs, room, strict=True)]
                break
    while kept and max(sizes(*kept)) > most:  # separators between memories count, too
        kept.pop()
    answer = _with(found, kept)
    if not kept and found.memories:
        least = min(max(sizes(_shorten(memory, words))) for memory in found.memories)
        needed = f"{ceil(least / CHARACTERS_PER_TOKEN):,} are needed"
        answer = answer._replace(note=f"Nothing fits into {max_tokens:,} tokens; {needed}.")
    else:
        needed = f"{ceil(max(empty) / CHARACTERS_PER_TOKEN):,} are needed"
    if max(len(form(answer)) + 1 for form in forms) > most:
        raise UserError(f"max_tokens {max_tokens:,} is too small for an answer; {needed}.")
    return answer


def _with(found: Context, memories: Sequence[Memory]) -> Context:
    """Return the context with only these memories, some of them shortened."""
    whole = {memory.id: memory for memory in found.memories}
    return found._replace(
        memories=tuple(memories),
        left_out=len(whole) - len(memories),
        cut=frozenset(memory.id for memory in memories if memory != whole[memory.id]),
    )


def _shorten(memory: Memory, words: Sequence[str]) -> Memory:
    """Return the memory with a passage as its text, and without context, why and impact."""
    shown = passage(memory, words, PASSAGE_CHARACTERS).text
    return replace(memory, text=shown, context="", why="", impact="")
