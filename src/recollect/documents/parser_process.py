"""Parsing untrusted files in a process of its own, with limits on time and memory.

Grammars and parsers of PDF, Word and HTML take minutes for some files, or all memory. The process
is started for the first file, ends with this process, and is restarted after a file has taken too
long or too much memory.

A request is a line with a file type, a time limit in seconds and a size, then this many bytes. A
response is a line with a size, then this many bytes of MessagePack: the name of a type in ANSWERS
and its value.
"""

from __future__ import annotations

import atexit
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, cast

import msgspec

from recollect.documents import binary_formats, definitions, file_types, markdown, text_formats
from recollect.documents.definitions import GRAMMARS
from recollect.documents.document import Document, LeftOut

Answer = Document | LeftOut | markdown.Structure
ANSWERS: dict[str, type[Answer]] = {
    kind.__name__: kind for kind in (Document, LeftOut, markdown.Structure)
}
STRUCTURE = "structure"  # as a file type: only the sections and tags of a Markdown text
TEXT_PARSERS: dict[str, Callable[[str], Answer]] = {
    STRUCTURE: markdown.structure,
    file_types.MARKDOWN: markdown.document,
    file_types.RST: text_formats.read_rst,
    file_types.HTML: text_formats.read_html,
    file_types.NOTEBOOK: text_formats.read_notebook,
    **{language: partial(definitions.document, language=language) for language in GRAMMARS},
}
BINARY_PARSERS: dict[str, Callable[[bytes], Document | LeftOut]] = {
    file_types.PDF: binary_formats.read_pdf,
    file_types.DOCX: binary_formats.read_docx,
}

# Processor time: a handbook of a thousand pages takes a third. A file delays others by at most
# this.
MOST_SECONDS = 30.0
MOST_SECONDS_OF_CODE = 5.0  # 2 MB of ordinary code take a fifth of a second
PATIENCE = 4  # how much longer than processor time a parse may take on a busy machine
IN_PIPE = 15_000  # bytes that fit into a pipe on every system
MOST_MEMORY = 1 << 30  # parsing takes about twenty times a file's size
# Import `recollect` from the same place, and nothing from the working directory.
PROGRAM = (
    "import runpy, sys; sys.path.append(sys.argv[2]);"
    "runpy.run_module('recollect.documents.parser_process', run_name='__main__')"
)
PACKAGES = Path(__file__).parents[2]


class ParserStopped(Exception):
    """The parser did not finish with a file."""


class ParserProcess:
    """The process, which parses one file at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def parse(self, file_type: str, raw: bytes) -> Answer:
        """Parse the bytes of a file of this type. Raise ParserStopped if the parser does not
        finish."""
        seconds = MOST_SECONDS_OF_CODE if file_type in GRAMMARS else MOST_SECONDS
        with self._lock:
            reply = self._request(f"{file_type} {seconds} {len(raw)}\n".encode(), raw, seconds)
        name, value = msgspec.msgpack.decode(reply, type=tuple[str, msgspec.Raw])
        answer = msgspec.msgpack.decode(value, type=ANSWERS[name])
        if isinstance(answer, Document) and "tags" in answer.fields:
            tags = tuple(cast("list[str]", answer.fields["tags"]))
            return answer._replace(fields={**answer.fields, "tags": tags})
        return answer

    def close(self) -> None:
        with self._lock:
            self._end()

    def _request(self, header: bytes, raw: bytes, seconds: float) -> bytes:
        process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(PATIENCE * seconds, process.kill)
        timer.daemon = True
        # Starting a thread takes as long as a small file, and writing that never blocks.
        quick = len(raw) <= IN_PIPE and hasattr(select, "poll")
        if not quick:
            timer.start()
        try:
            process.stdin.write(header)
            process.stdin.write(raw)
            process.stdin.flush()
            if quick and not _readable(process.stdout, PATIENCE * seconds):
                process.kill()
            size = int(process.stdout.readline())
            reply = process.stdout.read(size)
            if len(reply) < size:
                raise ValueError(size)
        except (OSError, ValueError):
            self._end()
            raise ParserStopped from None
        except BaseException:  # the response must not be read as that of the next request
            self._end()
            raise
        finally:
            timer.cancel()
        return reply

    def _start(self) -> subprocess.Popen[bytes]:
        """Return the process; start it if it is not running."""
        if self._process is None or self._process.poll() is not None:
            self._end()
            command = [sys.executable, "-P", "-c", PROGRAM, str(MOST_MEMORY), str(PACKAGES)]
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except OSError as error:
                raise ParserStopped from error
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        # Closing flushes to a process that is gone.
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        process.wait()


def _readable(stream: IO[bytes], seconds: float) -> bool:
    """Wait until there is something to read or the stream ends; return False after the timeout."""
    waiting = select.poll()
    waiting.register(stream, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


PARSERS = ParserProcess()
atexit.register(PARSERS.close)


# In the process


def parse_bytes(file_type: str, raw: bytes) -> Answer:
    """Parse the bytes of a file of this type; texts are in UTF-8."""
    if file_type in BINARY_PARSERS:
        return BINARY_PARSERS[file_type](raw)
    return TEXT_PARSERS[file_type](raw.decode())


def encode(found: Answer) -> bytes:
    if isinstance(found, Document):
        found = found._replace(fields=dict(found.fields))
    return msgspec.msgpack.encode((type(found).__name__, found))


def serve(requests: BinaryIO, responses: BinaryIO) -> None:
    """Answer each request until there are no more."""
    for header in iter(requests.readline, b""):
        file_type, seconds, size = header.decode().split()
        raw = requests.read(int(size))
        _limit_time(float(seconds))
        reply = encode(parse_bytes(file_type, raw))
        _limit_time(0)
        responses.write(f"{len(reply)}\n".encode() + reply)
        responses.flush()


def _limit_time(seconds: float) -> None:
    """End this process after this much processor time; 0 for no limit."""
    if hasattr(signal, "setitimer"):  # elsewhere the parent kills this process
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(most: int) -> None:
    try:
        import resource  # noqa: PLC0415  start-up time, and not on every system

        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, ValueError, OSError):
        pass  # the time limit still applies


if __name__ == "__main__":
    _limit_memory(int(sys.argv[1]))
    serve(sys.stdin.buffer, sys.stdout.buffer)
