"""Measure every recipe on every judged set, and write docs/reference/quality.md from the results.

    python benchmarks/quality.py --data FOLDER

Each sub-folder with judgements is a set, in the layout of docs/reference/evaluation.md. The script
measures the quality of all sets, then their times in one stretch, for which the machine should be
quiet. Results are kept next to the evaluation's cache ($RECOLLECT_CACHE) and not measured again: an
interrupted run continues. Any change of the code, a recipe, the models, the settings or a set
invalidates them. `--only` and `--recipes` select what is run; kept results of the rest, for the
same code and the same `--queries`, are written as well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import apsw
import msgspec
import numpy as np
from msgspec import Struct

import quality_page
from recollect.errors import ProviderError, UserError
from recollect.hashing import content_digest
from recollect.interfaces.cli.output import progress
from recollect.models.active import ActiveModels
from recollect.models.base import Embedder, Reranker
from recollect.recipes.blend import BLEND
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Settings
from recollect.settings_reading import home_folder, load_settings
from recollect.stages.rerank import RerankInterpolation
from recollect.version import __version__
from recollect_evaluation.cache import FILE, Cache, cache_folder
from recollect_evaluation.datasets import CANDIDATES, CORPUS, LAYOUT, QRELS, QUERIES, find
from recollect_evaluation.evaluation import (
    BASELINES,
    DENSE,
    GREP,
    Contestant,
    Evaluation,
    open_evaluation,
)
from recollect_evaluation.metrics import MEASURES, PerQuery, chance, interval, measure_run, resample

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src" / "recollect", ROOT / "evaluation" / "src" / "recollect_evaluation")
OF_COMMANDS = ("interfaces", "eval_command.py", "suite_command.py")
SEED = 0
# The others are compared with it, set by set.
COMPARED = (BLEND.name, quality_page.ALONE)
BEST = quality_page.BEST
# It reads 64 candidates for each question, which takes too long for all questions of all sets.
MOST = {"gnosis": 60}
WRONG_USAGE = 2


T = TypeVar("T")


class Kept(Struct, frozen=True):
    """The quality of one contestant on one set, each question's measures in their order."""

    date: str
    documents: int
    not_scored: int
    problems: dict[str, int]
    degraded: dict[str, int]
    queries: dict[str, tuple[float, ...]]

    @property
    def per_query(self) -> PerQuery:
        return {id: dict(zip(MEASURES, found, strict=True)) for id, found in self.queries.items()}


class KeptTime(Struct, frozen=True):
    """The times of one contestant on one set."""

    date: str
    p50_ms: float
    p95_ms: float
    timed: int
    stages_ms: dict[str, float]
    reached: float | None


class Store:
    """The kept results, a file each, named after everything they depend on."""

    def __init__(self, folder: Path, depends: Sequence[object], whole: Sequence[str]) -> None:
        self._folder = folder
        self._depends = depends
        self._whole = whole
        self._data: dict[Path, str] = {}

    def quality(self, folder: Path, one: Contestant) -> Kept | None:
        return self._read(self._file(folder, one, "quality"), Kept)

    def timing(self, folder: Path, one: Contestant) -> KeptTime | None:
        return self._read(self._file(folder, one, "time"), KeptTime)

    def put(self, folder: Path, one: Contestant, what: Kept | KeptTime) -> None:
        file = self._file(folder, one, "quality" if isinstance(what, Kept) else "time")
        written(file, msgspec.json.encode(what).decode())

    def _file(self, folder: Path, one: Contestant, kind: str) -> Path:
        if folder not in self._data:
            self._data[folder] = data_digest(folder)
        recipe = "" if one.recipe is None else one.recipe.fingerprint
        parts = [self._data[folder], one.name, recipe, MOST.get(one.name), *self._depends]
        if kind == "quality" and folder.name in self._whole:
            parts.append("whole")
        key = content_digest(json.dumps(parts), 8).hex()
        name = re.sub(r"\W+", "-", one.name)
        return self._folder / f"{folder.name}.{name}.{kind}.{key}.json"

    def _read(self, file: Path, kind: type[T]) -> T | None:
        try:
            return msgspec.json.decode(file.read_bytes(), type=kind)
        except (FileNotFoundError, msgspec.DecodeError):
            return None


class Measuring(NamedTuple):
    """The state that both passes share."""

    store: Store
    settings: Settings
    cache: Cache
    queries: int | None
    whole: Sequence[str]
    publish: Callable[[], None]


