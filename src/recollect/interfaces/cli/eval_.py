"""`recollect eval`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import msgspec

from recollect.engine import Recollect
from recollect.evals.cache import FILE, Cache, cache_folder
from recollect.evals.gold import Added, add, gold_folder, init
from recollect.evals.metrics import trec_eval
from recollect.evals.report import report, write_runs
from recollect.evals.runs import opened
from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.output import (
    BOLD,
    DIM,
    YELLOW,
    on_terminal,
    print_json,
    progress,
    styled,
    visible,
)
from recollect.present.words import counted
from recollect.settings import Rerank, home_folder, load_settings

EXAMPLE = (
    "  recollect eval ./my-data\n"
    "  recollect eval ./my-data --recipe gnosis --recipe bm25 --queries 100 --json\n"
    "  recollect eval init\n"
    '  recollect eval add "how do we refresh tokens" auth-jwt-001'
)
USAGE = """recollect eval [-h] [--recipe R]... [--queries N] [--seed S] [--no-rerank] [--no-cache]
                      [--run-dir D] [--json] DATASET
       recollect eval init [FOLDER]
       recollect eval add [--grade N] [--gold FOLDER] [--json] QUERY ID [ID ...]"""
ABOUT = """

nDCG@10, MRR@10 and recall@10, each with a 95 % interval, and what an answer costs. DATASET is a
folder in BEIR's layout, or a gold set: `init` makes one for your own vault, `add` adds to it.

Quality and time are measured apart. For the quality every question is asked, what the models say is
kept in a cache, and the reranker has all the time it needs: the figures do not depend on the
machine. For the time up to 50 of the questions are asked again, one after the other, of the live
models, with nothing kept and the reranker's own budget. `reached` is the share of the candidates
that it read in that time."""
# Which options belong to which way of calling; the rest would be ignored, so they are refused.
OPTIONS = {
    "init": (),
    "add": ("grade", "gold", "json"),
    "": ("recipe", "queries", "seed", "no_rerank", "no_cache", "run_dir", "json"),
}
# What the table is sorted by.
BEST = "ndcg@10"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = USAGE
    parser.description = f"{parser.description}{ABOUT}"
    parser.add_argument(
        "words",
        metavar="DATASET",
        nargs="+",
        help="a folder with corpus.jsonl, queries.jsonl and qrels.tsv, each plain, .gz or .xz; "
        "or a gold set; one that is called init or add is ./init or ./add",
    )
    parser.add_argument(
        "--recipe",
        action="append",
        metavar="R",
        help="which recipe, or grep, bm25, dense; may be repeated; the others are compared with "
        "the first (default: the settings' recipe, and all three)",
    )
    parser.add_argument("--queries", type=int, metavar="N", help="only so many of the questions")
    parser.add_argument("--seed", type=int, metavar="S", help="which ones they are (default: 0)")
    parser.add_argument("--no-rerank", action="store_true", help="without the reranker")
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="ask the models anew; else what they said is kept in $RECOLLECT_CACHE, or in the "
        "user cache directory",
    )
    parser.add_argument(
        "--run-dir", metavar="D", help="write TREC run files, and a line per question, into D"
    )
    add_json(parser)
    group = parser.add_argument_group("for add")
    group.add_argument("--grade", type=int, metavar="N", help="how good an answer (default: 1)")
    group.add_argument(
        "--gold", metavar="FOLDER", help="which gold set (default: gold, in the home folder)"
    )


def run(args: argparse.Namespace) -> int:
    action = args.words[0] if args.words[0] in ("init", "add") else ""
    for name in set().union(*OPTIONS.values()) - set(OPTIONS[action]):
        if getattr(args, name) is not None and getattr(args, name) is not False:
            option = name.replace("_", "-")
            raise WrongUsage(f"--{option} does not go with `recollect eval {action or 'DATASET'}`.")
    if action == "init":
        return _init(args.words[1:])
    if action == "add":
        return _add(args, args.words[1:])
    if len(args.words) > 1:
        raise WrongUsage("One data set at a time: `recollect eval DATASET`.")
    if args.queries is not None and args.queries < 1:
        raise WrongUsage(f"--queries must be at least 1, not {args.queries}.")
    return _evaluate(args, Path(args.words[0]))


def _init(words: list[str]) -> int:
    if len(words) > 1:
        raise WrongUsage("It is called as `recollect eval init [FOLDER]`.")
    folder = Path(words[0]) if words else gold_folder(home_folder(os.environ))
    init(folder)
    print(f"{folder} is a gold set now; its README.md says how it grows.")
    return 0


def _add(args: argparse.Namespace, words: list[str]) -> int:
    if len(words) < 2:
        raise WrongUsage("It is called as `recollect eval add QUERY ID [ID ...]`.")
    query, *ids = words
    with Recollect() as memory:
        folder = Path(args.gold) if args.gold else gold_folder(memory.home)
        done: Added = add(memory, folder, query, ids, 1 if args.grade is None else args.grade)
    if args.json:
        print_json({"query": done.query, "judgements": done.judgements, "gold": str(folder)})
    else:
        print(f"{done.query}: {counted(done.judgements, 'new judgement')} in {folder}.")
    return 0


def _evaluate(args: argparse.Namespace, folder: Path) -> int:
    trec_eval()  # where it is absent, that is said before the work
    settings = load_settings(home_folder(os.environ))
    if args.no_rerank:
        settings = msgspec.structs.replace(settings, rerank=Rerank(provider="none"))
    cache = Cache(None if args.no_cache else cache_folder(os.environ) / FILE)
    seed = args.seed or 0
    try:
        with opened(folder, settings, os.environ, cache) as bench:
            contestants, left_out = bench.contestants(args.recipe or ())
            asked = bench.questions(args.queries, seed)
            vectors = any(one.uses_vectors for one in contestants)
            refused = bench.prepare(progress, vectors=vectors)
            answers = [bench.quality(one, asked, progress) for one in contestants]
            timings = [bench.latency(one, asked, seed, progress) for one in contestants]
            outcomes = [
                bench.outcome(*each) for each in zip(contestants, answers, timings, strict=True)
            ]
            found = report(
                bench.dataset,
                outcomes,
                problems=bench.dataset.problems | refused,
                models=bench.models(),
                left_out=left_out,
            )
            if args.run_dir is not None:
                write_runs(Path(args.run_dir), bench.dataset, outcomes)
    finally:
        cache.close()
    if args.json:
        print_json(found)
    else:
        _tell(found)
    return 0


def _tell(found: dict[str, Any]) -> None:
    documents = counted(found["documents"], "document")
    questions = counted(found["queries"], "question")
    print(f"{styled(visible(found['dataset']), BOLD)}: {documents}, {questions}\n")
    _print_table(*_table(found))
    print()
    for line in _remarks(found):
        print(styled(line, DIM))
    for line in _warnings(found):
        print(styled(f"! {visible(line)}", YELLOW))


def _table(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The heading and the rows, best first."""
    recipes = found["recipes"]
    apart = {
        one["recipe"]: f"{one['difference']:+.3f} {_chance(one['p'])}"
        for one in found["comparisons"]
        if one["measure"] == BEST
    }
    heading = ["recipe", "nDCG@10", "interval", "MRR@10", "recall@10", "p50", "p95"]
    if apart:
        heading.insert(3, f"against {next(iter(recipes))}")
    rows = []
    for name, one in sorted(recipes.items(), key=lambda item: -item[1][BEST]):
        low, high = one["ci95"][BEST]
        row = [
            name,
            f"{one[BEST]:.3f}",
            f"{low:.3f}–{high:.3f}",
            f"{one['mrr@10']:.3f}",
            f"{one['recall@10']:.3f}",
            f"{one['p50_ms']:.1f} ms",
            f"{one['p95_ms']:.1f} ms",
        ]
        if apart:
            row.insert(3, apart.get(name, ""))
        rows.append(row)
    return heading, rows


