"""One peer in its own environment: `lane.py DRIVER load|ask WORK` prints what it measured as JSON;
`turns` instead reads numbers of questions, and prints for each how many milliseconds passed, and
how many of CPU time the process took, all its threads together.

Only the standard library is used here: the environment holds the peer and nothing of ours. A driver
is a module beside this one with `load(folder, rows)` and `opened(folder)`, which returns a function
from a question to the ids of its ten best results.

WORK holds `corpus.jsonl` and `questions.jsonl` (`id`, `text`; where the peer takes vectors ready
made, `vector` too, so that embedding is in nobody's time).
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
    """The most memory that this process or a program it ran took, in MB.

    Its own is not taken from getrusage, whose figure begins with the parent's.
    """
    own = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def read(file: Path) -> list[dict]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
