"""The shared code of importers: foreign files are read as far as possible, and never written."""

from __future__ import annotations

import os
import pickle
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest
from importer_fixtures import build

from recollect.errors import UserError
from recollect.ingest.draft import LONGEST_ID
from recollect.ingest.exchange import ForeignMemories, ImportedRecord, load_importer
from recollect.plugins.importers import databases, files
from recollect.plugins.importers.databases import SourceRow, columns, database, rows
from recollect.plugins.importers.files import (
    files_below,
    json_file,
    json_lines,
    json_list,
    json_object,
    text_file,
)
from recollect.plugins.importers.pickles import LARGEST, Made, NotData, read_pickle
from recollect.plugins.importers.records import (
    Record,
    empty,
    foreign_id,
    moment,
    tags,
    without_repeats,
    without_title,
)


def all_rows(path: Path, table: str = "t") -> list[SourceRow]:
    with database(path, "tool") as connection:
        return list(rows(connection, table, "id"))


# --- records -------------------------------------------------------------------------------------


def test_what_is_neither_taken_nor_empty_is_unmapped() -> None:
    raw: dict[str, object] = {
        "a": "A",
        "b": "B",
        "c": " ",
        "d": [],
        "e": None,
        "f": 0,
        "g": "[]",
        "h": b"\xff",
    }
    record = Record("here", raw, "tool", "i")
    record.take(title="a")
    assert record.finish() == ImportedRecord(
        "here", {"id": "tool-i", "source": "tool", "title": "A"}, "", ("b", "f", "h")
    )


def test_a_value_that_does_not_fit_its_field_is_unmapped() -> None:
    raw = {"a": "A", "s": "huge", "t": "soon", "k": {}, "p": ["x"], "d": b"\xff"}
    record = Record("here", raw, "tool", "i")
    for field, called in (
        ("title", "a"), ("severity", "s"), ("created_at", "t"), ("kind", "k"), ("project", "p"),
        ("details", "d"),
    ):  # fmt: skip
        record.take(**{field: called})
    found = record.finish()
    assert found.fields == {"id": "tool-i", "source": "tool", "title": "A"}
    assert found.unmapped == ("s", "t", "p", "d")


def test_tags_from_several_places_add_up() -> None:
    record = Record("here", {}, "tool", "i")
    record.put("tags", ["a", 1, True], "x")
    record.put("tags", "b, a,,", "y")
    record.put("title", "T", "z")
    assert (record.finish().fields or {})["tags"] == ["a", "1", "true", "b"]


def test_texts_lose_what_no_memory_can_hold() -> None:
    record = Record("here", {"a": "x\0y\ud800"}, "tool", "i")
    record.take(title="a")
    assert (record.finish().fields or {})["title"] == "xy?"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('["a", "b"]', ["a", "b"]), ("a, b", ["a", "b"]), ({"a": 1}, [None]), ('{"a": 1}', [None]),
        ("[a", [None]), (["a", ["b"]], ["a", None]), (3, ["3"]),
    ],
)  # fmt: skip
def test_tags_are_read_from_lists_and_texts(value: object, expected: list[object]) -> None:
    assert tags(value) == expected


def test_a_second_record_of_the_same_id_is_named() -> None:
    records = [
        ImportedRecord("a", {"id": "x"}),
        ImportedRecord("b", None, "Bad."),
        ImportedRecord("c", {"id": "x"}),
    ]
    assert [one.where for one in without_repeats(iter(records)) if one.fields is None] == ["b", "c"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1772357400, "2026-03-01T09:30:00Z"),
        (1772357400.25, "2026-03-01T09:30:00.250000Z"),
        (1772357400_000, "2026-03-01T09:30:00Z"),
        (1772357400_000_000, "2026-03-01T09:30:00Z"),
        (1772357400_000_000_000, "2026-03-01T09:30:00Z"),
        ("1772357400000", "2026-03-01T09:30:00Z"),
        ("2026-03-01", "2026-03-01T00:00:00Z"),
        ("20260301", "2026-03-01T00:00:00Z"),
        ("2026-03-01 10:30:00+01:00", "2026-03-01T09:30:00Z"),
        (0, "1970-01-01T00:00:00Z"),
        (-86400, "1969-12-31T00:00:00Z"),
    ],
)
def test_times_are_read_in_every_unit(value: object, expected: str) -> None:
    assert moment(value) == expected


@pytest.mark.parametrize(
    "value",
    ["", "soon", "0001-01-01T00:00:00+23:59", None, True, [], b"2026", float("nan"), float("inf"),
     1e300, 10**400, "9" * 5000],
)  # fmt: skip
def test_what_is_no_time_is_none(value: object) -> None:
    assert moment(value) is None


