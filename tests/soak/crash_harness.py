"""Processes of the library, the command line and the server on one vault, killed at random.

`crash_round` runs them side by side; each kill is followed by a new process. Then the vault must
hold whatever was acknowledged, and of what was under way all or nothing; the doctor must find
nothing, and every backup must be whole. The operations and the moments of the kills follow from the
seed; what a process has reached by then depends on the machine.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import NamedTuple

import httpx2
from crash_work import BATCH, OPERATIONS, Author, Change, Record, States, drafts
from http_server import API, RECOLLECT, Server, environment, serving

from recollect.engine import Recollect
from recollect.engine.backups import check_backup
from recollect.errors import RecollectError
from recollect.store.base import Stored

WORKER = Path(__file__).with_name("crash_work.py")
KILLED = -9
LONGEST_S = 60  # far beyond what any process needs
THROUGH_SERVER = {name: OPERATIONS[name] for name in ("save", "edit", "forget", "undo", "import")}


@dataclass
class Tally:
    """The number of attempts, and the failures."""

    writes: int = 0
    kills: int = 0
    inputs: int = 0
    pages: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally | Record) -> None:
        self.writes += other.writes
        self.kills += other.kills
        self.failures += other.failures
        if isinstance(other, Tally):
            self.inputs += other.inputs
            self.pages += other.pages


class Place(NamedTuple):
    """A home, and the environment variables of its processes, such as the passphrase of a locked
    vault."""

    home: Path
    variables: Mapping[str, str] = {}

    @property
    def environment(self) -> dict[str, str]:
        return environment(self.home, **self.variables)


# Runs an interface of Recollect on the home until that number of its processes is killed.
Lane = Callable[[Place, str, random.Random, int], Record]


def library(place: Place, name: str, chance: random.Random, kills: int) -> Record:
    """Programs that use the library; each saves under ids of its own."""
    record = Record(BATCH)
    while record.kills < kills and not record.failures:
        wanted, pause = chance.choice((0, 3, 10, 30)), chance.uniform(0, 0.01)
        process = subprocess.Popen(
            [sys.executable, str(WORKER), f"{name}{record.kills}", str(chance.getrandbits(32))],
            env=place.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        lines: list[str] = []
        while lines.count("done\n") < wanted and (line := process.stdout.readline()):
            lines.append(line)
        time.sleep(pause)
        process.kill()
        with process:
            _read_lines(record, lines + process.stdout.readlines())
            assert process.stderr is not None
            errors = process.stderr.read()
        if process.returncode == KILLED:
            record.kills += 1
        if errors or process.returncode != KILLED:
            record.failures.append(f"a program ended with {process.returncode}: {errors}")
    return record


def _read_lines(record: Record, lines: list[str]) -> None:
    """Note what a program said. Its last line may be cut short: then nothing had begun."""
    change = None
    for line in lines:
        if line == "done\n":
            assert change is not None
            record.done(change)
            change = None
        elif line.endswith("\n"):
            operation, after = json.loads(line)
            change = Change(operation, {id: state and tuple(state) for id, state in after.items()})
    if change is not None:
        record.unsure.append(change)


def command_line(place: Place, name: str, chance: random.Random, kills: int) -> Record:
    """Command after command; about every second one is killed."""
    record = Record()
    author = Author(name, chance.getrandbits(32))
    took = 0.05
    while record.kills < kills and not record.failures:
        change = author.next()
        args, given = _command(change)
        process = subprocess.Popen(
            [RECOLLECT, *args],
            env=place.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        begun = time.monotonic()
        alarm = Timer(chance.uniform(0, took), process.kill)
        if chance.random() < 0.5:
            alarm.start()
        _, errors = process.communicate(given, LONGEST_S)
        alarm.cancel()
        if process.returncode == 0:
            took = 0.5 * (took + time.monotonic() - begun)
            record.done(change)
            author.states |= change.after
        elif process.returncode == KILLED:
            record.kills += 1
            _give_up(record, author, change)
        else:
            record.failures.append(f"recollect {args[0]}: {errors.decode()}")
    return record


def _give_up(record: Record, author: Author, change: Change) -> None:
    """The author leaves those memories alone from now on."""
    record.unsure.append(change)
    for id in change.after:
        author.states.pop(id, None)


def _command(change: Change) -> tuple[list[str], bytes]:
    """The arguments of the command, and its standard input."""
    match change.operation:
        case "backup":
            return ["backup", "--keep", "2"], b""
        case "import":
            return ["import", "-"], "\n".join(map(json.dumps, drafts(change))).encode()
        case "forget":
            return ["forget", *change.after], b""
        case "undo" | "purge":
            return ["forget", f"--{change.operation}", *change.after], b""
    [draft] = drafts(change)
    named = ["edit"] if change.operation == "edit" else ["save", "--id"]
    return [*named, draft["id"], "--text", draft["text"]], b""


def server(place: Place, name: str, chance: random.Random, kills: int) -> Record:
    """Servers, with a client that asks one thing after the other until it gets no answer."""
    record = Record()
    author = Author(name, chance.getrandbits(32), THROUGH_SERVER)
    while record.kills < kills and not record.failures:
        with serving(place.home, **place.variables) as running:
            left = chance.choice((0, 5, 20))
            alarm = Timer(chance.uniform(0, 0.02), running.process.kill)
            while True:
                if left == 0:
                    alarm.start()
                left -= 1
                change = author.next()
                try:
                    answer = _request(running, change)
                except httpx2.TransportError:
                    _give_up(record, author, change)
                    break
                if not answer.is_success:
                    record.failures.append(f"{change.operation} over HTTP: {answer.text}")
                    alarm.start()
                    break
                record.done(change)
                author.states |= change.after
            alarm.join()
            record.kills += running.process.wait(LONGEST_S) == KILLED
    return record


def _request(running: Server, change: Change) -> httpx2.Response:
    """Ask for the change over HTTP."""
    if change.operation == "import":
        return running.post(f"{API}/memories", drafts(change))
    [draft] = drafts(change)
    match change.operation:
        case "save":
            return running.post(f"{API}/memories", draft)
        case "edit":
            return running.patch(draft["id"], {"text": draft["text"]})
        case "forget":
            return running.client.delete(f"{API}/memories/{draft['id']}")
    return running.post(f"{API}/restore/{draft['id']}")


LANES: Mapping[str, Lane] = {"library": library, "commands": command_line, "server": server}


def crash_round(place: Place, seed: int, lanes: Sequence[tuple[str, int]]) -> Tally:
    """Kill `lanes` processes of each kind, all at work on the vault of the home, then a `restore`;
    return the tally. The processes make a missing vault."""
    chance = random.Random(seed)
    place.home.mkdir(parents=True, exist_ok=True)
    known = Record()
    known.states = _found(place) if (place.home / "vault.db").exists() else {}
    chances = [random.Random(chance.getrandbits(32)) for _ in lanes]
    with ThreadPoolExecutor(len(lanes)) as pool:
        started = [
            pool.submit(LANES[lane], place, f"{lane}-{seed}-{number}-", chances[number], kills)
            for number, (lane, kills) in enumerate(lanes)
        ]
        records = [known, *(each.result() for each in started)]
    tally = Tally()
    for record in records:
        tally.add(record)
    try:
        tally.failures += _problems(place, records)
        if not tally.failures:
            tally.add(_killed_restore(place, chance))
    except RecollectError as error:
        tally.failures.append(str(error))
    tally.failures = [f"seed {seed}: {failure}" for failure in tally.failures]
    return tally


def _problems(place: Place, records: list[Record]) -> list[str]:
    """Return what is wrong with the vault and its backups."""
    found = _found(place)
    known = set().union(*(record.ids() for record in records))
    wrong = [f"nobody saved {id}" for id in sorted(found.keys() - known)]
    wrong += [problem for record in records for problem in record.problems(found)]
    for file in (place.home / "backups").glob("*.db"):
        check_backup(file, environment=place.environment)
    return wrong + _findings(place)


def _findings(place: Place) -> list[str]:
    with _open(place) as memory:
        return [f"{check}: {problem}" for check, problem, *_ in memory.doctor() if problem]


def _open(place: Place, file: Path | None = None) -> Recollect:
    return Recollect(file, home=place.home, environment=place.environment)


def _found(place: Place, file: Path | None = None) -> States:
    """Every memory of the vault, or of that file."""
    with _open(place, file) as memory:
        return {
            item.memory.id: (item.memory.text, not item.forgotten)
            for item in memory.export_all()
            if isinstance(item, Stored)
        }


def _killed_restore(place: Place, chance: random.Random) -> Tally:
    """Kill a restore from the newest backup: the vault is as before, or as the backup has it."""
    files = sorted((place.home / "backups").glob("vault-*Z.db"), key=os.path.getmtime)
    tally = Tally()
    if not files:
        return tally
    before = _found(place)
    copy = Path(shutil.copyfile(files[-1], place.home / "copy.db"))
    after = _found(place, copy)
    process = subprocess.Popen(
        [RECOLLECT, "restore", "--from", str(files[-1])],
        env=place.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(chance.uniform(0, 0.15))
    process.kill()
    _, errors = process.communicate()
    if process.returncode not in (0, KILLED):
        tally.failures.append(f"recollect restore: {errors.decode()}")
    tally.kills += process.returncode == KILLED
    if _found(place) not in (before, after):
        tally.failures.append("an interrupted restore left neither the old vault nor the backup")
    tally.failures += _findings(place)
    return tally
