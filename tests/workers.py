"""`pytest --processes 4`: the tests in several processes, forks of the one that collected them.

Importing a few hundred modules and collecting thousands of tests takes longer than any test; here
it is done once, not by each process. The tests of one file are run by one process, since they share
vaults and servers; a process asks for the next file when it begins with the last test of one.
"""

from __future__ import annotations

import os
import random
import sys
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NoReturn

import pytest

import forked_commands

# Folders whose tests share a browser or servers; elsewhere those of one file do.
TOGETHER = ("browser", "mcp")
# A third of the browser's tests: with a second browser all end together.
APART = ("test_browser_access",)
# Where the time goes: first, so that all processes end together.
SLOWEST = (
    "browser", "parity", "recorded", "store", "docs", "golden", "properties", "secrets", "http",
    "mcp", "evaluation", "postgres",
)  # fmt: skip

LONG_S = 0.2

Group = list[int]  # places in the list of all tests

# What caught the output of the process that collected stays open: modules may hold its streams.
inherited: list[Any] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=1, help="run the tests in so many processes")
    parser.addoption("--seed", type=int, help="run the tests in a random order, this one")


@pytest.hookimpl(tryfirst=True)  # pytest then puts together what shares a fixture
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (seed := config.option.seed) is not None:
        random.Random(seed).shuffle(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    option = session.config.option
    if option.collectonly or session.testsfailed:
        return None
    if option.processes < 2 or sys.platform == "win32":
        forked_commands.start()
        return None
    # Each has a folder of its own in this one, which pytest removes.
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    groups = deque(grouped(session.items))
    workers: dict[Connection, str] = {}  # the test that each of them is at
    processes = []
    for number in range(min(option.processes, len(groups))):
        here, there = Pipe()
        sys.stdout.flush()
        processes.append(os.fork())
        if not processes[-1]:
            for channel in (here, *workers):
                channel.close()
            work(session, there, number)
        there.close()
        here.send(groups.popleft())
        workers[here] = ""
    while workers:
        for ready in wait([*workers]):
            assert isinstance(ready, Connection)
            listen(session, ready, groups, workers)
    for process in processes:
        os.waitpid(process, 0)
    # What came through streams that modules took while they were imported.
    if caught := session.config.pluginmanager.getplugin("capturemanager")._global_capturing:
        caught.readouterr()
    return True


def grouped(items: list[pytest.Item]) -> Iterator[Group]:
    groups: dict[str, Group] = {}
    for place, item in enumerate(items):
        parts = item.path.parts
        name = next((folder for folder in TOGETHER if folder in parts), str(item.path))
        name = name if item.path.stem not in APART else item.path.stem
        groups.setdefault(name, []).append(place)

    def slowness(group: Group) -> int:
        parts = items[group[0]].path.parts
        return min((SLOWEST.index(one) for one in parts if one in SLOWEST), default=len(SLOWEST))

    yield from sorted(groups.values(), key=slowness)


# In the process that collected them


def listen(
    session: pytest.Session,
    channel: Connection,
    groups: deque[Group],
    workers: dict[Connection, str],
) -> None:
    """Do what a worker's next message says."""
    try:
        message = channel.recv()
        if message == "next":
            over = session.shouldfail or session.shouldstop
            channel.send(groups.popleft() if groups and not over else [])
        elif message == "end":
            del workers[channel]
        elif isinstance(message, str):
            workers[channel] = message
        else:
            made = session.config.hook.pytest_report_from_serializable
            report(session, [made(config=session.config, data=data) for data in message])
    except (EOFError, ConnectionError):
        report(session, [lost(workers.pop(channel))])


def report(session: pytest.Session, reports: list[pytest.TestReport]) -> None:
    hook, test = session.config.hook, reports[0]
    hook.pytest_runtest_logstart(nodeid=test.nodeid, location=test.location)
    for made in reports:
        hook.pytest_runtest_logreport(report=made)
    hook.pytest_runtest_logfinish(nodeid=test.nodeid, location=test.location)


def lost(test: str) -> pytest.TestReport:
    told = f"The process that ran {test} has ended. The tests after it in its file were not run."
    return pytest.TestReport(test, (test, None, test), {}, "failed", told, "call")


# In a fork of it


class Messages:
    """Sends what pytest reports, of each test at once. That nothing went wrong before and after it
    is told only where it took long."""

    def __init__(self, config: pytest.Config, channel: Connection) -> None:
        self._config, self._channel = config, channel
        self._reports: list[pytest.TestReport] = []

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._channel.send(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)
        if report.when != "teardown":
            return
        reports, self._reports = self._reports, []
        if all(one.passed for one in reports):
            reports = [one for one in reports if one.when == "call" or one.duration > LONG_S]
        made = self._config.hook.pytest_report_to_serializable
        self._channel.send([made(config=self._config, report=one) for one in reports])


def work(session: pytest.Session, channel: Connection, number: int) -> NoReturn:
    """Run groups of tests until there are none; nobody else tidies up after what they left."""
    code = 1
    try:
        prepare(session.config, number)
        session.config.pluginmanager.register(Messages(session.config, channel))
        places: Group = channel.recv()
        while places:
            place = places.pop(0)
            if not places:
                channel.send("next")
                places = channel.recv()
            following = session.items[places[0]] if places else None
            item = session.items[place]
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                break
        session._setupstate.teardown_exact(None)
        channel.send("end")
        code = 0
    except (ConnectionError, EOFError, KeyboardInterrupt):
        pass  # the run is over
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def prepare(config: Any, number: int) -> None:
    """What the processes must not share: the files that catch output, and temporary folders."""
    config.pluginmanager.unregister(name="terminalreporter")
    catching = config.pluginmanager.getplugin("capturemanager")
    inherited.append(catching._global_capturing)
    catching._global_capturing = None
    catching.start_global_capturing()
    own = config._tmp_path_factory.getbasetemp() / f"process-{number}"
    own.mkdir(mode=0o700)
    config._tmp_path_factory._basetemp = own
    forked_commands.start()
