"""`recollect eval`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from recollect.engine import Recollect
from recollect.engine.feedback import gold_folder
from recollect.interfaces.cli.arguments import WrongUsage, add_json, usage_error
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import (
    BOLD,
    CYAN,
    DIM,
    YELLOW,
    paint,
    print_json,
    progress,
    say,
    table_lines,
)
from recollect.present.sentences import counted, visible
from recollect.settings import Rerank
from recollect.settings_reading import home_folder, load_settings
from recollect_evaluation.cache import FILE, Cache, cache_folder
from recollect_evaluation.datasets import Dataset, load
from recollect_evaluation.evaluation import RecipeOutcome, open_evaluation
from recollect_evaluation.gold import Added, add_judgements, create_gold
from recollect_evaluation.own_questions import advice, compare_models, own_dataset
from recollect_evaluation.report import report, write_runs

USAGE = """recollect eval [--recipe NAME]... [--models] [--queries N] [--seed N]
                      [--no-rerank] [--no-cache] [--run-dir FOLDER] [--json]
                      DATASET | --own
       recollect eval init [FOLDER]
       recollect eval add [--grade N] [--gold FOLDER] [--json] QUERY ID [ID ...]
       recollect eval suite [options]"""
ABOUT = """

The figures are nDCG@10, MRR@10 and recall@10, each with a 95 % interval, and the time of an answer.
DATASET is a folder in BEIR's layout, or a gold set: `init` creates one for your own vault, `add`
adds to it. With --own the questions are those of your gold set and of your feedback, over a copy of
your newest memories; --models compares the installed embedding models, and says which one to use.

Quality and time are measured separately. For quality, every question is asked, the models' outputs
are cached, and the reranker has no time limit: the figures do not depend on the machine. For time,
up to 50 of the questions are asked again, one after the other, without the cache and with the
reranker's time limit. `reached` is the share of the candidates that it read within the limit."""
# The options of each form; the others would be ignored, so they are refused.
OPTIONS = {
    "init": (),
    "add": ("grade", "gold", "json"),
    "": ("recipe", "own", "models", "queries", "seed", "no_rerank", "no_cache", "run_dir", "json"),
}
BEST = "ndcg@10"  # the table is sorted by it


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = USAGE
    parser.description = f"{parser.description}{ABOUT}"
    parser.add_argument(
        "words",
        metavar="DATASET",
        nargs="*",
        help="a folder with corpus.jsonl, queries.jsonl and qrels.tsv, each plain, .gz or .xz; "
        "or a gold set; for a folder called init, add or suite, write ./init",
    )
    parser.add_argument(
        "--recipe",
        action="append",
        metavar="NAME",
        help="a recipe, or grep, bm25, dense; repeatable; the others are compared with the first "
        "(default: the settings' recipe, and all three)",
    )
    parser.add_argument(
        "--own", action="store_true", help="your gold set and feedback instead of a data set"
    )
    parser.add_argument(
        "--models", action="store_true", help="compare embedding models instead of recipes"
    )
    parser.add_argument("--queries", type=int, metavar="N", help="use only N of the questions")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="the random seed that picks them (default: 0)"
    )
    parser.add_argument("--no-rerank", action="store_true", help="do not use the reranker")
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="do not use cached model outputs, which are in $RECOLLECT_CACHE or in your user "
        "cache directory",
    )
    parser.add_argument(
        "--run-dir", metavar="FOLDER", help="write TREC run files and a line per question there"
    )
    add_json(parser)
    group = parser.add_argument_group("for add")
    group.add_argument("--grade", type=int, metavar="N", help="how good the answer is (default: 1)")
    group.add_argument(
        "--gold", metavar="FOLDER", help="the gold set (default: gold, in the home folder)"
    )


@command(
    "  recollect eval ./my-data\n"
    "  recollect eval ./my-data --recipe gnosis --recipe bm25 --queries 100 --json\n"
    "  recollect eval --own --models\n"
    "  recollect eval init\n"
    '  recollect eval add "how do we refresh tokens" auth-jwt-001',
    arguments,
)
def eval_(args: argparse.Namespace) -> int:
    action = args.words[0] if args.words[:1] in (["init"], ["add"]) else ""
    for name in set().union(*OPTIONS.values()) - set(OPTIONS[action]):
        if getattr(args, name) is not None and getattr(args, name) is not False:
            option = name.replace("_", "-")
            raise WrongUsage(
                f"--{option} cannot be used with `recollect eval {action or 'DATASET'}`."
            )
    if action == "init":
        return _init(args.words[1:])
    if action == "add":
        return _add(args, args.words[1:])
    if len(args.words) != (0 if args.own else 1):
        raise usage_error("eval DATASET, or recollect eval --own")
    if args.models and args.recipe:
        raise WrongUsage("--models compares models with the settings' recipe; leave --recipe out.")
    if args.queries is not None and args.queries < 1:
        raise WrongUsage(f"--queries must be at least 1, not {args.queries}.")
    return _evaluate(args, None if args.own else Path(args.words[0]))


def _init(words: list[str]) -> int:
    if len(words) > 1:
        raise usage_error("eval init [FOLDER]")
    folder = Path(words[0]) if words else gold_folder(home_folder(os.environ))
    create_gold(folder)
    print(f"Created the gold set {folder}. Its README.md explains how to add to it.")
    return 0


