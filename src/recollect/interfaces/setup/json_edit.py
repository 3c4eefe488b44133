"""Change one value of a JSON text and leave every other character unchanged.

Clients' files have comments, trailing commas, and their own order and indentation. Parsing and
writing the values would lose all that, so the reader records the position of every part, and only
the affected part is replaced. New parts are plain JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from recollect.interfaces.setup.files import Keys, Malformed, with_value_at

# The reader

GAP = re.compile(r"[ \t\r\n]+|(?P<comment>//[^\r\n]*|/\*.*?\*/)", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)\b")
DEEPEST = 200  # deeper than any configuration, and well within Python's own limit


class JsonMember(NamedTuple):
    """A key of an object, or an index of an array, with its position."""

    key: str
    before: int  # the end of the brace, bracket, comma or comment before it
    open: bool  # True if that is a comment up to the end of its line
    start: int
    node: Node
    comma: int | None  # the position of the comma after it


class Node(NamedTuple):
    """A value with its position; objects and arrays have members."""

    value: Any
    start: int
    end: int
    members: tuple[JsonMember, ...] = ()
    last: int = 0  # the end of the last sign or comment before the closing brace or bracket


class Reader:
    """Parses a text; errors name the line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.last = 0  # the end of the last sign or comment
        self.open = False  # True if that was a comment up to the end of its line
        self.depth = 0

    def wrong(self, reason: str) -> Malformed:
        return Malformed(reason, self.text.count("\n", 0, self.at) + 1)

    def skip(self) -> None:
        """Skip blanks and comments."""
        while found := GAP.match(self.text, self.at):
            self.at = found.end()
            if found["comment"]:
                self.last = self.at
                self.open = found["comment"].startswith("//")
        if self.text.startswith("/*", self.at):
            raise self.wrong("a comment is not closed")

    def sign(self, wanted: str) -> bool:
        """Skip this sign if it is next; return whether it was."""
        if not self.text.startswith(wanted, self.at):
            return False
        self.past(self.at + len(wanted))
        return True

    def past(self, end: int) -> None:
        self.at = self.last = end
        self.open = False

    def document(self) -> Node | None:
        self.skip()
        if self.at == len(self.text):
            return None
        root = self.value()
        self.skip()
        if self.at < len(self.text):
            raise self.wrong("something stands after the end of the value")
        return root

    def value(self) -> Node:
        start = self.at
        if self.depth > DEEPEST:
            raise self.wrong(f"values are nested more than {DEEPEST} deep")
        if self.sign("{"):
            return self.collection(start, "}")
        if self.sign("["):
            return self.collection(start, "]")
        if self.text.startswith('"', start):
            return Node(self.string(), start, self.at)
        if found := SCALAR.match(self.text, start):
            self.past(found.end())
            return Node(json.loads(found[0]), start, self.at)
        raise self.wrong("a value is expected")

    def string(self) -> str:
        found = STRING.match(self.text, self.at)
        if not found:
            raise self.wrong("a text in double quotes is expected, closed in its line")
        self.past(found.end())
        text: str = json.loads(found[0])
        return text

    def collection(self, start: int, closing: str) -> Node:
        """Parse the rest of an object or array after its opening sign."""
        named = closing == "}"
        members: list[JsonMember] = []
        self.depth += 1
        while True:
            self.skip()
            before = self.last
            if self.sign(closing):
                break
            if members and members[-1].comma is None:
                name = "brace" if named else "bracket"
                raise self.wrong(f"a comma or a closing {name} is expected")
            at, open = self.at, self.open
            key = self.key() if named else str(len(members))
            node = self.value()
            self.skip()
            comma: int | None = self.at
            if not self.sign(","):
                comma = None
                self.past(node.end)  # comments after it belong to the next part
            members.append(JsonMember(key, before, open, at, node, comma))
        self.depth -= 1
        values = [member.node.value for member in members]
        value = dict(zip([each.key for each in members], values, strict=True)) if named else values
        return Node(value, start, self.at, tuple(members), before)

    def key(self) -> str:
        key = self.string()
        self.skip()
        if not self.sign(":"):
            raise self.wrong("a colon is expected")
        self.skip()
        return key


# The change

INDENT = re.compile(r"[ \t]*")
UNIT = "  "  # for a text without indentation


class _Style(NamedTuple):
    """The layout of a text, for additions that look like the rest."""

    newline: str
    unit: str
    dense: bool  # no blanks at all

    @classmethod
    def of(cls, text: str, root: Node | None) -> _Style:
        newline = "\r\n" if "\r\n" in text else "\n"
        if root is None or not root.members:
            return cls(newline, UNIT, False)
        first = root.members[0].start
        own_line = _indent(text, first)
        inside = text[root.start : root.end]
        dense = "\n" not in inside and ": " not in inside and ", " not in inside
        return cls(newline, own_line or UNIT, dense)


def parse(text: str) -> dict[str, Any]:
    """Return the values without comments; a blank text is an empty object."""
    root = Reader(text).document()
    if root is None:
        return {}
    if not isinstance(root.value, dict):
        raise Malformed("it holds no object", 1)
    return root.value


