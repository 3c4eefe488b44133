"""The long round: `make soak MINUTES=10 SEED=1`.

A part is a function of a seed and an empty folder that tries something for some seconds and returns
a `Tally`. The parts take turns until the time is over, each with about the same time. A failure
names the seed that shows it again; the table and the JSON have the sums.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from crash_harness import Place, Tally, crash_round
from fuzz_targets import fuzz_round
from locked_work import OLD, key_of
from page_fuzz import damaged_locked_pages, damaged_pages
from random_history import ProcessWriter, try_history
from suites.stores.helpers import save
from suites.stores.samples import memory

import forked_commands
from recollect.interfaces.cli.output import table_lines
from recollect.store.sqlite.replacement import change_key
from recollect.store.sqlite.store import SqliteStore
from recollect.vaults.keys import sealed_with

Part = Callable[[int, Path], Tally]
COLUMNS = ("writes", "kills", "inputs", "pages")
LOCKED_WORK = sys.modules["locked_work"].__file__ or ""
PASSPHRASE = "correct horse battery"
EVERY_LANE = (("library", 6), ("library", 6), ("commands", 8), ("server", 4))
WITHOUT_COMMANDS = (("library", 8), ("library", 8), ("server", 6))  # each would make a key anew


def crashes(seed: int, folder: Path) -> Tally:
    """Killed processes on one vault, which grows; at first it is not there."""
    tally = Tally()
    for number in range(3):
        tally.add(crash_round(Place(folder / "home"), seed + number, EVERY_LANE))
    return tally


def locked_crashes(seed: int, folder: Path) -> Tally:
    """Like `crashes`, with a locked vault."""
    place = Place(folder / "home", {"RECOLLECT_PASSPHRASE": PASSPHRASE})
    place.home.mkdir()
    SqliteStore(place.home / "vault.db").close()
    change_key(place.home / "vault.db", None, sealed_with(PASSPHRASE))
    return crash_round(place, seed, WITHOUT_COMMANDS)


def key_changes(seed: int, folder: Path) -> Tally:
    """A process that changes the key again and again, killed: the vault opens and is whole."""
    tally, chance, path = Tally(), random.Random(seed), folder / "vault.db"
    _fill(path, 300)
    change_key(path, None, OLD)
    for _ in range(10):
        command = [sys.executable, LOCKED_WORK, "rekey_often", str(path), "1000000"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, 0.5))
        process.kill()
        _, errors = process.communicate()
        tally.kills += 1
        store = SqliteStore(path, keys=key_of)
        wrong = [f"{check}: {problem}" for check, problem, *_ in store.examine() if problem]
        if errors or wrong or store.vocabulary.documents() != 300:
            tally.failures.append(f"seed {seed}: {errors.decode()} {wrong}")
        store.close()
    return tally


def key_changes_by_line(seed: int, folder: Path) -> Tally:
    """Lock, rekey and unlock, killed at each line, whatever the seed."""
    _fill(folder / "vault.db", 50)
    command = [sys.executable, LOCKED_WORK, "kill_everywhere", str(folder / "vault.db"), "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.stderr:
        return Tally(failures=[f"at each line of a change of the key: {done.stderr}"])
    return Tally(kills=sum(change["moments"] for change in json.loads(done.stdout).values()))


def histories(seed: int, folder: Path) -> Tally:
    """Random histories by two processes: as of each moment the vault answers as it did."""
    try:
        return Tally(inputs=try_history(seed, folder / "home", 25, ProcessWriter))
    except AssertionError as error:
        return Tally(failures=[f"seed {seed}: as of {error}"])


def _fill(path: Path, memories: int) -> None:
    store = SqliteStore(path)
    save(store, *(memory(f"n{number}", text="word " * 200) for number in range(memories)))
    store.close()


PARTS: dict[str, Part] = {
    "crashes": crashes,
    "crashes, locked": locked_crashes,
    "changes of the key": key_changes,
    "changes of the key, at each line": key_changes_by_line,
    "damaged pages": damaged_pages,
    "damaged pages, locked": damaged_locked_pages,
    "odd input": fuzz_round,
    "histories": histories,
}


def soak(minutes: float, seed: int) -> dict[str, Tally]:
    """Run the parts in turn for that long; returns what each has tried."""
    tallies = {name: Tally() for name in PARTS}
    spent: Counter[str] = Counter(dict.fromkeys(PARTS, 0))
    end = time.monotonic() + 60 * minutes
    forked_commands.set_up()
    forked_commands.start()
    while time.monotonic() < end:
        name = min(PARTS, key=lambda part: spent[part])
        forked_commands.fork(seed % 2 == 0)  # else the installed command, which is slower
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="recollect-soak-") as folder:
            tallies[name].add(PARTS[name](seed, Path(folder)))
        spent[name] += round(1000 * (time.monotonic() - begun))
        seed += 1000
    forked_commands.tear_down()
    return tallies


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    tallies = soak(args.minutes, args.seed)
    total = Tally()
    for tally in tallies.values():
        total.add(tally)
    rows = {
        name: {column: getattr(tally, column) for column in COLUMNS}
        | {"failures": len(tally.failures)}
        for name, tally in (*tallies.items(), ("total", total))
    }
    shown = ([name, *(f"{number:,}" for number in row.values())] for name, row in rows.items())
    print(*table_lines(("", *COLUMNS, "failures"), shown), sep="\n")
    for failure in total.failures[:20]:
        print(failure, file=sys.stderr)
    print(json.dumps({"minutes": args.minutes, "seed": args.seed, "parts": rows}))
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
