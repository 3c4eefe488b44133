"""Helpers for the tests of importers."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import apsw

from recollect.ingest.draft import make_draft
from recollect.ingest.exchange import ImportedRecord, Importer

FIXTURES = Path(__file__).parent / "fixtures"


def read_all(importer: Importer, path: Path) -> list[ImportedRecord]:
    """All records; what has fields is accepted as a memory, and what has none says why."""
    found = list(importer.read(path))
    for one in found:
        if one.fields is None:
            assert one.reason.endswith(".")
        else:
            assert make_draft(one.fields).id
    ids = [one.fields["id"] for one in found if one.fields is not None]
    assert len(set(ids)) == len(ids), "No two records may become one memory."
    return found


def fields(importer: Importer, path: Path) -> list[Mapping[str, object]]:
    return [one.fields for one in read_all(importer, path) if one.fields is not None]


def first(importer: Importer, path: Path) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """The fields of the first memory, and the names of what has no place."""
    return next((one.fields, one.unmapped) for one in read_all(importer, path) if one.fields)


def reasons(importer: Importer, path: Path) -> list[tuple[str, str]]:
    return [(one.where, one.reason) for one in read_all(importer, path) if one.fields is None]


def script(name: str) -> str:
    """The SQL of a fixture."""
    return (FIXTURES / name).read_text(encoding="utf-8")


def build(path: Path, *scripts: str) -> Path:
    """A database from the text of SQL scripts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    for each in scripts:
        connection.execute(each).fetchall()  # to the end, past statements that answer
    connection.close()
    return path


def write_zip(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, raw in files.items():
            archive.writestr(name, raw)
    return path


def set_dates(folder: Path) -> Path:
    """The folder, each of its files last changed on 2026-04-01 at noon."""
    for file in folder.rglob("*"):
        os.utime(file, (1775044800, 1775044800))
    return folder
