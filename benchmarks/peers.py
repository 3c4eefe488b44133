"""Compare other tools on the same passages and questions: quality, time, memory, size.

Each peer is installed into its own environment (`--work`), at the version below, and does what its
documentation shows (peer_drivers/). The corpus is qed-nq's passages among those of scale-wiki, the
questions are qed-nq's, which are judged. Peers that search by meaning get the vectors of
Recollect's built-in model, since their own models have to be downloaded from a hub. `--page` writes
docs/reference/comparison.md. `--turns` asks those of `--only` each question in turn, so that a busy
machine slows all of them alike, and prints p50 and its ratio to the last's.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from data import data_argument, median, passages
from embeddings import cache_argument, embedded, embedder
from recollect_evaluation.metrics import MEASURES, measure_run

HERE = Path(__file__).parent
DRIVERS = HERE / "peer_drivers"
RESULTS = HERE / "results" / "peers.json"
PAGE = HERE.parent / "docs" / "reference" / "comparison.md"
QUESTIONS = 300
WARM_UP = 50  # of them, where they are asked in turn
INSTALLING = 3600  # seconds at most
MEGABYTE = 1024 * 1024
Row = dict[str, Any]


class Peer(NamedTuple):
    """An alternative: its driver, its requirements, and True if it takes vectors."""

    driver: str
    says: str
    requirement: str = ""
    vectors: bool = False
    command: str = ""
    python: str = sys.executable
    fails: str = ""  # why it cannot be asked, found by hand: it installs, and has no driver


OURS = "recollect"
PEERS = (
    Peer("recollect_words", "Recollect, `blend` by words alone", OURS),
    Peer("recollect_blend", "Recollect, `blend` without rerank", OURS, vectors=True),
    Peer("recollect_rerank", "Recollect, `blend` as it comes", OURS, vectors=True),
    Peer("lancedb_words", "LanceDB, full-text search", "lancedb==0.40.0 pyarrow"),
    Peer("lancedb_hybrid", "LanceDB, hybrid", "lancedb==0.40.0 pyarrow", vectors=True),
    Peer("tantivy_words", "Tantivy", "tantivy==0.27.0"),
    Peer("chroma_vectors", "Chroma", "chromadb==1.5.9", vectors=True),
    Peer("sqlite_vec_hand", "sqlite-vec and FTS5 by hand", "sqlite-vec==0.1.9 apsw", vectors=True),
    Peer("txtai_words", "txtai, keyword", "txtai==9.14.0"),
    Peer("txtai_hybrid", "txtai, hybrid", "txtai==9.14.0", vectors=True),
    Peer("mempalace_words", "MemPalace", "mempalace==3.11.0"),
    Peer(
        "mcp_memory_service",
        "mcp-memory-service",
        "mcp-memory-service[sqlite]==12.0.0",
        fails="installs; `memory ingest-directory` wants a model from a hub, and a Python whose "
        "sqlite3 loads extensions",
    ),
    Peer("basic_memory", "basic-memory", "basic-memory==0.22.0", python="python3.12"),
    Peer("qmd_words", "qmd, `qmd search`", "npm:node@22.23.3 @tobilu/qmd@2.8.3", command="qmd"),
    Peer("ripgrep_words", "ripgrep", command="rg"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--only", nargs="+", choices=[peer.driver for peer in PEERS])
    parser.add_argument("--work", type=Path, required=True, help="for environments and indexes")
    parser.add_argument(
        "--longest", type=int, default=3600, help="seconds for one load, or for all questions"
    )
    parser.add_argument("--no-vectors", action="store_true", help="leave out who takes vectors")
    parser.add_argument("--page", action="store_true", help="write the page and measure nothing")
    parser.add_argument("--turns", action="store_true", help="question by question, in turn")
    args = parser.parse_args()
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if args.page:
        PAGE.write_text(page(found), encoding="utf-8")
        return
    for size in args.sizes:
        grades = prepare(args, size)
        if args.turns:
            in_turns([peer for peer in PEERS if peer.driver in args.only], args, size)
            continue
        for peer in PEERS:
            if (args.only and peer.driver not in args.only) or (args.no_vectors and peer.vectors):
                continue
            found.setdefault(str(size), {})[peer.driver] = measure_peer(
                peer, args.work, size, grades, args.longest
            )
            print(f"{size:>9,}  {peer.says:<40} {found[str(size)][peer.driver]}", flush=True)
            found["machine"] = f"{os.cpu_count()} cores, Python {platform.python_version()}"
            RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def prepare(args: argparse.Namespace, size: int) -> dict[str, dict[str, int]]:
    """Write the corpus and the questions; return the relevant ids of each question."""
    judged = args.data / "qed-nq"
    with gzip.open(judged / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [{"id": row["_id"], **row} for row in map(json.loads, lines)]
    others = passages(args.data, size - len(rows))
    with (judged / "queries.jsonl").open(encoding="utf-8") as lines:
        asked = [json.loads(line) for line, _ in zip(lines, range(QUESTIONS), strict=False)]
    questions = [{"id": row["_id"], "text": row["text"]} for row in asked]
    if not args.no_vectors:
        model = embedder()
        vectors = [
            *model.documents([f"{row['title']}\n{row['text']}" for row in rows]),
            *embedded(args.data, args.cache, len(others))[0],
        ]
        for row, vector in zip([*rows, *others], vectors, strict=True):
            row["vector"] = vector.tolist()
        for row, vector in zip(
            questions, model.queries([q["text"] for q in questions]), strict=True
        ):
            row["vector"] = vector.tolist()
    folder = args.work / str(size)
    folder.mkdir(parents=True, exist_ok=True)
    for name, written in (("corpus", [*rows, *others]), ("questions", questions)):
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in written)
    grades: dict[str, dict[str, int]] = {row["id"]: {} for row in questions}
    for line in (judged / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if query in grades:
            grades[query][document] = int(grade)
    return grades


def measure_peer(
    peer: Peer, work: Path, size: int, grades: Mapping[str, Mapping[str, int]], longest: int
) -> Row:
    """Return what was measured, or why nothing was."""
    try:
        python, environment, installed = install(peer, work / "environments")
        if peer.fails:
            return {"failed": peer.fails}
        folder = work / str(size) / peer.driver
        shutil.rmtree(folder, ignore_errors=True)
        load = lane(python, environment, peer, "load", folder.parent, longest)
        ask = lane(python, environment, peer, "ask", folder.parent, longest)
    except (OSError, subprocess.SubprocessError) as error:
        return {"failed": reason(error)}
    figures = measure_run(ask["run"], grades)
    quality = {
        name: round(sum(one[name] for one in figures.values()) / len(figures), 4)
        for name in MEASURES
    }
    times = sorted(ask["ms"])
    return {
        **quality,
        "load_per_s": round(load["rows"] / load["load_s"]),
        "first_ms": round(ask["first_s"] * 1000),
        "p50_ms": round(median(times), 2),
        "p95_ms": round(times[int(0.95 * len(times))], 2),
        "load_mb": round(load["memory_mb"]),
        "ask_mb": round(ask["memory_mb"]),
        "disk_mb": round(size_of(folder)),
        "installed_mb": round(installed),
    }


def in_turns(peers: Sequence[Peer], args: argparse.Namespace, size: int) -> None:
    """Ask the loaded peers in turn; print the median elapsed time, the CPU time of a question, and
    the ratios of both to the last peer's."""
    times: dict[str, list[tuple[float, ...]]] = {peer.says: [] for peer in peers}
    with ExitStack() as running:
        asked = {}
        for peer in peers:
            python, environment, _ = install(peer, args.work / "environments")
            if not (args.work / str(size) / peer.driver).exists():
                lane(python, environment, peer, "load", args.work / str(size), args.longest)
            process = subprocess.Popen(
                lane_command(python, peer, "turns", args.work / str(size)),
                env=os.environ | environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            asked[peer.says] = running.enter_context(process)
        for number in range(QUESTIONS):
            for says, process in asked.items():
                assert process.stdin
                assert process.stdout
                process.stdin.write(f"{number}\n".encode())
                process.stdin.flush()
                times[says].append(tuple(map(float, process.stdout.readline().split())))
    found = {}
    for says, every in times.items():
        passed, spent = zip(*every[WARM_UP:], strict=True)
        found[says] = median([*passed]), sum(spent) / len(spent)
    last = [*found.values()][-1]
    for says, (middle, mean) in found.items():
        print(
            f"{size:>9,}  {says:<40} p50 {middle:>7.2f} ms {middle / last[0]:>5.2f}"
            f"   CPU {mean:>7.2f} ms {mean / last[1]:>5.2f}",
            flush=True,
        )


def install(peer: Peer, environments: Path) -> tuple[Path, dict[str, str], float]:
    """Return the peer's Python, its environment, and the size of the installation, in MB."""
    if peer.requirement.startswith("npm:"):
        packages = peer.requirement.removeprefix("npm:").split()
        folder = environments / peer.command
        if not folder.exists():
            folder.mkdir(parents=True)
            npm = ["npm", "install", "--silent", "--prefix", str(folder), *packages]
            subprocess.run(npm, check=True, capture_output=True, text=True, timeout=INSTALLING)
        programs = f"{folder / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
        return Path(sys.executable), {"PATH": programs}, size_of(folder)
    if not peer.requirement:
        found = shutil.which(peer.command)
        if found is None:
            raise FileNotFoundError(f"{peer.command} is not installed")
        return Path(sys.executable), {}, Path(found).stat().st_size / MEGABYTE
    folder = environments / re.split(r"[\[=]", peer.requirement)[0]
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        subprocess.run(
            [peer.python, "-m", "venv", str(folder)], check=True, capture_output=True, text=True
        )
        wanted = [str(HERE.parent)] if peer.requirement == OURS else peer.requirement.split()
        pip = [str(python), "-m", "pip", "install", "--quiet", *wanted]
        subprocess.run(pip, check=True, capture_output=True, text=True, timeout=INSTALLING)
        (folder / ".ready").touch()
    return python, {}, size_of(folder)


def lane(
    python: Path, environment: dict[str, str], peer: Peer, what: str, work: Path, longest: int
) -> Row:
    """Run peer_drivers/lane.py in the peer's environment; return its answer."""
    command = lane_command(python, peer, what, work)
    with subprocess.Popen(
        command,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, errors = process.communicate(timeout=longest)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the programs that it runs
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, said, errors)
    answer: Row = json.loads(said.splitlines()[-1])
    return answer


def lane_command(python: Path, peer: Peer, what: str, work: Path) -> list[str]:
    return [str(python), str(DRIVERS / "lane.py"), peer.driver, what, str(work)]


def reason(error: Exception) -> str:
    """Return the last line of a failed program's output, without this machine's folders."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not through after {error.timeout:.0f} seconds"
    said = (getattr(error, "stderr", "") or str(error)).strip().splitlines() or [str(error)]
    return re.sub(r"(/[^/\s'\"]+)+/", "", said[-1])[:200]


COLUMNS = {
    "ndcg@10": "nDCG@10",
    "recall@10": "recall@10",
    "load_per_s": "load, a second",
    "first_ms": "first answer, ms",
    "p50_ms": "p50, ms",
    "p95_ms": "p95, ms",
    "ask_mb": "memory, MB",
    "disk_mb": "disk, MB",
    "installed_mb": "installed, MB",
}


def page(found: Mapping[str, Any]) -> str:
    """Return the page of the comparison, made from the results. The section that
    `usability.py` makes stays as it is."""
    lines = (HERE / "peers_page.md").read_text(encoding="utf-8").rstrip().splitlines()
    lines += ["", f"Measured on {found['machine']}.", ""]
    sizes = sorted(int(key) for key in found if key.isdigit())
    for size in sizes:
        rows = found[str(size)]
        lines += [f"## {size:,} passages", "", "| | " + " | ".join(COLUMNS.values()) + " |"]
        lines += ["|---|" + "---:|" * len(COLUMNS)]
        for peer in PEERS:
            figures = rows.get(peer.driver, {"failed": ""})
            if "failed" not in figures:
                values = (f"{figures[name]:,}" for name in COLUMNS)
                lines.append(f"| {peer.says} | " + " | ".join(values) + " |")
        lines.append("")
    lines += ["## What did not install or run", ""]
    for peer in PEERS:
        failures: dict[str, list[str]] = {}
        for size in sizes:
            if failed := found[str(size)].get(peer.driver, {}).get("failed"):
                failures.setdefault(failed, []).append(f"{size:,}")
        for failed, of in failures.items():
            lines.append(f"- {peer.says}, {' and '.join(of)} passages: {failed}")
    lines += ["", "## Versions", "", "`benchmarks/peer_drivers/` has the code for each.", ""]
    for peer in PEERS:
        wanted = (
            f"`{peer.requirement}`" if peer.requirement else f"Debian's package of {peer.command}"
        )
        lines.append(f"- {peer.says}: {wanted}")
    _, tasks, more = PAGE.read_text(encoding="utf-8").partition("## Twenty everyday tasks")
    return "\n".join([*lines, "", tasks + more])


def size_of(folder: Path) -> float:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / MEGABYTE


if __name__ == "__main__":
    main()
