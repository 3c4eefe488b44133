"""A test that fails leaves nothing behind that another one would stumble over: what it started
itself is ended, and what it left open is closed while nobody looks. What fixtures start they end.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
from collections.abc import Generator

import pytest

import forked_commands

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[FAILED] = report.failed or item.stash.get(FAILED, False)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    forked_commands.Popen.started = []
    try:
        return (yield)
    finally:
        forked_commands.Popen.started, started = None, forked_commands.Popen.started
        _started[:] = started or ()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        if item.stash.get(FAILED, False):
            end(_started)
        _started.clear()


_started: list[subprocess.Popen[str]] = []


def end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    # pytest keeps the frames of the last failure, and with them all that they hold.
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
