"""Changes one table of a TOML text and leaves every other sign as it was.

The standard library reads TOML and says where it is wrong; it does not write it. What is needed
here is little: one more table at the end, a value replaced, a table taken out. So this finds the
lines in question and changes only them. A library that writes whole documents does not give back
the blank lines it added, and refuses tables that are written in one line.

TOML can say the same in many ways, and not all of them are known here. Whoever calls must read the
result again and compare; `registration` does.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from recollect.interfaces.setup.malformed import Malformed

AT = re.compile(r" \(at line (\d+), column \d+\)$")
BARE = re.compile(r"[A-Za-z0-9_-]+")
# A valid text is taken apart by these: what may hold a sign that means something elsewhere, whole.
PIECE = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
    r"|#[^\n]*|[\[{]|[\]}]|\n|[^\"'#\[\]{}\n]+",
    re.DOTALL,
)
KEY = re.compile(r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[^="'\n])+""")


class Statement(NamedTuple):
    """A header, or a key with its value: the lines it takes, and what it is about."""

    path: tuple[str, ...]
    start: int
    end: int  # past the end of its last line
    value: tuple[int, int] | None  # where the value stands; a header has none


def parsed(text: str) -> dict[str, Any]:
    """The values; numbers stay as they are written, since one of them, nan, equals nothing."""
    try:
        return tomllib.loads(text, parse_float=str)
    except RecursionError as error:
        raise Malformed("values are nested too deep") from error
    except tomllib.TOMLDecodeError as error:
        found = AT.search(str(error))
        reason = AT.sub("", str(error)).replace("\n", "\\n")
        said = reason[:1].lower() + reason[1:]
        line = int(found[1]) if found else text.count("\n") + 1
        raise Malformed(said, line) from error


def with_value(text: str, path: tuple[str, ...], value: Any) -> str:
    """The text with the value there: in its place, beside its neighbours, or as a new table."""
    newline = "\r\n" if "\r\n" in text else "\n"
    statements = list(_statements(text))
    for one in statements:
        if one.value and one.path == path[: len(one.path)]:
            start, end = one.value
            held = tomllib.loads("x = " + text[start:end])["x"]
            return text[:start] + _inline(_laid(held, path[len(one.path) :], value)) + text[end:]
    if any(one.path[: len(path)] == path for one in statements):
        return with_value(without(text, path), path, value)
    if isinstance(value, dict):
        return _appended(text, path, value, newline)
    return _beside(text, statements, path, value, newline)


def without(text: str, path: tuple[str, ...]) -> str:
    """The text without that table, the tables in it, and the blank line before each of them."""
    cuts: list[tuple[int, int]] = []
    header = False
    for one in _statements(text):
        ours = one.path[: len(path)] == path
        if one.value and not ours and one.path == path[: len(one.path)]:
            start, end = one.value
            left = _taken(tomllib.loads("x = " + text[start:end])["x"], path[len(one.path) :])
            return text[:start] + _inline(left) + text[end:]
        if one.value is None:
            header = ours
            if ours:
                cuts.append((one.start, one.end))
        elif ours and header:
            cuts[-1] = (cuts[-1][0], one.end)
        elif ours:
            cuts.append((one.start, one.end))
    for start, end in reversed(cuts):
        text = _cut(text, start, end)
    return text


def _cut(text: str, start: int, end: int) -> str:
    """Without these lines and the blank line before them; a text without a last line end stays
    without one."""
    header = text[start:end].lstrip().startswith("[")
    above = _less_a_line_end(text[:start])
    if header and (not above or above.endswith("\n")):
        start = len(above)
    if not text[:end].endswith("\n"):
        start = len(_less_a_line_end(text[:start]))
    return text[:start] + text[end:]