@pytest.mark.parametrize("name", ["a", "a b", "ä", "日本", "../x", "x" * 500, " ", "\ud800", "-"])
def test_ids_fit_and_are_the_same_again(name: str) -> None:
    id = foreign_id("tool", name)
    assert id == foreign_id("tool", name)
    assert id.startswith("tool-")
    assert len(id) <= LONGEST_ID
    assert id.split() == [id]


def test_ids_of_different_names_differ() -> None:
    names = [("a b",), ("a-b",), ("a", "b"), ("a/b",), ("A b",), ("a  b",), ("ab",), ("x" * 150,)]
    assert len({foreign_id("tool", *name) for name in [*names, ("x" * 151,)]}) == 9


# --- files --------------------------------------------------------------------------------------


def test_too_long_lines_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_TEXT", 20)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n{"a": "' + b"x" * 90 + b'"}\n\n[]\n{"b": 2}')
    found = list(json_lines(path))
    assert [(line.number, line.values) for line in found] == [
        (1, {"a": 1}), (2, None), (4, None), (5, {"b": 2}),
    ]  # fmt: skip
    assert found[1].reason.startswith("It is longer than")


def test_too_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.plugins.importers.files.LARGEST_TEXT", 2**20)
    path = tmp_path / "x.md"
    path.write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(UserError, match="is larger than 1 MB"):
        text_file(path)


@pytest.mark.parametrize("raw", [b"", b"{", b'"\xff"', b"[" * 100_000, b"NaN", b"{} {}"])
def test_what_is_not_json_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(raw)
    with pytest.raises(UserError, match=r"x\.json is not valid"):
        json_file(path)


def test_json_in_texts_is_read_where_it_is_what_was_asked_for() -> None:
    assert (json_object('{"a": 1}'), json_object("[]"), json_object("{"), json_object(7)) == (
        {"a": 1}, {}, {}, {},
    )  # fmt: skip
    assert (json_list("[1]"), json_list("{}"), json_list("["), json_list([2])) == (
        [1], None, None, [2],
    )  # fmt: skip


@pytest.mark.parametrize("name", ["", "a\0b", "missing"])
def test_a_path_that_is_not_there_is_said_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError):
        text_file(tmp_path / name)


def test_special_files_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    assert list(files_below(tmp_path, ".md")) == []
    with pytest.raises(UserError, match="is not a file"):
        text_file(tmp_path / "a.md")


# --- databases ----------------------------------------------------------------------------------


def test_a_text_that_is_not_utf8_costs_one_value(tmp_path: Path) -> None:
    path = build(
        tmp_path / "x.db",
        "CREATE TABLE t (id, a); INSERT INTO t VALUES (1, CAST(x'ff' AS TEXT)), (2, 'ä')",
    )
    assert [row.values for row in all_rows(path)] == [{"id": 1, "a": b"\xff"}, {"id": 2, "a": "ä"}]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_texts_are_read_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    script = (
        f"PRAGMA encoding = '{encoding}'; CREATE TABLE t (id, a); INSERT INTO t VALUES (1, 'ä日')"
    )
    assert all_rows(build(tmp_path / "x.db", script))[0].values == {"id": 1, "a": "ä日"}


def test_reading_leaves_the_database_as_it_is(tmp_path: Path) -> None:
    path = build(tmp_path / "x.db", "PRAGMA journal_mode = wal; CREATE TABLE t (id)")
    before = path.read_bytes()
    with database(path, "tool") as connection, pytest.raises(apsw.ReadOnlyError):
        connection.execute("INSERT INTO t VALUES (1)")
    assert path.read_bytes() == before


def test_what_another_process_wrote_and_did_not_merge_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    writer = apsw.Connection(str(path))
    writer.execute(
        "PRAGMA journal_mode = wal; CREATE TABLE t (id); INSERT INTO t VALUES (1)"
    ).fetchall()
    assert [row.values for row in all_rows(path)] == [{"id": 1}]
    writer.close()


def test_a_locked_database_is_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "BUSY_MS", 1)
    path = build(tmp_path / "x.db", "CREATE TABLE t (id)")
    writer = apsw.Connection(str(path))
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(UserError, match="is in use; stop tool and try again"):
        all_rows(path)
    writer.close()


