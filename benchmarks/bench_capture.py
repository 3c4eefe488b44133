"""Measure capture: the share of captured remarks that are worth keeping, by form and split, and its
cost.

The sessions in benchmarks/capture are written for this, in the formats of Claude Code and Codex,
with many sentences that must not be kept. They were judged and committed before the forms: `build`
was used to make the forms, `held-out` was not looked at meanwhile. `later` was written when the
forms were done: they had .909 (10 of 11) there, and one was made stricter since. All are by one
author, so other people's sessions may differ: in 265 public ones (SpecStory's, 2,368 prompts) the
forms of that time took two sentences, both wrongly, and now take none. `gold.json` has every
sentence that is worth keeping, by form; those under `other` are in no form. It needs no data.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recollect.folders.transcript import turns
from recollect.ingest.remarks import Remark
from recollect.plugins.capture import FORMS, remarks

HERE = Path(__file__).parent / "capture"
ROUNDS = 5  # the quickest round: other load of the machine only adds time


class Judged(NamedTuple):
    """The captured remarks of a split, by form: right, wrong, and missed sentences."""

    right: Counter[str]
    wrong: list[tuple[str, Remark]]
    missed: list[tuple[str, str, str]]
    sessions: int
    turns: int

    @property
    def precision(self) -> float:
        return self.right.total() / max(1, self.right.total() + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.right.total() / max(1, self.right.total() + len(self.missed))


def splits() -> list[str]:
    return sorted(folder.name for folder in HERE.iterdir() if folder.is_dir())


def typed(split: str) -> Iterator[tuple[str, str]]:
    """Yield every user's turn of the split, with the name of its session."""
    for file in sorted((HERE / split).glob("*.jsonl")):
        codex = b'"session_meta"' in file.read_bytes()
        for turn in turns(file, "codex" if codex else "claude-code"):
            if turn.role == "user":
                yield file.stem, turn.text


def judged(split: str) -> Judged:
    """Judge remarks: a right one equals, contains, or is part of a sentence of the gold set."""
    gold = json.loads((HERE / "gold.json").read_text(encoding="utf-8"))
    right: Counter[str] = Counter()
    wrong, every = [], list(typed(split))
    open_ = {
        (name, one["form"], one["said"])
        for name in {name for name, _ in every}
        for one in gold[f"{split}/{name}"]
    }
    for name, text in every:
        for remark in remarks(text):
            found = next(
                (each for each in sorted(open_) if each[0] == name and _same(each[2], remark)), None
            )
            if found is None:
                wrong.append((name, remark))
            else:
                right[found[1]] += 1
                open_.remove(found)
    return Judged(right, wrong, sorted(open_), len({name for name, _ in every}), len(every))


def _same(said: str, remark: Remark) -> bool:
    return said in remark.text or remark.text in said


def main() -> None:
    for split in splits():
        found = judged(split)
        print(
            f"{split}: {found.sessions} sessions, {found.turns} turns of users; precision "
            f"{found.precision:.3f} ({found.right.total()} of "
            f"{found.right.total() + len(found.wrong)}), recall {found.recall:.3f}"
        )
        for name in (*(form.name for form in FORMS), "other"):
            wrong = sum(remark.form == name for _, remark in found.wrong)
            missed = sum(form == name for _, form, _ in found.missed)
            print(f"  {name:<12} right {found.right[name]:>3}, wrong {wrong}, missed {missed}")
        for name, remark in found.wrong:
            print(f"  wrong, {name}: {remark.form}: {remark.text}")
        for name, form, said in found.missed:
            print(f"  missed, {name}: {form}: {said}")
    every = [text for split in splits() for _, text in typed(split)]
    print(f"{_quickest(every):.0f} µs a turn")


def _quickest(every: list[str]) -> float:
    took = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for text in every:
            remarks(text)
        took.append(time.perf_counter() - start)
    return min(took) / len(every) * 1e6


if __name__ == "__main__":
    main()
