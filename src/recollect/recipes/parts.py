"""Short descriptions of the parts of recipes, by the names in explanations."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, get_args

from msgspec.structs import fields

from recollect.recipes.unions import AnyChannel, AnyStage
from recollect.signals.registry import AnySignal
from recollect.types import Family


class PartInfo(NamedTuple):
    """A part's description in a few words, and its family."""

    about: str
    family: Family


@cache
def part_infos() -> dict[str, PartInfo]:
    """Return every channel, stage and signal by its default name."""
    found: dict[str, PartInfo] = {}
    for part in (*get_args(AnyChannel), *get_args(AnyStage), *get_args(AnySignal)):
        defaults = {field.name: field.default for field in fields(part)}
        name = defaults.get("name", part.__struct_config__.tag)
        if part.about and isinstance(name, str):
            found.setdefault(name, PartInfo(part.about, part.family))
    return found


def about_part(name: str) -> str:
    """Return a part's description; its own name if a user's recipe named it."""
    info = part_infos().get(name)
    return info.about if info else name.replace("_", " ")
