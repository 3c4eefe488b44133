"""Make docs/reference/quality.md and its pictures from benchmarks/results/*.json.

    python benchmarks/quality_page.py            write them
    python benchmarks/quality_page.py --check    exit 1 if they are out of date

`quality.json` is measured by quality.py, and the optional `fit.json` and `answers.json` by
fit_blend.py and answers.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from charts import Curve, Dot, Spot, curves, dot_panels, scatter

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs" / "reference"
PAGE = "quality.md"
NDCG_PICTURE, TIME_PICTURE, EVIDENCE_PICTURE = (
    f"quality-{name}.svg" for name in ("ndcg", "latency", "evidence")
)

BEST = "ndcg@10"
BLEND, ALONE = "blend", "blend, no rerank"
BASELINES = ("grep", "bm25", "dense")
# Floors for blend, and the tolerance.
FLOORS = ("bm25", "dense")
ALLOWED = 0.005
SURE = 0.05
BIN = 0.05  # of the confidences in fit.json
# Evidence and its lowest confidence, as `blend` declares them.
EVIDENCE = {"none": 0.0, "weak": 0.2, "strong": 0.95}
ANSWERED = ("all", "held out")
ABOVE, BELOW = "▲", "▼"
# The parts of a search, in order; the other channels come between.
FIRST = ("embed", "vector", "keyword")
LAST = ("fuse", "load", "stages", "rerank", "present")
GREY, BLUE, ORANGE, RED = "#8c959f", "#3b76b5", "#e09f3e", "#c1121f"
HUES = (RED, BLUE, "#2a9d8f", ORANGE, "#6a4c93", GREY)

HEAD = """# Quality

<!-- Made by benchmarks/quality_page.py from benchmarks/results/. Edit those, not this page. -->

How well each recipe finds what it should, and how long it takes, on judged data sets.
`benchmarks/quality.py` measures, and `benchmarks/quality_page.py` makes this page.
"""

REPEAT = """## Repeat it

<!-- not run: takes an hour or more, and the data sets are not part of the repository -->
```console
$ make eval DATA=path/to/sets
```

