"""Parameters are read from signatures and structs, and become options, bodies and arguments."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import pytest
from msgspec import Meta

from recollect.engine.filters import EVERYTHING
from recollect.errors import UserError
from recollect.interfaces.signatures import (
    REQUIRED,
    add_parameters,
    json_struct,
    json_type,
    parameters_of,
    read_arguments,
)
from recollect.types import Filter, Memory, Search, about

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def example(
    session: Any,
    id: Annotated[str, about("the memory")],
    limit: Annotated[int, about("how many", short="n"), Meta(ge=1, le=9)] = 5,
    *,
    filter: Filter = EVERYTHING,
    since_when: Annotated[datetime | None, about("from then on", metavar="TIME")] = None,
    mode: Annotated[Literal["fast", "slow"] | None, about("how")] = None,
    hidden: int = 0,
) -> None:
    """Do something."""


def test_a_signature_declares_its_parameters_and_those_of_its_filter() -> None:
    found = parameters_of(example)
    assert list(found) == ["id", "limit", *parameters_of(Filter), "since_when", "mode"]
    assert found["id"].default is REQUIRED
    assert (found["limit"].default, found["limit"].short) == (5, "n")
    assert found["mode"].kind == Literal["fast", "slow"]
    assert found["tags"].one == "tag"
    assert [found[name].several for name in ("tags", "project", "space")] == [True, True, False]


@pytest.mark.parametrize("struct", [Filter, Search, Memory])
def test_what_is_offered_of_a_struct_says_what_it_is(struct: Any) -> None:
    found = parameters_of(struct)
    assert len(found) > 10
    for each in found.values():
        assert each.about[:1].islower() or each.about[:1].isdigit(), each
        assert not each.about.endswith("."), each


def test_a_body_is_checked_by_the_bounds_of_the_signature() -> None:
    body = json_struct("Body", parameters_of(example).values())
    made = msgspec.convert({"id": "a", "project": ["x", "y"], "since_when": "7d"}, body)
    assert (made.id, made.limit, made.project, made.tags) == ("a", 5, ("x", "y"), ())
    for wrong in ({}, {"id": "a", "limit": 10}, {"id": "a", "mode": "odd"}, {"id": "a", "x": 1}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, body)


def test_arguments_are_read_as_people_write_them() -> None:
    given = {"id": "a", "limit": 3, "tags": ["x"], "since": "2d", "since_when": "yesterday"}
    read = read_arguments(example, given, NOW)
    assert read == {
        "id": "a",
        "limit": 3,
        "filter": Filter(tags=("x",), since=datetime(2026, 3, 8, 12, tzinfo=UTC)),
        "since_when": datetime(2026, 3, 9, tzinfo=UTC),
    }
    with pytest.raises(UserError, match="since_when 'soonish'"):
        read_arguments(example, {"id": "a", "since_when": "soonish"}, NOW)


def test_options_have_the_names_of_single_values() -> None:
    parser = argparse.ArgumentParser()
    offered = dict(parameters_of(example))
    offered.pop("id")
    add_parameters(parser, offered.values())
    args = parser.parse_args(["-n", "2", "--tag", "a", "--tag", "b", "--not-kind", "bug"])
    assert (args.limit, args.tags, args.without_kinds, args.mode) == (2, ["a", "b"], ["bug"], None)
    assert "--limit LIMIT, -n LIMIT  how many" in parser.format_help().replace(
        "\n" + " " * 24, "  "
    )


class Counted(NamedTuple):
    words: int
    memories: list[Memory]


def test_a_named_tuple_is_an_object_in_json() -> None:
    [(_, schema)] = [
        each for each in msgspec.json.schema_components([json_type(Counted)])[1].items()
        if each[0] == "Counted"
    ]  # fmt: skip
    assert schema["properties"].keys() == {"words", "memories"}
    assert json_type(list[Counted]) != list[Counted]
    assert json_type(dict[str, int]) == dict[str, int]
