"""Settings for the tool that makes requests from the OpenAPI document."""

from __future__ import annotations

from collections import Counter
from typing import Any

import schemathesis

from examples import one_in

ONE_IN = one_in(6)
covering: Counter[str] = Counter()  # requests for each bound that a schema has, by operation


@schemathesis.hook  # type: ignore[untyped-decorator]  # mypy does not read it
def filter_query(context: Any, query: Any) -> bool:
    """An empty parameter counts as not given, as forms send it: a schema cannot say so."""
    values = (query or {}).values()
    return not any(value == "" or (isinstance(value, list) and "" in value) for value in values)


@schemathesis.hook  # type: ignore[untyped-decorator]
def filter_case(context: Any, case: Any) -> bool:
    """There are thousands for the bounds alone: some of them, the same in each run."""
    if case.meta is None or case.meta.phase.name != "coverage":
        return True
    covering[case.operation.label] += 1
    return covering[case.operation.label] % ONE_IN == 1 % ONE_IN