def _chance(p: float) -> str:
    return "p<0.001" if p < 0.001 else f"p={p:.3f}"


def _print_table(heading: list[str], rows: list[list[str]]) -> None:
    """A table on a terminal; in a pipe the same cells, one below the other."""
    if on_terminal():
        from rich.console import Console  # noqa: PLC0415  start-up time: only for a terminal
        from rich.table import Table  # noqa: PLC0415  start-up time: only for a terminal

        table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="cyan")
        for place, title in enumerate(heading):
            table.add_column(title, justify="right" if place else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        Console().print(table)
        return
    widths = [max(map(len, cells)) for cells in zip(heading, *rows, strict=True)]
    for row in (heading, *rows):
        first, *others = (
            f"{cell:{'>' if place else '<'}{size}}"
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join((first, *others)))


def _remarks(found: dict[str, Any]) -> list[str]:
    """What one must know to read the table."""
    timed = next(iter(found["recipes"].values()))["timed"]
    models = ", ".join(f"{kind} {name or 'none'}" for kind, name in found["models"].items())
    lines = [
        f"interval: 95 %; p: paired bootstrap, two-sided; times: {counted(timed, 'question')}.",
        f"Models: {models}.",
    ]
    if found["not_scored"]:
        unjudged = counted(found["not_scored"], "question")
        lines.append(f"{unjudged} without an answer among the judgements: not scored.")
    for name, one in found["recipes"].items():
        if one["reached"] is not None:
            share = f"{one['reached']:.0%} of its candidates"
            lines.append(f"{name}: within its budget the reranker reached {share}.")
    return lines


def _warnings(found: dict[str, Any]) -> list[str]:
    """What is wrong with the data, and what could not take part."""
    return [
        *(f"{name} is left out: {reason}." for name, reason in found["left_out"].items()),
        *(f"{count:,} × {reason}" for reason, count in found["problems"].items()),
        *(
            f"{name}, {counted(count, 'question')}: {reason}"
            for name, one in found["recipes"].items()
            for reason, count in one["degraded"].items()
        ),
    ]
