"""Change one table of a TOML text and leave every other character unchanged.

tomlkit was tried instead (0.15): deleting a table also deletes the comment above the next one,
removing an addition leaves traces, and a file with CRLF gets mixed line ends. So this module finds
the affected lines with the help of tomllib, and changes only them.

TOML has many ways to write the same, and not all are known here. The caller must parse the result
and compare; `registration` does.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from recollect.interfaces.setup.files import Keys, Malformed, with_value_at, without_value_at

AT = re.compile(r" \(at line (\d+), column \d+\)$")
BARE = re.compile(r"[A-Za-z0-9_-]+")
# The pieces of a valid text; strings and comments are one piece, brackets included.
PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
    r"|#[^\n]*|[\[{]|[\]}]|\n|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)
KEY = re.compile(r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^="'\n])+""")


class TomlStatement(NamedTuple):
    """A header, or a key with its value, with its position."""

    path: Keys
    start: int
    end: int  # after its last line
    value: tuple[int, int] | None  # the span of the value; None for a header


def parse(text: str) -> dict[str, Any]:
    """Return the values, with floats as text, since nan does not equal itself."""
    try:
        return tomllib.loads(text, parse_float=str)
    except RecursionError as error:
        raise Malformed("values are nested too deep") from error
    except tomllib.TOMLDecodeError as error:
        found = AT.search(str(error))
        reason = AT.sub("", str(error)).replace("\n", "\\n")
        line = int(found[1]) if found else text.count("\n") + 1
        raise Malformed(reason[:1].lower() + reason[1:], line) from error


def with_value(text: str, path: Keys, value: Any) -> str:
    """Return the text with the value at that path: replaced, added to its table, or as a new
    table."""
    newline = "\r\n" if "\r\n" in text else "\n"
    statements = list(_statements(text))
    for statement in statements:
        if statement.value and statement.path == path[: len(statement.path)]:
            start, end = statement.value
            data = tomllib.loads("x = " + text[start:end])["x"]
            changed = with_value_at(data, path[len(statement.path) :], value)
            return text[:start] + _inline(changed) + text[end:]
    if any(statement.path[: len(path)] == path for statement in statements):
        return with_value(without(text, path), path, value)
    if isinstance(value, dict):
        return _append_table(text, path, value, newline)
    return _add_key(text, statements, path, value, newline)


def without(text: str, path: Keys) -> str:
    """Return the text without that table, its subtables, and the blank line before each of them."""
    cuts: list[tuple[int, int]] = []
    header = False
    for statement in _statements(text):
        ours = statement.path[: len(path)] == path
        if statement.value and not ours and statement.path == path[: len(statement.path)]:
            start, end = statement.value
            data = tomllib.loads("x = " + text[start:end])["x"]
            left = without_value_at(data, path[len(statement.path) :])
            return text[:start] + _inline(left) + text[end:]
        if statement.value is None:
            header = ours
            if ours:
                cuts.append((statement.start, statement.end))
        elif ours and header:
            cuts[-1] = (cuts[-1][0], statement.end)
        elif ours:
            cuts.append((statement.start, statement.end))
    for start, end in reversed(cuts):
        text = _cut_lines(text, start, end)
    return text


def _cut_lines(text: str, start: int, end: int) -> str:
    """Return the text without these lines and the blank line before them. A missing line end at the
    end of the text stays missing."""
    header = text[start:end].lstrip().startswith("[")
    above = _drop_line_end(text[:start])
    if header and (not above or above.endswith("\n")):
        start = len(above)
    if not text[:end].endswith("\n"):
        start = len(_drop_line_end(text[:start]))
    return text[:start] + text[end:]


def _drop_line_end(text: str) -> str:
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def _statements(text: str) -> Iterator[TomlStatement]:
    """Yield the text's headers and keys, in order; skip blank lines and comments."""
    table: Keys = ()
    start, depth, used = 0, 0, False
    for found in PIECE.finditer(text if text.endswith("\n") else text + "\n"):
        piece = found[0]
        if piece == "\n" and depth == 0:
            end = min(found.end(), len(text))
            if used:
                statement = _statement(text, start, end, table)
                table = statement.path if statement.value is None else table
                yield statement
            start, used = found.end(), False
        elif piece in ("[", "{"):
            depth, used = depth + 1, True
        elif piece in ("]", "}"):
            depth -= 1
        elif not piece.startswith("#"):
            used = used or not piece.isspace()


def _statement(text: str, start: int, end: int, table: Keys) -> TomlStatement:
    line = text[start:end]
    if line.lstrip().startswith("["):
        return TomlStatement(_single_path(tomllib.loads(line.strip())), start, end, None)
    key = KEY.match(line)
    assert key is not None  # the text has been read before
    value = _value(line, key.end() + 1)
    path = table + _single_path(tomllib.loads(f"{key[0]}= 0"))
    return TomlStatement(path, start, end, (start + value[0], start + value[1]))


def _value(line: str, at: int) -> tuple[int, int]:
    """Return the span of the value, without a comment after it."""
    depth, start, end = 0, 0, 0
    for found in PIECE.finditer(line, at):
        piece = found[0]
        depth += (piece in ("[", "{")) - (piece in ("]", "}"))
        if piece.isspace() or (piece.startswith("#") and depth == 0):
            continue
        start = start or found.start() + len(piece) - len(piece.lstrip())
        end = found.end() - len(piece) + len(piece.rstrip())
    return start, end


def _single_path(data: Any) -> Keys:
    """Return the only path in a document of one line."""
    path: list[str] = []
    while data:
        if isinstance(data, list):
            [data] = data
            path.append("[]")
            continue
        [(key, data)] = data.items()
        path.append(key)
    return tuple(path)


def _add_key(
    text: str, statements: list[TomlStatement], path: Keys, value: Any, newline: str
) -> str:
    """Return the text with a key added at the end of its table; a missing parent table is written
    inline."""
    if not path:
        raise Malformed("a table is written in a way that cannot be extended")
    headers = (each for each in statements if each.value is None and each.path == path[:-1])
    header = next(headers, None)
    if header is None:
        return _add_key(text, statements, path[:-1], {path[-1]: value}, newline)
    end = header.end
    for statement in statements[statements.index(header) + 1 :]:
        if statement.value is None:
            break
        end = statement.end
    line = f"{_key(path[-1])} = {_inline(value)}"
    if text[:end].endswith("\n"):
        return text[:end] + line + newline + text[end:]
    return text[:end] + newline + line + text[end:]


def _append_table(text: str, path: Keys, value: dict[str, Any], newline: str) -> str:
    """Return the text with a table added at the end, after a blank line."""
    head = f"[{'.'.join(map(_key, path))}]"
    block = newline.join([head, *(f"{_key(key)} = {_inline(item)}" for key, item in value.items())])
    if not text:
        return block + newline
    return f"{text}{newline}{block}{newline}" if text.endswith("\n") else (
        text + newline * 2 + block
    )  # fmt: skip


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else _inline(name)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        members = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, bool | int | float | str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
