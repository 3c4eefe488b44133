"""The sentences of a turn that the user says in their own voice.

Code, logs, quotations and lists of requirements are somebody else's words, or the task's: a form
must not fire in them. So lines of that kind are left out, and what stands in quotes is masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from recollect.plugins.capture.triggers import LONGEST

MOST_CHARACTERS = 400  # of a sentence: a rule is said in one breath
MASK = "q"

FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|<(\w[\w-]*)>.{0,2000}?</\2>", re.S | re.M)
QUOTED = re.compile(
    r'`[^`\n]*`|"[^"]{0,999}"|“[^”]{0,999}”|„[^“”]{0,999}[“”]|«[^»]{0,999}»|(?<![\w.])\'[^\'\n]+\'(?!\w)|["`“„«].*'
)
# Indented, quoted or listed; a line of a log, a shell, a diff or a trace; an error by its name.
FOREIGN = re.compile(
    r"\s{2,}\S|\t|[>|$#%+\[{<]|[-*•–]\s|--|\d+[.)]\s|\[?\d{2,4}[-:/]\d\d|at \S+\(|E {2,}|"
    r"(?:file|diff|traceback|index|thread|caused by|panic|fatal|error|warning|warn|info|debug|note|"
    r"fail(?:ed)?)\b[^a-z,]*[\[:(\"0-9]|\S*(?:error|exception|warning)\b\S*:",
    re.I,
)
ENDS = re.compile(r"(?<=[.!?…])[)\"”]*\s+(?=\S)|\n")


class Sentence(NamedTuple):
    """A sentence as it was said, and with masks in the place of quotations and code."""

    text: str
    masked: str


def sentences(turn: str) -> Iterator[Sentence]:
    """The sentences in the user's own voice."""
    if turn.lstrip().startswith(("/", "!")):  # a command of the client
        return
    text = "\n".join(_own_lines(FENCED.sub("\n", turn[:LONGEST])))
    masked = QUOTED.sub(lambda found: MASK * len(found[0]), text)
    start = 0
    for end in [*ENDS.finditer(masked), None]:
        stop = len(text) if end is None else end.start()
        sentence = text[start:stop]
        shift = len(sentence) - len(sentence.lstrip())
        if len(sentence) <= MOST_CHARACTERS:
            yield Sentence(sentence.strip(), masked[start + shift : stop].rstrip())
        start = len(text) if end is None else end.end()


def _own_lines(text: str) -> Iterator[str]:
    """The lines that are the user's own: a foreign one ends with its paragraph, and what stands
    below a line that ends with a colon is foreign, too."""
    foreign = skipped = False
    for line in text.splitlines():
        if not line.strip():
            foreign, skipped = foreign and not skipped, False
        elif foreign or FOREIGN.match(line):
            foreign = skipped = True
        else:
            foreign = line.rstrip().endswith(":")
            yield line
