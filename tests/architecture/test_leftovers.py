"""The leftovers of a failed test do not reach other tests."""

from __future__ import annotations

import subprocess

import leftovers


def test_what_a_failed_test_has_started_is_ended_and_closed() -> None:
    pipe = subprocess.PIPE
    running = subprocess.Popen(["cat"], text=True, stdin=pipe, stdout=pipe, stderr=pipe)
    leftovers.end([running])
    assert running.returncode is not None
    for stream in (running.stdin, running.stdout, running.stderr):
        assert stream is not None
        assert stream.closed
