"""Markdown, reStructuredText and notebooks: fields, headings and tags."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recollect.documents import markdown
from recollect.documents.chunking import split_document
from recollect.documents.document import Document, LeftOut, SectionStart
from recollect.documents.markdown import memory_fields
from recollect.documents.text_formats import read_notebook, read_rst
from recollect.ingest.draft import make_draft


def fields(yaml: str) -> dict[str, object]:
    """Fields of front matter, which a draft accepts unchanged."""
    found = dict(markdown.document(f"---\n{yaml}\n---\nText.\n").fields)
    make_draft({"title": "A title", **found})
    return found


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("tags: [a, '#b', a]", {"tags": ("a", "b")}),
        ("tags: a, b c", {"tags": ("a", "b c")}),
        ("tags: '#a #b'", {"tags": ("a", "b")}),
        ("tags:\n  - a\n  - b/c", {"tags": ("a", "b/c")}),
        ("tag: a\nkeywords: [b]", {"tags": ("a", "b")}),
        ("Type: decision", {"kind": "decision"}),
        ("kind: note\ntype: page", {"kind": "note"}),
        ("domain: ops\nproject: vault", {"domain": "ops", "project": "vault"}),
        ("severity: Warning", {"severity": "warning"}),
        ("date: 2026-03-01", {"created_at": "2026-03-01T00:00:00Z"}),
        ("created: 2026-03-01 09:30", {"created_at": "2026-03-01T09:30:00Z"}),
        ("created: 2026-03-01\ndate: 2020-01-01", {"created_at": "2026-03-01T00:00:00Z"}),
        ("modified: 2026-03-01T09:30:00+02:00", {"updated_at": "2026-03-01T07:30:00Z"}),
        ("valid-from: 2026-01-01\nvalid_until: 2027-01-01",
         {"valid_from": "2026-01-01T00:00:00Z", "valid_until": "2027-01-01T00:00:00Z"}),
        ("tags: []\nkind:\ndate: ''", {}),
    ],
)  # fmt: skip
def test_front_matter_becomes_fields(yaml: str, expected: dict[str, object]) -> None:
    assert fields(yaml) == expected


@pytest.mark.parametrize(
    "yaml",
    ["date: yesterday", "severity: grave", "tags: {a: b}", "tags: [[a]]", "kind: [a, b]",
     'kind: "a\\0b"', "kind: " + "x" * 101],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_noted_and_stays_in_the_text(yaml: str) -> None:
    found = markdown.document(f"---\n{yaml}\n---\nText.\n")
    assert found.fields == {}
    assert len(found.notes) == 1
    assert found.notes[0].endswith(".")
    assert found.text.startswith("---\n")


def test_front_matter_that_is_all_fields_is_not_in_the_text() -> None:
    found = markdown.document("---\ntags: [a]\n---\n# Title\n")
    assert (found.text, found.first_line) == ("# Title\n", 4)


@pytest.mark.parametrize("yaml", ["aliases: [Other name]", "title: A title", "author: Ada"])
def test_front_matter_that_says_more_stays_with_the_first_heading(yaml: str) -> None:
    found = markdown.document(f"---\n{yaml}\ntags: [a]\n---\n\n# Title\n\nText.\n")
    assert found.first_line == 1
    assert yaml in found.text
    assert found.sections == (SectionStart(0, 1, "Title"),)
    assert [one.heading for one in split_document(found).chunks] == ["Title"]


def test_front_matter_that_is_none_is_text_with_a_note() -> None:
    found = markdown.document("---\na: [\n---\nText.\n")
    assert found.text == "---\na: [\n---\nText.\n"
    assert "not valid YAML" in found.notes[0]


def test_the_title_is_said_by_front_matter_or_by_the_first_heading() -> None:
    assert markdown.document("---\ntitle: Said\n---\n# Heading\n").title == "Said"
    assert markdown.document("Text.\n\n# Heading\n").title == "Heading"
    assert markdown.document("Text.\n").title == ""


def test_two_names_for_one_field_that_differ_are_not_all_understood() -> None:
    assert memory_fields({"kind": "a", "type": "b"}).complete is False
    assert memory_fields({"kind": "a", "type": "a"}).complete is True


def test_headings_are_what_a_parser_takes_for_headings() -> None:
    text = (
        "# One #\n\nTwo\n---\n\n```\n# not this\n```\n\n    # nor this\n\n> # nor that\n\n"
        "<!--\n# hidden\n-->\n\n#no\n\n### Three *and* `four`\n"
    )
    assert [mark[1:] for mark in markdown.structure(text).sections] == [
        (1, "One"),
        (2, "Two"),
        (3, "Three *and* `four`"),
    ]


def test_tags_in_the_text_are_those_that_obsidian_sees() -> None:
    text = (
        "#first and #to-do/now, not a#b, #123, # no, `#code` or [x](#anchor); #1a too\n\n"
        "```\n#fenced\n```\n\n# Heading #last\n"
    )
    assert markdown.structure(text).tags == ("first", "to-do/now", "1a", "last")


def test_tags_of_front_matter_come_first_and_none_twice() -> None:
    found = markdown.document("---\ntags: [b]\n---\n#a and #b\n")
    assert found.fields == {"tags": ("b", "a")}


def test_wiki_links_stay_as_they_are_written() -> None:
    text = "See [[Other note#Part|shown]] and ![[picture.png]].\n"
    assert markdown.document(text).text == text


RST = """\
=====
Title
=====

