"""Several vaults, one ranking: common statistics, priorities as a bounded preference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vault_homes import NOW, Fields, found, team

from recollect import Recollect
from recollect.ingest.draft import draft
from recollect.settings import Embedding, Rerank, Settings, VaultSettings

# Four notes of one's own that have nothing to do with the port, and the team's two, one of which is
# the answer.
OWN: list[Fields] = [
    {"id": "bread", "title": "Sourdough", "text": "Feed the starter twice a day."},
    {"id": "bike", "title": "Bike", "text": "The chain wants wax, 94 links of it."},
    {"id": "lease", "title": "Lease", "text": "The flat costs 1443 a month."},
    {"id": "tax", "title": "Tax number", "text": "It ends with 43, and the letter with 9."},
]
TEAM: list[Fields] = [
    {"id": "port", "title": "The gateway's port", "text": "The gateway listens on 9443."},
    {"id": "pager", "title": "On call", "text": "The pager goes round on Mondays."},
]


@contextmanager
def opened(
    path: Path, memories: Sequence[Fields], *vaults: VaultSettings, model: str = "builtin"
) -> Iterator[Recollect]:
    """A home at that path that holds these, with their vectors, and knows these vaults."""
    settings = Settings(
        embedding=Embedding(provider=model),  # type: ignore[arg-type]
        rerank=Rerank(provider="none"),
        vaults=vaults,
    )
    with Recollect(home=path, settings=settings, environment={}, clock=lambda: NOW) as memory:
        memory.save_all([draft(dict(fields)) for fields in memories])
        memory.embed_now()
        yield memory


def test_the_one_hit_of_the_team_stands_above_unrelated_memories_of_ones_own(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "team", TEAM):
        pass
    shared = team("team", tmp_path / "team" / "vault.db")
    with opened(tmp_path / "home", OWN, shared) as memory:
        response = memory.search("9443")
    assert found(response)[0] == ("port", "team")
