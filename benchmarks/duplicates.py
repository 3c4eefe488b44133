"""How often it is right that two memories mean the same: the pairs of
tests/answers/duplicates.jsonl with the bundled embedder, by half and by the least cosine.

The least cosine and the rule for facts were chosen on the half `fitted`."""

from __future__ import annotations

import json
from pathlib import Path

from recollect.engine.comparison import SAME_MEANING
from recollect.models.active import ActiveModels
from recollect.query.sameness import same_facts
from recollect.settings import Settings

PAIRS = Path(__file__).parents[1] / "tests" / "answers" / "duplicates.jsonl"


def main() -> None:
    lines = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    embedder = ActiveModels(Settings(), {}, remember=False).embedder()
    ones, others = (embedder.documents([line[side] for line in lines]) for side in ("one", "other"))
    cosines = (ones * others).sum(axis=1)
    for half in ("fitted", "held out"):
        for least in (0.85, 0.87, SAME_MEANING, 0.93, 0.95):
            judged = [
                (cosine >= least and same_facts(line["one"], line["other"]), line["same"])
                for line, cosine in zip(lines, cosines, strict=True)
                if line["half"] == half
            ]
            right = sum(claimed and same for claimed, same in judged)
            claimed, same = (sum(column) for column in zip(*judged, strict=True))
            print(
                f"{half:<9} cosine {least:.2f}  precision {right / max(claimed, 1):.3f}  "
                f"recall {right / same:.3f}  of {same} pairs"
            )


if __name__ == "__main__":
    main()
