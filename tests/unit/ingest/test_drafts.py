"""Drafts and their ids: every field is checked, and the wrong one refused by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.json import schema_components
from msgspec.structs import replace
from suites.stores.samples import odd_memories

from recollect import Recollect
from recollect.errors import UserError
from recollect.ingest.draft import (
    FIELDS,
    LONG_FIELDS,
    LONGEST_FIELD,
    LONGEST_ID,
    LONGEST_TEXT,
    complete_draft,
    make_draft,
    make_id,
)
from recollect.ingest.exchange import as_line, parse_line, raw_lines
from recollect.interfaces.http.schemas import MemoryChange, NewMemory
from recollect.interfaces.mcp.arguments import SaveArguments, UpdateArguments
from recollect.settings import Embedding, Settings
from recollect.types import Memory

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
THEN = datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
TIMES = ["created_at", "updated_at", "valid_from", "valid_until"]
TEXTS = [
    name for name in FIELDS if name not in {"tags", *TIMES}
]  # fmt: skip
LIMITED = (
    "title", "context", "why", "impact", "kind", "domain", "project", "source", "space", "path",
)  # fmt: skip
OFF = Settings(embedding=Embedding(provider="none"))
ROTATE: dict[str, object] = {"title": "Rotate the keys"}


def refusal(**fields: object) -> str:
    """Return the sentence that refuses these fields."""
    with pytest.raises(UserError) as caught:
        make_draft({"title": "A title", **fields})
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def made(**fields: object) -> Memory:
    return complete_draft(make_draft(fields), "id", None, NOW)


@pytest.mark.parametrize("name", ["titel", "ID", "", "key", "forgotten_at", "title "])
@pytest.mark.parametrize("value", ["x", None])
def test_an_unknown_field_is_refused_by_name(name: str, value: str | None) -> None:
    message = refusal(**{name: value})
    assert repr(name) in message
    assert all(field in message for field in FIELDS), "It says which fields there are."


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize(
    "value",
    [
        "soon",
        "",
        "2026-13-01",
        "2026-02-30",
        "1.3.2026",
        "2026-03-01T25:00",
        "9999-12-31T23:00-02:00",
    ],
)
def test_a_bad_time_is_refused_by_name(name: str, value: str) -> None:
    message = refusal(**{name: value})
    assert name in message
    assert repr(value) in message
    assert "write it like 2026-03-01, 7d or friday." in message, "It says how to write one."


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize(("zone", "hour"), [(None, 9), (timezone(timedelta(hours=2)), 7)], ids=str)
def test_a_datetime_is_utc_unless_it_has_a_zone(
    name: str, zone: timezone | None, hour: int
) -> None:
    given = datetime(2026, 3, 1, 9, 30, tzinfo=zone)
    found = make_draft({"title": "x", name: given}).fields[name]
    assert (found, found.tzinfo) == (datetime(2026, 3, 1, hour, 30, tzinfo=UTC), UTC)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("severity", "critical, warning, suggestion"), ("tier", "core, file, capture")],
)
@pytest.mark.parametrize("value", ["high", "", "Core", "CRITICAL", " core"])
def test_a_value_outside_the_choices_is_refused_with_the_choices(
    name: str, allowed: str, value: str
) -> None:
    message = refusal(**{name: value})
    assert message == f"{name} cannot be {value!r}; allowed are: {allowed}."


@pytest.mark.parametrize("name", [*TEXTS, *TIMES])
@pytest.mark.parametrize(
    ("value", "named"),
    [
        (1, "a number"),
        (1.5, "a number"),
        (True, "true or false"),
        (["x"], "a list"),
        ({"x": 1}, "an object"),
        (b"x", "an object"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_name(name: str, value: object, named: str) -> None:
    assert refusal(**{name: value}) == f"{name} must be a text, not {named}."


@pytest.mark.parametrize("value", ["auth", "a,b", 1, {"a": 1}, [1], ["a", None], [["a"]], {"a"}])
def test_tags_that_are_no_list_of_texts_are_refused(value: object) -> None:
    assert refusal(tags=value) == "tags must be a list of texts."


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_an_empty_tag_or_kind_is_refused(blank: str) -> None:
    assert refusal(tags=["a", blank]) == "A tag cannot be empty."
    assert refusal(kind=blank) == "kind cannot be empty; leave it out for `fact`."


@pytest.mark.parametrize("name", [*TEXTS, "a tag"])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("a\0b", "holds a NUL character, which text cannot hold"),
        ("\ud800", "is not valid UTF-8 text"),
        ("a\udfffb", "is not valid UTF-8 text"),
    ],
)
def test_what_is_no_text_is_refused_by_name(name: str, value: str, reason: str) -> None:
    fields = {"tags": ["a", value]} if name == "a tag" else {name: value}
    assert refusal(**fields) == f"{name} {reason}."


@pytest.mark.parametrize(
    "id", ["", " ", "a b", "a\n", "\u3000x", "a\u2028b", "x" * (LONGEST_ID + 1)]
)
def test_an_id_with_white_space_or_of_no_or_great_length_is_refused(id: str) -> None:
    assert refusal(id=id) == f"id must be 1 to {LONGEST_ID} characters without white space."


@pytest.mark.parametrize("id", ["x", "日本語", "a/b:c#d", "x" * LONGEST_ID, "';DROP--"])
def test_any_other_id_is_taken_as_it_is(id: str) -> None:
    assert make_draft({"title": "x", "id": id}).id == id


def test_null_counts_as_not_given() -> None:
    nothing: dict[str, object] = dict.fromkeys(FIELDS)
    assert make_draft({**nothing, "title": "x"}).fields == {"title": "x"}
    assert made(title="x", tier=None, kind=None, tags=None) == made(title="x")


def test_a_tag_given_twice_is_kept_once_in_its_first_place() -> None:
    assert made(title="x", tags=["b", "a", "b", "B"]).tags == ("b", "a", "B")


def test_a_memory_is_as_old_as_the_only_time_that_is_given() -> None:
    for name in ("created_at", "updated_at"):
        memory = made(**{"title": "x", name: THEN})
        assert (memory.created_at, memory.updated_at) == (THEN, THEN)
    memory = made(title="x", created_at=THEN, updated_at=NOW)
    assert (memory.created_at, memory.updated_at) == (THEN, NOW)


def test_a_change_may_give_its_own_time() -> None:
    before = made(title="x")
    given = make_draft({"title": "y", "updated_at": "2020-01-01"}, change=True)
    assert complete_draft(given, "id", before, NOW).updated_at == datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("name", ["id", "created_at", "updated_at"])
def test_a_field_without_a_default_cannot_be_null_in_a_change(name: str) -> None:
    with pytest.raises(UserError, match=f"^{name} cannot be null.$"):
        make_draft({name: None}, change=True)


def test_each_field_takes_so_many_bytes_of_utf_8_and_no_more() -> None:
    most = dict.fromkeys(LIMITED, LONGEST_FIELD) | dict.fromkeys(LONG_FIELDS, LONGEST_TEXT)
    assert most["text"] == 1_000_000
    for name, size in most.items():
        make_draft({"title": "T", name: "é" * (size // 2)})
        with pytest.raises(UserError, match=f"^{name} has {size + 2:,} bytes of UTF-8; at most"):
            make_draft({"title": "T", name: "é" * (size // 2 + 1)})
    make_draft({"title": "T", "tags": ["x" * 50_000, "y" * 50_000]})
    with pytest.raises(UserError, match=r"^tags has 100,001 bytes"):
        make_draft({"title": "T", "tags": ["x" * 50_000, "y" * 50_001]})


def test_what_is_too_long_is_refused_with_the_way_to_keep_it() -> None:
    with pytest.raises(UserError, match="file in a folder, and run `recollect add FOLDER`"):
        make_draft({"text": "x" * (LONGEST_TEXT + 1)})
    with pytest.raises(UserError, match="into the text"):
        make_draft({"title": "x" * (LONGEST_FIELD + 1)}, change=True)


def test_a_line_that_is_too_long_is_reported_and_the_rest_is_imported(tmp_path: Path) -> None:
    lines = [b'{"title": "one"}', b'{"text": "%s"}' % (b"x" * 1_000_001), b'{"title": "two"}']
    with Recollect(tmp_path / "vault.db", settings=OFF, environment={}) as memory:
        done = memory.import_lines(raw_lines(lines))
        assert (done.added, [number for number, _ in done.bad]) == (2, [2])
        assert "recollect add FOLDER" in done.bad[0][1]


@pytest.mark.parametrize("kind", [NewMemory, MemoryChange, SaveArguments, UpdateArguments])
def test_the_schemas_of_http_and_mcp_state_how_long_a_field_may_be(kind: type[Struct]) -> None:
    properties = schema_components([kind])[1][kind.__name__]["properties"]
    for name in (*LIMITED, *LONG_FIELDS):
        [text] = [
            form
            for form in properties[name].get("anyOf", [properties[name]])
            if form["type"] == "string"
        ]
        assert text["maxLength"] == (LONGEST_TEXT if name in LONG_FIELDS else LONGEST_FIELD)


def test_odd_texts_read_back_unchanged_from_a_line() -> None:
    for number, odd in enumerate(odd_memories(100)):
        memory = replace(
            odd,
            id=f"m{number}",
            title=odd.title + "x",
            kind=odd.kind + "x",
            tags=tuple(dict.fromkeys(tag + "x" for tag in odd.tags)),
        )
        line = as_line(memory)
        assert line.count(b"\n") == 1, "A memory is one line, whatever it holds."
        [read] = map(parse_line, raw_lines([line]))
        assert read.draft is not None
        assert complete_draft(read.draft, memory.id, None, NOW) == memory


def test_each_line_tells_its_size_for_the_progress_bar() -> None:
    raw = (b'{"title": "a"}\n', b"oops\n")
    assert [line.size for line in map(parse_line, raw_lines(raw))] == [15, 5]


def test_the_same_memory_gets_the_same_id_in_every_process() -> None:
    """The letters are a digest of the words, not of this run: this id must never change."""
    assert make_id(ROTATE) == "rotate-the-keys-3j6lkt"
    assert make_id(ROTATE | {"kind": "fact", "project": "", "text": ""}) == make_id(ROTATE)
    unsaid = {"tags": ("a",), "tier": "core", "severity": "critical"}
    assert make_id(ROTATE | unsaid) == make_id(ROTATE)
