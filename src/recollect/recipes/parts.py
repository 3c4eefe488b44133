"""What the parts of recipes are about, by the names that explanations use."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple, get_args

from msgspec.structs import fields

from recollect.recipes.unions import AnyChannel, AnyStage
from recollect.signals.registry import AnySignal
from recollect.types import Family


class PartInfo(NamedTuple):
    """What a part says of a memory, in a few words, and what family of parts it belongs to."""

    about: str
    family: Family


@cache
def part_infos() -> dict[str, PartInfo]:
    """Every channel, stage and signal by the name it has unless a recipe calls it otherwise."""
    found: dict[str, PartInfo] = {}
    for part in (*get_args(AnyChannel), *get_args(AnyStage), *get_args(AnySignal)):
        defaults = {field.name: field.default for field in fields(part)}
        name = defaults.get("name", part.__struct_config__.tag)
        if part.about and isinstance(name, str):
            found.setdefault(name, PartInfo(part.about, part.family))
    return found


def about_part(name: str) -> str:
    """What the part of this name is about; its name, where a recipe of a user's own gave it."""
    info = part_infos().get(name)
    return info.about if info else name.replace("_", " ")
