"""The engine: all-or-nothing writes, embedding in the background, and context within a budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import patience
from model_server import Fault, ModelServer, Recorded, Reply
from recollect.engine import Recollect
from recollect.errors import ProviderError, UserError
from recollect.ingest.draft import make_draft
from recollect.ingest.exchange import as_line, raw_lines
from recollect.models.embedding_queue import TextsRefused
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Filter

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def open_vault(folder: Path, settings: Settings = OFF) -> Recollect:
    return Recollect(
        folder / "vault.db", home=folder, settings=settings, environment={}, clock=lambda: NOW
    )


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with open_vault(tmp_path) as held:
        yield held


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def embedding(server: ModelServer, timeout_s: float = 5.0) -> Settings:
    return Settings(
        embedding=Embedding(
            provider="openai", model="toy", base_url=server.openai_url, timeout_s=timeout_s
        ),
        rerank=Rerank(provider="none"),
    )


def ids(memory: Recollect) -> list[str]:
    return sorted(one.id for one in memory.export())


def test_saving_many_says_what_became_of_each(memory: Recollect) -> None:
    memory.save(id="a", title="before")
    saved = memory.save_all(
        [make_draft({"id": "b", "title": "B"}), make_draft({"id": "a", "title": "A"})]
    )
    assert [one.outcome for one in saved] == ["added", "updated"]
    assert memory.save_all([]) == []


def test_pinning_and_forgetting_many_is_all_or_nothing(memory: Recollect) -> None:
    memory.save(id="a", title="A")
    for change in (memory.pin, memory.forget):
        with pytest.raises(UserError, match="'nothing'"):
            change(["a", "nothing"])
    [held] = memory.show(["a"])
    assert held.tier == "capture"
    memory.forget(["a", "a"])
    assert memory.list() == []
    memory.forget(["a"], undo=True)
    assert ids(memory) == ["a"]


def test_an_edit_that_changes_nothing_keeps_the_age(memory: Recollect) -> None:
    old = datetime(2020, 1, 1, tzinfo=UTC)
    memory.save(id="a", title="A", updated_at=old)
    assert memory.edit("a", title="A").updated_at == old
    assert memory.edit("a", title="B").updated_at == NOW
    assert memory.edit("a", title="C", updated_at=old).updated_at == old


def test_an_id_is_for_good(memory: Recollect) -> None:
    memory.save(id="a", title="A")
    with pytest.raises(UserError, match="id cannot be changed"):
        memory.edit("a", id="b")


def test_an_import_reports_and_goes_on_or_does_nothing(memory: Recollect) -> None:
    raw = [b'{"id": "a", "title": "x"}', b"nonsense", b"", b'{"id": "b", "title": 5}']
    strict = memory.import_lines(raw_lines(raw), strict=True)
    assert strict[:3] == (0, 0, 0)
    assert [number for number, _ in strict.bad] == [2, 4]
    assert ids(memory) == []
    read: list[int] = []
    done = memory.import_lines(raw_lines(raw), progress=read.append)
    assert (done.added, len(done.bad)) == (1, 2)
    assert sum(read) == sum(map(len, raw))
    assert ids(memory) == ["a"]


def test_an_export_can_be_imported_again_without_a_change(memory: Recollect) -> None:
    for number in range(5):
        memory.save(id=f"n{number}", title=f"Note {number}", tags=["t"], severity="warning")
    again = memory.import_lines(raw_lines([as_line(one) for one in memory.export()]))
    assert again == (0, 0, 5, [], {}, 0)


def test_limits_are_bounded_on_both_sides(memory: Recollect) -> None:
    memory.save(id="a", title="token")
    for limit in (0, -1):
        for ask in (
            lambda limit: memory.list(limit=limit),
            lambda limit: memory.context(limit=limit),
            lambda limit: memory.search("token", limit=limit),
        ):
            with pytest.raises(UserError, match="at least 1"):
                ask(limit)
    huge = 10**30
    assert len(memory.list(limit=huge)) == 1
    assert len(memory.context("token", limit=huge).memories) == 1
    assert len(memory.search("token", recipe="vault", limit=huge)) == 1


def test_a_context_skips_what_does_not_fit(memory: Recollect) -> None:
    memory.save(id="giant", title="token " * 1000)
    memory.save(id="small", title="token")
    found = memory.context("token", max_tokens=80)
    assert [one.id for one in found.memories] == ["small"]
    assert (found.matched, found.topped_up, found.left_out) == (1, 0, 1)
    with pytest.raises(UserError, match="max_tokens"):
        memory.context(max_tokens=0)


def test_a_context_asks_for_one_of_three_modes(memory: Recollect) -> None:
    with pytest.raises(UserError, match="auto, always, never"):
        memory.context("token", semantic="sometimes")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="auto, always, never"):
        memory.context(semantic="sometimes")  # type: ignore[arg-type]  # nothing is searched, and still it is wrong


def test_a_context_needs_no_question(memory: Recollect) -> None:
    memory.save(id="a", title="A", project="p")
    memory.save(id="b", title="B")
    found = memory.context(filter=Filter(project="p"))
    assert [one.id for one in found.memories] == ["a"]
    assert found.response is None


def test_the_default_recipe_is_the_settings(tmp_path: Path) -> None:
    settings = Settings(
        embedding=OFF.embedding, rerank=OFF.rerank, search=type(OFF.search)(recipe="router")
    )
    with open_vault(tmp_path, settings) as memory:
        assert memory.search("x").recipe == "router"
        assert memory.search("x", recipe="vault").recipe == "vault"
        with pytest.raises(UserError, match="''"):
            memory.search("x", recipe="")
    missing = Settings(search=type(OFF.search)(recipe="gone"), embedding=OFF.embedding)
    with open_vault(tmp_path, missing) as memory, pytest.raises(UserError) as caught:
        memory.search("x")
    for part in ("search.recipe", "config.toml", "'gone'", "vault"):
        assert part in str(caught.value)


def test_a_wrong_provider_is_refused_before_anything_is_kept(tmp_path: Path) -> None:
    wrong = Settings(embedding=Embedding(provider="openai"), rerank=OFF.rerank)
    with open_vault(tmp_path, wrong) as memory:
        for write in (
            lambda: memory.save(title="T"),
            lambda: memory.import_lines(raw_lines([b'{"title": "x"}'])),
        ):
            with pytest.raises(UserError, match=r"embedding\.model"):
                write()
        assert list(memory.export()) == []


def test_closing_waits_for_the_vectors_and_closes_the_connections(
    tmp_path: Path, server: ModelServer
) -> None:
    """A save returns at once; the vector is made in the background, before closing ends."""
    server.delay_s = 0.2
    with open_vault(tmp_path, embedding(server)) as memory:
        memory.save(title="Note")
        assert server.requests == [] or memory.waiting() == 1
    with open_vault(tmp_path, embedding(server)) as again:
        assert again.waiting() == 0
    assert patience.AS_SHIPPED["REMOTE_PATIENCE_S"] < 3, (
        "A command may not hang on a model for long."
    )


def test_saves_of_many_threads_are_all_embedded(tmp_path: Path, server: ModelServer) -> None:
    with open_vault(tmp_path, embedding(server)) as memory:

        def save(number: int) -> None:
            memory.save(title=f"Note {number}")

        threads = [threading.Thread(target=save, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.embed_now() is None
        assert (len(memory.list()), memory.waiting()) == (8, 0)


class Picky(ModelServer):
    """Refuses every batch that holds the word "poison", and counts the batches."""

    def answer(self, request: Recorded) -> Reply:
        reply = super().answer(request)
        poisoned = any("poison" in text for text in request.body["input"])
        return Reply(400, {}) if poisoned else reply


@pytest.fixture
def picky(tmp_path: Path) -> Iterator[tuple[Recollect, Picky]]:
    server = Picky()
    with server:
        with open_vault(tmp_path) as quiet:
            quiet.save_all(
                [make_draft({"id": f"n{n:03}", "title": f"Note {n}"}) for n in range(99)]
            )
            quiet.save(id="poison", title="poison")
        with open_vault(tmp_path, embedding(server)) as memory:
            yield memory, server


def test_a_refused_text_is_isolated_and_counted(picky: tuple[Recollect, Picky]) -> None:
    memory, server = picky
    done: list[int] = []
    with pytest.raises(TextsRefused) as caught:
        memory.reindex(progress=done.append)
    assert caught.value.count == 1
    assert not caught.value.transient
    assert "1 memory was refused" in str(caught.value)
    assert "poison" not in str(caught.value)
    assert sum(done) == 99
    assert memory.waiting() == 1
    # The dimension, the batch, the probe, and two for each of the seven halvings of 100.
    assert len(server.requests) <= 3 + 2 * 7
    assert "1 memory was refused" in (memory.embed_now() or "")


def test_everything_but_the_refused_is_embedded_in_later_batches(
    tmp_path: Path, picky: tuple[Recollect, Picky]
) -> None:
    memory, _ = picky
    with open_vault(tmp_path) as quiet:
        quiet.save_all([make_draft({"title": f"Later {number}"}) for number in range(150)])
    assert "1 memory was refused" in (memory.embed_now() or "")
    assert memory.waiting() == 1
    memory.edit("poison", title="antidote")
    assert memory.embed_now() is None
    assert memory.waiting() == 0


def test_refusals_do_not_keep_another_model_s_vectors(
    tmp_path: Path, picky: tuple[Recollect, Picky]
) -> None:
    memory, server = picky
    memory.embed_now()
    other = Settings(
        embedding=Embedding(provider="openai", model="other", base_url=server.openai_url),
        rerank=OFF.rerank,
    )
    with open_vault(tmp_path, other) as changed:
        with pytest.raises(TextsRefused):
            changed.reindex()
        assert changed.waiting() == 1
    assert memory.waiting() == 100


@pytest.mark.parametrize("fault", [Fault.COUNT, Fault.NAN, Fault.DIMENSION, Fault.NOT_JSON])
def test_a_provider_that_always_fails_is_not_asked_text_by_text(
    tmp_path: Path, server: ModelServer, fault: Fault
) -> None:
    with open_vault(tmp_path) as quiet:
        quiet.save_all([make_draft({"title": f"Note {number}"}) for number in range(30)])
    server.fault = fault
    with open_vault(tmp_path, embedding(server)) as memory:
        assert "The embedding provider openai" in (memory.embed_now() or "")
        assert memory.waiting() == 30
    assert len(server.requests) == 2


def test_a_passing_failure_is_not_taken_for_a_refusal(tmp_path: Path, server: ModelServer) -> None:
    with open_vault(tmp_path) as quiet:
        quiet.save_all([make_draft({"title": f"Note {number}"}) for number in range(10)])
    with open_vault(tmp_path, embedding(server)) as memory:
        server.fail_next(3, status=503)
        with pytest.raises(ProviderError) as caught:
            memory.reindex()
        assert caught.value.transient
        assert memory.waiting() == 10
        server.fail_next(1, status=503)
        assert memory.reindex() == 10, "One failure is tried again."