Intro

Part
----

Text::

    not
    ---

Sub *part*
~~~~~~~~~~

=====  =====
col    col
=====  =====

Next
----
too short
--
"""


def test_rst_headings_have_levels_in_the_order_of_their_adornments() -> None:
    found = read_rst(RST)
    lines = RST.split("\n")
    assert [(lines[mark.line], mark.level, mark.title) for mark in found.sections] == [
        ("=====", 1, "Title"),
        ("Part", 2, "Part"),
        ("Sub *part*", 3, "Sub *part*"),
        ("Next", 2, "Next"),
    ]
    assert found.title == "Title"
    assert found.text == RST


def cell(kind: str, source: object) -> dict[str, Any]:
    return {"cell_type": kind, "source": source}


def of_cells(*cells: object) -> Document:
    found = read_notebook(json.dumps({"nbformat": 4, "cells": cells}))
    assert isinstance(found, Document)
    return found


def test_a_notebook_is_what_its_cells_say_without_what_they_printed() -> None:
    found = of_cells(
        cell("markdown", ["# Title\n", "\n", "Some #tagged text."]),
        cell("code", "x = 1\n# no heading") | {"outputs": [{"text": "printed"}]},
        cell("raw", "raw"),
    )
    assert found.text == "# Title\n\nSome #tagged text.\n\nx = 1\n# no heading\n\nraw\n"
    assert found.sections == (
        SectionStart(0, 1, "Title"),
        SectionStart(4, 7, "cell 2"),
        SectionStart(7, 7, "cell 3"),
    )
    assert found.fields == {"tags": ("tagged",)}
    assert found.title == "Title"


def test_cells_of_a_long_notebook_are_found_by_number() -> None:
    found = of_cells(*(cell("code", f"value_{n} = 1\n" * 60) for n in range(4)))
    assert [one.heading for one in split_document(found).chunks] == [
        f"cell {n}" for n in (1, 2, 3, 4)
    ]


def test_what_is_no_cell_in_a_notebook_is_passed_over() -> None:
    found = of_cells(
        1, None, [], {}, cell("code", 5), cell("code", [1, "a", None]), {"source": "b"}
    )
    assert found.text == "a\n\nb\n"


def test_a_notebook_of_the_third_format_is_read() -> None:
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": "x"}]}, 1]}
    found = read_notebook(json.dumps(old))
    assert isinstance(found, Document)
    assert found.text == "x\n"


@pytest.mark.parametrize("whole", [{}, {"cells": {}}, {"worksheets": 1}, 5, None])
def test_json_that_is_no_notebook_is_corrupt(whole: object) -> None:
    assert read_notebook(json.dumps(whole)) == LeftOut("corrupt", "it is not a notebook")


def test_a_notebook_without_text_is_empty() -> None:
    found = read_notebook(json.dumps({"cells": [cell("code", " \n")]}))
    assert isinstance(found, LeftOut)
    assert found.reason == "empty"
