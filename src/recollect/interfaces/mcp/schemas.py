"""What each tool answers with, as JSON Schema.

A search answers with the very JSON of `recollect search --json`; what its parts are called is
written here once, and a test holds every view against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from recollect.types import Evidence, Intent, Memory, View

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def mapped(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def one_of(*values: str | None) -> Schema:
    return {"enum": [*values]}


def record(
    properties: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None
) -> Schema:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": [*properties],
        "additionalProperties": False,
    }


def _memory() -> Schema:
    """A whole memory: every field is there, those never given are empty or null."""
    _, components = msgspec.json.schema_components([Memory])
    held = components["Memory"]["properties"]
    bare = {
        name: {key: value for key, value in schema.items() if key != "default"}
        for name, schema in held.items()
    }
    return record(bare)


MEMORY = _memory()
TERM = record(
    {"name": TEXT, "value": NUMBER, "formula": TEXT, "parts": listed({"$ref": "#/$defs/term"})},
    {"weight": NUMBER, "raw": NUMBER, "how": TEXT},
)
OTHERS = listed(record({"id": TEXT, "updated_at": TIME}))
# What any view may show of a result; each has its own choice of these.
SHOWN: dict[str, Schema] = {
    "title": TEXT,
    "type": TEXT,
    "kind": TEXT,
    "category": TEXT,
    "domain": TEXT,
    "project": TEXT,
    "source": TEXT,
    "tags": listed(TEXT),
    "topics": listed(TEXT),
    "snippet": TEXT,
    "preview": TEXT,
    "what": TEXT,
    "why": TEXT,
    "impact": TEXT,
    "has_details": FLAG,
    "complete": FLAG,
    "verified": FLAG,
    "token_estimate": COUNT,
    "vector_similarity": {"type": ["number", "null"]},
    "rerank_score": NUMBER,
    "created_at": TIME,
    "updated_at": TIME,
    "timestamp": TIME,
    "memory": {"$ref": "#/$defs/memory"},
    "breakdown": mapped(NUMBER),
    "same": OTHERS,
    "replaces": OTHERS,
    "file": record({"path": TEXT, "heading": TEXT, "lines": listed(COUNT)}),
    "joined": listed(TEXT),
    "explain": {"$ref": "#/$defs/term"},
}
DEGRADED = listed(record({"channel": TEXT, "reason": TEXT}))
RESPONSE = record(
    {
        "query": TEXT,
        "recipe": TEXT,
        "view": one_of(*get_args(View)),
        "intent": one_of(*get_args(Intent)),
        "results": listed(record({"id": TEXT, "score": NUMBER, "vault": TEXT}, SHOWN)),
        "counts": {
            "type": "object",
            "properties": {"returned": COUNT, "dropped": mapped(COUNT)},
            "required": ["returned", "dropped"],
            "additionalProperties": COUNT,
        },
        "topics": mapped(COUNT),
        "understood": listed(TEXT),
        "evidence": one_of(*get_args(Evidence), None),
        "confidence": {"type": ["number", "null"]},
        "degraded": DEGRADED,
        "notes": listed(TEXT),
        "timings_ms": mapped(NUMBER),
    },
    {"facets": mapped(mapped(COUNT))},
) | {"$defs": {"memory": MEMORY, "term": TERM}}

BRIEF = record(
    {
        "id": TEXT,
        "title": TEXT,
        "text": TEXT,
        "context": TEXT,
        "kind": TEXT,
        "project": TEXT,
        "tags": listed(TEXT),
        "updated_at": TIME,
        "has_more": FLAG | {"description": "Why, impact or details: memory_retrieve gives them."},
    }
)
CONTEXT = record(
    {
        "memories": listed(BRIEF),
        "matched": COUNT | {"description": "How many were found by the query."},
        "topped_up": COUNT | {"description": "How many are there for being the newest."},
        "left_out": COUNT | {"description": "How many did not fit into max_tokens."},
        "degraded": DEGRADED,
    }
)
ROW = record(
    {
        "id": TEXT,
        "title": TEXT,
        "kind": TEXT,
        "tier": TEXT,
        "project": TEXT,
        "tags": listed(TEXT),
        "updated_at": TIME,
        "token_estimate": COUNT,
    }
)
LIST = record(
    {
        "memories": listed(ROW),
        "next": {
            "type": ["string", "null"],
            "description": "Give it as `after` for the next page; null on the last.",
        },
    }
)
REDACTED = mapped(COUNT) | {"description": "Secrets that were replaced, by kind."}
SAVED = record(
    {
        "id": TEXT,
        "outcome": one_of("added", "updated", "unchanged"),
        "repeated": FLAG
        | {"description": "It said again what this memory says, so that one was updated."},
        "title": TEXT,
    },
    {"redacted": REDACTED},
)
MEMORIES = record({"memories": listed({"$ref": "#/$defs/memory"})}) | {"$defs": {"memory": MEMORY}}
UPDATED = record(
    {"id": TEXT, "title": TEXT, "changed": listed(TEXT), "updated_at": TIME}, {"redacted": REDACTED}
)
FORGOTTEN = record({"ids": listed(TEXT), "outcome": one_of("forgotten", "restored")})
NOTED = record({"accepted": COUNT, "dismissed": COUNT})
