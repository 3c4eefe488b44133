"""The definitions of a source file, without trusting the file.

The parsers run in one process of their own. It is started with the first question, ends with this
process, and is started again after a file has taken too long or too much memory.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
from pathlib import Path

import msgspec

from recollect.documents.definitions import GRAMMARS
from recollect.documents.document import SectionStart

# 2 MB of ordinary code take a fifth of a second. One file may delay the others for so long.
MOST_SECONDS = 5.0
# Parsing takes some twenty times a file's size; the largest file has 2 MB.
MOST_MEMORY = 1 << 30
PROGRAM = Path(__file__).with_name("definitions.py")


class ParserStopped(Exception):
    """The parser did not finish with a file."""


class Parsers:
    """The process, which answers one question at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._missing: set[str] = set()

    def sections(self, text: str, language: str) -> tuple[SectionStart, ...] | None:
        """Where definitions begin; None without a parser for the language. Raises ParserStopped."""
        if language not in GRAMMARS or language in self._missing:
            return None
        raw = text.encode()
        with self._lock:
            reply = self._ask(f"{language} {len(raw)}\n".encode() + raw)
        found = msgspec.json.decode(reply, type=list[tuple[int, int, str]] | None)
        if found is None:
            self._missing.add(language)
            return None
        return tuple(SectionStart(*place) for place in found)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _ask(self, question: bytes) -> bytes:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(MOST_SECONDS, process.kill)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(question)
            process.stdin.flush()
            reply = process.stdout.readline()
        except OSError:
            reply = b""
        finally:
            timer.cancel()
        if not reply.endswith(b"\n"):
            self._end()
            raise ParserStopped
        return reply

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            # -P: nothing is imported from the program's own folder.
            command = [sys.executable, "-P", str(PROGRAM), str(MOST_MEMORY)]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
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


PARSERS = Parsers()
atexit.register(PARSERS.close)
