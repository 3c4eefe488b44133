"""Shared by commands that write: reports, vectors, replaced secrets, following folders."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from recollect.engine import Recollect
from recollect.folders.watch import alone
from recollect.interfaces.cli.arguments import flag
from recollect.interfaces.cli.output import DIM, paint, print_json, progress
from recollect.models.background_embedding import SHORT, text_size
from recollect.present.sentences import counted, one_line, visible
from recollect.secrets.redaction import describe_counts
from recollect.types import Memory

if TYPE_CHECKING:
    from recollect.folders.chunk_writing import Synced

DONE = ("added", "changed", "renamed", "restored", "gone", "unchanged")
LATER = (
    "The text is long, so its vector is computed later, by a running server or `recollect reindex`."
)
MOST_NAMED = 10  # files listed; --json has all


add_no_embed = flag("--no-embed", "compute no vectors now; `recollect reindex` does later")
add_redact = flag(
    "--no-redact",
    "keep text that looks like a secret (default: replace it)",
    action="store_false",
    dest="redact",
)


def report_redacted(counts: Mapping[str, int]) -> None:
    """Report replaced secrets on standard error, which leaves the output for programs unchanged."""
    if counts:
        them = "it" if sum(counts.values()) == 1 else "them"
        print(f"recollect: {describe_counts(counts)} (--no-redact keeps {them}).", file=sys.stderr)


def compute_vectors(memory: Recollect) -> str | None:
    """Compute the missing vectors; return the reason if that failed."""
    with progress("Embedding", memory.waiting()) as advance:
        return memory.embed_now(advance)


def report_waiting(waiting: int, failure: str | None = None) -> None:
    if waiting:
        have = "has" if waiting == 1 else "have"
        why = f" ({failure})" if failure else ""
        print(f"{counted(waiting, 'memory')} {have} no vector yet{why}. To fix: recollect reindex")


def report_later_vector(memory: Recollect, *saved: Memory) -> None:
    """Print the output so far: closing the vault waits for the model. A command does not compute
    the vector of a long text, so say what does."""
    if memory.models.embeds() and text_size(saved) > SHORT:
        print(f"recollect: {LATER}", file=sys.stderr)
    sys.stdout.flush()


class Advance(Protocol):
    def __call__(self, done: int, total: int) -> None: ...


@contextmanager
def late_progress(what: str) -> Iterator[Advance]:
    """Show a progress bar whose length is known only once the work has started."""
    with ExitStack() as stack:
        bars: list[Any] = []
        reached = 0

        def advance(done: int, total: int) -> None:
            nonlocal reached
            if not bars:
                bars.append(stack.enter_context(progress(what, total)))
            bars[0](done - reached)
            reached = done

        yield advance


def report_sync(done: Synced, waiting: int, *, as_json: bool, watching: bool = False) -> None:
    """Report what happened to the files, and which were skipped and why. `watching`: `follow` comes
    next and reports missing vectors."""
    if as_json:
        print_json(synced_json(done) | {"waiting": waiting})
    else:
        files = ", ".join(f"{done.files[what]:,} {what}" for what in DONE if done.files[what])
        print(f"Files: {files or 'none'}. {_memory_counts(done)}")
        left_out = ", ".join(f"{n:,} {why}" for why, n in sorted(done.left_out.items()))
        if left_out:
            print(f"Skipped: {left_out}.")
        for path, why in done.named[:MOST_NAMED]:
            print(paint(f"  {one_line(path)}: {visible(why)}", DIM), file=sys.stderr)
        if (more := len(done.named) - MOST_NAMED) > 0:
            print(paint(f"  and {more:,} more; --json lists them", DIM), file=sys.stderr)
        report_waiting(0 if watching else waiting)
    report_redacted(done.redacted)


def _memory_counts(done: Synced) -> str:
    parts = [f"{done.memories[what]:,} {what}" for what in ("added", "updated", "forgotten")
             if done.memories[what]]  # fmt: skip
    return f"Memories: {', '.join(parts)}." if parts else "No memories changed."


def synced_json(done: Synced) -> dict[str, Any]:
    return {
        "files": dict(done.files),
        "memories": dict(done.memories),
        "left_out": dict(done.left_out),
        "named": [{"path": path, "reason": why} for path, why in done.named],
    } | ({"redacted": dict(done.redacted)} if done.redacted else {})


def stop_event() -> threading.Event:
    """Return an event that Ctrl+C and SIGTERM set from now on, so that running work can finish."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: stop.set())
    return stop


def follow(memory: Recollect) -> None:
    """Follow every watched folder until Ctrl+C or SIGTERM."""
    stop = stop_event()
    with alone(memory.home) as first:
        if not first:
            print("Another process already follows the folders of this vault, this one included.")
            report_waiting(memory.waiting())
            return
        waiting = memory.waiting()
        later = f" {counted(waiting, 'memory')} will get a vector meanwhile." if waiting else ""
        memory.follow_folders(
            stop,
            _print_line,
            lambda: _print_line(f"Watching for changes. Press Ctrl+C to stop.{later}"),
        )


def _print_line(sentence: str) -> None:
    print(one_line(sentence), flush=True)