def main() -> int:
    args = arguments()
    if args.data is None:
        print(
            "make eval DATA=FOLDER needs a folder of judged sets, each a sub-folder with "
            f"{CORPUS}, {QUERIES} and {QRELS[0]}, plain, .gz or .xz "
            "(docs/reference/evaluation.md).",
            file=sys.stderr,
        )
        return WRONG_USAGE
    try:
        run(args)
    except (UserError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. What was measured is kept; the same command goes on.", file=sys.stderr)
        return 130
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="the folder of judged sets")
    parser.add_argument("--only", nargs="+", metavar="SET", help="run these sets only")
    names = [one.name for one in contestants()]
    parser.add_argument("--recipes", nargs="+", metavar="R", choices=names, help=", ".join(names))
    parser.add_argument("--queries", type=int, metavar="N", help="so many questions of each set")
    parser.add_argument(
        "--whole", nargs="+", default=[], metavar="SET", help="ask all questions of these, still"
    )
    parser.add_argument("--note", default="", help="what else the page should say of this run")
    parser.add_argument("--no-times", action="store_true", help="the quality only")
    parser.add_argument("--retime", action="store_true", help="measure all times anew")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="write results and page there, for a trial"
    )
    args = parser.parse_args()
    if args.queries is not None and args.queries < 1:
        parser.error("--queries must be at least 1")
    return args


def contestants() -> list[Contestant]:
    """Return the contestants in the order of the tables. `blend` without a reranker is `blend`
    without that stage."""
    stages = tuple(stage for stage in BLEND.stages if not isinstance(stage, RerankInterpolation))
    alone = msgspec.structs.replace(BLEND, name=quality_page.ALONE, stages=stages)
    documented = [recipe for name, recipe in BUILT_IN.items() if name != BLEND.name]
    recipes = [*BASELINES.values(), *documented, alone, BLEND]
    return [Contestant(GREP, None), *(Contestant(recipe.name, recipe) for recipe in recipes)]


def run(args: argparse.Namespace) -> None:
    settings = load_settings(home_folder(os.environ))
    models = identities(settings)
    folders, skipped = judged(args.data)
    for name, reason in skipped.items():
        print(f"{name} is left out: {reason}.")
    able = [one for one in contestants() if models["embedding"] or one.name != DENSE.name]
    if not models["embedding"]:
        print("dense is left out: there is no embedding model.")
    code = code_digest()
    depends = (code, models, msgspec.to_builtins(settings), args.queries, SEED)
    store = Store(cache_folder(os.environ) / "quality", depends, args.whole)
    facts = {
        "version": __version__,
        **commit(),
        "code": code,
        "queries": args.queries,
        "whole": args.whole if args.queries else [],
        "seed": SEED,
        "most": MOST,
        "models": models,
        "rerank_budget_ms": settings.rerank.budget_ms,
        "note": args.note,
        **machine(),
    }
    results, docs = quality_page.RESULTS, quality_page.DOCS
    if args.out is not None:
        results, docs = args.out, args.out

    def publish() -> None:
        found = assembled(folders, able, store)
        waiting = {one.name: "it was not run" for one in folders if one.name not in found["sets"]}
        found |= {"left_out": skipped | waiting, "measured_with": facts}
        written(results / "quality.json", as_json(found))
        quality_page.write(results, docs)

    chosen_sets = [one for one in folders if not args.only or one.name in args.only]
    for name in set(args.only or ()) - {one.name for one in folders}:
        raise UserError(f"There is no judged set {name} in {args.data}.")
    chosen = [one for one in able if not args.recipes or one.name in args.recipes]
    cache = Cache(cache_folder(os.environ) / FILE)
    measuring = Measuring(store, settings, cache, args.queries, args.whole, publish)
    try:
        for folder in chosen_sets:
            quality_pass(folder, chosen, measuring)
        for folder in [] if args.no_times else chosen_sets:
            latency_pass(folder, chosen, measuring, again=args.retime)
    finally:
        cache.close()
    publish()
    print(f"Written: {results / 'quality.json'}, {docs / quality_page.PAGE}.")


def quality_pass(folder: Path, chosen: Sequence[Contestant], now: Measuring) -> None:
    missing = [one for one in chosen if now.store.quality(folder, one) is None]
    if not missing:
        print(f"{folder.name}: quality is kept.")
        return
    with open_evaluation(folder, now.settings, os.environ, now.cache) as bench:
        problems = bench.dataset.problems | prepared(bench, folder, missing)
        asked = bench.questions(None if folder.name in now.whole else now.queries, SEED)
        unscored = len(bench.dataset.questions) - len(bench.dataset.scored)
        for one in missing:
            start = time.perf_counter()
            answers = bench.quality(one, sample(asked, MOST.get(one.name)), progress)
            per_query = measure_run(answers.returned, bench.dataset.grades)
            figures = {id: tuple(found.values()) for id, found in per_query.items()}
            documents = len(bench.dataset.documents)
            kept = Kept(today(), documents, unscored, problems, answers.degraded, figures)
            now.store.put(folder, one, kept)
            mean = sum(found[BEST] for found in per_query.values()) / len(per_query)
            spent = time.perf_counter() - start
            line = f"{mean:.4f}  {len(figures):>5} questions  {spent:>7.1f} s"
            print(f"{folder.name:<26} {one.name:<18} {line}", flush=True)
    now.publish()


