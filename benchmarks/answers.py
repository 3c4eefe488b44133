"""Ask the questions of tests/answers with the bundled models, and print how many are answered as a
person would, by group; with --misses, which are not."""

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
VAULTS = ("developer", "team", "languages")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="name the questions answered wrongly")
    parser.add_argument("--no-rerank", action="store_true", help="without the reranker")
    args = parser.parse_args()
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    changes = {"stages.rerank.top": 0} if args.no_rerank else {}
    for vault in VAULTS:
        with (
            tempfile.TemporaryDirectory() as folder,
            Recollect(Path(folder) / "vault.db") as memory,
        ):
            for line in (ANSWERS / f"{vault}.jsonl").read_text(encoding="utf-8").splitlines():
                memory.save(**json.loads(line))
            memory.embed_now()
            for question in questions(ANSWERS / f"{vault}-questions.jsonl"):
                now = datetime.fromisoformat(question.get("now", ASKED_AT))
                response = memory.search(question["query"], now=now, limit=10, changes=changes)
                asked[question["group"]] += 1
                right[question["group"]] += is_right(question, response)
                if args.misses and not is_right(question, response):
                    found = [result.id for result in response][:4]
                    print(f"{vault}: {question['query']}: {response.evidence}, {found}")
    for group, count in asked.items():
        print(f"{group:<12} {right[group]:>4} of {count:>4}")
    print(f"{'all':<12} {right.total():>4} of {asked.total():>4}")


if __name__ == "__main__":
    main()