def test_a_damaged_table_is_read_up_to_the_damage(tmp_path: Path) -> None:
    script = "PRAGMA page_size = 512; CREATE TABLE t (id INTEGER PRIMARY KEY, a);"
    path = build(tmp_path / "x.db", script, "BEGIN")
    connection = apsw.Connection(str(path))
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * 100) for n in range(200)])
    connection.close()
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2] + b"\xff" * (len(raw) // 2))
    found = all_rows(path)
    assert [row.values is None for row in found] == [False] * (len(found) - 1) + [True]
    assert "cannot be read" in found[-1].reason


def test_a_view_is_no_table(tmp_path: Path) -> None:
    path = build(tmp_path / "x.db", "CREATE VIEW t AS SELECT 1 AS id")
    with database(path, "tool") as connection:
        assert columns(connection, "t") == ()
        assert list(rows(connection, "t", "id")) == []


def test_odd_names_are_quoted(tmp_path: Path) -> None:
    path = build(tmp_path / "a?mode=rw #%41.db", 'CREATE TABLE t (id, "a"" b" TEXT)')
    build(path, "INSERT INTO t VALUES (1, 'x')")
    assert all_rows(path)[0].values == {"id": 1, 'a" b': "x"}


@pytest.mark.parametrize(
    "raw", [b"hello" * 1000, os.urandom(4096), b"SQLite format 3\0" + b"x" * 999]
)
def test_what_is_no_database_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(raw)
    with pytest.raises(UserError, match="is not a SQLite database of tool, or it is encrypted"):
        all_rows(path)


def test_an_empty_value_says_nothing() -> None:
    nothing: list[object] = [None, "", " \0", [], {}, (), b"", "[]", "{}"]
    something: list[object] = [0, False, "x", [None], b"x"]
    assert all(empty(value) for value in nothing)
    assert not any(empty(value) for value in something)


@pytest.mark.parametrize("tool", ["claude-mem", "soleri"])
def test_a_damaged_column_name_makes_a_database_unreadable(tmp_path: Path, tool: str) -> None:
    file = tmp_path / "damaged.db"
    connection = apsw.Connection(str(file))
    for table in ("observations", "brain_vault", "entries", "intelligence_vault"):
        connection.execute(f"CREATE TABLE {table} (id INTEGER, columnname TEXT)")
    connection.close()
    file.write_bytes(file.read_bytes().replace(b"columnname", b"column\xe2ame"))
    with pytest.raises(UserError, match=r"damaged\.db"):
        list(ForeignMemories(load_importer(tool), file))


@pytest.mark.parametrize(
    ("first", "repeats"),
    [("# Title", True), ("#\tTitle  ##  ", True), ("# title #", True), ("#Title", False),
     ("## Title", False), ("# Title a", False), ("# #", False), ("Title", False)],
)  # fmt: skip
def test_a_heading_that_repeats_the_title_is_left_out(first: str, repeats: bool) -> None:
    body = f"{first}\n\nText"
    assert without_title(body, "Title") == ("Text" if repeats else body)


def test_a_long_first_line_is_read_once() -> None:
    """It took the cube of its length: this one would take hours."""
    line = "# " + " " * 30_000 + "x" + " " * 30_000
    assert without_title(f"{line}y", "Title") == f"{line}y"


SAMPLE = {
    "text": "Ada", "long": "é" * 300, "numbers": [0, 1, 255, 65536, -1, 2**40, 0.5],
    "flags": [True, False, None], "pairs": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "bytes": b"\xff", "empty": [{}, []], 3: "three",
}  # fmt: skip


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_data_comes_back_as_it_was(protocol: int) -> None:
    plain = {name: value for name, value in SAMPLE.items() if name != "bytes" or protocol > 2}
    shared = [plain, plain]
    assert read_pickle(pickle.dumps(shared, protocol)) == shared


def test_sets_come_back_as_lists_and_objects_are_never_made() -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (os._exit, (1,))

    assert read_pickle(pickle.dumps({"a"})) == ["a"]
    assert read_pickle(pickle.dumps(frozenset({"a"}))) == ["a"]
    for given in (datetime(2026, 3, 1, tzinfo=UTC), Trap()):
        assert isinstance(read_pickle(pickle.dumps(given)), Made)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b".", b"junk", b"\x80\x04", b"\x80\x04N", b"a.", b"e.", b"(e.", b"s.",
        b"\x80\x04K\x01h\x00.", b"Pid\n.", b"\x80\x02\x82\x01.", b"ios\nsystem\n(S'ls'\no.", b"2.",
        b"\x85.", b"\x80\x04}]]s.", b"\x80\x04})Ns.", b"N(K\x01u.", b"(K\x01d.",
        b"\x8b\xff\xff\xff\x7f.", b"L" + b"9" * 5000 + b"L\n.", pickle.dumps(2**65),
        b"X\x01\x00\x00\x00\xff.", b"N" * (LARGEST + 1),
    ],
)  # fmt: skip
def test_broken_and_foreign_pickles_are_refused(raw: bytes) -> None:
    with pytest.raises(NotData):
        read_pickle(raw)