def latency_pass(
    folder: Path, chosen: Sequence[Contestant], now: Measuring, *, again: bool
) -> None:
    missing = [one for one in chosen if again or now.store.timing(folder, one) is None]
    if not missing:
        print(f"{folder.name}: times are kept.")
        return
    with open_evaluation(folder, now.settings, os.environ, now.cache) as bench:
        prepared(bench, folder, missing)
        asked = bench.questions(now.queries, SEED)
        for one in missing:
            timing = bench.latency(one, asked, SEED, progress)
            kept = KeptTime(
                today(),
                round(timing.percentile(0.50), 3),
                round(timing.percentile(0.95), 3),
                len(timing.times_ms),
                timing.stages_ms,
                None if timing.reached is None else round(timing.reached, 4),
            )
            now.store.put(folder, one, kept)
            line = f"p50 {kept.p50_ms:>8.1f} ms  p95 {kept.p95_ms:>8.1f} ms"
            print(f"{folder.name:<26} {one.name:<18} {line}", flush=True)
    now.publish()


def prepared(bench: Evaluation, folder: Path, missing: Sequence[Contestant]) -> dict[str, int]:
    start = time.perf_counter()
    refused = bench.prepare(progress, vectors=any(one.uses_vectors for one in missing))
    spent = time.perf_counter() - start
    print(f"{folder.name:<26} {'(vault made)':<18} {spent:.1f} s", flush=True)
    return refused


def sample(questions: Sequence[Any], count: int | None) -> Sequence[Any]:
    """Return this number of them, in their order; always the same ones."""
    if count is None or count >= len(questions):
        return questions
    places = random.Random(SEED).sample(range(len(questions)), count)
    return [questions[place] for place in sorted(places)]


# The figures.


class Mean(NamedTuple):
    """A mean, its bootstrapped means, and the number of questions."""

    value: float
    means: NDArray[np.float64]
    queries: int

    @property
    def ci95(self) -> list[float]:
        return [round(bound, 4) for bound in interval(self.means)]


Key = tuple[str, str]


def assembled(
    folders: Sequence[Path], able: Sequence[Contestant], store: Store
) -> dict[str, Any]:  # fmt: skip
    """Return all kept results as figures."""
    sets: dict[str, Any] = {}
    drawn: dict[str, dict[Key, Mean]] = {}
    dates = []
    for folder in folders:
        kept = present((one.name, store.quality(folder, one)) for one in able)
        if not kept:
            continue
        times = present((one.name, store.timing(folder, one)) for one in able)
        name = folder.name
        figures = {recipe: found.per_query for recipe, found in kept.items()}
        drawn[name] = bootstrapped(figures, int.from_bytes(content_digest(name, 6)))
        first = next(iter(kept.values()))
        sets[name] = {
            "documents": first.documents,
            "questions": max(len(found.queries) for found in kept.values()),
            "not_scored": first.not_scored,
            "problems": first.problems,
            "contestants": {
                recipe: {
                    **row(drawn[name], recipe, [one for one in COMPARED if one in kept]),
                    "degraded": found.degraded,
                    "timing": times.get(recipe),
                }
                for recipe, found in kept.items()
            },
        }
        dates += [found.date for found in kept.values()]
        dates += [found.date for found in times.values()]
    return {
        "date": max(dates, default=""),
        "contestants": {
            one.name: "" if one.recipe is None else one.recipe.fingerprint for one in able
        },
        "sets": sets,
        "average": averaged(sets, drawn),
    }


def present(found: Iterable[tuple[str, T | None]]) -> dict[str, T]:
    return {name: one for name, one in found if one is not None}


def bootstrapped(figures: Mapping[str, PerQuery], seed: int) -> dict[Key, Mean]:
    """Bootstrap each measure of each contestant, and each difference of two over the questions that
    both were asked, with the same samples for all that have the same questions."""
    columns: dict[Key, dict[str, float]] = {
        (recipe, measure): {id: found[measure] for id, found in per_query.items()}
        for recipe, per_query in figures.items()
        for measure in MEASURES
    }
    for one, mine in figures.items():
        for other, theirs in figures.items():
            if one != other:
                columns[one, f"- {other}"] = {
                    id: found[BEST] - theirs[id][BEST] for id, found in mine.items() if id in theirs
                }
    alike: dict[tuple[str, ...], list[Key]] = {}
    for key, column in columns.items():
        alike.setdefault(tuple(column), []).append(key)
    found: dict[Key, Mean] = {}
    for ids, keys in alike.items():
        if not ids:
            continue
        values = [[columns[key][id] for id in ids] for key in keys]
        for key, sampled, means in zip(keys, values, resample(values, seed), strict=True):
            found[key] = Mean(sum(sampled) / len(sampled), means, len(ids))
    return found


