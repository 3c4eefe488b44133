"""Asking for the definitions of a source file, without trusting the file.

The parsers run in one process of their own, which is started with the first question, ends with
this one, and is started anew when a file was too much for it.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
import threading
from pathlib import Path

import msgspec

from recollect.documents.definitions import GRAMMARS
from recollect.documents.document import Mark

# 2 MB of ordinary code take a fifth of a second. It is the time for which one file may hold up all
# the others.
MOST_SECONDS = 5.0
# Parsing takes some twenty times a file's size.
MOST_MEMORY = 1 << 30
PROGRAM = Path(__file__).with_name("definitions.py")


class TooMuch(Exception):
    """The parser did not come to an end with a file."""


class Parsers:
    """The process, which answers one question at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._missing: set[str] = set()

    def marks(self, text: str, language: str) -> tuple[Mark, ...] | None:
        """Where definitions begin; None without a parser for the language. It may be TooMuch."""
        if language not in GRAMMARS or language in self._missing:
            return None
        raw = text.encode()
        with self._lock:
            reply = self._asked(f"{language} {len(raw)}\n".encode() + raw)
        found = msgspec.json.decode(reply, type=list[tuple[int, int, str]] | None)
        if found is None:
            self._missing.add(language)
            return None
        return tuple(Mark(*place) for place in found)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _asked(self, question: bytes) -> bytes:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        watch = threading.Timer(MOST_SECONDS, process.kill)
        watch.daemon = True
        watch.start()
        try:
            process.stdin.write(question)
            process.stdin.flush()
            reply = process.stdout.readline()
        except OSError:
            reply = b""
        finally:
            watch.cancel()
        if not reply.endswith(b"\n"):
            self._end()
            raise TooMuch
        return reply

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            # -P: the folder of the program is not where its imports come from.
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
        # What was not written yet is not wanted any more.
        for stream in (process.stdin, process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass
        process.wait()


PARSERS = Parsers()
atexit.register(PARSERS.close)
