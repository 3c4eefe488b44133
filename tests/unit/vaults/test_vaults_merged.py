"""Several vaults, one list: each answers by itself, merged by confidence × priority."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from vault_homes import (
    DEADLINE_MS,
    NOW,
    Fields,
    Stranger,
    away,
    dynamic,
    found,
    home,
    honest_answer,
    is_explained,
    send,
    team,
    vault_file,
)

from recollect import Recollect, Response
from recollect.ingest.draft import make_draft
from recollect.maths import logistic
from recollect.present.response import as_json
from recollect.settings import Embedding, Rerank, SearchSettings, Settings, VaultSettings
from recollect.store.sqlite.opening import Opener

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
def open_memory(
    path: Path, memories: Sequence[Fields], *vaults: VaultSettings, model: str = "builtin"
) -> Iterator[Recollect]:
    """A home at that path that holds these, with their vectors, and knows these vaults."""
    settings = Settings(
        embedding=Embedding(provider=model),  # type: ignore[arg-type]
        rerank=Rerank(provider="none"),
        search=SearchSettings(vault_deadline_ms=DEADLINE_MS),
        vaults=vaults,
    )
    with Recollect(home=path, settings=settings, environment={}, clock=lambda: NOW) as memory:
        memory.save_all([make_draft(dict(fields)) for fields in memories])
        memory.embed_now()
        yield memory


@pytest.mark.parametrize("model", ["builtin", "none"])
def test_the_teams_one_hit_is_above_unrelated_own_memories(tmp_path: Path, model: str) -> None:
    """With `none` the team's vault has no vectors: it is searched by words, and that is said."""
    with open_memory(tmp_path / "team", TEAM, model=model):
        pass
    shared = team("team", tmp_path / "team" / "vault.db")
    with open_memory(tmp_path / "home", OWN, shared) as memory:
        response = memory.search("9443")
        asked = memory.search("who is on call?")
    assert found(response)[0] == ("port", "team")
    assert found(asked)[0] == ("pager", "team")
    assert is_explained(response)
    left_out = {part.channel for part in response.degraded}
    assert left_out == ({"team/vector"} if model == "none" else set())


@pytest.mark.parametrize("priority", [0.6, 0.0, 2.0])
def test_a_score_is_log_odds_of_confidence_times_priority(tmp_path: Path, priority: float) -> None:
    """The priority that is above 1 counts 1, and the others as shares of it; one of 0 leaves a
    score that is finite, and its vault's order as it is."""
    theirs = [
        {"id": "a-team", "title": "Harbor crane", "text": "It lifts forty tons."},
        {"id": "b-team", "title": "Harbor", "text": "The crane is at the quay, and it is blue."},
    ]
    own = [{"id": "c-own", "title": "Harbor crane", "text": "Ask Ada for the key."}]
    path = vault_file(tmp_path / "team.db", theirs)
    with home(tmp_path / "home", own, team("team", path, priority)) as memory:
        own_alone = memory.search("harbor crane", federate=False)
        both = memory.search("harbor crane")
    with home(tmp_path / "theirs", theirs) as memory:
        theirs_alone = memory.search("harbor crane")
    assert is_explained(both)
    highest = max(1.0, priority)
    for alone, weight in ((own_alone, 1.0), (theirs_alone, priority)):
        for bare in alone:
            [weighed] = [one for one in both if one.id == bare.id]
            share = max(1e-9, logistic(bare.score) * weight / highest)
            assert weighed.score == pytest.approx(math.log(share / (1 - share)), abs=1e-9)
            [*lost] = [one for one in weighed.explain.leaves() if one.name == "priority"]
            assert len(lost) == (weight != highest)
    assert [one.id for one in both if one.vault == "team"] == [one.id for one in theirs_alone]
    assert both.results[0].vault == ("team" if priority == 2.0 else "agent")
    assert both.evidence == own_alone.evidence


def test_what_is_read_in_a_query_holds_for_every_vault(tmp_path: Path) -> None:
    """A list comes newest first over all vaults, and what is excluded is excluded everywhere."""

    def bug(id: str, days: int, text: str) -> Fields:
        made = (NOW - timedelta(days=days)).isoformat()
        return {"id": id, "title": text, "kind": "bug", "created_at": made, "updated_at": made}

    own = [bug("a", 1, "Slow redis"), bug("c", 3, "Login loop")]
    vault_file(tmp_path / "team.db", [bug("b", 2, "Slow queue"), bug("d", 40, "Old crash")])
    vault_file(tmp_path / "empty.db", [])
    vaults = [team("team", tmp_path / "team.db"), team("empty", tmp_path / "empty.db")]
    with home(tmp_path / "home", own, *vaults) as memory:
        listed = memory.search("bugs since 2026-02-20")
        without = memory.search("slow -redis")
        old = memory.search("crash", since=NOW - timedelta(days=30))
    assert found(listed) == [("a", "agent"), ("b", "team"), ("c", "agent")]
    assert [one.score for one in listed] == [1, 1 / 2, pytest.approx(1 / 3)]
    assert is_explained(listed)
    assert listed.understood
    assert found(without) == [("b", "team")]
    assert without.understood
    assert found(old) == []
    assert away(listed) == {}


