"""Measure precision of replacements: the pairs of tests/answers/replacements.jsonl and of blind/
with the bundled embedder, by half; with --misses, the wrong ones.

Pairs of the halves `fitted` and `blind` were read while the rule was chosen; of the others only the
figures were seen, more than once. The blind pairs were written without knowledge of the rule.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from recollect import Recollect

ANSWERS = Path(__file__).parents[1] / "tests" / "answers"
sys.path.insert(0, str(ANSWERS))

from judged import judged_pairs, precision_and_recall  # noqa: E402

BLIND = Path(__file__).parent / "blind"
FILES = (
    ANSWERS / "replacements.jsonl",
    BLIND / "replacement_pairs.jsonl",
    BLIND / "replacement_pairs_2.jsonl",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--misses", action="store_true", help="name the fitted pairs judged wrongly"
    )
    args = parser.parse_args()
    pairs = []
    for file in FILES:
        with (
            tempfile.TemporaryDirectory() as folder,
            Recollect(Path(folder) / "vault.db") as memory,
        ):
            pairs += judged_pairs(memory, file)
    for half in (*dict.fromkeys(pair.half for pair in pairs), ""):
        chosen = [pair for pair in pairs if half in ("", pair.half)]
        precision, recall = precision_and_recall(chosen)
        claimed = sum(pair.claimed for pair in chosen)
        figures = f"precision {precision:.3f}  recall {recall:.3f}  {claimed} claims"
        print(f"{half or 'all':<14} {figures} of {len(chosen)} pairs")
    if args.misses:
        for pair in pairs:
            if pair.half in ("fitted", "blind") and pair.claimed != pair.replaced:
                said = "claimed" if pair.claimed else "missed"
                print(f"{said}: {pair.older}  →  {pair.newer}")


if __name__ == "__main__":
    main()
