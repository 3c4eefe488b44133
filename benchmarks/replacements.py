"""How often it is right that one memory replaces another: the pairs of
tests/answers/replacements.jsonl with the bundled embedder, by half; with --misses, which are wrong.

Only pairs of the half `fitted` were read while the rule was chosen. The figures of the other half
were seen meanwhile, and one of them led to a change: they are no blind measure."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from recollect import Recollect

ANSWERS = Path(__file__).parents[1] / "tests" / "answers"
sys.path.insert(0, str(ANSWERS))

from judged import judged_pairs, precision_and_recall  # noqa: E402

PAIRS = ANSWERS / "replacements.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--misses", action="store_true", help="name the fitted pairs judged wrongly"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Recollect(Path(folder) / "vault.db") as memory:
        pairs = judged_pairs(memory, PAIRS)
    for half in ("fitted", "held out"):
        precision, recall = precision_and_recall(pair for pair in pairs if pair.half == half)
        print(f"{half:<9} precision {precision:.3f}  recall {recall:.3f}")
    if args.misses:
        for pair in pairs:
            if pair.half == "fitted" and pair.claimed != pair.replaced:
                said = "claimed" if pair.claimed else "missed"
                print(f"{said}: {pair.older}  →  {pair.newer}")


if __name__ == "__main__":
    main()
