"""What each tool answers with, as JSON Schema.

A search answers with the very JSON of `recollect search --json`, whose types are in
`present/schema.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.memory_json import LATER
from recollect.present.schema import ContextJson, ResponseJson

Schema = dict[str, Any]

SPOKEN = ("title", "description", "default")

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


def _bare(schema: Schema) -> Schema:
    """Without names, docstrings and defaults, which would only cost tokens."""
    return {key: value for key, value in schema.items() if key not in SPOKEN}


def _components() -> dict[str, Schema]:
    """The types that a search answers with, each with these fields and no others. A whole memory
    has every field but those of LATER: those never given are empty or null."""
    _, found = msgspec.json.schema_components([ResponseJson, ContextJson])
    made = {}
    for name, schema in found.items():
        properties = {field: _bare(values) for field, values in schema["properties"].items()}
        required = schema["required"]
        if name == "Memory":
            required = [field for field in properties if field not in LATER]
        made[name] = record(properties) | {"required": required}
    return made


COMPONENTS = _components()
MEMORY = COMPONENTS["Memory"]
CONTEXT = COMPONENTS.pop("ContextJson")
CONTEXT_MEMORY = COMPONENTS.pop("ContextMemory")
RESPONSE = COMPONENTS.pop("ResponseJson") | {"$defs": COMPONENTS}
CONTEXT |= {"$defs": {"ContextMemory": CONTEXT_MEMORY, "Degraded": COMPONENTS["Degraded"]}}

ROW = record(
    {
        "id": TEXT,
        "title": TEXT,
        "kind": TEXT,
        "tier": TEXT,
        "project": TEXT,
        "tags": listed(TEXT),
        "created_at": TIME,
        "updated_at": TIME,
        "token_estimate": COUNT,
    }
)
LIST = record(
    {
        "memories": listed(ROW),
        "next": {
            "type": ["string", "null"],
            "description": "Pass it as `after` for the next page; null on the last.",
        },
    }
)
REDACTED = mapped(COUNT) | {"description": "Secrets that were replaced, by kind."}
SAVED = record(
    {
        "id": TEXT,
        "outcome": one_of("added", "updated", "unchanged"),
        "repeated": FLAG | {"description": "This memory says the same already, so it was updated."},
        "title": TEXT,
    },
    {"redacted": REDACTED},
)
VERSION = record(
    {
        "version": COUNT, "at": TIME, "action": TEXT, "interface": TEXT, "client": TEXT,
        "user": TEXT, "automatic": FLAG, "changed": listed(TEXT), "differences": listed(TEXT),
        "memory": {"$ref": "#/$defs/Memory"},
    },
    {"reason": TEXT, "target": TEXT, "forgotten": FLAG},
)  # fmt: skip
MEMORIES = record(
    {"memories": listed({"$ref": "#/$defs/Memory"})}, {"history": mapped(listed(VERSION))}
) | {"$defs": {"Memory": MEMORY}}
UPDATED = record(
    {"id": TEXT, "title": TEXT, "changed": listed(TEXT), "updated_at": TIME}, {"redacted": REDACTED}
)
FORGOTTEN = record({"ids": listed(TEXT), "outcome": one_of("forgotten", "restored", "merged")})
NOTED = record({"accepted": COUNT, "dismissed": COUNT})
REVIEW = record(
    {},
    {
        "items": listed({"type": "object"}),
        "counts": mapped(COUNT),
        "done": TEXT | {"description": "What was done or proposed."},
    },
)
