"""The union of memories that say the same, or nearly so: nothing that any of them says is lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_args

from recollect.types import Memory, Severity

TEXTS = ("context", "why", "impact", "details")
NAMES = ("title", "domain", "project", "source", "space", "path")


def union(first: Memory, others: Sequence[Memory], ids: Iterable[str]) -> dict[str, Any]:
    """The fields of the memory that all of these become. Short fields are those of the first one
    that has them. Of texts the longest is kept, and what the others say beside it follows. It is
    valid while any of them is, and as trusted as the most trusted; a link to one of `ids` is
    dropped."""
    every = [first, *others]
    title = next((each.title for each in every if each.title), "")
    fields: dict[str, Any] = {
        name: next((value for each in every if (value := getattr(each, name))), None)
        for name in NAMES
    }
    for name in TEXTS:
        fields[name] = _united([getattr(each, name) for each in every]) or None
    fields["text"] = _united(_bodies(every, title)) or None
    fields["tags"] = list(dict.fromkeys(tag for each in every for tag in each.tags))
    fields["kind"] = next((each.kind for each in every if each.kind != "fact"), "fact")
    levels = [each.severity for each in every]
    fields["severity"] = next((level for level in get_args(Severity) if level in levels), None)
    fields["tier"] = "core" if any(each.tier == "core" for each in every) else first.tier
    fields["created_at"] = min(each.created_at for each in every)
    begins = [each.valid_from for each in every]
    fields["valid_from"] = None if None in begins else min(filter(None, begins))
    ends = [each.valid_until for each in every]
    fields["valid_until"] = None if None in ends else max(filter(None, ends))
    fields["superseded_by"] = None if first.superseded_by in {*ids} else first.superseded_by or None
    stored = [each.archived_at for each in every]
    fields["archived_at"] = None if None in stored else first.archived_at
    return fields


def _bodies(every: Sequence[Memory], title: str) -> list[str]:
    """The texts, each behind its title where that is another than the one that is kept."""
    return [
        f"{each.title}\n{each.text}".strip() if _flat(each.title) != _flat(title) else each.text
        for each in every
    ]


def _united(texts: Sequence[str]) -> str:
    """The longest of these, and each other one that says something else, in their order."""
    kept = max(texts, key=len, default="")
    for text in texts:
        if _flat(text) not in _flat(kept):
            kept = f"{kept}\n\n{text.strip()}"
    return kept


def _flat(text: str) -> str:
    """The text as it is compared: without case and layout."""
    return " ".join(text.casefold().split())