def _less_a_line_end(text: str) -> str:
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def _statements(text: str) -> Iterator[Statement]:
    """The text's headers and keys, in order; what is blank or a comment belongs to none."""
    table: tuple[str, ...] = ()
    start, depth, used = 0, 0, False
    for found in PIECE.finditer(text if text.endswith("\n") else text + "\n"):
        piece = found[0]
        if piece == "\n" and depth == 0:
            end = min(found.end(), len(text))
            if used:
                one = _statement(text, start, end, table)
                table = one.path if one.value is None else table
                yield one
            start, used = found.end(), False
        elif piece in ("[", "{"):
            depth, used = depth + 1, True
        elif piece in ("]", "}"):
            depth -= 1
        elif not piece.startswith("#"):
            used = used or not piece.isspace()


def _statement(text: str, start: int, end: int, table: tuple[str, ...]) -> Statement:
    line = text[start:end]
    if line.lstrip().startswith("["):
        return Statement(_followed(tomllib.loads(line.strip())), start, end, None)
    key = KEY.match(line)
    assert key is not None  # the text has been read before
    value = _value(line, key.end() + 1)
    path = table + _followed(tomllib.loads(f"{key[0]}= 0"))
    return Statement(path, start, end, (start + value[0], start + value[1]))


def _value(line: str, at: int) -> tuple[int, int]:
    """Where the value stands: from its first sign to its last, a comment after it left out."""
    depth, start, end = 0, 0, 0
    for found in PIECE.finditer(line, at):
        piece = found[0]
        depth += (piece in ("[", "{")) - (piece in ("]", "}"))
        if piece.isspace() or (piece.startswith("#") and depth == 0):
            continue
        start = start or found.start() + len(piece) - len(piece.lstrip())
        end = found.end() - len(piece) + len(piece.rstrip())
    return start, end


def _followed(held: Any) -> tuple[str, ...]:
    """The one path that a document of one line names."""
    path: list[str] = []
    while held:
        if isinstance(held, list):
            [held] = held
            path.append("[]")
            continue
        [(key, held)] = held.items()
        path.append(key)
    return tuple(path)


def _beside(
    text: str, statements: list[Statement], path: tuple[str, ...], value: Any, newline: str
) -> str:
    """With one more key in the table that it belongs to, after those that are there; a table in
    between is written in one line."""
    if not path:
        raise Malformed("a table is written in a way that cannot be extended")
    header = next((one for one in statements if one.value is None and one.path == path[:-1]), None)
    if header is None:
        return _beside(text, statements, path[:-1], {path[-1]: value}, newline)
    end = header.end
    for one in statements[statements.index(header) + 1 :]:
        if one.value is None:
            break
        end = one.end
    line = f"{_key(path[-1])} = {_inline(value)}"
    if text[:end].endswith("\n"):
        return text[:end] + line + newline + text[end:]
    return text[:end] + newline + line + text[end:]


def _appended(text: str, path: tuple[str, ...], value: dict[str, Any], newline: str) -> str:
    """With a table at the end, after a blank line."""
    head = f"[{'.'.join(map(_key, path))}]"
    block = newline.join([head, *(f"{_key(key)} = {_inline(one)}" for key, one in value.items())])
    if not text:
        return block + newline
    return f"{text}{newline}{block}{newline}" if text.endswith("\n") else (
        text + newline * 2 + block
    )  # fmt: skip


def _laid(held: Any, path: tuple[str, ...], value: Any) -> Any:
    """What is held, with the value at that path in it."""
    if not path:
        return value
    inside = held if isinstance(held, dict) else {}
    return inside | {path[0]: _laid(inside.get(path[0]), path[1:], value)}


def _taken(held: Any, path: tuple[str, ...]) -> Any:
    """What is held, with nothing at that path in it."""
    if not isinstance(held, dict) or path[0] not in held:
        return held
    if len(path) == 1:
        return {key: one for key, one in held.items() if key != path[0]}
    return held | {path[0]: _taken(held[path[0]], path[1:])}


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else _inline(name)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        members = ", ".join(f"{_key(key)} = {_inline(one)}" for key, one in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, bool | int | float | str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
