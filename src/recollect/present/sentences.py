"""What every interface says of a search, in the same words; JSON has the raw reasons and counts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from recollect.present.visible import shown_id
from recollect.present.words import title_of
from recollect.times import day, minute
from recollect.types import Chain, Degraded, Memory, Response, Result

EVIDENCE = {
    "strong": "Strong evidence",
    "weak": "Weak evidence: these may not answer it",
    "none": "Probably not in your memories; these are the closest",
}
# Part of a search → what people call it.
PARTS = {
    "vault": "search",
    "vector": "search by meaning",
    "keyword": "search by words",
    "rerank": "reranking",
}
# In what a saved memory is similar to another → the beginning of the sentence.
SIMILAR = {
    "seems to replace": "Seems to replace",
    "same words": "Same words as",
    "nearly the same words": "Nearly the same words as",
    "same meaning": "Same meaning as",
    "about the same thing": "About the same thing as",
}
LONGEST_SAID = 100  # characters of another memory's heading


def as_of(moment: datetime | None) -> str:
    """`As of 2026-10-01 12:00 UTC`; empty for what is asked of now."""
    return "" if moment is None else f"As of {minute(moment)}"


def evidence(response: Response) -> str:
    """Whether the results answer the query; empty where there are none, or nothing judged them."""
    return EVIDENCE[response.evidence] if response.evidence and response.results else ""


def understood(response: Response) -> list[str]:
    """What was read in the query's words: a time, a kind, an order, what to leave out."""
    return [f"Understood: {', '.join(response.understood)}"] if response.understood else []


def found(response: Response) -> int:
    """How many memories were found, those that are not shown included."""
    dropped = response.counts["dropped"]
    assert isinstance(dropped, dict)
    return len(response) + sum(dropped.values())


def not_shown(response: Response) -> str:
    """`61 more not shown`; empty where everything that was found is shown."""
    count = found(response) - len(response)
    return f"{count:,} more not shown" if count else ""


def over_budget(count: int) -> str:
    """Of memories that a context has no room for."""
    return f"{count:,} more not shown: they do not fit into the token budget"


def others(result: Result) -> Iterator[str]:
    """`says the same as deploy-2`, `replaces deploy-1 (2026-01-14)`, `replaced by deploy-3`: links
    only, not what the ranking believes."""
    if result.same:
        yield f"says the same as {', '.join(shown_id(memory.id) for memory in result.same)}"
    newer = result.superseded_by
    for verb, memories in (
        ("replaces", result.replaces),
        ("replaced by", (newer,) if newer else ()),
    ):
        yield from (f"{verb} {shown_id(each.id)} ({day(each.updated_at)})" for each in memories)


def chain(chain: Chain) -> Iterator[str]:
    """`Replaced by deploy-3 (2026-11-02): Deploys run on Buildkite`, for each memory behind a link
    from this one, and `Replaces …` for each that leads here."""
    for verb, memories in (("Replaced by", chain.replaced_by), ("Replaces", chain.replaces)):
        for memory in memories:
            yield f"{verb} {memory.id} ({day(memory.updated_at)}): {_heading(memory)}"


def similar(memory: Memory, why: str) -> str:
    """`Seems to replace deploy-1: Deploys run on Jenkins`, of what was saved and another memory."""
    return f"{SIMILAR[why]} {memory.id}: {_heading(memory)}"


def _heading(memory: Memory) -> str:
    return " ".join((title_of(memory) or memory.text).split())[:LONGEST_SAID]


def took_part(part: Degraded, response: Response) -> bool:
    """Whether a part that could not do all of its work did some."""
    if part.channel == "rerank":
        return bool(response.counts["reranked"])
    return part.channel in response.counts


def no_results(response: Response, browse: str) -> str:
    """Say why there are no results. `browse`: how to list memories without a query."""
    if not response.query.strip():
        return f"The query is empty. {browse}"
    late = (part.channel == "keyword" and not took_part(part, response)
            for part in response.degraded)  # fmt: skip
    return "Nothing was found within the time limit." if any(late) else "No memory matches."


def degraded(part: Degraded, response: Response) -> str:
    """`No search by meaning: …`, `Reranked 8 of 20 in 300 ms …`: what is missing, and why."""
    if reach := part.reach:
        spent = response.timings_ms.get(part.channel)
        time = "time" if spent is None else f"{spent:.0f} ms"
        limit = reach.deadline_ms
        why = f"deadline {limit} ms" if limit else "setting `rerank.budget_ms`"
        return f"Reranked {reach.read} of {reach.candidates} in {time} ({why})"
    name = PARTS.get(part.channel)
    if name is None:
        return f"Without {part.channel}: {part.reason}"
    missing = f"Incomplete {name}" if took_part(part, response) else f"No {name}"
    return f"{missing}: {part.reason}"