def test_the_order_in_which_vaults_are_named_does_not_matter(tmp_path: Path) -> None:
    for name, held in (("x", TEAM), ("y", OWN)):
        vault_file(tmp_path / f"{name}.db", held)
    vaults = [team(name, tmp_path / f"{name}.db") for name in ("x", "y")]
    every, named = [], []
    for number, order in enumerate((vaults, vaults[::-1])):
        with home(tmp_path / f"home{number}", [], *order) as memory:
            every.append(summary(memory.search("the port of the bike")))
            for names in (["x", "y"], ["y", "x"]):
                named.append(summary(memory.search("the port of the bike", vaults=names)))
    assert len(every[0]) == len(named[0]) > 1
    assert all(answer == every[0] for answer in every)
    assert all(answer == named[0] for answer in named)


def summary(response: Response) -> list[tuple[str, str, float]]:
    return [(one.id, one.vault, one.score) for one in response]


def test_one_search_opens_each_vault_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vaults = [
        team(name, vault_file(tmp_path / f"{name}.db", [{"id": name, "title": f"Harbor {name}"}]))
        for name in ("x", "y")
    ]
    opens: list[str] = []
    real = Opener.open

    def watched(self: Opener, *, create: bool) -> Any:
        opens.append(self.path.name)
        return real(self, create=create)

    with home(tmp_path / "home", [{"id": "own", "title": "Harbor"}], *vaults) as memory:
        monkeypatch.setattr(Opener, "open", watched)
        assert len(memory.search("harbor")) == 3
        assert len(memory.search("harbor x")) == 3
    assert sorted(opens) == ["x.db", "y.db"]


# Other servers


@contextmanager
def server(memory: Recollect) -> Iterator[Stranger]:
    """A server that has this vault."""

    def reply(handler: Any, body: Any) -> None:
        send(handler, 200, json.dumps(honest_answer(memory, body)).encode())

    with Stranger(reply) as stranger:
        yield stranger


@pytest.mark.parametrize("model", ["builtin", "none"])
def test_a_vault_behind_a_server_is_ranked_like_its_file(tmp_path: Path, model: str) -> None:
    notes = [
        {"id": f"n{number}", "title": f"Note {number}", "text": "The gateway restarts. " * number}
        for number in range(1, 12)
    ]
    queries = ("9443", "gateway port", "who is on call", "gatewey restarts", "the bike -wax")
    with open_memory(tmp_path / "team", [*TEAM, *notes], model=model) as library:
        file = VaultSettings(name="far", tier="dynamic", path=str(tmp_path / "team" / "vault.db"))
        with open_memory(tmp_path / "near", OWN, file, model=model) as memory:
            local = [memory.search(query, limit=40) for query in queries]
        with (
            server(library) as stranger,
            open_memory(
                tmp_path / "home", OWN, dynamic("far", stranger.url), model=model
            ) as memory,
        ):
            remote = [memory.search(query, limit=40) for query in queries]
    assert len(stranger.asked) == len(queries), "one round trip for each search"
    for here, there in zip(local, remote, strict=True):
        assert summary(there) == summary(here)
        assert (there.evidence, there.understood) == (here.evidence, here.understood)
        assert away(there) == {}
    assert found(remote[0])[0] == ("port", "far")


def test_what_replaces_what_is_told_of_a_vault_behind_a_server_as_of_a_file(
    tmp_path: Path,
) -> None:
    statements: list[Fields] = [
        {
            "id": "old",
            "title": "The default editor is Neovim",
            "updated_at": "2026-01-02T00:00:00Z",
        },
        {"id": "new", "title": "The default editor is Zed", "updated_at": "2026-02-02T00:00:00Z"},
    ]
    with open_memory(tmp_path / "team", statements) as library:
        file = VaultSettings(name="far", tier="dynamic", path=str(tmp_path / "team" / "vault.db"))
        with open_memory(tmp_path / "near", OWN, file) as memory:
            here = memory.search("which editor")
        with (
            server(library) as stranger,
            open_memory(tmp_path / "home", OWN, dynamic("far", stranger.url)) as memory,
        ):
            there = memory.search("which editor")
    for response in (here, there):
        told = {result["id"]: result for result in as_json(response)["results"]}
        assert told["new"]["seems_to_replace"] == [
            {"id": "old", "updated_at": "2026-01-02T00:00:00Z"}
        ]
        assert told["old"]["seems_replaced_by"] == {
            "id": "new",
            "updated_at": "2026-02-02T00:00:00Z",
        }


def test_an_older_server_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    with (
        Stranger(lambda handler, body: send(handler, 404, b"{}")) as stranger,
        home(tmp_path / "home", OWN, dynamic("far", stranger.url)) as memory,
    ):
        response = memory.search("bike")
    assert found(response) == [("bike", "agent")]
    assert "older Recollect" in away(response)["far"]
