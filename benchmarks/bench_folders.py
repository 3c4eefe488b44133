"""Folders: how fast files are taken in, and how soon a change is found while they are followed.

python benchmarks/bench_folders.py [--files 6000] [--burst 10000] [--turns 10000]

It makes its own files: Markdown notes, and source files of Python's library. No model takes part:
vectors are made afterwards, at the speed that bench_models.py measures. Baselines: reading and
hashing the same files and inserting the same texts into one FTS5 table, in one transaction, without
memories, chunks, checks or secrets; and `os.walk` with a `stat` for each file. A transcript of a
coding agent is added, and then grows by a turn again and again; the baseline is to read its JSON.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import apsw

from recollect import Recollect
from recollect.documents.chunking import split_document
from recollect.documents.document import LeftOut
from recollect.documents.reader import parse, read_bytes
from recollect.settings import Embedding, Rerank, Settings

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
QUIET = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}
LONG_AGO = 1_700_000_000
POLL_S = 0.01
PATIENCE_S = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=6000)
    parser.add_argument("--burst", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        taking_in(Path(place), args.files)
    with tempfile.TemporaryDirectory() as place:
        transcript(Path(place), args.turns)
    with tempfile.TemporaryDirectory() as place:
        following(Path(place), args.burst)


def tree(folder: Path, files: int) -> int:
    """Make this number of files, in folders of fifty: two notes for each source file. Return their
    total size."""
    chance = random.Random(7)
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    words = library[0].read_text("utf-8", "replace").split()
    size = 0
    for number in range(files):
        place = folder / f"{number // 50:03}"
        place.mkdir(parents=True, exist_ok=True)
        if number % 3:
            file, text = place / f"note-{number}.md", note(chance, words, number)
        else:
            file = place / f"module_{number}.py"
            lines = chance.choice(library).read_text("utf-8", "replace").splitlines()
            first = chance.randrange(max(1, len(lines) - 120))
            text = "\n".join(lines[first : first + 120]) + f"\n# {number}\n"
        file.write_text(text, encoding="utf-8")
        os.utime(file, (LONG_AGO, LONG_AGO))
        size += len(text)
    return size


def note(chance: random.Random, words: list[str], number: int) -> str:
    """Return a note of some 3,000 characters, in four sections."""
    sections = (" ".join(chance.choices(words, k=100)) for _ in range(4))
    return f"# Note {number}\n\n" + "\n\n".join(
        f"## Section {place}\n\n{text}" for place, text in enumerate(sections)
    )


def taking_in(place: Path, files: int) -> None:
    folder = place / "tree"
    size = tree(folder, files)
    bare, parts = bare_reading(folder, place / "bare.db")
    walked = timed(lambda: bare_walk(folder))
    with Recollect(place / "vault.db", home=place, settings=OFF) as memory:
        cold = timed(lambda: memory.add_folder(folder))
        again = min(timed(lambda: memory.add_folder(folder)) for _ in range(3))
        memories = memory.stats()["memories"]
    print(f"{files:,} files, {size / 1e6:.1f} MB, {memories:,} memories ({parts:,} parts)")
    report("bare: read, hash, split, one FTS5 table", files / bare, 1.0)
    report("recollect add, cold", files / cold, cold / bare)
    report("bare: os.walk and stat", files / walked, 1.0)
    report("recollect add, unchanged", files / again, again / walked)


def report(what: str, rate: float, ratio: float) -> None:
    print(f"{what:<40}{rate:>10,.0f} files/s{ratio:>8.2f} ×")


def timed(work: object) -> float:
    assert callable(work)
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare_reading(folder: Path, database: Path) -> tuple[float, int]:
    """Read and split the files with the same code, and insert the texts into a plain FTS5 table."""
    connection = apsw.Connection(str(database))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5 (title, text)")
    parts = 0
    start = time.perf_counter()
    with connection:
        for where, _, names in os.walk(folder):
            for name in names:
                file = Path(where, name)
                hashlib.blake2b(file.read_bytes()).digest()
                raw = read_bytes(file, name)
                document = raw if isinstance(raw, LeftOut) else parse(raw, name)
                if isinstance(document, LeftOut):
                    continue
                rows = [(name, one.text) for one in split_document(document).chunks]
                parts += len(rows)
                connection.executemany("INSERT INTO texts VALUES (?, ?)", rows)
    spent = time.perf_counter() - start
    connection.close()
    return spent, parts


def bare_walk(folder: Path) -> None:
    for where, _, names in os.walk(folder):
        for name in names:
            Path(where, name).stat()


# Transcripts


def transcript(place: Path, turns: int) -> None:
    """Add a session with this number of turns and tool output in between, then follow it."""
    file = place / "sessions" / "rollout-1.jsonl"
    file.parent.mkdir()
    chance = random.Random(7)
    with file.open("w", encoding="utf-8") as stream:
        for number in range(turns // 2):
            stream.write(said("user_message", chance, 25) + said("agent_message", chance, 150))
            output = {"type": "function_call_output", "output": str(number) * 1000}
            stream.write(json.dumps({"type": "response_item", "payload": output}) + "\n")
    bare = timed(lambda: [json.loads(line) for line in file.open(encoding="utf-8")])
    with Recollect(place / "vault.db", home=place, settings=OFF) as memory:
        cold = timed(lambda: memory.add_transcripts(file.parent, "codex"))
        appended = []
        for _ in range(20):
            with file.open("a", encoding="utf-8") as stream:
                stream.write(said("user_message", chance, 25))
            appended.append(timed(lambda: memory.add_transcripts(file.parent, "codex")))
        again = min(timed(lambda: memory.add_transcripts(file.parent, "codex")) for _ in range(5))
    size = file.stat().st_size
    print(f"a transcript of {turns:,} turns, {size / 1e6:.1f} MB")
    print(f"{'recollect add --transcripts, cold':<40}{turns / cold:>10,.0f} turns/s")
    print(f"{'bare: its lines as JSON':<40}{turns / bare:>10,.0f} turns/s")
    print(f"{'one appended turn':<40}{min(appended) * 1000:>10.1f} ms")
    print(f"{'nothing appended':<40}{again * 1000:>10.1f} ms")


def said(type: str, chance: random.Random, words: int) -> str:
    text = " ".join(f"word{chance.randrange(5000)}" for _ in range(words))
    payload = {"type": type, "message": text}
    at = "2026-10-12T09:00:00Z"
    return json.dumps({"timestamp": at, "type": "event_msg", "payload": payload}) + "\n"


# Following


def following(place: Path, files: int) -> None:
    """Switch a branch: this number of files change at once, while another process follows the
    folder."""
    folder = place / "tree"
    home = place / "home"
    for number in range(files):
        file = folder / f"{number // 100:03}" / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Page {number}\n\nAs it was before, number{number}.\n", encoding="utf-8")
    environment = {**os.environ, **QUIET, "RECOLLECT_HOME": str(home)}
    recollect = Path(sys.executable).with_name("recollect")
    with subprocess.Popen(
        [recollect, "add", folder, "--watch"], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Watching"):
                break
        time.sleep(2.5)  # ignore changes from before
        idle = resident(process.pid, "VmRSS")
        one = single(folder, home)
        delays = burst(folder, home, files)
        peak, after = resident(process.pid, "VmHWM"), resident(process.pid, "VmRSS")
        process.terminate()
    delays.sort()
    half, most = (delays[int(share * (len(delays) - 1))] for share in (0.5, 0.99))
    print(f"one file changed, found after {one:.2f} s")
    print(f"{files:,} files changed, each found after: p50 {half:.1f} s, p99 {most:.1f} s")
    print(f"memory of the process: {idle:.0f} MB idle, {peak:.0f} MB at most, {after:.0f} MB after")


def single(folder: Path, home: Path) -> float:
    """Return the median of five changes, one at a time."""
    found = []
    with Recollect(home=home, settings=OFF, environment={}) as memory:
        for number in range(5):
            word = f"single{number}word"
            (folder / "000" / "1.md").write_text(f"# Page 1\n\nNow {word}.\n", encoding="utf-8")
            start = time.perf_counter()
            while not memory.search(word, recipe="router").results:
                time.sleep(POLL_S)
                assert time.perf_counter() - start < PATIENCE_S
            found.append(time.perf_counter() - start)
    return sorted(found)[2]


def burst(folder: Path, home: Path, files: int) -> list[float]:
    """Return for each file the time from its change until it is found."""
    with Recollect(home=home, settings=OFF, environment={}) as memory:
        written: dict[str, float] = {}
        start = time.perf_counter()
        for number in range(files):
            path = f"{number // 100:03}/{number}.md"
            text = f"# Page {number}\n\nAs it is on the other branch, switched{number}.\n"
            (folder / path).write_text(text, encoding="utf-8")
            written[path] = time.perf_counter()
        took = time.perf_counter() - start
        print(f"{files:,} files written within {took:.1f} s")
        delays = waited(memory, written)
        chance = random.Random(8)
        for number in chance.sample(range(files), 50):
            assert len(memory.search(f"switched{number}", recipe="router").results) == 1
    return delays


def waited(memory: Recollect, written: dict[str, float]) -> list[float]:
    """Poll the memories; a search would find what the poll sees. Files that were found while others
    were still being written count as found at the end of writing."""
    delays: dict[str, float] = {}
    give_up = time.perf_counter() + PATIENCE_S
    while len(delays) < len(written):
        assert time.perf_counter() < give_up, f"{len(delays):,} of {len(written):,} were found"
        rows = memory.store.database.rows("SELECT title FROM memories WHERE text GLOB '*switched*'")
        now = time.perf_counter()
        for (title,) in rows:
            if str(title) not in delays:
                delays[str(title)] = now - written[str(title)]
        time.sleep(POLL_S)
    return [*delays.values()]


def resident(process: int, what: str) -> float:
    """Return megabytes, as Linux counts them; 0 elsewhere."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    [line] = [line for line in status.splitlines() if line.startswith(what)]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
