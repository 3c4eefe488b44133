"""Fuzzing: valid examples, mutated with known-bad pieces, the same for the same seed.

A target tries one input and raises nothing but the error types it declares, within a time and a
memory limit; what comes out is checked. The time limit is a signal, which ends Python code and
regular expressions, so that targets run in the main thread.
"""

from __future__ import annotations

import random
import resource
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from crash_harness import Tally

# Longer inputs than this only make a round slower.
LONGEST = 60_000
# Of processor time for one input; the slowest take some tenths.
MOST_SECONDS = 5.0
# What a process may grow by in one round.
MOST_GROWTH_KB = 600_000

PIECES: tuple[bytes, ...] = (
    b"", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n\n", b"\t", b" ",
    b"\x1b[2J", b"\xe2\x80\xae", b"\xe2\x80\xa8", b"\xc2\x85", b"\xc4\xb0", b"\xf0\x9f\x98\x80",
    b"e\xcc\x81", b"%s", b"{0}", b"\\", b'"', b"'", b"`", b"<", b">", b"&", b"#", b"[", b"]",
    b"{", b"}", b"(", b")", b"*", b"^", b"$", b"|", b"~", b"..", b"/", b"-", b"_", b"=", b":",
    b";", b",", b"--", b"---\n", b"...", b"null", b"true", b"NaN", b"Infinity", b"1e999", b"-1",
    b"0", b"9" * 40, b"0.1", b"2026-03-01", b"0001-01-01", b"9999-12-31T23:59:59-12:00",
    b"last week", b"99999999d", b" AND ", b" NOT ", b" NEAR(", b"password=",
    b"eyJhbGciOiJIUzI1NiJ9.", b"ghp_", b"://a:b@", b"-----BEGIN PRIVATE KEY-----\n", b"<redact>",
    b"[[redact]]", b"[redacted: jwt]", b"@generated", b"<!--", b"<![CDATA[", b"&#0;", b"<table>",
    b"<td>", b"<pre>", b"<w:p/>", b"> ", b"- ", b"1. ", b"```\n", b"# ", b"===\n",
    b"|a|b|\n|-|-|\n", b"[a]: <", b"![[", b"tags: [", b"&a *a", b"!!python/object:os.system",
    b"%YAML 1.1\n", b"obj\n", b"endobj\n", b"stream\n", b"xref\n", b"trailer\n", b"/Type /Page ",
    b"PK\x03\x04", b"PK\x01\x02",
)  # fmt: skip


class Target(NamedTuple):
    """`examples` are valid inputs, `attempt` tries one and checks the result, `allowed` are the
    errors that it may raise."""

    examples: Sequence[bytes]
    attempt: Callable[[bytes, random.Random], None]
    allowed: tuple[type[Exception], ...]


class Overtime(BaseException):
    """An input took too long. No `except Exception` on the way takes it for its own."""


def mutate(examples: Sequence[bytes], chance: random.Random) -> bytes:
    """One of the examples, changed a few times; sometimes as it is."""
    raw = chance.choice(examples)
    for _ in range(chance.choice((0, 1, 1, 2, 3, 5, 8))):
        start = chance.randint(0, len(raw))
        end = min(len(raw), start + chance.choice((0, 1, 2, 8, 50, 1000)))
        byte = bytes([chance.randrange(256)])
        piece = chance.choice((raw[start:end], chance.choice(PIECES), byte))
        kind = chance.randrange(5)
        if kind == 0:  # replaced
            raw = raw[:start] + piece + raw[end:]
        elif kind == 1:  # repeated
            raw = raw[:start] + piece * chance.choice((1, 2, 30, 1000, 20_000)) + raw[start:]
        elif kind == 2:  # nested
            raw = raw[:start] + chance.choice(PIECES) * chance.choice((2, 40, 3000)) + raw[start:]
        elif kind == 3:  # spliced
            other = chance.choice(examples)
            raw = raw[:start] + other[chance.randint(0, len(other)) :]
        else:  # cut
            raw = raw[:start] + raw[end:]
        raw = raw[:LONGEST]
    return raw


def fuzz(
    name: str, target: Target, seed: int, *, inputs: int = 10**9, seconds: float = 10**9
) -> Tally:
    """Try that many inputs, or for that many seconds. A failure names the seed of its input, with
    which `fuzz(…, inputs=1)` shows it again."""
    tally, end, before = Tally(), time.monotonic() + seconds, _largest_kb()
    while tally.inputs < inputs and time.monotonic() < end:
        chance = random.Random(seed)
        raw = mutate(target.examples, chance)
        try:
            with time_limit(MOST_SECONDS):
                target.attempt(raw, chance)
        except target.allowed:
            pass
        except (Exception, Overtime) as error:
            tally.failures.append(f"{name}, seed {seed}: {type(error).__name__}: {error}"[:500])
        tally.inputs += 1
        seed += 1
    if _largest_kb() - before > MOST_GROWTH_KB:
        tally.failures.append(f"{name}, before seed {seed}: grew by {_largest_kb() - before:,} kB")
    return tally


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise Overtime after this processor time."""

    def over(number: int, frame: FrameType | None) -> None:
        raise Overtime(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _largest_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
