"""Files of exports: zips are never trusted, and never unpacked to disk."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from importer_fixtures import write_zip

from recollect.errors import UserError
from recollect.plugins.importers import chats
from recollect.plugins.importers.chats import entries, export_files

NAMES = re.compile(r"(^|/)a\d?\.json$")


def names(path: Path) -> list[tuple[str, str]]:
    return [(found.name, found.reason) for found in export_files(path, "a tool", NAMES)]


def test_a_bomb_is_left_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.zip", {"a.json": b"[" + b" " * 8 * 2**20, "a1.json": b"[]"})
    assert names(path) == [("a.json", "It is larger than 3 MB unpacked."), ("a1.json", "")]


def test_a_file_beyond_the_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chats, "LARGEST_FILE", 2**20)
    (tmp_path / "a.json").write_bytes(b" " * (2**20 + 1))
    ((name, reason),) = names(tmp_path)
    assert (name, "is larger than 1 MB" in reason) == ("a.json", True)


def test_names_that_lead_out_are_left_alone(tmp_path: Path) -> None:
    files = dict.fromkeys(("../a.json", "/a.json", "x/../../a.json", "in/a.json"), b"[]")
    found = names(write_zip(tmp_path / "x.zip", files))
    assert [name for name, reason in found if not reason] == ["in/a.json"]
    assert list(tmp_path.iterdir()) == [tmp_path / "x.zip"]


def test_other_ways_of_packing_are_refused(tmp_path: Path) -> None:
    found = names(write_zip(tmp_path / "x.zip", {"a.json": b"[]"}, zipfile.ZIP_LZMA))
    assert found == [("a.json", "It is compressed in a way that exports are not.")]


def test_a_member_whose_bytes_are_broken_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.zip", {"a.json": b"[1234567]", "a1.json": b"[]"}, 0)
    path.write_bytes(path.read_bytes().replace(b"1234567", b"7654321"))
    (first, reason), second = names(path)
    assert (first, second) == ("a.json", ("a1.json", ""))
    assert reason.startswith("It cannot be read: Bad CRC")


def test_an_encrypted_member_is_named(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "x.zip", {"a.json": b"[]"}, 0)
    raw = bytearray(path.read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(raw))
    ((_, reason),) = names(path)
    assert "encrypted" in reason


@pytest.mark.parametrize("cut", [4, 40, 80])
def test_a_zip_that_is_cut_off_is_refused(tmp_path: Path, cut: int) -> None:
    path = write_zip(tmp_path / "x.zip", {"a.json": b"[]"})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(UserError, match="is not a zip that can be read"):
        names(path)


def test_zips_of_a_folder_are_read_and_links_are_not(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_zip(tmp_path / "in" / "x.zip", {"a.json": b"[]"})
    (tmp_path / "in" / "broken.zip").write_bytes(b"PK\x03\x04")
    (tmp_path / "a.json").write_bytes(b"[]")
    (tmp_path / "in" / "a.json").symlink_to(tmp_path / "a.json")
    broken, good = names(tmp_path / "in")
    assert (broken[0], good) == ("broken.zip", ("a.json", ""))
    assert "is not a zip that can be read" in broken[1]


def test_an_entry_is_read_when_it_is_asked_for() -> None:
    raw = b'[{"a": 1}, ' + b"1" * 5000 + b', {"b": 2}]'
    listed = list(entries(b"\xef\xbb\xbf" + raw, "It"))
    assert [entry.value for entry in listed] == [{"a": 1}, None, {"b": 2}]
    assert listed[1].reason.startswith("It is not valid JSON")
    assert [entry.value for entry in entries(b'{"a": 1}', "It")] == [{"a": 1}]
