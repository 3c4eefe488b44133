"""Read an operation's parameters from its signature, or a value's fields from its struct; make
command-line options and request structs of them, and read arguments.

FastAPI and Litestar make routes of signatures, Typer and cyclopts commands, the MCP SDK tools. None
was taken: each knows only one interface, so bounds, descriptions and capabilities would be repeated
for each, and Typer and FastAPI need pydantic or click at every start (60 and 25 ms; a whole search
takes 180). msgspec, which already checks requests here, reads the same annotations and makes the
structs and the JSON schemas.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import MappingProxyType, NoneType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import fields

from recollect.checks import split_list
from recollect.ingest.draft import LONG_FIELDS
from recollect.interfaces.requests import LongText, Query, read_as_of, read_filter, read_search
from recollect.query.time.moments import read_time
from recollect.types import AnyOf, Filter, Search

MOST_NAMES = 100
WHOLE = ("ignored",)  # parameters whose several values may contain commas
REQUIRED: Any = object()  # marks a required parameter

Text = Annotated[str, Meta(max_length=1000)]
Names = Annotated[tuple[Text, ...], Meta(max_length=MOST_NAMES)]
OneOrSeveral = Annotated[Text | Names, Meta(description="A value, or any of several.")]


class Parameter(NamedTuple):
    """One parameter. `kind`: its type without None; `bounds`: its other annotations; `one`: the
    name of a single value if it takes several; `metavar`: the name of a value in help."""

    name: str
    kind: Any
    default: Any
    about: str
    bounds: tuple[Meta, ...]
    one: str
    metavar: str
    short: str

    @property
    def examples(self) -> list[Any]:
        """Values for the documentation."""
        return self.bounds[0].examples or []

    @property
    def several(self) -> bool:
        """True if it takes several values."""
        return self.kind == AnyOf or get_origin(self.kind) in (tuple, list)


@cache
def parameters_of(source: Callable[..., Any] | type[Struct]) -> Mapping[str, Parameter]:
    """Return the parameters of a function, or the described fields of a struct, by name. A `Filter`
    or `Search` parameter is replaced by its fields."""
    if isinstance(source, type):
        listed = [(each.name, each.type, _default(each.default)) for each in fields(source)]
    else:
        hints = get_type_hints(source, include_extras=True)
        _, *own = inspect.signature(source).parameters.values()  # the first is the session
        listed = [(each.name, hints[each.name], _default(each.default)) for each in own]
    found: dict[str, Parameter] = {}
    for name, kind, default in listed:
        if kind in (Filter, Search):
            found |= parameters_of(kind)
        elif get_origin(kind) is Annotated:
            found[name] = _parameter(name, kind, default)
    return MappingProxyType(found)


def _default(value: Any) -> Any:
    return REQUIRED if value in (NODEFAULT, inspect.Parameter.empty) else value


def _parameter(name: str, annotated: Any, default: Any) -> Parameter:
    kind, *bounds = get_args(annotated)
    about: Meta = bounds[0]
    options = [each for each in get_args(kind) if each is not NoneType]
    if NoneType in get_args(kind):
        kind = options[0] if len(options) == 1 else Union[tuple(options)]  # noqa: UP007
    extra = about.extra or {}
    one = extra.get("one", name)
    metavar = extra.get("metavar") or ("TIME" if kind is datetime else one.split("_")[-1].upper())
    return Parameter(
        name, kind, default, about.description or "", tuple(bounds), one, metavar,
        extra.get("short", ""),
    )  # fmt: skip


# As JSON and in a query string


def json_struct(
    name: str,
    offered: Iterable[Parameter],
    *,
    text: Any = Text,
    unset: bool = False,
    bases: tuple[type[Struct], ...] | None = None,
    namespace: Mapping[str, Any] | None = None,
) -> Any:
    """Make a struct that checks these parameters in JSON, where times are texts. `text`: the type
    of a text; `unset`: a missing value is UNSET, to distinguish it from null."""
    listed = [
        (each.name, *_wire(each, text, unset))
        for each in sorted(offered, key=lambda each: each.default is not REQUIRED)
    ]
    return defstruct(
        name, listed, bases=bases, namespace=dict(namespace or {}), module=__name__,
        frozen=True, kw_only=True, forbid_unknown_fields=True,
    )  # fmt: skip


def _wire(parameter: Parameter, text: Any, unset: bool) -> tuple[Any, ...]:
    kind: Any = parameter.kind
    if kind == AnyOf:
        kind = OneOrSeveral
    elif get_origin(kind) is tuple:
        kind = Names
    elif kind is datetime:
        kind = Text
    elif kind is str and not any(each.max_length for each in parameter.bounds):
        kind = {"query": Query, **dict.fromkeys(LONG_FIELDS, LongText)}.get(parameter.name, text)
    elif datetime in get_args(kind):
        kind = Text
    about = f"{parameter.about[:1].upper()}{parameter.about[1:]}."
    kind = Annotated[kind, *parameter.bounds[1:], Meta(description=about)]
    if parameter.default is REQUIRED:
        return (kind,)
    if unset:
        return (kind | None | UnsetType, UNSET)
    return (kind, parameter.default) if parameter.default is not None else (kind | None, None)


def read_arguments(
    function: Callable[..., Any], given: Mapping[str, Any], now: datetime
) -> dict[str, Any]:
    """Return the arguments of an operation, by name, from those an interface was given: parse
    times, and build `Filter` and `Search` from their fields."""
    hints = get_type_hints(function, include_extras=True)
    then = read_as_of(given, now) or now
    found: dict[str, Any] = {}
    for name in [*inspect.signature(function).parameters][1:]:
        if hints[name] is Filter:
            found[name] = read_filter(given, then)
        elif hints[name] is Search:
            found[name] = read_search(given, now)
        elif given.get(name) is not None:
            value = given[name]
            kinds = get_args(get_args(hints[name])[0]) or (get_args(hints[name])[0],)
            read = datetime in kinds and str not in kinds
            found[name] = read_time(value, now, name) if read else value
    return found


def camel_case(name: str) -> str:
    """Return `word_count` as `WordCount`."""
    return "".join(map(str.capitalize, name.split("_")))


def json_type(kind: Any) -> Any:
    """Return the JSON type of a result: a NamedTuple becomes an object."""
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        hints = get_type_hints(kind, include_extras=True)
        return defstruct(kind.__name__, [(name, json_type(hints[name])) for name in kind._fields])
    of, several = get_args(kind), get_origin(kind)
    return list[json_type(of[0])] if several in (list, tuple, Sequence) else kind  # type: ignore[misc]


# On the command line


def add_parameters(
    parser: Any, offered: Iterable[Parameter], about: Mapping[str, str] = {}
) -> None:
    """Add these as options to a parser or group. `about`: descriptions that replace the declared
    ones."""
    for each in offered:
        flags = [f"--{each.one.replace('_', '-')}", *([f"-{each.short}"] if each.short else [])]
        help = about.get(each.name, each.about).replace("%", "%%")
        if each.kind is bool:
            how = {"action": "store_const", "const": not each.default, "default": each.default}
            flags = flags if not each.default else [f"--no-{flags[0].removeprefix('--')}"]
        elif each.several:
            as_list = {"action": "extend", "type": split_list}
            how = {"default": [], "metavar": each.metavar}
            how |= {"action": "append"} if each.name in WHOLE else as_list
            help = f"{help}; repeatable{'' if each.name in WHOLE else ', or a,b'}"
        else:
            how = {"metavar": each.metavar}
            how |= {} if each.default is REQUIRED else {"default": each.default}
            how |= {"type": int} if each.kind is int else {}
        parser.add_argument(*flags, dest=each.name, help=help, **how)
