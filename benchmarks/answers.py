"""Ask the questions of tests/answers with the bundled models, and print how many are answered as a
person would, by group; with --misses, which are not. `held out` counts the questions that nobody
looked at before the ranking was finished."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path

from recollect import Recollect
from recollect.evals.answers import ASKED_AT, is_right, questions

ANSWERS = Path(__file__).parents[1] / "tests" / "answers"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="name the questions answered wrongly")
    parser.add_argument("--no-rerank", action="store_true", help="without the reranker")
    args = parser.parse_args()
    right: Counter[tuple[str, bool]] = Counter()
    asked: Counter[tuple[str, bool]] = Counter()
    changes = {"stages.rerank.top": 0} if args.no_rerank else {}
    for file in sorted(ANSWERS.glob("*-questions.jsonl")):
        vault = file.stem.removesuffix("-questions")
        with (
            tempfile.TemporaryDirectory() as folder,
            Recollect(Path(folder) / "vault.db") as memory,
        ):
            for line in (ANSWERS / f"{vault}.jsonl").read_text(encoding="utf-8").splitlines():
                memory.save(**json.loads(line))
            memory.embed_now()
            for question in questions(file):
                now = datetime.fromisoformat(question.get("now", ASKED_AT))
                response = memory.search(question["query"], now=now, limit=10, changes=changes)
                counted = question["group"], question.get("held_out", False)
                asked[counted] += 1
                right[counted] += is_right(question, response)
                if args.misses and not is_right(question, response):
                    found = [result.id for result in response][:4]
                    print(f"{vault}: {question['query']}: {response.evidence}, {found}")
    print(f"{'':<12} {'all':>12} {'held out':>12}")
    for group in (*dict.fromkeys(group for group, _ in asked), None):
        cells = []
        for kinds in ((False, True), (True,)):
            counted = [one for one in asked if one[0] == (group or one[0]) and one[1] in kinds]
            numbers = (sum(counts[one] for one in counted) for counts in (right, asked))
            cells.append("{:>4} of {:>4}".format(*numbers))
        print(f"{group or 'all':<12} {cells[0]:>12} {cells[1]:>12}")


if __name__ == "__main__":
    main()
