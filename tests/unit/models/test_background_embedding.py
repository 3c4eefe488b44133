"""Saving waits for no model: vectors are made in the background, smallest first, a little at a
time."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
import pytest

from patience import LONGEST_S, until
from recollect.engine import Recollect
from recollect.errors import ProviderError
from recollect.ingest.draft import make_draft
from recollect.lifetime import Lifetime
from recollect.models.background_embedding import SHORT
from recollect.models.embedding_queue import BATCH, BATCH_SIZE, embed_waiting
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Span

if TYPE_CHECKING:
    from recollect.models.base import Matrix

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
QUICK = 100  # characters that the toy model embeds at once
MIDDLING = "m" * (SHORT - 100)  # more than that, and still a short text
LONG = "l" * (3 * BATCH_SIZE)


class Toy:
    """A model in this process that notes what it is given, and waits before a text that holds
    `blocked` until it is let go."""

    identity = "toy:queue"
    local = True

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.blocked = "\0"
        self.entered = threading.Event()
        self.let_go = threading.Event()
        self.loaded = True
        self.hooks: list[Callable[[], object]] = []  # called before texts are read, each once
        self.problem: ProviderError | None = None

    def warm(self) -> bool:
        return True

    def at_once(self, texts: Sequence[str]) -> bool:
        return self.loaded and sum(map(len, texts)) <= QUICK

    def windows(self, text: str) -> list[Span]:
        return [Span(at, min(at + SHORT, len(text))) for at in range(0, len(text), SHORT)]

    def queries(self, texts: Sequence[str]) -> Matrix:
        return np.ones((len(texts), 1), np.float32)

    def documents(self, texts: Sequence[str]) -> Matrix:
        self.calls.append([*texts])
        while self.hooks:
            self.hooks.pop()()
        if any(self.blocked in text for text in texts):
            self.entered.set()
            assert self.let_go.wait(LONGEST_S)
        if self.problem is not None:
            raise self.problem
        return self.queries(texts)

    def close(self) -> None:
        """As a model of this process does: it gives up what is under way."""
        self.problem = ProviderError("It was closed.", transient=True)
        self.let_go.set()

    @property
    def read(self) -> list[str]:
        """Every text in the order in which it was embedded, by its first letters."""
        return [text[:8] for texts in self.calls for text in texts]


@pytest.fixture
def toy() -> Iterator[Toy]:
    made = Toy()
    yield made
    made.close()


@pytest.fixture
def open_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Recollect]:
    """A vault with this model, or with none."""

    def opened(model: Toy | None = None, **how: Any) -> Recollect:
        memory = Recollect(
            tmp_path / "vault.db", home=tmp_path, settings=OFF, environment={}, **how
        )
        if model is not None:
            monkeypatch.setitem(memory.models.__dict__, "_embedder", model)
        return memory

    return opened


Opener = Callable[..., Recollect]


def leave_waiting(open_with: Opener, texts: dict[str, str]) -> None:
    with open_with() as quiet:
        quiet.save_all([make_draft({"id": id, "text": text}) for id, text in texts.items()])


def test_a_save_does_not_wait_and_a_line_precedes_a_long_text(open_with: Opener, toy: Toy) -> None:
    toy.blocked = "ll"
    with open_with(toy) as memory:
        memory.save(id="long", text=LONG)
        assert toy.entered.wait(LONGEST_S)
        memory.save(id="line", title="one line")
        assert memory.waiting() == 1, "The line has its vector, the long text is under way."
        assert toy.read[-1] == "one line"
        toy.let_go.set()
        until(lambda: memory.waiting() == 0)


def test_saving_does_not_wait_for_writers(open_with: Opener, toy: Toy, tmp_path: Path) -> None:
    with open_with(toy) as memory:
        other = apsw.Connection(str(tmp_path / "vault.db"))
        toy.hooks.append(lambda: other.execute("BEGIN IMMEDIATE"))
        memory.save(id="line", title="one line")
        assert memory.waiting() == 1
        other.close()
        until(lambda: memory.waiting() == 0)


def test_a_middling_text_goes_between_parts_of_a_long_one(open_with: Opener, toy: Toy) -> None:
    toy.blocked = "ll"
    with open_with(toy) as memory:
        memory.save(id="long", text=LONG)
        assert toy.entered.wait(LONGEST_S)
        memory.save(id="middling", text=MIDDLING)
        memory.save(id="larger", text="n" * (SHORT + 100))
        memory.save(id="longer", text="o" * (4 * BATCH_SIZE))
        toy.let_go.set()
        until(lambda: memory.waiting() == 0)
    kinds = [read[0] for read in dict.fromkeys("".join({text[0] for text in call}) + str(n)
             for n, call in enumerate(toy.calls))]  # fmt: skip
    assert "".join(kinds) == "lmnlloooo", "One long text at a time, whatever is smaller first."


def test_what_waits_is_embedded_smallest_first(open_with: Opener, toy: Toy) -> None:
    sizes = [700, 20, 45_000, 300, 9_000, 60_000, 1]
    leave_waiting(open_with, {f"n{size}": "x" * size for size in sizes})
    with open_with(toy) as memory:
        memory.embed_now()
        assert memory.waiting() == 0
    assert [len(text) for call in toy.calls for text in call if len(text) < SHORT][:4] == [
        1, 20, 300, 700,
    ]  # fmt: skip
    totals = [sum(map(len, call)) for call in toy.calls]
    assert sum(totals) == sum(sizes)


def test_the_newest_window_comes_first_and_what_is_core_before_it(
    open_with: Opener, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.store.sqlite.vectors.WINDOW", 3)  # keys 0…2, 3…5, 6…8
    monkeypatch.setattr("recollect.models.embedding_queue.BATCH", 2)
    leave_waiting(open_with, {f"m{key}": f"{key}" + "x" * (9 - key) for key in range(1, 9)})
    with open_with() as quiet:
        quiet.edit("m2", tier="core")
    with open_with(toy) as memory:
        memory.embed_now()
    assert [text[0] for text in toy.read] == ["2", "8", "7", "6", "5", "4", "3", "1"]


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_embedding_that_is_interrupted_goes_on_where_it_stopped(
    open_with: Opener, toy: Toy, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """Ctrl-C at any batch: what was stored stays, and no text is read twice, but for those of the
    batch under way."""
    monkeypatch.setattr("recollect.models.embedding_queue.BATCH", 2)
    leave_waiting(open_with, {f"m{number}": f"note {number}" for number in range(8)})

    read: list[str] = []
    with open_with(toy) as memory:
        stored = memory.store.vectors.put
        puts: list[int] = []

        def put(*args: Any, **how: Any) -> None:
            if len(puts) == kept:
                raise KeyboardInterrupt
            puts.append(1)
            stored(*args, **how)

        monkeypatch.setattr(memory.store.vectors, "put", put)
        with pytest.raises(KeyboardInterrupt):
            memory.embed_now()
        assert memory.waiting() == 8 - 2 * kept
        read = toy.read
        monkeypatch.undo()
    again = Toy()
    with open_with(again) as memory:
        monkeypatch.setitem(memory.models.__dict__, "_embedder", again)
        assert memory.embed_now() is None
        assert memory.waiting() == 0
    assert sorted(read[: 2 * kept] + again.read) == [f"note {number}" for number in range(8)]


def test_a_process_that_stays_tells_how_far_it_is_and_the_time_left(
    open_with: Opener, toy: Toy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("recollect.models.embedding_queue.BATCH", 2)
    monkeypatch.setattr("recollect.models.background_embedding.TELL_S", 0.0)
    leave_waiting(open_with, {f"m{number}": f"note {number}" for number in range(8)})
    caplog.set_level("INFO", logger="recollect")
    with open_with(toy, lifetime=Lifetime.SERVER) as memory:
        memory.warm_up()
        until(lambda: memory.waiting() == 0)
        until(lambda: "8 of 8" in caplog.text)
    told = [record.message for record in caplog.records if "Embedded" in record.message]
    assert re.fullmatch(r"Embedded 2 of 8 memories; about \d+ s left", told[0])
    assert told[-1] == "Embedded 8 of 8 memories"


def test_a_model_gets_a_bounded_number_and_size_of_texts(open_with: Opener, toy: Toy) -> None:
    leave_waiting(open_with, {f"n{number}": f"note {number}" for number in range(BATCH + 50)})
    leave_waiting(open_with, {f"w{number}": f"{number:04}" * 400 for number in range(100)})
    leave_waiting(open_with, {"long": LONG, "wide": "ä" * BATCH_SIZE})
    with open_with(toy) as memory:
        given: list[int] = []
        waiting = memory.store.vectors.waiting

        def watched(*args: object, **narrowed: object) -> object:
            batch = waiting(*args, **narrowed)
            given.append(sum(len(text.encode()) for _, text in batch))
            return batch

        memory.store.vectors.waiting = watched
        memory.embed_now()
        assert memory.waiting() == 0
    assert max(map(len, toy.calls)) == BATCH
    assert max(sum(len(text.encode()) for text in call) for call in toy.calls) <= BATCH_SIZE
    assert sorted(given)[-1] == len(LONG), "Of long texts one is read at a time."
    assert sum(size > BATCH_SIZE for size in given) < 10


def test_a_command_embeds_its_own_short_text_and_no_other(open_with: Opener, toy: Toy) -> None:
    leave_waiting(open_with, {"other": "left by others"})
    toy.loaded = False
    with open_with(toy, lifetime=Lifetime.ONCE) as memory:
        memory.save(id="own", text="its own")
        memory.save(id="long", text=LONG)
    assert toy.read == ["its own"]
    with open_with(toy, lifetime=Lifetime.ONCE) as memory:
        [found] = memory.search("by others", recipe="vault").degraded
        assert toy.read == ["its own"], "A search embeds nothing but its query."
        assert found.reason == (
            "2 of 3 memories have no vector yet; a running server makes them, or "
            "`recollect reindex`"
        )
        assert memory.stats()["waiting"] == 2


def test_a_process_that_stays_takes_what_was_left_and_what_others_write_later(
    open_with: Opener, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.models.background_embedding.LOOK_S", 0.01)
    leave_waiting(open_with, {"left": "left before"})
    with open_with(toy, lifetime=Lifetime.SERVER) as memory:
        memory.warm_up()
        until(lambda: memory.waiting() == 0)
        leave_waiting(open_with, {"later": LONG})
        until(lambda: memory.waiting() == 0)
    assert toy.read[0] == "left bef"


def test_a_library_works_off_what_waits_once_it_saves(open_with: Opener, toy: Toy) -> None:
    leave_waiting(open_with, {"left": "left before"})
    with open_with(toy) as memory:
        memory.list()
        assert toy.calls == []
        memory.save(id="line", title="one line")
        until(lambda: memory.waiting() == 0)
    assert toy.read == ["one line", "left bef"]


def test_who_follows_folders_works_off_what_waited_before(open_with: Opener, toy: Toy) -> None:
    leave_waiting(open_with, {"left": "left before"})
    stopped = threading.Event()
    stopped.set()
    with open_with(toy) as memory:
        memory.follow_folders(stopped)
        until(lambda: memory.waiting() == 0)


def test_closing_leaves_the_backlog_to_the_next_start(open_with: Opener, toy: Toy) -> None:
    leave_waiting(open_with, {f"n{number}": "b" * 1000 for number in range(300)})
    toy.blocked = "b"
    with open_with(toy) as memory:
        memory.save(id="line", title="one line")
        assert toy.entered.wait(LONGEST_S)
    assert len(toy.calls) == 2, "The line, and the batch that was given up."
    fresh = Toy()
    with open_with(fresh, lifetime=Lifetime.SERVER) as memory:
        assert memory.waiting() == 300
        memory.warm_up()
        until(lambda: memory.waiting() == 0)


def test_a_remote_model_that_hangs_delays_neither_saving_nor_closing_for_long(
    open_with: Opener, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.models.background_embedding.REMOTE_PATIENCE_S", 0.05)
    toy.local, toy.loaded, toy.blocked = False, False, "line"
    monkeypatch.setattr(toy, "close", lambda: None)
    with open_with(toy) as memory:
        memory.save(id="line", title="one line")
        assert toy.entered.wait(LONGEST_S)
        memory.save(id="another", title="another line")
        memory.search("line", recipe="vault")
        assert memory.waiting() == 2
    toy.let_go.set()
    with open_with() as quiet:
        assert len(quiet.list()) == 2


def test_a_search_finds_by_meaning_what_was_saved_just_before(open_with: Opener, toy: Toy) -> None:
    """The model is not loaded yet, so no save waits for it; the search does in any case."""
    toy.loaded = False
    with open_with(toy) as memory:
        for number in range(5):
            memory.save(id=f"n{number}", title=f"note {number}")
        assert memory.search("something else", recipe="vault").degraded == ()


def test_one_process_at_a_time_embeds_what_waits(open_with: Opener, toy: Toy) -> None:
    leave_waiting(open_with, {f"n{number}": f"b{number:04}" * 40 for number in range(120)})
    toy.blocked = "b0"
    other = Toy()
    with open_with(toy, lifetime=Lifetime.SERVER) as first, open_with(other) as second:
        first.warm_up()
        assert toy.entered.wait(LONGEST_S)
        looks = iter(range(10**6))
        vectors = second.store.vectors
        assert embed_waiting(vectors, other, stop=lambda: next(looks) > 3) == 0
        assert other.calls == []
        toy.let_go.set()
        assert second.embed_now() is None
        until(lambda: first.waiting() == 0)
    read = [text for call in (*toy.calls, *other.calls) for text in call if text != "warming up"]
    assert len(read) == len(set(read)) == 120, "None was embedded twice."


def test_a_failing_model_is_asked_again_by_the_next_save(open_with: Opener, toy: Toy) -> None:
    toy.problem = ProviderError("It is not there.", transient=True)
    with open_with(toy) as memory:
        memory.save(id="line", title="one line")
        until(lambda: memory.session.background.failure == "It is not there.")
        assert memory.waiting() == 1
        toy.problem = None
        memory.save(id="another", text=MIDDLING)
        until(lambda: memory.waiting() == 0)
        until(lambda: memory.session.background.failure is None)


def test_with_the_built_in_model_no_save_waits_and_all_get_their_vectors(tmp_path: Path) -> None:
    settings = Settings(rerank=Rerank(provider="none"))
    with Recollect(tmp_path / "vault.db", settings=settings, environment={}) as memory:
        model: Any = memory.models.embedder()
        assert not model.at_once(["a short text"]), "It is not loaded."
        memory.save(id="pier", title="Boats moor at the pier overnight")
        found = memory.search("where do ships stay in the dark", recipe="covalence")
        assert ([one.id for one in found], found.degraded) == (["pier"], ())
        memory.save(id="tea", title="Tea is served at five")
        assert memory.waiting() == 0, "Loaded by now, it embeds a line before the save returns."
        memory.save(id="log", text="The harbor log of a long day. " * 70)
        until(lambda: memory.waiting() == 0)
        [best] = memory.search("harbor log", recipe="covalence", limit=1)
        assert best.id == "log"


def test_an_edited_or_restored_memory_gets_its_vector(open_with: Opener, toy: Toy) -> None:
    # Brief: no thread finds what waits at the same moment, and reads it a second time.
    with open_with(toy, lifetime=Lifetime.ONCE) as memory:
        memory.save(id="line", title="one line")
        memory.edit("line", title="other words")
        assert (toy.read, memory.waiting()) == (["one line", "other wo"], 0)
        memory.forget(["line"])
        memory.forget(["line"], undo=True)
        assert (toy.read[2:], memory.waiting()) == (["other wo"], 0)
        memory.edit("line", why="only that changes")
        assert (len(toy.calls), memory.waiting()) == (3, 0)
