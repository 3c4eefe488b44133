"""Pairs of memories, half of them hard negatives: what is claimed to be replaced mostly is.

`older` and `newer` are two memories, `replaced` says whether the newer replaces the older, `about`
what makes the pair what it is. Each pair was put into a `half` at random. The rule was chosen by
the misses of the `fitted` one; of the other only the figures were seen, more than once.
`benchmarks/replacements.py` prints both.
"""

from __future__ import annotations

from pathlib import Path

from judged import judged_pairs, precision_and_recall
from recollect import Recollect

PAIRS = Path(__file__).with_name("replacements.jsonl")


def test_nine_of_ten_claimed_replacements_are_right(tmp_path: Path) -> None:
    with Recollect(tmp_path / "vault.db") as memory:
        pairs = judged_pairs(memory, PAIRS)
    assert len(pairs) >= 150
    assert sum(not pair.replaced for pair in pairs) >= len(pairs) / 2
    precision, recall = precision_and_recall(pairs)
    assert precision >= 0.93
    assert recall >= 0.28
