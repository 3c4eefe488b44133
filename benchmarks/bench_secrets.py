"""Measure redaction: the share of secrets that are found, of ordinary lines that are changed, and
its cost.

It needs no data: the credentials are made up, the ordinary lines are Python's own library and this
project. The figures in docs/how-to/redact-secrets.md are what it prints.
"""

from __future__ import annotations

import argparse
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit" / "secrets"))

from secret_samples import Positive, hard, later, leaks, ordinary, positives
from service_samples import service_positives

from recollect import Recollect
from recollect.ingest.draft import Draft, make_draft
from recollect.ingest.exchange import Line
from recollect.secrets.redaction import redact, redact_draft

SEEDS = range(20260301, 20260311)
ROUNDS = 3  # the quickest round: other load of the machine only adds time
OFF = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    args = parser.parse_args()
    finding()
    touching()
    speed()
    importing(args.memories)


def finding() -> None:
    """Print the share of credentials that are found, kind by kind."""
    print("found")
    samples = [one for seed in SEEDS for one in (*positives(seed), *service_positives(seed))]
    for group in sorted({one.group for one in samples}):
        _row(group, [one for one in samples if one.group == group])
    _row("all of these", samples)
    _row("names and places thought of later", [one for seed in SEEDS for one in later(seed)])
    _row("without a name, or plain words", hard())


def _row(name: str, samples: list[Positive]) -> None:
    found = sum(not leaks(redact(one.text)[0], one.secret) for one in samples)
    print(f"  {name:<36}{found:>6,} of {len(samples):,}")


def touching() -> None:
    """Print the number of ordinary lines that are changed, per thousand."""
    print("touched")
    for name, lines in (("the test's lines", ordinary()), ("Python's library", [*_library()])):
        touched = [line for line in lines if redact(line)[1]]
        rate = 1000 * len(touched) / len(lines)
        print(f"  {name:<36}{len(touched):>6,} of {len(lines):,} lines ({rate:.4f} in 1,000)")
        for line in touched:
            print(f"    {line.strip()[:90]}")


def _library() -> Iterator[str]:
    folder = Path(sysconfig.get_path("stdlib"))
    for file in sorted(folder.rglob("*.py")):
        if "site-packages" not in file.parts:
            yield from filter(str.strip, file.read_text("utf-8", "replace").splitlines())


def speed() -> None:
    """Print megabytes per second of ordinary text, of text full of secrets, and of hostile text."""
    print("speed")
    code = "\n".join(ordinary())
    full = "\n".join(one.text for one in positives()) * 10
    hostile = "password=\"password='" * 50_000
    for name, text in (("ordinary", code), ("full of secrets", full), ("hostile", hostile)):
        spent = _quickest(lambda text=text: redact(text))  # type: ignore[misc]
        print(f"  {name:<36}{len(text) / spent / 1e6:>8.1f} MB/s")


def importing(count: int) -> None:
    """Print the cost for an import of short memories."""
    lines = [line.strip() for line in ordinary() if len(line.strip()) > 30]
    texts = list(islice(cycle(lines), 3 * count))
    raw = [
        {
            "title": texts[3 * n][:80],
            "text": f"{texts[3 * n + 1]} {texts[3 * n + 2]}",
            "tags": ["a"],
        }
        for n in range(count)
    ]
    drafts = [make_draft(one) for one in raw]
    checks = _quickest(lambda: [make_draft(one) for one in raw])
    looks = _quickest(lambda: [redact_draft(one) for one in drafts])
    found = sum((Counter(redact_draft(one)[1]) for one in drafts), Counter[str]())
    kept, clean = (_imported(drafts, redact=redact) for redact in (False, True))
    print(f"import of {count:,} memories, {len(str(raw)) // count} bytes each on average")
    print(f"  {'checking the fields':<36}{1e6 * checks / count:>8.1f} µs a memory")
    print(f"  {'looking for secrets':<36}{1e6 * looks / count:>8.1f} µs a memory")
    print(f"  {'replaced':<36}{found.total():>8,}")
    print(f"  {'import without looking':<36}{kept:>8.1f} s")
    print(f"  {'import':<36}{clean:>8.1f} s, {clean / kept:.3f} times as long")


def _imported(drafts: list[Draft], *, redact: bool) -> float:
    def once() -> None:
        with tempfile.TemporaryDirectory() as home, Recollect(home=home, environment=OFF) as memory:
            lines = (Line(number, one, "", 0) for number, one in enumerate(drafts, start=1))
            memory.import_lines(lines, redact=redact)

    return _quickest(once)


def _quickest(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return min(spent)


if __name__ == "__main__":
    main()