def with_value(text: str, path: Keys, value: Any) -> str:
    """Return the text with the value at that path, adding missing objects. A number in the path is
    an index; one after the last appends an item."""
    root = Reader(text).document()
    style = _Style.of(text, root)
    if root is None:
        gap = style.newline if text.strip() and not text.endswith("\n") else ""
        kept = text + gap if text.strip() else ""
        return kept + _written(with_value_at({}, path, value), "", style) + style.newline
    node, line = root, ""
    for depth, key in enumerate(path):
        numbered = isinstance(node.value, list) and key.isdecimal()
        if not isinstance(node.value, dict) and not numbered:
            raise Malformed(f"`{'.'.join(path[:depth])}` is not an object")
        member = _found(node, key)
        if member is None:
            return _add_member(text, node, key, with_value_at({}, path[depth + 1 :], value), style)
        node, line = member.node, _indent(text, member.start, anywhere=True) or ""
    inline = bool(node.members) and "\n" not in text[node.start : node.end]
    written = _written(value, line, style, inline=inline)
    return text[: node.start] + written + text[node.end :]


def without(text: str, path: Keys) -> str:
    """Return the text without that key, however often it occurs, or without that item of an
    array."""
    while (found := _reach(Reader(text).document(), path)) is not None:
        text = _cut(text, *found)
        if isinstance(found[0].value, list):
            break  # the next item has this index now
    return text


def _found(node: Node, key: str) -> JsonMember | None:
    """Return the member with that key; the last one, as for every JSON parser."""
    return next((member for member in reversed(node.members) if member.key == key), None)


def _reach(root: Node | None, path: Keys) -> tuple[Node, JsonMember] | None:
    node = root
    member: JsonMember | None = None
    holder = root
    for key in path:
        if node is None or (member := _found(node, key)) is None:
            return None
        holder, node = node, member.node
    return None if holder is None or member is None else (holder, member)


def _indent(text: str, place: int, *, anywhere: bool = False) -> str | None:
    """Return the indent of the line, or None if other text precedes the place, unless
    `anywhere`."""
    start = text.rfind("\n", 0, place) + 1
    found = INDENT.match(text, start)
    assert found is not None
    return found[0] if anywhere or found.end() == place else None


def _add_member(text: str, node: Node, key: str, value: Any, style: _Style) -> str:
    """Return the text with a member or item added at the end of the object or array."""
    blank = text[node.last : node.end - 1]
    one_line = "\n" not in text[node.start : node.end]
    inline = one_line and bool(node.members or blank or style.dense)
    line = _indent(text, node.start, anywhere=True) or ""
    first = _indent(text, node.members[0].start) if node.members else None
    indent = line + style.unit if first is None else first
    if not inline:
        gap = style.newline + indent
    elif node.members:
        gap = "" if style.dense else " "
    else:
        gap = blank
    if isinstance(node.value, list):
        written = gap + _written(value, indent, style, inline=inline)
    else:
        written = gap + _member(key, value, indent, style, inline=inline)
    if not node.members:
        closing = "" if inline or blank else style.newline + line
        return text[: node.last] + written + closing + text[node.last :]
    last = node.members[-1]
    if last.comma is not None:
        return text[: node.last] + written + "," + text[node.last :]
    end = last.node.end
    return text[:end] + "," + text[end : node.last] + written + text[node.last :]


def _cut(text: str, node: Node, member: JsonMember) -> str:
    """Return the text without the member and its comma."""
    place = node.members.index(member)
    head, tail = text[: member.before], text[member.node.end :]
    newline = "\r\n" if "\r\n" in text else "\n"
    if member.comma is not None:
        between = text[member.node.end : member.comma]
        tail = ("" if between.isspace() else between) + text[member.comma + 1 :]
    elif place:
        comma = node.members[place - 1].comma
        assert comma is not None
        head = text[:comma] + text[comma + 1 : member.before]
    elif member.before == node.start + 1:
        own = newline + (_indent(text, node.start, anywhere=True) or "")
        rest = text[member.node.end : node.end - 1]
        tail = text[node.end - 1 :] if rest == own else tail
    if member.open and not tail.lstrip(" \t").startswith(("\n", "\r\n")):
        head += newline  # otherwise the comment before it would include the next line
    return head + tail


def _member(key: str, value: Any, indent: str, style: _Style, *, inline: bool) -> str:
    colon = ":" if style.dense else ": "
    return _string(key) + colon + _written(value, indent, style, inline=inline)


def _written(value: Any, indent: str, style: _Style, *, inline: bool = False) -> str:
    """Return the value as JSON: objects and lists of them on several lines, other lists on one."""
    if isinstance(value, dict) and value:
        inner = indent + style.unit
        members = [
            _member(key, item, inner, style, inline=inline or style.dense)
            for key, item in value.items()
        ]
        if inline or style.dense:
            return "{" + ("," if style.dense else ", ").join(members) + "}"
        gap = style.newline + inner
        return "{" + gap + f",{gap}".join(members) + style.newline + indent + "}"
    if isinstance(value, list):
        if any(isinstance(item, dict) for item in value) and not (inline or style.dense):
            inner = indent + style.unit
            gap = style.newline + inner
            items = f",{gap}".join(_written(item, inner, style) for item in value)
            return "[" + gap + items + style.newline + indent + "]"
        parts = [_written(item, indent, style, inline=True) for item in value]
        return "[" + ("," if style.dense else ", ").join(parts) + "]"
    return _string(value)


def _string(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
