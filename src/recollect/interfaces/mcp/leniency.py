"""Arguments as models write them, in the form that they were meant in.

`"3"` is a number where one is wanted, `"postgres"` is a list of one, `"yes"` is true. What cannot
be read so stays as it is, and the check of the arguments refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

TRUTH = {
    "true": True, "yes": True, "on": True, "1": True,
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip


def lenient(value: object, schema: Mapping[str, Any]) -> object:
    """The value as the schema of its argument wants it."""
    match schema.get("type", "string"), value:
        case "array", str():
            items = _decoded(value, list) or [part.strip() for part in value.split(",")]
            return [lenient(item, schema["items"]) for item in items if item != ""]
        case "array", list():
            return [lenient(item, schema["items"]) for item in value]
        case "array", int() | float():
            return [lenient(value, schema["items"])]
        case "object", str():
            return _decoded(value, dict) or value
        case "boolean", str() | int():
            return TRUTH.get(str(value).strip().lower(), value)
        case "integer", str() | float():
            return _whole_number(value)
        case "string", int() | float() if not isinstance(value, bool):
            return str(value)
        case "string", str() if "enum" in schema:
            same = (choice for choice in schema["enum"] if choice == value.strip().lower())
            return next(same, value)
    return value


def _whole_number(value: str | float) -> object:
    """`3` for `"3"` and `3.0`; what is no whole number stays."""
    try:
        number = float(value)
        return int(number) if number.is_integer() else value
    except (ValueError, OverflowError):
        return value


def _decoded(text: str, kind: type) -> Any:
    """A list or an object that was written as JSON in a text; None where it is none."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        return None
