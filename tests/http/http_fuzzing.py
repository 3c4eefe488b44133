"""What the tool that makes requests from the OpenAPI document is told beside it."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.hook  # type: ignore[untyped-decorator]  # mypy does not read it
def filter_query(context: Any, query: Any) -> bool:
    """An empty parameter counts as not given, as forms send it: a schema cannot say so."""
    values = (query or {}).values()
    return not any(value == "" or (isinstance(value, list) and "" in value) for value in values)
