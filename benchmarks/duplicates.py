"""Measure precision of duplicates: the pairs of tests/answers/duplicates.jsonl with each bundled
embedder, by half and by the least cosine.

The least cosine and the rule for facts were chosen on the half `fitted` with the English model. The
cosines of another one are put on its scale (query/likeness.py), so that mean and deviation of
that half and of unrelated pairs are the same; the resulting scale is printed, too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from recollect.engine.comparison import SAME_MEANING
from recollect.models.active import ActiveModels
from recollect.models.folder import installed_models
from recollect.query.likeness import scale_of
from recollect.query.sameness import same_facts
from recollect.settings import Embedding, Settings

PAIRS = Path(__file__).parents[1] / "tests" / "answers" / "duplicates.jsonl"


def main() -> None:
    lines = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    english = None
    for name, settings in installed_models(Embedding()).items():
        embedder = ActiveModels(Settings(embedding=settings), {}).embedder()
        sides = [embedder.documents([line[side] for line in lines]) for side in ("one", "other")]
        every = sides[0] @ sides[1].T
        fitted = [at for at, line in enumerate(lines) if line["half"] == "fitted"]
        of_fitted = np.concatenate([np.diag(every)[fitted], every[fitted][:, fitted].ravel()])
        english = of_fitted if english is None else english
        factor = english.std() / of_fitted.std()
        offset = english.mean() - factor * of_fitted.mean()
        print(f"{name}: scale {factor:.2f} · cosine {offset:+.2f}")
        scale = scale_of(embedder.identity)
        tell(lines, [scale.to_english(cosine) for cosine in np.diag(every).tolist()])


def tell(lines: list[dict[str, Any]], cosines: list[float]) -> None:
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