Each sub-folder is a data set in the [layout](evaluation.md#a-data-set) of `recollect eval`. An
interrupted run continues. The quality does not depend on the machine; the times do.
"""

MEASURED = """## What was measured

`grep`, `bm25` and `dense` are the [baselines](evaluation.md#what-is-compared). `blend, no rerank`
is `blend` without its rerank stage. Quality and time come from
[two passes](evaluation.md#two-passes): with unlimited time for the models, and with the real time
limits on up to 50 questions of each set.

Intervals are 95 %: percentiles of 10,000 bootstrap samples of the questions, within each set for
the average. Differences count questions that both recipes were asked; `p` is of the paired
bootstrap, two-sided, not corrected for the number of comparisons.
"""

ANSWERS = """## Everyday questions

Asked of `blend` over small vaults: {memories} memories of a developer, a team, a laboratory, and in
many languages. An answer is right if the wanted memory comes first with the wanted verdict, and
nothing comes above what it must be below. The questions are in `tests/answers`, and
`benchmarks/answers.py` asks them. No weight was fitted to them, but one rule was revised after
reading its misses. The held-out questions were not read while the previous ranking was changed.
"""

Results = Mapping[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    if not parser.parse_args().check:
        write(RESULTS, DOCS)
        return 0
    stale = [name for name, text in files(read(RESULTS)).items() if _read_text(DOCS / name) != text]
    for name in stale:
        print(f"docs/reference/{name} is not what the data give: python benchmarks/quality_page.py")
    return 1 if stale else 0


def _read_text(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


def read(folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((folder / "quality.json").read_text(encoding="utf-8"))
    for name in ("fit", "answers"):
        if text := _read_text(folder / f"{name}.json"):
            results[name] = json.loads(text)
    return results


def write(results: Path, docs: Path) -> None:
    docs.mkdir(parents=True, exist_ok=True)
    for name, text in files(read(results)).items():
        (docs / name).write_text(text, encoding="utf-8", newline="\n")


def files(results: Results) -> dict[str, str]:
    """Return the page and its pictures, by file name."""
    sections: Sequence[Callable[[Results], str]] = (
        lambda _: HEAD,
        averages,
        lambda _: REPEAT,
        lambda _: MEASURED,
        measured_with,
        data_sets,
        ndcg,
        floors,
        latency,
        answers,
        evidence,
        remarks,
    )
    made = (section(results).strip() for section in sections)
    text = "\n\n".join(section for section in made if section) + "\n"
    return {PAGE: text} | pictures(results)


def pictures(results: Results) -> dict[str, str]:
    found = {}
    if panels := _panels(results):
        found[NDCG_PICTURE] = dot_panels(panels)
    if spots := _spots(results):
        found[TIME_PICTURE] = scatter(
            spots, "p50 in ms, mean of the sets (logarithmic)", "nDCG@10, average of the sets"
        )
    if lines := _curves(results):
        found[EVIDENCE_PICTURE] = curves(
            lines, "confidence", "questions whose first result is right"
        )
    return found


# The sections.


def averages(results: Results) -> str:
    average = results["average"]["contestants"]
    if not average:
        return "There is no average yet: no set has been answered by all."
    order = sorted(average, key=lambda name: -average[name][BEST])
    against = [name for name in (BLEND, ALONE) if name in average]
    rows = [
        [
            f"`{name}`",
            *_figures(average[name], BEST),
            *(_apart(average[name]["against"].get(other)) for other in against),
            _bare(average[name]["mrr@10"]),
            _bare(average[name]["recall@10"]),
        ]
        for name in order
    ]
    apart = [f"against `{other}`" for other in against]
    heading = ["recipe", "nDCG@10", "interval", *apart, "MRR@10", "recall@10"]
    parts = [
        f"## On average\n\nThe mean over {_count(len(results['average']['sets']), 'set')}. "
        "Differences are of nDCG@10, with p.",
        table(heading, rows),
    ]
    if _spots(results):
        parts.append(f"![nDCG@10 against the time of an answer]({TIME_PICTURE})")
    return "\n\n".join(parts)


def measured_with(results: Results) -> str:
    facts = results["measured_with"]
    commit = f", commit `{facts['commit']}`" if facts["commit"] else ""
    if facts["changed"]:
        commit += " with changes that were not committed"
    models = ", ".join(f"{kind} `{name}`" for kind, name in facts["models"].items() if name)
    cores = _count(facts["cores"], "core")
    system = f"{facts['system']}, Python {facts['python']}, SQLite {facts['sqlite']}"
    lines = [
        f"- Recollect {facts['version']}{commit}, code `{facts['code']}`, {results['date']}.",
        f"- Models: {models or 'none'}. "
        f"The reranker's budget when timed: {facts['rerank_budget_ms']} ms.",
        f"- {facts['processor']}, {cores}; {system}.",
        *(
            f"- `{name}` was asked at most {most} questions of each set: it reads many candidates "
            "for each."
            for name, most in facts["most"].items()
        ),
    ]
    if facts.get("note"):
        lines.append(f"- {facts['note']}")
    if facts["queries"]:
        lines.append(
            f"- **A part only:** at most {facts['queries']} questions of each set were asked"
            + (f", and all of {', '.join(facts['whole'])}." if facts.get("whole") else ".")
        )
    return "\n".join(lines)


def data_sets(results: Results) -> str:
    rows = [
        [name, f"{one['documents']:,}", f"{one['questions']:,}", f"{one['not_scored']:,}"]
        for name, one in results["sets"].items()
    ]
    text = table(["set", "documents", "questions asked", "without an answer, not asked"], rows)
    for name, reason in results["left_out"].items():
        text += f"\n\n{name} is left out: {reason}."
    return text


def ndcg(results: Results) -> str:
    text = (
        f"## nDCG@10\n\nThe best of each row is bold. {ABOVE} is better and {BELOW} worse than "
        f"`blend` on the questions that both were asked, p < {SURE}.\n\n"
    )
    text += _by_set(results)
    for name, most in results["measured_with"]["most"].items():
        fewer = sum(
            found["contestants"][name]["queries"] < found["questions"]
            for found in results["sets"].values()
            if name in found["contestants"]
        )
        if fewer:
            text += (
                f"\n\n`{name}` was asked {most} questions where there are more "
                f"({_count(fewer, 'set')}); the marks count only those."
            )
    if _panels(results):
        text += (
            f"\n\n![nDCG@10 of every recipe on every set, with intervals]({NDCG_PICTURE})\n\n"
            "Each panel has its own scale; lines are 95 % intervals. "
            "`benchmarks/results/quality.json` also has recall@10 and MRR@10 of each set."
        )
    return text


def floors(results: Results) -> str:
    """Compare blend with the better of two simple ways, set by set."""
    checked = [name for name in (ALONE, BLEND) if name in _names(results)]
    rows, under = [], dict.fromkeys(checked, 0)
    for name, found in results["sets"].items():
        ran = found["contestants"]
        if not {*FLOORS, *checked} <= ran.keys():
            continue
        better = max(FLOORS, key=lambda floor: ran[floor][BEST])
        cells = []
        for one in checked:
            apart = round(ran[one][BEST] - ran[better][BEST], 4)
            short = apart < -ALLOWED
            under[one] += short
            cells.append(f"{apart:+.4f} {'**under**' if short else 'holds'}")
        rows.append([name, f"`{better}` {_bare(ran[better][BEST])}", *cells])
    if not rows or not checked:
        return ""
    verdicts = "; ".join(
        f"`{one}` {f'is under on {count} of {len(rows)}' if count else f'holds on all {len(rows)}'}"
        for one, count in under.items()
    )
    return (
        f"## Against the simple ways\n\nOn every set, nDCG@10 should be at most {ALLOWED} under "
        f"the better of `bm25` and `dense`: {verdicts}.\n\n"
        + table(["set", "the better one", *(f"`{one}`" for one in checked)], rows)
    )


def latency(results: Results) -> str:
    """Return p50 and p95 of each recipe, and where its time goes."""
    names = _names(results)
    timed = [
        {one: row["timing"] for one, row in found["contestants"].items() if row["timing"]}
        for found in results["sets"].values()
    ]
    if not any(timed):
        return "## Time\n\nNot measured yet."
    return "\n\n".join(
        [
            "## Time\n\nMilliseconds per answer, embedding of the question included: p50, p95 "
            "and the mean of each part, averaged over the sets. `stages` contains `rerank`. "
            "`reached` is the share of the candidates that the reranker read within its budget, on "
            "average and on the worst set. Far below 100 %, this machine does not deliver the "
            "quality above within that budget. `benchmarks/results/quality.json` has each set.",
            _times(names, [found for found in timed if found]),
        ]
    )


def _times(names: Sequence[str], timed: Sequence[Mapping[str, Any]]) -> str:
    met = {stage for found in timed for one in found.values() for stage in one["stages_ms"]}
    met = {stage for stage in met if stage != "total" and not stage.startswith("stages.")}
    channels = sorted(met - {*FIRST, *LAST})
    stages = [stage for stage in (*FIRST, *channels, *LAST) if stage in met]
    rows = []
    for name in names:
        timings = [found[name] for found in timed if name in found]
        if not timings:
            continue
        reached = [one["reached"] for one in timings if one["reached"] is not None]
        rows.append(
            [
                f"`{name}`",
                *(_ms(_mean([one[figure] for one in timings])) for figure in ("p50_ms", "p95_ms")),
                *(
                    _ms(_mean([one["stages_ms"].get(stage, 0.0) for one in timings]))
                    if any(stage in one["stages_ms"] for one in timings)
                    else ""
                    for stage in [*stages, "total"]
                ),
                f"{_mean(reached):.0%}, {min(reached):.0%}" if reached else "",
            ]
        )
    return table(["recipe", "p50", "p95", *stages, "total", "reached"], rows)


def answers(results: Results) -> str:
    """Return how many everyday questions are answered right."""
    found = results.get("answers")
    if not found:
        return ""
    rows = [
        [group, *(f"{counts[f'{s}, right']} of {counts[f'{s}, asked']}" for s in ANSWERED)]
        for group, counts in found["groups"].items()
    ]
    text = ANSWERS.format(memories=found["memories"])
    return f"{text}\n{table(['about', *ANSWERED], rows)}"


CONFIDENCE = (
    "How far the evidence of an answer can be trusted: how often the first result is right, and "
    "how often the vault has no answer. The picture has the same by confidence. The judged sets "
    "are cut into vaults of 30 to 9,000 memories; a third of the questions have no answer in "
    "theirs, and the weights were not fitted on these sets. `benchmarks/fit_blend.py` fits and "
    "measures."
)
LOST = "nDCG@10 of these sets lost without a feature, with the 95 % interval of 1,000 resamples:"


def evidence(results: Results) -> str:
    """Return how well the confidence of an answer predicts that its first result is right."""
    found = results.get("fit")
    if not found:
        return ""
    parts = ["## Knowing when there is nothing", CONFIDENCE]
    parts.append(f"![Reliability diagram]({EVIDENCE_PICTURE})")
    rows: dict[str, list[str]] = {}
    lost: dict[str, list[str]] = {}
    for at, fit in enumerate(found.values()):
        for name, cells in _by_evidence(fit["verdicts, held out"]):
            rows.setdefault(name, [""] * 3 * at).extend(cells)
        for name, one in fit["lost without"].items():
            cells = lost.setdefault(f"`{name}`", [""] * 2 * at)
            cells += [f"{one['lost']:.4f}", "{:.4f} to {:.4f}".format(*one["ci95"])]
        for cells in rows.values():
            cells += [""] * (3 * (at + 1) - len(cells))
        for cells in lost.values():
            cells += [""] * (2 * (at + 1) - len(cells))
    names = [f"{way}: {name}" for way in found for name in ("questions", "right", "no answer")]
    parts.append(table(["evidence", *names], [[name, *cells] for name, cells in rows.items()]))
    names = [f"{way}: {name}" for way in found for name in ("lost", "95 %")]
    parts += [LOST, table(["feature", *names], [[at, *cells] for at, cells in lost.items()])]
    return "\n\n".join(parts)


def _by_evidence(bins: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """Yield by evidence the number of questions, and the shares right and without an answer."""
    bounds = [*EVIDENCE.values(), 2.0]
    for name, low, high in zip(EVIDENCE, bounds, bounds[1:], strict=False):
        found = [one for one in bins if low <= one["from"] + BIN / 2 < high]
        if asked := sum(one["questions"] for one in found):
            shares = (
                sum(one["questions"] * one[share] for one in found) / asked
                for share in ("right", "unanswerable")
            )
            yield name, [str(asked), *(f"{share:.0%}" for share in shares)]


def remarks(results: Results) -> str:
    """Return problems with the data, and parts that could not work."""
    lines = [
        f"- {name}: {count:,} × {reason}."
        for name, found in results["sets"].items()
        for reason, count in found["problems"].items()
    ]
    lines += [
        f"- {name}, `{one}`, {_count(count, 'question')}: {reason}."
        for name, found in results["sets"].items()
        for one, row in found["contestants"].items()
        for reason, count in row["degraded"].items()
    ]
    return "## What was wrong\n\n" + "\n".join(lines) if lines else ""


# Pictures' data.


def _panels(results: Results) -> list[tuple[str, list[Dot]]]:
    parts = [(name, found["contestants"]) for name, found in results["sets"].items()]
    if average := results["average"]["contestants"]:
        parts.append(("average", average))
    return [(name, [_dot(one, row) for one, row in ran.items()]) for name, ran in parts]


def _spots(results: Results) -> list[Spot]:
    """Return the recipes that were timed on all sets of the average."""
    sets = [results["sets"][name]["contestants"] for name in results["average"]["sets"]]
    return [
        Spot(_dot(name, row), _mean([ran[name]["timing"]["p50_ms"] for ran in sets]))
        for name, row in results["average"]["contestants"].items()
        if all(ran[name]["timing"] for ran in sets)
    ]


def _curves(results: Results) -> list[Curve]:
    """Return by confidence the share of questions whose first result is right."""
    return [
        Curve(
            way, [(one["from"] + BIN / 2, one["right"]) for one in fit["verdicts, held out"]], hue
        )
        for (way, fit), hue in zip(results.get("fit", {}).items(), HUES, strict=False)
    ]


def _dot(name: str, row: Mapping[str, Any]) -> Dot:
    colour = {BLEND: RED, ALONE: ORANGE}.get(name, GREY if name in BASELINES else BLUE)
    low, high = row["ci95"][BEST]
    return Dot(name, row[BEST], low, high, colour)


# Cells and tables.


def _by_set(results: Results) -> str:
    names = _names(results)
    parts = [(name, found["contestants"]) for name, found in results["sets"].items()]
    if average := results["average"]["contestants"]:
        parts.append(("**average**", average))
    rows = []
    for name, ran in parts:
        best = max(_bare(row[BEST]) for row in ran.values())
        cells = []
        for one in names:
            if one not in ran:
                cells.append("")
                continue
            cell = _bare(ran[one][BEST])
            bold = f"**{cell}**" if cell == best else cell
            cells.append(bold + _mark(ran[one]["against"].get(BLEND)))
        rows.append([name, *cells])
    return table(["set", *(f"`{one}`" for one in names)], rows)


def _names(results: Results) -> list[str]:
    """Return the recipes that were measured on any set, in their order."""
    ran = {one for found in results["sets"].values() for one in found["contestants"]}
    return [one for one in results["contestants"] if one in ran]


def _mark(apart: Mapping[str, Any] | None) -> str:
    if apart is None or apart["p"] >= SURE:
        return ""
    return f" {ABOVE}" if apart["difference"] > 0 else f" {BELOW}"


def _figures(row: Mapping[str, Any], measure: str) -> list[str]:
    low, high = row["ci95"][measure]
    return [_bare(row[measure]), f"{_bare(low)}–{_bare(high)}"]


def _apart(apart: Mapping[str, Any] | None) -> str:
    if apart is None:
        return ""
    p = "p < 0.001" if apart["p"] < 0.001 else f"p = {apart['p']:.3f}"
    return f"{apart['difference']:+.3f}, {p}"


def _bare(value: float) -> str:
    return f"{value:.3f}"


def _ms(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 else f"{value:.1f}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column is aligned left, the others right."""
    lines = [
        f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in (heading, *rows)
    ]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(heading) - 1), *lines[1:]])


if __name__ == "__main__":
    raise SystemExit(main())
