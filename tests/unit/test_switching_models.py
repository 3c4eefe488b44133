"""Another embedding model takes over when its vectors are all there, and not before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.engine import Recollect, upkeep
from recollect.engine.searching import FORMER_MODEL
from recollect.ingest.draft import make_draft
from recollect.models.active import ActiveModels
from recollect.settings import Embedding, Rerank, Settings

if TYPE_CHECKING:
    from recollect.models.base import Matrix

TITLES = ["Tide tables", "Harbour lights", "Mooring lines"]


class Toy:
    """A model of so many dimensions; it stops in the middle where it is told to."""

    local = True

    def __init__(self, width: int) -> None:
        self.identity = f"toy:{width}"
        self.width = width
        self.asked: list[str] = []
        self.most = 1000

    def warm(self) -> bool:
        return True

    def queries(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        return np.eye(self.width, dtype=np.float32)[[len(text) % self.width for text in texts]]

    def documents(self, texts: Sequence[str]) -> Matrix:
        self.most -= len(texts)
        if self.most < 0:
            raise KeyboardInterrupt
        return self.queries(texts)


class Models(ActiveModels):
    """The model `own`, beside the others that are installed."""

    def __init__(self, own: Toy, *others: Toy) -> None:
        super().__init__(Settings(embedding=Embedding(), rerank=Rerank(provider="none")), {})
        self.__dict__["_embedder"] = own
        self._others = {other.identity: other for other in others}


OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    """A vault with vectors of eight dimensions."""
    with Recollect(tmp_path / "vault.db", settings=OFF, environment={}) as opened:
        use(opened, Models(Toy(8)))
        opened.save_all([make_draft({"title": title}) for title in TITLES])
        opened.reindex()
        yield opened


def use(memory: Recollect, models: Models) -> None:
    models.vault_model = memory.store.vectors.model
    memory.models = models


def test_the_former_model_serves_until_the_new_vectors_are_all_there(memory: Recollect) -> None:
    old, new = Toy(8), Toy(5)
    use(memory, Models(new, old))
    found = memory.search("Tide", recipe="blend")
    assert (old.asked, new.asked) == (["Tide"], [])
    assert (found.degraded, found.notes) == ((), (FORMER_MODEL,))
    assert memory.stats()["embedding"] == "toy:8"
    assert (memory.stats()["vectors"], memory.stats()["waiting"]) == (3, 3)

    new.most = 0
    with pytest.raises(KeyboardInterrupt):
        memory.reindex()
    assert memory.store.vectors.model() == "toy:8"
    memory.save_all([make_draft({"title": "Saved meanwhile"})])
    new.most = 1000
    seen: list[str | None] = []
    memory.switch_model(memory.models, switched=lambda: seen.append(memory.store.vectors.model()))
    assert seen == ["toy:8"], "It is written down before the vectors are exchanged."
    assert memory.store.vectors.model() == "toy:5"
    assert memory.store.vectors.coverage("toy:5") == (4, 4)
    assert memory.store.vectors.coverage("toy:8") == (0, 4)
    assert memory.search("Tide", recipe="blend").notes == ()
    assert not any(one.problem for one in memory.doctor())


def test_what_was_made_before_an_interruption_is_not_made_again(memory: Recollect) -> None:
    new = Toy(5)
    use(memory, Models(new, Toy(8)))
    memory.store.vectors.begin("toy:5", 5)
    [first, *_] = memory.store.vectors.waiting("toy:5", 1)
    memory.store.vectors.put("toy:5", 5, [(first.key, new.queries(["x"])[0])])
    assert memory.reindex() == 2


def test_a_process_with_old_settings_follows_a_switch_that_another_made(memory: Recollect) -> None:
    old, new = Toy(8), Toy(5)
    memory.switch_model(Models(new))
    use(memory, Models(old, new))
    assert memory.models.embedder() is new
    memory.save_all([make_draft({"title": "After the switch"})])
    upkeep.embed_now(memory.session)
    assert memory.store.vectors.coverage("toy:5") == (4, 4)
    assert memory.store.vectors.coverage("toy:8") == (0, 4), "Nothing is made of the old model."


def test_settings_that_were_changed_meanwhile_are_read_again(memory: Recollect) -> None:
    memory.switch_model(Models(Toy(5)))
    models = Models(Toy(8))
    models.newest_settings = lambda: Settings(embedding=Embedding(provider="ollama", model="m"))
    use(memory, models)
    assert memory.models.embedder().identity == "ollama:m"
    assert not memory.models.serves_former


def test_a_former_model_that_is_not_installed_leaves_the_search_to_the_new_one(
    memory: Recollect,
) -> None:
    new = Toy(8)
    new.identity = "toy:other"
    use(memory, Models(new))
    found = memory.search("Tide", recipe="blend")
    assert found.notes == ()
    assert "3 of 3 memories have no vector yet" in found.degraded[0].reason
