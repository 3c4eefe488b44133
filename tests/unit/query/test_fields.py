"""Fields and exclusions in a query, and words that only look like one."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.query.fields import exclusions, query_of, read_fields, without
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


EXCLUDED = {
    "postgres NOT billing": ("postgres", [("billing",)]),
    "postgres AND NOT billing": ("postgres", [("billing",)]),
    "stripe but not Tom": ("stripe", [("Tom",)]),
    "stripe, but not the tax adviser": ("stripe", [("tax", "adviser")]),
    "redis -port": ("redis", [("port",)]),
    "-billing postgres -redis": ("postgres", [("billing",), ("redis",)]),
    'deploy -"blue green"': ("deploy", [("blue", "green")]),
    "network without wifi": ("network", [("wifi",)]),
    "docker except for the fonts": ("docker", [("fonts",)]),
    "tokens excluding refresh": ("tokens", [("refresh",)]),
    "bugs not in storefront": ("bugs", [("storefront",)]),
    "notes other than billing": ("notes", [("billing",)]),
    "decisions not about the gateway": ("decisions", [("gateway",)]),
    "which queue -redis": ("which queue", [("redis",)]),
    "which queue do we use -redis -kafka?": ("which queue do we use ?", [("redis",), ("kafka",)]),
    'Who owns the gateway -"tax adviser"': ("Who owns the gateway", [("tax", "adviser")]),
    "what queues are there -redis": ("what queues are there", [("redis",)]),
}


@pytest.mark.parametrize("text", EXCLUDED)
def test_exclusions(text: str) -> None:
    found = exclusions(text)
    assert (without(text, found), [each.words for each in found]) == EXCLUDED[text]


@pytest.mark.parametrize(
    "text",
    [
        "how to deploy without downtime",  # a topic
        "can we log in without a password?",
        "what does -v print",  # an option
        "ls -la",
        "how not to charge customers twice",
        "it works but not when the server is under load",
        "why is it not found",
        "works for some users but not others",
        "the login works but not always",
        "is there anything other than this",
        "why god save the queen and not king",
        "how many projects do I have, excluding my thesis?",
        "between processes, possibly, but not exclusively",
        '"postgres NOT billing"',  # to be found as written
        "`tar -xzf`",
        "-billing",  # nothing would be left to find
        "NOT billing",
        "without redis",
        "state-of-the-art caches",
        "e-mail",
        "how do I use find -name",  # options of commands, in questions
        "what does git log -oneline",
        "what is -redis",
        "which queue -p",
        "which queue takes -port 9443",
        "which -redis queue",
        "where do we git log -p -redis",
        "which tool has --redis",
        "which flag -redis",
        "when do we use java -jar",
        "where is `git log -patch` explained",
        'which line says "queue -redis"',
        "why do we avoid queues -redis",
    ],
)
def test_words_that_are_no_exclusion(text: str) -> None:
    assert exclusions(text) == ()
