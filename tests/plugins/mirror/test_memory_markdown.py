"""A memory as a Markdown file: what it looks like, what survives, what a person may write."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from recollect.documents.memory_markdown import (
    NO_KEYS,
    UNCLOSED,
    as_markdown,
    loose_id,
    note_fields,
    our_fields,
    parse,
    with_fields,
)
from recollect.errors import UserError
from recollect.ingest.draft import make_draft
from recollect.plugins.importers.markdown import read
from recollect.plugins.mirror.folder import free_path, safe_name, same_place
from recollect.types import Memory

MADE = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
FULL = """\
---
id: jwt-1
title: "JWT: why?"
tags:
  - auth
  - two words
kind: decision
severity: warning
project: harbor
created_at: 2026-03-01T09:30:00Z
updated_at: 2026-03-01T09:30:00Z
---

Tokens last 15 minutes.

%% recollect: context %%
## Context

The old sessions were lost on every restart.

%% recollect: why %%
## Why

- no state
- one secret
"""


def memory(**fields: Any) -> Memory:
    return replace(Memory(id="a", title="T", created_at=MADE, updated_at=MADE), **fields)


# The file


def test_a_file_reads_like_a_note() -> None:
    jwt = memory(
        id="jwt-1",
        title="JWT: why?",
        text="Tokens last 15 minutes.",
        context="The old sessions were lost on every restart.",
        why="- no state\n- one secret",
        tags=("auth", "two words"),
        kind="decision",
        severity="warning",
        project="harbor",
    )
    assert as_markdown(jwt) == FULL


@pytest.mark.parametrize(
    "text",
    [" led", "trailed\n", "\n", "a\r\nb", "x\n%% recollect: why %%\ny", "\u2028x", "x\x85"],
)
def test_a_text_that_would_not_survive_in_the_body_is_quoted_in_the_front_matter(text: str) -> None:
    written = as_markdown(memory(text=text))
    front, _, body = written[4:].partition("---\n")
    assert 'text: "' in front
    assert body == ""
    assert parse(written).fields["text"] == text


@pytest.mark.parametrize("text", ["## Why", "## Text", "---", "---\nid: b\n---", "%% note %%"])
def test_a_text_that_looks_like_ours_comes_back(text: str) -> None:
    fields = parse(as_markdown(memory(text=text, why=text))).fields
    assert (fields["text"], fields["why"]) == (text, text)


@pytest.mark.parametrize("word", ["yes", "No", "null", "on", "1", "1.5", "2026-03-01", "- a", "~"])
def test_what_yaml_would_take_for_something_else_is_quoted(word: str) -> None:
    assert f'\ntitle: "{word}"\n' in as_markdown(memory(title=word))


def test_a_text_is_never_too_long_to_come_back() -> None:
    """Front matter that people write is limited; what we quote there is not."""
    long = "word " * 100_000
    fields = parse(as_markdown(memory(text=long, title=long))).fields
    assert fields["text"] == fields["title"] == long


def test_lines_of_the_front_matter_that_are_not_ours_stay() -> None:
    text = FULL.replace("severity: warning\n", "aliases:\n  - token\nseverity: warning\ncss: x\n")
    file = parse(text)
    assert file.extras == "aliases:\n  - token\ncss: x\n"
    assert file.others == {"aliases": ["token"], "css": "x"}
    assert as_markdown(memory(), file.extras).count("aliases:\n  - token\ncss: x\n---\n") == 1


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            "---\n'title': 'it''s'\ntags: [a, \"b\"]\nkind: >\n  folded\n  text\n---\nBody\n",
            {"title": "it's", "tags": ["a", "b"], "kind": "folded text\n", "text": "Body"},
        ),
        ("---\ntitle: a\ntitle: b\n---\n", {"title": "b"}),
        (
            "---\nid: a\nseverity:\nkind: ''\nvalid_until:\ntitle:\n---\nText\n",
            {"id": "a", "title": "", "text": "Text"},
        ),
        (
            "Text\n%%recollect:why%%\none\n%% recollect: why %%\n## Why\n\ntwo\n",
            {"text": "Text", "why": "one\n\ntwo"},
        ),
        ('---\nid: a\ntext: " x"\n---\nmore\n', {"id": "a", "text": " x\n\nmore"}),
        ("---\nText", {"text": "---\nText"}),
    ],
    ids=[
        "any YAML", "of a key that is there twice the last", "no empty kind, severity or time",
        "a section without its heading, twice", "a text in front matter and body",
        "a rule at the beginning",
    ],
)  # fmt: skip
def test_a_file_may_be_written_in_many_ways(text: str, fields: dict[str, object]) -> None:
    assert parse(text).fields == fields


@pytest.mark.parametrize("key", ["größe", "dc:title", '"a: b"', "two words", "übersicht "])
def test_keys_of_others_may_be_called_anything(key: str) -> None:
    file = parse(f"---\nid: a\n{key}: x\ntitle: T\n---\nText\n")
    assert file.extras == f"{key}: x\n"
    assert file.fields == {"id": "a", "title": "T", "text": "Text"}


@pytest.mark.parametrize(
    "line", ["a" + " " * 200_000, "a:" * 100_000, '"' * 200_000, " #" * 50_000]
)
def test_long_lines_in_front_matter_take_no_longer_than_they_are(line: str) -> None:
    assert parse(f"---\nid: a\n{line}\n---\n").problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\nid: a\ntitle: x\nkind: ]\n---\nText", "not valid YAML: see line 4"),
        ("---\nid: a\ntags: *x\n---\nText", "alias"),
        ("---\nid: a\ntags: !!python/object:os.system x\n---\nText", "tag"),
        ("---\n{id: a}\n---\nText", NO_KEYS),
        ("---\n- a\n- b\n---\nText", NO_KEYS),
        ("---\nid: a\ntitle: never closed\n", UNCLOSED),
    ],
)
def test_front_matter_that_cannot_be_read_is_a_problem(text: str, problem: str) -> None:
    assert problem in parse(text).problem


def test_an_id_is_found_in_a_file_that_is_broken() -> None:
    assert loose_id('---\r\nid: "a b"\r\ntitle: [\r\n') == ""
    assert loose_id("---\r\nid: a-1\r\ntitle: [\r\n") == "a-1"
    assert loose_id("id: a-1\n") == ""


# What a person wrote


def test_fields_are_put_into_a_file_and_the_rest_stays_byte_for_byte() -> None:
    text = "\ufeff---\r\naliases: [x]\r\ntags: a\r\n---\r\n\r\n# Title\r\n\r\nText  \r\n"
    after = with_fields(text, {"id": "n-1", "tags": ["a", "b"]})
    assert after == text.replace("tags: a\r\n", "").replace(
        "---\r\nal", "---\r\nid: n-1\r\ntags:\r\n  - a\r\n  - b\r\nal", 1
    )
    assert with_fields("Text\n", {"id": "n-1"}) == "---\nid: n-1\n---\nText\n"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Front\n---\n# Heading\n", "Front"),
        ("Some text\n\n# Heading #\n\n# Another\n", "Heading"),
        ("```\n# no heading\n```\nText\n", "The file"),
        ("---\ntitle: ' '\n---\n## Second level\n", "The file"),
    ],
)
def test_a_note_is_called_by_front_matter_or_heading_or_file(text: str, title: str) -> None:
    assert note_fields(parse(text), "folder/The file.md")["title"] == title


@pytest.mark.parametrize(
    ("front", "tags"),
    [
        ("tags: [a, '#b']", ["a", "b", "inline", "deep/er"]),
        ("tags: a, b", ["a", "b", "inline", "deep/er"]),
        ("tags: '#a b'", ["a", "b", "inline", "deep/er"]),
        ("keywords: a", ["a", "inline", "deep/er"]),
        ("tags:", ["inline", "deep/er"]),
    ],
)
def test_a_note_has_the_tags_of_front_matter_and_of_its_text(front: str, tags: list[str]) -> None:
    text = f"---\n{front}\n---\nAn #inline and #deep/er tag, not `#code`, a#b, #1 or C#.\n"
    assert note_fields(parse(text), "n.md")["tags"] == tags


def test_a_file_of_ours_has_the_tags_of_its_front_matter_alone() -> None:
    file = parse(as_markdown(memory(text="an #inline tag", tags=("#a",))))
    assert our_fields(file)["tags"] == ["#a"]


# Names


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("JWT: why?", "JWT why"),
        ('a<b>c:d"e/f\\g|h?i*j', "a b c d e f g h i j"),
        ("[[Link]] #tag ^block", "Link tag block"),
        ("...hidden", "hidden"),
        ("ends. . ", "ends"),
        ("CON", "_CON"),
        ("com1.txt", "_com1.txt"),
        ("LPT²", "_LPT²"),
        ("console", "console"),
        ("line\nand\ttab\x00\x1b", "line and tab"),
        ("\u202egnp.exe", "gnp.exe"),
        ("e\u0301", "é"),
        ("../../etc/passwd", "etc passwd"),
        ("日本語のタイトル", "日本語のタイトル"),
        ("???", ""),
    ],
)
def test_a_name_is_readable_and_safe(title: str, name: str) -> None:
    assert safe_name(title) == name


def test_a_long_name_is_cut_at_a_word_and_by_bytes() -> None:
    name = safe_name("word " * 100)
    assert len(name) <= 100
    assert name.endswith("word")
    assert len(safe_name("語" * 300).encode()) <= 180


def test_names_that_some_system_takes_for_the_same_are_told_apart() -> None:
    taken: set[str] = set()
    paths = []
    titles = ("Straße", "STRASSE", "Cafe\u0301", "café", "strasse")
    for number, title in enumerate(titles):
        paths.append(free_path(memory(id=f"note-{number}", title=title, project="P"), taken))
        taken.add(same_place(paths[-1]))
    assert paths == [
        "P/Straße.md", "P/STRASSE (note-1).md", "P/Café.md", "P/café (note-3).md",
        "P/strasse (note-4).md",
    ]  # fmt: skip


def test_a_memory_without_a_title_is_called_by_its_text_then_its_id() -> None:
    assert free_path(memory(title="", text="First line\nsecond"), set()) == "First line second.md"
    assert free_path(memory(title="?", text=""), set()) == "a.md"


# Whole folders


def test_reading_a_folder_names_what_is_bad_and_what_has_no_place(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "x.md").write_text("hidden")
    (tmp_path / "a.md").write_text(FULL.replace("kind:", "aliases: [x]\nkind:"))
    (tmp_path / "bad.md").write_text("---\ntitle: [\n---\n")
    (tmp_path / "b copy.md").write_text(FULL)
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe")
    (tmp_path / "empty.md").touch()
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    front = "---\ntype: idea\ncss: wide\nempty:\n---\n"
    (tmp_path / "note.md").write_text(f"{front}# Heading\n\nA #tag\n")
    (tmp_path / "nul.md").write_text("a\0b")
    (tmp_path / "picture.png").touch()
    taken = {one.where: one for one in read(tmp_path)}
    reasons = {where: one.reason for where, one in taken.items() if one.fields is None}
    assert reasons == {
        "b copy.md": "It has the same id as a.md.",
        "bad.md": "The front matter is not valid YAML: see line 3.",
        "bytes.md": "It is not valid UTF-8 text (byte 0).",
        "empty.md": "It is empty.",
        "link.md": "It is a link, and links are not followed.",
        "nul.md": "It holds a NUL character, which text cannot hold.",
    }
    assert taken["a.md"].unmapped == ("aliases",)
    note = taken["note.md"].fields
    assert note is not None
    assert make_draft(note).fields == {
        "id": note["id"],
        "title": "Heading",
        "text": "# Heading\n\nA #tag",
        "tags": ("tag",),
        "kind": "idea",
    }
    assert taken["note.md"].unmapped == ("css",)
    again = {one.where: one for one in read(tmp_path)}
    assert again == taken


def test_a_folder_without_markdown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no Markdown file"):
        list(read(tmp_path))
    with pytest.raises(UserError, match="There is no folder"):
        list(read(tmp_path / "nowhere"))
