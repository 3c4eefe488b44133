"""Whatever a memory holds, its Markdown file gives it back unchanged."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from test_store_round_trip import IDS, MEMORIES

from examples import examples
from recollect.documents.markdown import split
from recollect.documents.memory_markdown import (
    BODY,
    ENDING,
    as_markdown,
    our_fields,
    parse,
    with_fields,
)
from recollect.ingest.draft import complete_draft, make_draft
from recollect.plugins.importers.markdown import read
from recollect.plugins.mirror.folder import free_path, same_place, write_folder
from recollect.types import Memory

# What our own file is made of, and what editors and YAML do odd things with.
PIECES = st.sampled_from(
    [
        "---", "...", "\n", "\r", "\r\n", " ", "\t", "%% recollect: why %%", "%%recollect:text%%",
        "%% recollect: details %%\n## Details\n", "## Why", "## Context\n", "# T", "id: x", ": ",
        "#tag", '"', "'", "\\", "\\n", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\ufeff",
        "\ufffe", "\uffff", "\x7f", "\x9f", "```", "- a", "[]", "{}", "&a", "*a", "!!str", "null",
        "text", "é", "e\u0301", "👩‍👩‍👧", "\U0010ffff", "\x01",
    ]
)  # fmt: skip
ODD = st.lists(PIECES, max_size=8).map("".join)
ODD_MEMORIES = st.builds(
    replace,
    MEMORIES,
    **dict.fromkeys((*BODY, "title", "project", "domain", "source", "space", "path"), ODD),
    tags=st.lists(ODD.filter(str.strip), unique=True, max_size=3).map(tuple),
    kind=ODD.filter(str.strip),
).filter(lambda memory: bool(memory.title.strip() or memory.text.strip()))
EVERY = MEMORIES | ODD_MEMORIES
MOST = settings(max_examples=examples(200))
MANY = settings(max_examples=examples(50))


def back(text: str) -> Memory:
    given = make_draft(our_fields(parse(text)))
    assert given.id is not None
    return complete_draft(given, given.id, None, given.fields["created_at"])


@MOST
@given(EVERY)
def test_a_memory_is_what_its_file_says(memory: Memory) -> None:
    assert back(as_markdown(memory)) == memory


@MANY
@given(EVERY)
def test_an_editor_that_changes_line_ends_or_adds_a_mark_changes_nothing(memory: Memory) -> None:
    text = as_markdown(memory)
    assert back("\ufeff" + text.replace("\n", "\r\n")) == memory


@MANY
@given(EVERY)
def test_the_front_matter_says_the_same_to_whoever_reads_yaml(memory: Memory) -> None:
    text = as_markdown(memory)
    found = split(text)
    assert found.problem == ""
    assert yaml.load(text[4:].partition("\n---\n")[0], yaml.BaseLoader) == found.fields
    ours = parse(text).fields
    assert {name: ours[name] for name in found.fields} == found.fields


@settings(max_examples=examples(60))
@given(st.lists(EVERY, min_size=1, max_size=4, unique_by=lambda memory: memory.id))
def test_a_folder_of_files_gives_back_every_memory(memories: list[Memory]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "new"
        assert write_folder(folder, memories) == len(memories)
        taken = list(read(folder))
    found = {}
    for one in taken:
        assert one.fields is not None, one.reason
        given = make_draft(one.fields)
        found[given.id] = complete_draft(given, str(given.id), None, given.fields["created_at"])
    assert found == {memory.id: memory for memory in memories}


@MANY
@given(EVERY)
def test_a_file_name_is_one_that_every_system_takes(memory: Memory) -> None:
    taken: set[str] = set()
    for _ in range(3):
        path = free_path(memory, taken)
        assert same_place(path) not in taken
        taken.add(same_place(path))
        for part in path.split("/"):
            assert part == part.strip()
            assert not part.startswith(".")
            assert not part.removesuffix(ENDING).endswith((".", " "))
            assert not set(part) & set('<>:"\\|?*\0\n\r\t')
            assert len(part.encode()) < 250


@MANY
@given(EVERY, IDS, st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_an_id_is_added_to_any_file_and_the_rest_stays(memory: Memory, id: str, note: str) -> None:
    for text in (as_markdown(memory), note):
        before = parse(text)
        if before.problem:
            continue
        after = parse(with_fields(text, {"id": id}))
        assert after.problem == ""
        assert after.fields == before.fields | {"id": id}
        assert after.extras == before.extras
