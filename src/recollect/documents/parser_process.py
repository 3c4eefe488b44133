"""Parsing a file without trusting it: in one process of its own, with limits on time and memory.

It is started with the first question, ends with this process, and is started again after a file has
taken too long or too much memory.
"""

from __future__ import annotations

import atexit
import select
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, cast

import msgspec

from recollect.documents.definitions import GRAMMARS
from recollect.documents.document import Document
from recollect.documents.parser_program import ANSWERS, Answer

# Of processor time: a handbook of some thousand pages takes a third. One file may delay the others
# for so long.
MOST_SECONDS = 30.0
# 2 MB of ordinary code take a fifth of a second, and without a parser it is split at blank lines.
MOST_SECONDS_OF_CODE = 5.0
# A machine that is busy with other things gives the process so much more time, by the clock.
PATIENCE = 4
IN_PIPE = 15_000  # bytes that a pipe takes on every system, though nobody reads
# Parsing takes some twenty times a file's size.
MOST_MEMORY = 1 << 30
# `recollect` is found where this one is, and nothing is imported from a working directory.
PROGRAM = (
    "import runpy, sys; sys.path.append(sys.argv[2]);"
    "runpy.run_module('recollect.documents.parser_program', run_name='__main__')"
)
PACKAGES = Path(__file__).parents[2]


class ParserStopped(Exception):
    """The parser did not finish with a file."""


class ParserProcess:
    """The process, which answers one question at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def parsed(self, file_type: str, raw: bytes) -> Answer:
        """What the parser of that file type makes of the bytes. Raises ParserStopped."""
        seconds = MOST_SECONDS_OF_CODE if file_type in GRAMMARS else MOST_SECONDS
        with self._lock:
            reply = self._ask(f"{file_type} {seconds} {len(raw)}\n".encode(), raw, seconds)
        name, value = msgspec.msgpack.decode(reply, type=tuple[str, msgspec.Raw])
        answer = msgspec.msgpack.decode(value, type=ANSWERS[name])
        if isinstance(answer, Document) and "tags" in answer.fields:
            tags = tuple(cast("list[str]", answer.fields["tags"]))
            return answer._replace(fields={**answer.fields, "tags": tags})
        return answer

    def close(self) -> None:
        with self._lock:
            self._end()

    def _ask(self, header: bytes, raw: bytes, seconds: float) -> bytes:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(PATIENCE * seconds, process.kill)
        timer.daemon = True
        # A thread takes as long as a small file, and to write that never waits.
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
        except BaseException:  # the answer must not be taken for that to the next question
            self._end()
            raise
        finally:
            timer.cancel()
        return reply

    def _running(self) -> subprocess.Popen[bytes]:
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
        # Closing writes what is left, and the process is gone.
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        process.wait()


def _readable(stream: IO[bytes], seconds: float) -> bool:
    """Whether there is something to read, or no more to come, within so many seconds."""
    waiting = select.poll()
    waiting.register(stream, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


PARSERS = ParserProcess()
atexit.register(PARSERS.close)
