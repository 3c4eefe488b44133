"""Run one peer in its own environment: `lane.py DRIVER load|ask WORK` prints its measurements as
JSON; `turns` instead reads numbers of questions, and prints for each the elapsed milliseconds and
the CPU time of the process, all threads together.

This uses only the standard library: the environment has the peer and none of our packages. A driver
is a module in this folder with `load(folder, rows)` and `opened(folder)`, which returns a function
from a question to the ids of its ten best results.

WORK holds `corpus.jsonl` and `questions.jsonl` (`id`, `text`, and `vector` if the peer takes given
vectors, so that embedding does not count).
"""

from __future__ import annotations

import importlib
import json
import re
import resource
import sys
import time
from pathlib import Path


def main() -> None:
    started = time.perf_counter()
    name, what, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    driver = importlib.import_module(name)
    folder = work / name
    if what == "load":
        rows = read(work / "corpus.jsonl")
        folder.mkdir()
        begun = time.perf_counter()
        driver.load(folder, rows)
        answer = {"load_s": time.perf_counter() - begun, "rows": len(rows)}
    else:
        questions = read(work / "questions.jsonl")
        ask = driver.opened(folder)
        ask(questions[0])
        if what == "turns":
            for number in sys.stdin:
                begun = time.perf_counter(), time.process_time()
                ask(questions[int(number)])
                passed, spent = time.perf_counter() - begun[0], time.process_time() - begun[1]
                print(passed * 1000, spent * 1000, flush=True)
            return
        answer = {"first_s": time.perf_counter() - started, "ms": [], "run": {}}
        for question in questions:
            begun = time.perf_counter()
            answer["run"][question["id"]] = ask(question)
            answer["ms"].append((time.perf_counter() - begun) * 1000)
    answer["memory_mb"] = most_memory()
    print("\n" + json.dumps(answer))


def most_memory() -> float:
    """Return the peak memory of this process or of a program it ran, in MB.

    Its own is not taken from getrusage, whose figure begins with the parent's.
    """
    own = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def read(file: Path) -> list[dict]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
