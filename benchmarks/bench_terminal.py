"""Measure waiting times at a terminal, in one run of a minute or two, on one vault of 10,000
memories without models: a search by words, `--version` and the completion of an id, each a whole
command, against `python -c pass`; and the picker's first list and keys."""

from __future__ import annotations

import argparse
import os
import tempfile

import bench_find
from bench_startup import commands, compile_package, in_turn, tell
from data import data_argument, passages, questions
from recollect import Recollect
from recollect.ingest.draft import make_draft

WANTED = {"recollect --version": 1.5, "recollect search --json": 7.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--questions", type=int, default=5)
    args = parser.parse_args()
    compile_package()
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "RECOLLECT_HOME": home,
            "RECOLLECT_EMBEDDING__PROVIDER": "none",
            "RECOLLECT_RERANK__PROVIDER": "none",
        }
        rows = passages(args.data, args.memories)
        with Recollect(home=home, environment=environment) as memory:
            memory.save_all([make_draft(row) for row in rows])
        tell(in_turn(commands(environment, rows[0]["id"]), args.runs), WANTED)
        print()
        bench_find.tell(bench_find.typed(environment, questions(args.data, args.questions)))


if __name__ == "__main__":
    main()
