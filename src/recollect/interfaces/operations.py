"""Operations that interfaces offer straight from their declaration: their parameters, and their
results as JSON and as text."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from types import NoneType
from typing import Any, get_type_hints

import msgspec

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.engine.operations import LazyOperation, Operation, declared_function
from recollect.interfaces.signatures import Parameter, parameters_of, read_arguments
from recollect.memory_json import memory_json
from recollect.present import schema
from recollect.present.sentences import two_lines
from recollect.times import iso
from recollect.types import Memory


class InterfaceOperation:
    """A method of `Recollect` and its declaration."""

    def __init__(self, name: str, method: Any) -> None:
        self.name = name
        self.function = declared_function(method)
        self.declared: Operation = self.function.operation  # type: ignore[attr-defined]

    @cached_property
    def about(self) -> str:
        """The first sentence of its docstring."""
        return self._sentences[0]

    @cached_property
    def details(self) -> str:
        """Its docstring without the first sentence."""
        return self._sentences[1]

    @cached_property
    def _sentences(self) -> tuple[str, str]:
        first, _, rest = self.docstring.partition(". ")
        return first.removesuffix("."), rest

    @property
    def docstring(self) -> str:
        """Its docstring, as one line."""
        return " ".join((inspect.getdoc(self.function) or "").split())

    @property
    def writes(self) -> bool:
        """True if it changes memories."""
        return bool(self.declared.needs & {WRITE, DELETE})

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        return parameters_of(self.function)

    @cached_property
    def answer(self) -> Any:
        """The type of its result as JSON."""
        answer = self.declared.answer
        if isinstance(answer, str) and answer:
            return getattr(schema, answer)
        return answer or get_type_hints(self.function, include_extras=True)["return"]

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """The capabilities it needs; one with a result also needs the right to read memories."""
        answers = self.answer is not NoneType
        return tuple(sorted(self.declared.needs | ({SEARCH} if answers else set())))

    def call(self, engine: Recollect, given: Mapping[str, Any]) -> Any:
        """Call it with the arguments that an interface was given, by name."""
        named = read_arguments(self.function, given, engine.now())
        return getattr(engine, self.name)(**named)

    def as_json(self, answer: Any) -> Any:
        """Return its result as JSON values."""
        return plain(self.declared.as_json(answer) if self.declared.as_json else answer)


def list_operations(named: str) -> Iterator[InterfaceOperation]:
    """Yield the operations that declare a `command`, a `route` or a `tool`. Those of modules that
    are imported late have no command, since every `recollect WORDS` would have to import them."""
    for name, method in vars(Recollect).items():
        if not hasattr(method, "function"):
            continue
        if named != "command" or not isinstance(method.function, LazyOperation):
            found = InterfaceOperation(name, method)
            if getattr(found.declared, named):
                yield found


def plain(value: Any) -> Any:
    """Return a result as JSON values: memories with their times in UTC."""
    if isinstance(value, Memory):
        return memory_json(value)
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return [*map(plain, value)] if isinstance(value, list | tuple) else value


def as_text(value: Any, indent: str = "") -> str:
    """Return a result as lines for people and models: memories as titles and ids, objects as their
    fields."""
    if isinstance(value, Memory):
        return indent + two_lines(value).replace("\n", f"\n{indent}")
    if isinstance(value, list | tuple) and not hasattr(value, "_asdict"):
        return "\n".join(as_text(each, indent) for each in value) or f"{indent}Nothing."
    if isinstance(value, msgspec.Struct) or hasattr(value, "_asdict"):
        value = {name: getattr(value, name) for name in _fields(value)}
    if isinstance(value, Mapping):
        return "\n".join(_field_line(str(name), each, indent) for name, each in value.items())
    return f"{indent}{iso(value) if isinstance(value, datetime) else value}"


def _fields(value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(value, "__struct_fields__", ()) or value._fields
    return names


def _field_line(name: str, value: Any, indent: str) -> str:
    if isinstance(value, list | tuple | Mapping | msgspec.Struct) and value:
        return f"{indent}{name}:\n{as_text(value, indent + '  ')}"
    return f"{indent}{name}: {as_text(value) if value or value == 0 else 'none'}"
