"""The output schema of each tool: the fields that a program can rely on.

A model reads them in every conversation, so they say no more. With `explain`, a search answers with
the JSON of `recollect search --json`, which fits, too.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
NEWER: Schema = {"type": ["string", "object"]}  # an id; with `explain` its date as well


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def record(required: dict[str, Schema], **optional: Schema) -> Schema:
    """An object that has these fields, and perhaps others."""
    return {"type": "object", "properties": {**required, **optional}, "required": [*required]}


ROW = record(
    {"id": TEXT},
    title=TEXT, kind=TEXT, project=TEXT, date=TEXT, expired=FLAG, superseded_by=TEXT,
)  # fmt: skip
RESULT = record(
    {"id": TEXT, "score": NUMBER, "kind": TEXT},
    title=TEXT, project=TEXT, date=TEXT, passage=TEXT, expired=FLAG, superseded_by=NEWER,
    seems_replaced_by=NEWER,
)  # fmt: skip
RESULTS = record({"results": array(RESULT)}, evidence={"type": ["string", "null"]})
SIDES = {"at": TEXT, "before": array(OBJECT), "after": array(OBJECT)}
LIST = record({}, memories=array(ROW), next={"type": ["string", "null"]}, **SIDES)
CONTEXT = record(
    {"memories": array(record({"id": TEXT, "title": TEXT, "text": TEXT}))}, left_out=COUNT
)
MEMORIES = record({"memories": array(record({"id": TEXT}))}, history=OBJECT, missing=array(OBJECT))
SAVED = record(
    {"id": TEXT, "outcome": TEXT, "repeated": FLAG, "title": TEXT},
    redacted=OBJECT, superseded=array(TEXT),
    similar=array(record({"id": TEXT, "title": TEXT, "why": TEXT})),
)  # fmt: skip
TIMELINE = record(SIDES)
UPDATED = record({"id": TEXT, "changed": array(TEXT)}, redacted=OBJECT)
FORGOTTEN = record({"ids": array(TEXT), "outcome": TEXT})
NOTED = record({"accepted": COUNT, "dismissed": COUNT})
REVIEW = record({}, items=array(OBJECT), counts=OBJECT, done=TEXT)
# As ChatGPT's connectors and deep research ask for them.
LINK = {"id": TEXT, "title": TEXT, "url": TEXT}
LINKS = record({"results": array(record(LINK))})
DOCUMENT = record({**LINK, "text": TEXT}, metadata=OBJECT)
