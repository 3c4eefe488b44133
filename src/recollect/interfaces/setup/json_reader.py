"""Read a JSON text with comments and trailing commas, and say where every part stands."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from recollect.interfaces.setup.malformed import Malformed

GAP = re.compile(r"[ \t\r\n]+|(?P<comment>//[^\r\n]*|/\*.*?\*/)", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)\b")
DEEPEST = 200  # far beyond any configuration, and well within Python's own limit


class JsonMember(NamedTuple):
    """One key of an object, or one number of an array, and where it stands."""

    key: str
    before: int  # the end of what stands before it: a brace, a bracket, a comma or a comment
    open: bool  # whether that is a comment which goes on to the end of its line
    start: int
    node: Node
    comma: int | None  # where the comma after it stands


class Node(NamedTuple):
    """A value and where it stands; objects and arrays have members."""

    value: Any
    start: int
    end: int
    members: tuple[JsonMember, ...] = ()
    last: int = 0  # the end of what stands before the closing brace or bracket


class Reader:
    """Reads a text from beginning to end; errors say in which line it is wrong."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.last = 0  # the end of the last sign or comment, without blanks
        self.open = False  # whether that was a comment which goes on to the end of its line
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
        """Skip this sign if it is next; returns whether it was."""
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
            return self.object(start)
        if self.sign("["):
            return self.array(start)
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

    def object(self, start: int) -> Node:
        members: list[JsonMember] = []
        self.depth += 1
        while True:
            self.skip()
            before = self.last
            if self.sign("}"):
                break
            if members and members[-1].comma is None:
                raise self.wrong("a comma or a closing brace is expected")
            members.append(self.member(before))
        self.depth -= 1
        value = {member.key: member.node.value for member in members}
        return Node(value, start, self.at, tuple(members), before)

    def member(self, before: int) -> JsonMember:
        start, open = self.at, self.open
        key = self.string()
        self.skip()
        if not self.sign(":"):
            raise self.wrong("a colon is expected")
        self.skip()
        return self.item(key, before, start, open=open)

    def item(self, key: str, before: int, start: int, *, open: bool) -> JsonMember:
        """The value that stands here, and the comma after it."""
        node = self.value()
        self.skip()
        comma = self.at
        if self.sign(","):
            return JsonMember(key, before, open, start, node, comma)
        self.past(node.end)  # comments after it belong to whatever follows
        return JsonMember(key, before, open, start, node, None)

    def array(self, start: int) -> Node:
        items: list[JsonMember] = []
        self.depth += 1
        while True:
            self.skip()
            before = self.last
            if self.sign("]"):
                break
            if items and items[-1].comma is None:
                raise self.wrong("a comma or a closing bracket is expected")
            items.append(self.item(str(len(items)), before, self.at, open=self.open))
        self.depth -= 1
        return Node([item.node.value for item in items], start, self.at, tuple(items), before)
