"""A program that uses the library until it is killed: `crash_worker.py NAME SEED`.

It says each change as a line of JSON before it begins, and `done` when it is acknowledged.
"""

from __future__ import annotations

import json
import logging
import sys

import numpy as np
from crash_work import BATCH, Author, Change, drafts

from recollect.engine import Recollect, importing
from recollect.ingest.exchange import raw_lines
from recollect.store import history
from recollect.times import EPOCH

MODEL = "toy:model"
WRITING = history.Change("save", history.Author("test"), lambda: EPOCH)
VECTOR = np.array([1, 0, 0, 0], np.float32)


def work(name: str, seed: str) -> None:
    importing.IMPORT_BATCH = importing.SEGMENT_BATCH = (
        BATCH  # so that a kill is likely to come between two
    )
    logging.getLogger("recollect.store").setLevel(logging.ERROR)  # a purge warns of backups
    author = Author(name, int(seed))
    with Recollect() as memory:
        while True:
            change = author.next()
            print(json.dumps(change), flush=True)
            carry_out(memory, change)
            author.states |= change.after
            print("done", flush=True)


def carry_out(memory: Recollect, change: Change) -> None:
    match change.operation:
        case "backup":
            memory.backup(keep=2)
        case "import":
            lines = [json.dumps(draft).encode() for draft in drafts(change)]
            assert not memory.import_lines(raw_lines(lines)).bad
        case "save":
            [draft] = drafts(change)
            memory.save(**draft)
            with memory.store.writing(WRITING) as write:
                key = write.find([draft["id"]])[draft["id"]].key
            memory.store.vectors.put(MODEL, 4, [(key, VECTOR)])
        case "edit":
            [draft] = drafts(change)
            memory.edit(draft["id"], text=draft["text"])
        case operation:
            undo, purge = operation == "undo", operation == "purge"
            memory.forget([*change.after], undo=undo, purge=purge)


if __name__ == "__main__":
    work(*sys.argv[1:])
