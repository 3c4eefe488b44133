"""Resources: a memory as JSON, a recipe as TOML; each has an address of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote, unquote

import msgspec

from recollect.engine import Recollect
from recollect.errors import NotFound
from recollect.memory_json import memory_json
from recollect.present.visible import as_data
from recollect.recipes.show import as_toml, learned_lines

SCHEME = "recollect://"
# The protocol's own bound on what a completion may offer.
MOST_COMPLETIONS = 100


class Family(NamedTuple):
    """Resources of one kind: `recollect://memory/{id}`."""

    name: str
    title: str
    about: str
    variable: str
    mime_type: str
    read: Callable[[Recollect, str], str]

    @property
    def start(self) -> str:
        return f"{SCHEME}{self.name}/"

    @property
    def template(self) -> str:
        return f"{self.start}{{{self.variable}}}"

    def address(self, value: str) -> str:
        return f"{self.start}{quote(value, safe='')}"


class ResourceEntry(NamedTuple):
    """One resource that is listed."""

    uri: str
    name: str
    about: str
    mime_type: str


class Content(NamedTuple):
    """What a resource holds."""

    text: str
    mime_type: str


def _memory(engine: Recollect, id: str) -> str:
    [memory] = engine.show([id])
    return msgspec.json.format(msgspec.json.encode(as_data(memory_json(memory))), indent=2).decode()


def _recipe(engine: Recollect, name: str) -> str:
    learned = (f"# {line}\n" for line in learned_lines(engine.learned(name)))
    return as_toml(engine.recipe(name)) + "".join(learned)


MEMORY = Family(
    "memory", "A memory", "A whole memory, details included.", "id", "application/json", _memory
)
RECIPES = Family(
    "recipes", "A recipe", "A ranking: every weight and limit.", "name", "application/toml", _recipe
)
FAMILIES = (MEMORY, RECIPES)


def listed(engine: Recollect) -> list[ResourceEntry]:
    """The recipes. Memories are not listed: there may be any number, and tools find them."""
    return [
        ResourceEntry(RECIPES.address(name), name, engine.recipe(name).about, RECIPES.mime_type)
        for name in engine.recipes.names()
    ]


def read(engine: Recollect, uri: str) -> Content:
    """The content of a resource; ids and names in its address may be percent-encoded."""
    for family in FAMILIES:
        if uri.startswith(family.start):
            value = _decoded(uri, uri.removeprefix(family.start))
            return Content(family.read(engine, value), family.mime_type)
    known = ", ".join(family.template for family in FAMILIES)
    raise NotFound(f"There is no resource {uri!r}; there are: {known}.")


def _decoded(uri: str, written: str) -> str:
    try:
        return unquote(written, errors="strict")
    except UnicodeDecodeError as error:
        raise NotFound(f"There is no resource {uri!r}; it is not UTF-8.") from error


def completed(engine: Recollect, template: str, value: str) -> list[str]:
    """The recipes whose names begin so. Memories are found by searching, not by their ids."""
    if template != RECIPES.template:
        return []
    return [name for name in engine.recipes.names() if name.startswith(value)][:MOST_COMPLETIONS]