def averaged(sets: Mapping[str, Any], drawn: Mapping[str, dict[Key, Mean]]) -> dict[str, Any]:
    """Return the mean over the sets that all contestants have answered, with equal weights: its
    samples are means of the sets' samples."""
    names = list(dict.fromkeys(one for found in sets.values() for one in found["contestants"]))
    whole = [name for name, found in sets.items() if len(found["contestants"]) == len(names)]
    if not whole:
        return {"sets": [], "contestants": {}}
    means = {
        key: Mean(
            sum(drawn[name][key].value for name in whole) / len(whole),
            np.mean([drawn[name][key].means for name in whole], axis=0),
            sum(drawn[name][key].queries for name in whole),
        )
        for key in drawn[whole[0]]
    }
    return {"sets": whole, "contestants": {name: row(means, name, names) for name in names}}


def row(drawn: Mapping[Key, Mean], recipe: str, others: Sequence[str]) -> dict[str, Any]:
    """Return a contestant's figures, and its differences from others in nDCG@10."""
    return {
        "queries": drawn[recipe, BEST].queries,
        **{measure: round(drawn[recipe, measure].value, 4) for measure in MEASURES},
        "ci95": {measure: drawn[recipe, measure].ci95 for measure in MEASURES},
        "against": {
            other: {
                "difference": round(apart.value, 4),
                "ci95": apart.ci95,
                "p": round(chance(apart.means), 4),
                "queries": apart.queries,
            }
            for other in others
            if (apart := drawn.get((recipe, f"- {other}"))) is not None
        },
    }


# The code and the machine of the figures.


def judged(data: Path) -> tuple[list[Path], dict[str, str]]:
    """Return the sub-folders that are judged sets, and the reasons for leaving out the others."""
    if not data.is_dir():
        raise UserError(f"There is no folder {data}.")
    folders, skipped = [], {}
    for folder in sorted(one for one in data.iterdir() if one.is_dir()):
        missing = [names[0] for names in ((CORPUS,), (QUERIES,), QRELS) if not find(folder, *names)]
        if missing:
            skipped[folder.name] = f"it has no {' and no '.join(missing)}"
        else:
            folders.append(folder)
    if not folders:
        raise UserError(f"There is no judged set in {data}: {LAYOUT}.")
    return folders, skipped


def data_digest(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for names in ((CORPUS,), (QUERIES,), QRELS, (CANDIDATES,)):
        if file := find(folder, *names):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def code_digest() -> str:
    """Return a digest of all code that can change a ranking, which excludes the command line."""
    digest = hashlib.blake2b(digest_size=6)
    for source in SOURCES:
        for file in sorted(source.rglob("*")):
            place = file.relative_to(source)
            if file.suffix in (".py", ".sql", ".toml") and place.parts[0] not in OF_COMMANDS:
                digest.update(f"{place.as_posix()}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def identities(settings: Settings) -> dict[str, str | None]:
    models = ActiveModels(settings, os.environ)

    def identity(model: Callable[[], Embedder | Reranker]) -> str | None:
        try:
            return model().identity
        except ProviderError:
            return None

    try:
        return {"embedding": identity(models.embedder), "rerank": identity(models.reranker)}
    finally:
        models.close()


def commit() -> dict[str, Any]:
    """Return the commit, and whether the code differs from it; nothing outside a repository."""
    git = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=True)
    try:
        head = git(["git", "rev-parse", "--short=12", "HEAD"]).stdout.strip()
        changed = git(["git", "status", "--porcelain", "--", *map(str, SOURCES)]).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "changed": None}
    return {"commit": head, "changed": bool(changed)}


def machine() -> dict[str, Any]:
    """Return everything the times depend on; no names of hosts or folders."""
    names: list[str] = []
    info = Path("/proc/cpuinfo")
    on_linux = info.exists()
    if on_linux:
        names = re.findall(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE)
    return {
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "system": platform.system(),
        "processor": names[0] if names else platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if on_linux else os.cpu_count(),
    }


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def as_json(found: object) -> str:
    """Return indented JSON, with pairs of numbers on one line."""
    text = msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
    return re.sub(r"\[\s+([-\d.e]+),\s+([-\d.e]+)\s+\]", r"[\1, \2]", text) + "\n"


def written(file: Path, text: str) -> None:
    """Write the whole file, or leave the former one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


if __name__ == "__main__":
    raise SystemExit(main())
