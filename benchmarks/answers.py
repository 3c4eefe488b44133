"""Ask the questions of tests/answers with the bundled models, and print the share that is answered
as a person would, by group; with --misses, the wrong ones. `held out` counts questions that were
first looked at when the ranking was finished."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path

from recollect import Recollect
from recollect.settings import Rerank, Settings

ANSWERS = Path(__file__).parents[1] / "tests" / "answers"
sys.path.insert(0, str(ANSWERS))

from judged import ASKED_AT, is_in_order, is_right, questions  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "answers.json"
SHARES = ("all", "held out")
ORDER = "all, by the order alone"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="name the questions answered wrongly")
    parser.add_argument("--no-rerank", action="store_true", help="without the reranker")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}, for the page")
    args = parser.parse_args()
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    memories = 0
    settings = Settings(rerank=Rerank(provider="none")) if args.no_rerank else Settings()
    for file in sorted(ANSWERS.glob("*-questions.jsonl")):
        vault = file.stem.removesuffix("-questions")
        with (
            tempfile.TemporaryDirectory() as folder,
            Recollect(Path(folder) / "vault.db", settings=settings) as memory,
        ):
            for line in (ANSWERS / f"{vault}.jsonl").read_text(encoding="utf-8").splitlines():
                memory.save(**json.loads(line))
                memories += 1
            memory.embed_now()
            for question in questions(file):
                now = datetime.fromisoformat(question.get("now", ASKED_AT))
                response = memory.search(question["query"], now=now, limit=10)
                right = is_right(question, response)
                in_order = is_in_order(question, response)
                for share in SHARES[: 1 + question.get("held_out", False)]:
                    counted = ((question["group"], right), (ORDER, in_order), ("all", right))
                    for group, good in counted:
                        groups[group][f"{share}, asked"] += 1
                        groups[group][f"{share}, right"] += good
                if args.misses and not right:
                    found = [result.id for result in response][:4]
                    print(f"{vault}: {question['query']}: {response.evidence}, {found}")
    for last in (ORDER, "all"):
        groups[last] = groups.pop(last)
    for group, counts in groups.items():
        cells = (f"{s}: {counts[f'{s}, right']} of {counts[f'{s}, asked']}" for s in SHARES)
        print(f"{group:<24} {'   '.join(cells)}")
    if args.write:
        results = {"memories": memories, "groups": groups}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
