"""The list of tools, and the check of their arguments, tolerant of how models write them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from recollect.checks import split_list
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces.mcp import calls
from recollect.interfaces.mcp.arguments import (
    OBJECT,
    OPTIONS,
    Arguments,
    input_schema,
    rare,
    whole_schema,
)
from recollect.interfaces.mcp.calls import Served, Tool, ToolAnswer
from recollect.interfaces.operations import InterfaceOperation, as_text, list_operations
from recollect.interfaces.requests import describe_invalid
from recollect.interfaces.signatures import camel_case, json_struct
from recollect.interfaces.thread_pools import SEARCHES, WRITES
from recollect.present.sentences import parse_shown_id, visible

FUNCTIONS: tuple[Any, ...] = (
    calls.search, calls.context, calls.save, calls.retrieve, calls.update, calls.forget,
    calls.listing, calls.feedback, calls.review, calls.timeline,
    calls.connector_search, calls.fetch,
)  # fmt: skip


def offered_tools() -> Iterator[Tool]:
    """Return a tool for each operation that declares one."""
    for offered in list_operations("tool"):
        parameters = offered.parameters
        kind = json_struct(
            f"{camel_case(offered.name)}Arguments", parameters.values(), unset=True,
            bases=(Arguments,),
            namespace={"named": {name: f"{each.about}." for name, each in parameters.items()}},
        )  # fmt: skip
        yield Tool(
            name=offered.declared.tool, title=offered.about, about=offered.docstring,
            arguments=kind, output=OBJECT, run=partial(_call_offered, offered),
            needs=offered.needs, pool=WRITES if offered.writes else SEARCHES, offered="all",
            anywhere=offered.declared.anywhere, adds=False, idempotent=False,
        )  # fmt: skip


def _call_offered(offered: InterfaceOperation, served: Served, args: Arguments) -> ToolAnswer:
    answer = offered.call(served.engine, args.given())
    structured = offered.as_json(answer)
    if not isinstance(structured, dict):
        structured = {"result": structured}
    return ToolAnswer(structured, visible(as_text(answer)))


TOOLS: tuple[Tool, ...] = (*(function.tool for function in FUNCTIONS), *offered_tools())
BY_NAME = {tool.name: tool for tool in TOOLS}


def list_tools(
    engine: Recollect | None, project: str | None = None, sets: Collection[str] = ("default",)
) -> list[dict[str, Any]]:
    """Return the protocol's list of the tools in these sets, without those that the caller may not
    use: they would only cost a model tokens. Without an engine, list all."""
    return [
        {
            "name": tool.name,
            "description": tool.about,
            "inputSchema": input_schema(tool.arguments, project),
            "outputSchema": tool.output,
            "annotations": {
                "title": tool.title,
                "readOnlyHint": tool.reads,
                "destructiveHint": not (tool.reads or tool.adds),
                "idempotentHint": tool.idempotent,
                "openWorldHint": False,
            },
        }
        for tool in TOOLS
        if ("all" in sets or tool.offered in sets)
        and (engine is None or engine.may(*tool.needs, anywhere=tool.anywhere))
    ]


def call(served: Served, name: str, raw: dict[str, object]) -> ToolAnswer:
    """Check the arguments and run the tool."""
    tool = BY_NAME[name]
    return tool.run(served, check_arguments(name, tool.arguments, raw))


# The check of arguments

# Arguments that hold ids of memories.
WITH_IDS = frozenset(("id", "ids", "around", "after", "supersedes", "superseded_by", "merge_into"))


def check_arguments(tool: str, kind: type[Arguments], raw: Mapping[str, object]) -> Arguments:
    """Return the arguments of a call; raise UserError for the first bad one."""
    schema = whole_schema(kind)
    properties = schema["properties"]
    options = lenient(raw.get(OPTIONS) or {}, {"type": "object"})
    if not isinstance(options, dict):
        raise UserError(f"{OPTIONS} must be an object with names and values of arguments.")
    args = {name: value for name, value in {**options, **raw}.items() if value is not None}
    args.pop(OPTIONS, None)
    for name in args:
        if name not in properties:
            names = ", ".join(input_schema(kind)["properties"])
            takes = f"; {OPTIONS} takes: {', '.join(rare(kind))}" if rare(kind) else ""
            raise UserError(
                f"{name!r} is not an argument of {tool}; arguments are: {names}{takes}."
            )
    for name in schema["required"]:
        if name not in args:
            raise UserError(f"{tool} needs the argument {name}.")
    args = {name: lenient(value, properties[name]) for name, value in args.items()}
    args |= {name: _as_stored(value) for name, value in args.items() if name in WITH_IDS}
    try:
        return msgspec.convert(args, kind)
    except msgspec.ValidationError as error:
        raise UserError(describe_invalid(error, kind, args)) from error


def _as_stored(value: object) -> object:
    """Return ids as they are in the vault; answers may have shown them escaped."""
    if isinstance(value, list):
        return [_as_stored(each) for each in value]
    return parse_shown_id(value) if isinstance(value, str) else value


TRUTH = {
    "true": True, "yes": True, "on": True, "1": True,
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip


def lenient(value: object, schema: Mapping[str, Any]) -> object:
    """Convert the value to the type in the schema: `"3"` to a number, `"postgres"` to a list of
    one, `"yes"` to true. A value that cannot be converted is returned unchanged and refused later.
    """
    match schema.get("type", "string"), value:
        case "array", str():
            items = _decode(value, list) or split_list(value)
            return [lenient(item, schema["items"]) for item in items if item != ""]
        case "array", list():
            return [lenient(item, schema["items"]) for item in value]
        case "array", int() | float():
            return [lenient(value, schema["items"])]
        case "string", str() if "," in value and _takes_several(schema):
            return split_list(value)
        case "object", str():
            return _decode(value, dict) or value
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


def _takes_several(schema: Mapping[str, Any]) -> bool:
    """Return True if the argument is a value or any of several."""
    return any(each.get("type") == "array" for each in schema.get("anyOf", ()))


def _whole_number(value: str | float) -> object:
    """Return 3 for `"3"` and 3.0; anything but a whole number is returned unchanged."""
    try:
        number = float(value)
        return int(number) if number.is_integer() else value
    except (ValueError, OverflowError):
        return value


def _decode(text: str, kind: type) -> Any:
    """Return the list or object in a JSON text, or None."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        return None