def _add(args: argparse.Namespace, words: list[str]) -> int:
    if len(words) < 2:
        raise usage_error("eval add QUERY ID [ID ...]")
    query, *ids = words
    with Recollect() as memory:
        folder = Path(args.gold) if args.gold else gold_folder(memory.home)
        done: Added = add_judgements(
            memory, folder, query, ids, 1 if args.grade is None else args.grade
        )
    sentence = f"{done.query}: {counted(done.judgements, 'new judgement')} in {folder}."
    say(args.json, sentence, query=done.query, judgements=done.judgements, gold=str(folder))
    return 0


def _evaluate(args: argparse.Namespace, folder: Path | None) -> int:
    settings = load_settings(home_folder(os.environ))
    if args.no_rerank:
        settings = msgspec.structs.replace(settings, rerank=Rerank(provider="none"))
    cache = Cache(None if args.no_cache else cache_folder(os.environ) / FILE)
    seed = args.seed or 0
    try:
        source: Path | Dataset
        note: str | None = None
        if folder is None:
            with Recollect() as memory:
                source, note = own_dataset(memory), memory.language_note(compared=True)
        else:
            source = load(folder) if args.models else folder
        if isinstance(source, Dataset) and args.models:
            figures, outcomes = compare_models(
                source, settings, os.environ, cache, progress, queries=args.queries, seed=seed
            )
            figures["advice"] = advice(figures, note)
            return _report(args, figures, source, outcomes)
        with open_evaluation(source, settings, os.environ, cache) as bench:
            contestants, left_out = bench.contestants(args.recipe or ())
            asked = bench.questions(args.queries, seed)
            vectors = any(contestant.uses_vectors for contestant in contestants)
            refused = bench.prepare(progress, vectors=vectors)
            outcomes = bench.measure(contestants, asked, seed, progress)
            figures = report(
                bench.dataset,
                outcomes,
                problems=bench.dataset.problems | refused,
                models=bench.models(),
                left_out=left_out,
            )
            return _report(args, figures, bench.dataset, outcomes)
    finally:
        cache.close()


def _report(
    args: argparse.Namespace,
    found: dict[str, Any],
    dataset: Dataset,
    outcomes: Sequence[RecipeOutcome],
) -> int:
    if args.run_dir is not None:
        write_runs(Path(args.run_dir), dataset, outcomes)
    if args.json:
        print_json(found)
    else:
        _print_report(found)
    return 0


def _print_report(found: dict[str, Any]) -> None:
    documents = counted(found["documents"], "document")
    questions = counted(found["queries"], "question")
    print(f"{paint(visible(found['dataset']), BOLD)}: {documents}, {questions}\n")
    heading, *rows = table_lines(*_table(found))
    print("\n".join([paint(heading, CYAN), *rows]))
    print()
    for line in _remarks(found):
        print(paint(line, DIM))
    if "advice" in found:
        print(visible(found["advice"]))
    for line in _warnings(found):
        print(paint(f"! {visible(line)}", YELLOW))


def _table(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows, best first."""
    recipes = found["recipes"]
    apart = {
        pair["recipe"]: f"{pair['difference']:+.3f} {_chance(pair['p'])}"
        for pair in found["comparisons"]
        if pair["measure"] == BEST
    }
    of = "model" if "advice" in found else "recipe"
    heading = [of, "nDCG@10", "95 % interval", "MRR@10", "recall@10", "p50", "p95"]
    if apart:
        heading.insert(3, f"vs {next(iter(recipes))}")
    rows = []
    for name, scores in sorted(recipes.items(), key=lambda item: -item[1][BEST]):
        low, high = scores["ci95"][BEST]
        row = [
            name,
            f"{scores[BEST]:.3f}",
            f"{low:.3f}–{high:.3f}",
            f"{scores['mrr@10']:.3f}",
            f"{scores['recall@10']:.3f}",
            f"{scores['p50_ms']:.1f} ms",
            f"{scores['p95_ms']:.1f} ms",
        ]
        if apart:
            row.insert(3, apart.get(name, ""))
        rows.append(row)
    return heading, rows


def _chance(p: float) -> str:
    return "p<0.001" if p < 0.001 else f"p={p:.3f}"


def _remarks(found: dict[str, Any]) -> list[str]:
    """Return notes on how the figures were measured."""
    timed = next(iter(found["recipes"].values()))["timed"]
    models = ", ".join(f"{kind} {name or 'none'}" for kind, name in found["models"].items())
    lines = [
        f"p: paired bootstrap, two-sided. p50, p95: time per answer, {counted(timed, 'question')}.",
        f"Models: {models}.",
    ]
    if found["not_scored"]:
        unjudged = counted(found["not_scored"], "question")
        lines.append(f"Not scored: {unjudged} without a judged answer.")
    for name, scores in found["recipes"].items():
        if scores["reached"] is not None:
            share = f"{scores['reached']:.0%} of its candidates"
            lines.append(f"{name}: the reranker read {share} within its time limit.")
    return lines


def _warnings(found: dict[str, Any]) -> list[str]:
    """Return the problems with the data, and the recipes and parts that are missing."""
    return [
        *(f"{name} was not measured: {reason}." for name, reason in found["left_out"].items()),
        *(f"{count:,} × {reason}" for reason, count in found["problems"].items()),
        *(
            f"{name}, {counted(count, 'question')}: {reason}"
            for name, scores in found["recipes"].items()
            for reason, count in scores["degraded"].items()
        ),
    ]
