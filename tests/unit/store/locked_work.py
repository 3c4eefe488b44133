"""Tasks that the tests of locked vaults run in a process of their own: `locked_work.py TASK PATH
…`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from suites.stores.helpers import save
from suites.stores.samples import CHANGE, memory

from recollect.engine import Recollect
from recollect.errors import StoreError
from recollect.ingest.exchange import as_line, raw_lines
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite import replacement
from recollect.store.sqlite.replacement import change_key
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vault_files import Sealed, header_at
from recollect.vaults.keys import derive_key, sealed_with

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
MODEL = "toy:model"
OLD = Sealed(b"o" * 32, b"RCL\x01" + b"o" * 12)
NEW = Sealed(b"n" * 32, b"RCL\x01" + b"n" * 12)
PASSPHRASE = "correct horse battery"
# One of each in every field that is searched or shown.
WORDS = {
    "title": "Xylographer",
    "text": "quizzaciously",
    "context": "jabberwocked",
    "why": "vexillologic",
    "impact": "zymurgical",
    "details": "brobdingnagian",
    "tags": "kakistocratic",
    "domain": "floccinaucity",
    "project": "gobbledygooked",
    "source": "mumpsimused",
}
VECTOR = np.array([0.123, -0.456, 0.789, 0.321], np.float32)
IMPORTED = 200
LONGEST_WATCH_S = 30.0


def key_of(path: Path, header: bytes) -> bytes:
    """The key of the vaults here; the test's own, where a header is of neither."""
    return {one.header: one.key for one in (OLD, NEW)}[header]


def fields(number: int) -> dict[str, Any]:
    told: dict[str, Any] = {name: f"{word} number {number}" for name, word in WORDS.items()}
    return told | {"tags": [WORDS["tags"], f"tag{number}"], "project": WORDS["project"]}


def work(path: str) -> None:
    """Everything that writes, on a vault that is there; at the end it is killed while it saves."""
    with Recollect(path, home=Path(path).parent, settings=OFF) as vault:
        saved = vault.save(**fields(0))
        with vault.store.writing(CHANGE) as write:
            key = write.find([saved.id])[saved.id].key
        vault.store.vectors.put(MODEL, 4, [(key, VECTOR)])
        told = (fields(number) | {"id": f"m{number}"} for number in range(1, IMPORTED + 1))
        done = vault.import_lines(raw_lines(json.dumps(one).encode() for one in told))
        assert done.added == IMPORTED, done
        vault.edit("m1", text=f"{WORDS['text']} edited")
        asked = f"{WORDS['title']} {WORDS['text']} 77".lower()
        answers = [vault.search(asked, recipe=name, facets=True, mark=True) for name in BUILT_IN]
        assert sum(len(one.results) for one in answers) > len(BUILT_IN)
        vault.feedback(WORDS["title"], "m1", accept=True)
        vault.reindex()
        assert not [one for one in vault.doctor() if one.problem]
        vault.forget([f"m{n}" for n in range(2, 40)], purge=True)
        vault.store.database.rows("SELECT text FROM memories ORDER BY text || details")
        assert len([as_line(one) for one in vault.export()]) > IMPORTED / 2
        vault.stats()
    if (header := header_at(Path(path))) is not None:
        _rekeyed(Path(path), header)
    print("killing", flush=True)
    vault = Recollect(path, home=Path(path).parent, settings=OFF)
    for number in range(20):
        vault.save(**fields(10_000 + number))
    with vault.store.writing(CHANGE) as write:
        write.find(["m1"])
        os.kill(os.getpid(), signal.SIGKILL)


def _rekeyed(path: Path, header: bytes) -> None:
    """Change the key three times. Each copy under the new key lives until its watcher has linked
    it: on a busy machine it is gone before the watcher looks."""
    check = replacement._check

    def check_once_seen(connection: Any, copy: Path, new: Sealed | None) -> None:
        give_up = time.monotonic() + LONGEST_WATCH_S
        while copy.stat().st_nlink < 2 and time.monotonic() < give_up:
            time.sleep(0.0005)
        check(connection, copy, new)

    replacement._check = check_once_seen
    old = derive_key(PASSPHRASE, header)
    for _ in range(3):
        new = sealed_with(PASSPHRASE)
        change_key(path, old, new)
        old = new.key


def kill_everywhere(path: str, stride: str) -> None:
    """Lock, rekey and unlock, killed at the lines of `replacement.py` in turn: prints at how many,
    and how often the vault was then found as it was and as it was to be. With a stride of 3 each
    takes another third of the lines, which are nearly the same ones in all."""
    source = Path(path)
    told = {}
    changes = (("lock", None, OLD), ("rekey", OLD, NEW), ("unlock", NEW, None))
    for first, (name, old, new) in enumerate(changes, start=1):
        if old is not None:
            change_key(source, OLD.key if header_at(source) else None, old)
        found = [0, 0]
        for moment in count(first, int(stride)):
            place = source.with_name("tried.db")
            shutil.copyfile(source, place)
            child = os.fork()
            if child == 0:
                sys.settrace(_killing(moment))
                change_key(place, old.key if old else None, new)
                os._exit(0)
            killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
            found[_checked(place) == (new.header if new else None)] += 1
            if not killed:
                break
        told[name] = {"moments": moment, "before": found[0], "after": found[1]}
    print(json.dumps(told))


def _checked(place: Path) -> bytes | None:
    """Check that the vault opens, is sound and whole, without leftover files; return its header."""
    store = SqliteStore(place, keys=key_of)
    assert not [one for one in store.examine() if one.problem]
    assert store.vocabulary.documents() == 50
    store.close()
    left = sorted(file.name for file in place.parent.glob(f"{place.name}?*"))
    assert not left, left
    return header_at(place)


def _killing(moment: int) -> Any:
    """A tracer that kills the process at that line."""
    met: Counter[int] = Counter()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != replacement.__file__:
            return None
        met[frame.f_lineno] += event == "line"
        # The first rounds of a loop are like the others.
        if sum(min(times, 2) for times in met.values()) >= moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def rekey_often(path: str, times: str) -> None:
    """One key after the other; refused while others are there, it tries again."""
    done = 0
    while done < int(times):
        held, other = (NEW, OLD) if header_at(Path(path)) == NEW.header else (OLD, NEW)
        try:
            change_key(Path(path), held.key, other)
            done += 1
        except StoreError as error:
            if "Another process is using" not in str(error):
                raise
    print("done", flush=True)


def save_some(path: str, worker: str, saves: str) -> None:
    """Save `saves` memories, opening the vault for each; print each id when it is safe."""
    for number in range(int(saves)):
        store = SqliteStore(Path(path), keys=key_of)
        save(store, memory(f"w{worker}n{number}"))
        store.close()
        print(f"w{worker}n{number}", flush=True)
        time.sleep(0.02)  # otherwise no process would ever be alone


TASKS = {task.__name__: task for task in (work, kill_everywhere, rekey_often, save_some)}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
