"""Fields in a query, what only looks like one, and the words of a command line as a query."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.query.fields import query_of, read_fields
from recollect.query.terms import LONGEST_READ
from recollect.types import Filter

# The query → what is left of it, the filter, and what was read.
READ: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "kind:bug tokens": ("tokens", {"kind": "bug"}, ["kind bug"]),
    "tokens Kind:bug": ("tokens", {"kind": "bug"}, ["kind bug"]),
    "tokens kind:bug?": ("tokens", {"kind": "bug"}, ["kind bug"]),
    'project:"harbor api" tokens': (
        "tokens", {"project": "harbor api"}, ["project harbor api"],
    ),
    "project:'harbor api'": ("", {"project": "harbor api"}, ["project harbor api"]),
    "source:slack domain:auth x": (
        "x", {"source": "slack", "domain": "auth"}, ["source slack", "domain auth"],
    ),
    "tag:a x tag:b": ("x", {"tags": ("a", "b")}, ["tag a", "tag b"]),
    "tag:a,b x": ("x", {"tags": ("a", "b")}, ["tag a", "tag b"]),
    "kind:bug, kind:fact, x": ("x", {"kind": ("bug", "fact")}, ["kind bug", "kind fact"]),
    "kind:bug OR kind:fact x": ("x", {"kind": ("bug", "fact")}, ["kind bug", "kind fact"]),
    "x AND kind:bug AND y": ("x y", {"kind": "bug"}, ["kind bug"]),
    "x -tag:a -kind:bug": (
        "x", {"without_tags": ("a",), "without_kinds": ("bug",)},
        ["without tag a", "without kind bug"],
    ),
    "x -project:p -source:s": (
        "x", {"without_projects": ("p",), "without_sources": ("s",)},
        ["without project p", "without source s"],
    ),
    "x NOT kind:bug": ("x", {"without_kinds": ("bug",)}, ["without kind bug"]),
    "x AND NOT kind:bug": ("x", {"without_kinds": ("bug",)}, ["without kind bug"]),
    "kind:bug redis -docker": ("redis -docker", {"kind": "bug"}, ["kind bug"]),
    "kind:bug -docker": (
        "", {"kind": "bug", "without": (("docker",),)}, ["kind bug", "without docker"],
    ),
    'kind:bug "kind:fact"': ('"kind:fact"', {"kind": "bug"}, ["kind bug"]),
    "tag:c++ tag:v1.4": ("", {"tags": ("c++", "v1.4")}, ["tag c++", "tag v1.4"]),
}  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_fields(text: str) -> None:
    rest, filter, readings = READ[text]
    assert read_fields(text) == (rest, Filter(**filter), tuple(readings))


@pytest.mark.parametrize(
    "text",
    [
        "error: x", "foo:bar", "http://x", "std::vector", r"C:\temp", "12:30", "a:b:c",
        "kind: bug", "kind:", "kind:,", 'kind:""', "kind::bug", "source://x", "source::Type",
        "kind:'bug", 'tag:"a', "mankind:bug", "(kind:bug)", "{kind:bug}", "tags:a", "-domain:auth",
        '"kind:bug tokens"', "`kind:bug`", "tokens OR kind:bug", "kind:bug OR tokens",
        "tag:a OR tag:b", "kind:a OR tag:b", "-kind:a OR kind:b", "  two  blanks ", "",
        " ".join(["kind:bug", *["word"] * (LONGEST_READ + 1)]),
    ],
)  # fmt: skip
def test_words_that_are_no_field_stay(text: str) -> None:
    assert read_fields(text) == (text, Filter(), ())


def test_ignored_readings_are_not_read() -> None:
    assert read_fields("kind:bug x", {"kind bug"}) == ("kind:bug x", Filter(), ())
    assert read_fields("x -kind:bug", {"without kind bug"}).readings == ()
    kept = read_fields("kind:bug tag:a x", {"kind bug"})
    assert kept == ("kind:bug x", Filter(tags=("a",)), ("tag a",))
    assert read_fields("kind:bug,fact x", {"kind bug"}) == (
        "x",
        Filter(kind="fact"),
        ("kind fact",),
    )
    assert read_fields("kind:bug -docker", {"without docker"}).text == "-docker"


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        (["how", "do", "we"], "how do we"),
        (["kind:bug", "-docker", "connection refused"], 'kind:bug -docker "connection refused"'),
        (["project:harbor api", "tokens"], 'project:"harbor api" tokens'),
        (["deploy", "-blue green"], 'deploy -"blue green"'),
        (["x", "-tag:a b"], 'x -tag:"a b"'),
        (["kind:bug tokens last week"], "kind:bug tokens last week"),
        (["x", '"a b"'], 'x "a b"'),
        (["x", " "], "x  "),
        (["x", "a b\n"], 'x "a b\n"'),
        ([], ""),
    ],
)
def test_quotes_that_a_shell_removed_are_restored(typed: list[str], query: str) -> None:
    assert query_of(typed) == query
