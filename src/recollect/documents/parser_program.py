"""The program that reads documents nobody vouches for, in a process of its own.

Grammars and parsers of PDF, Word and HTML take minutes at some files, or all the memory there is.
So `parser_process.py` runs this program with a limit on both, and goes on when it dies.

A question is a line with a file type, the seconds it may take and a number, then so many bytes. An
answer is a line with a number, then so many bytes of MessagePack: the name of a type in ANSWERS and
its value.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import BinaryIO

import msgspec

from recollect.documents import definitions, docx, file_types, html, markdown, notebook, pdf, rst
from recollect.documents.definitions import GRAMMARS
from recollect.documents.document import Document, LeftOut

Answer = Document | LeftOut | markdown.Structure
ANSWERS: dict[str, type[Answer]] = {
    kind.__name__: kind for kind in (Document, LeftOut, markdown.Structure)
}
# As a file type: only where the sections of a Markdown text begin, and its tags.
STRUCTURE = "structure"
TEXT_PARSERS: dict[str, Callable[[str], Answer]] = {
    STRUCTURE: markdown.structure,
    file_types.MARKDOWN: markdown.document,
    file_types.RST: rst.document,
    file_types.HTML: html.document,
    file_types.NOTEBOOK: notebook.document,
    **{language: partial(definitions.document, language=language) for language in GRAMMARS},
}
BINARY_PARSERS: dict[str, Callable[[bytes], Document | LeftOut]] = {
    file_types.PDF: pdf.document,
    file_types.DOCX: docx.document,
}


def parsed(file_type: str, raw: bytes) -> Answer:
    """What the parser of that file type makes of the bytes; texts are in UTF-8."""
    if file_type in BINARY_PARSERS:
        return BINARY_PARSERS[file_type](raw)
    return TEXT_PARSERS[file_type](raw.decode())


def encoded(found: Answer) -> bytes:
    if isinstance(found, Document):
        found = found._replace(fields=dict(found.fields))
    return msgspec.msgpack.encode((type(found).__name__, found))


def answer(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer each question until there are no more."""
    for header in iter(questions.readline, b""):
        file_type, seconds, size = header.decode().split()
        raw = questions.read(int(size))
        _limit_time(float(seconds))
        reply = encoded(parsed(file_type, raw))
        _limit_time(0)
        answers.write(f"{len(reply)}\n".encode() + reply)
        answers.flush()


def _limit_time(seconds: float) -> None:
    """End this process after so many seconds of its own work, wherever it is; 0 for no limit."""
    if hasattr(signal, "setitimer"):  # elsewhere the process that asks ends this one
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(most: int) -> None:
    try:
        import resource  # noqa: PLC0415  start-up time, and not on every system

        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, ValueError, OSError):
        pass  # the limit on time still holds


if __name__ == "__main__":
    _limit_memory(int(sys.argv[1]))
    answer(sys.stdin.buffer, sys.stdout.buffer)
