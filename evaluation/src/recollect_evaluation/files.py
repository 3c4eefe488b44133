"""The files of a data set, plain or compressed; a bad line is an error with its number."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from recollect.errors import UserError

OPENERS: dict[str, Callable[[Path, Any], Any]] = {"": open, ".gz": gzip.open, ".xz": lzma.open}
# What a compressed file raises beside OSError when it is cut short or damaged.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError)
BOM = "\ufeff"


def find(folder: Path, *names: str) -> Path | None:
    """The first of these files that is there, compressed or not."""
    files = (folder / f"{name}{ending}" for name in names for ending in OPENERS)
    return next((file for file in files if file.is_file()), None)


def rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's number and its JSON object."""
    decoder = msgspec.json.Decoder()
    for number, line in lines(file):
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UserError(f"{file}, line {number}: it is not valid JSON: {error}.") from error
        if not isinstance(row, dict):
            raise UserError(f"{file}, line {number}: it is not a JSON object.")
        yield number, row


def table(file: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Each line's number and its cells, by tab; a heading, known by its first cell, is left out."""
    for number, line in lines(file):
        cells = [cell.strip() for cell in line.split("\t")]
        if number == 1 and cells[0].lower() in ("query-id", "query_id", "qid"):
            continue
        if len(cells) != len(columns) or not all(cells):
            wanted = ", ".join(columns)
            raise UserError(
                f"{file}, line {number}: it must have {len(columns)} columns, separated by tabs: "
                f"{wanted}."
            )
        yield number, cells


def lines(file: Path) -> Iterator[tuple[int, str]]:
    """Each line that holds something, and its number, counted from 1."""
    opener = OPENERS.get(file.suffix, open)
    number = 0
    try:
        with opener(file, "rb") as stream:
            for number, line in enumerate(stream, start=1):
                text = line.decode().strip("\r\n")
                if number == 1:
                    text = text.removeprefix(BOM)
                if text.strip():
                    yield number, text
    except UnicodeDecodeError as error:
        raise UserError(f"{file}, line {number}: it is not valid UTF-8 text.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{file} cannot be read: {reason}.") from error
    except DAMAGED as error:
        raise UserError(f"{file} cannot be read: it is damaged or cut short.") from error
