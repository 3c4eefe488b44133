"""Several vaults, one ranking: common statistics, priorities as a bounded preference."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
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
    answered,
    away,
    dynamic,
    found,
    home,
    is_explained,
    send,
    team,
    vault_file,
)

from recollect import Recollect, Response
from recollect.ingest.draft import draft
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
def opened(
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
        memory.save_all([draft(dict(fields)) for fields in memories])
        memory.embed_now()
        yield memory


@pytest.mark.parametrize("model", ["builtin", "none"])
def test_the_one_hit_of_the_team_stands_above_unrelated_memories_of_ones_own(
    tmp_path: Path, model: str
) -> None:
    """With `none` the team's vault has no vectors: it is searched by words, and that is said."""
    with opened(tmp_path / "team", TEAM, model=model):
        pass
    shared = team("team", tmp_path / "team" / "vault.db")
    with opened(tmp_path / "home", OWN, shared) as memory:
        response = memory.search("9443")
        asked = memory.search("who is on call?")
    assert found(response)[0] == ("port", "team")
    assert found(asked)[0] == ("pager", "team")
    assert is_explained(response)
    left_out = {part.channel: part.reason for part in response.degraded}
    if model == "none":
        assert "no vector of the model" in left_out["team/vector"]
        [pager] = [one for one in asked if one.id == "pager"]
        assert "no vector here" in str(pager.explain)
    else:
        assert left_out == {}


def test_priorities_decide_between_equals_and_take_at_most_half_a_point(tmp_path: Path) -> None:
    """The same words: one's own is first. One word more of the query: the team's is, whatever its
    priority."""
    same = [{"id": "b-team", "title": "Harbor crane", "text": "It lifts forty tons."}]
    better = [{"id": "b-team", "title": "Harbor crane license", "text": "It lifts forty tons."}]
    own = [{"id": "c-own", "title": "Harbor crane", "text": "Ask Ada for the key."}]
    for name, held in (("same", same), ("better", better)):
        vault_file(tmp_path / f"{name}.db", held)
    for name, first in (("same", "c-own"), ("better", "b-team")):
        for priority in (0.6, 0.0):
            other = team(name, tmp_path / f"{name}.db", priority)
            with home(tmp_path / f"{name}-{priority}", own, other) as memory:
                response = memory.search("harbor crane license")
            assert response.results[0].id == first
            [theirs] = [one for one in response if one.vault == name]
            [preference] = [
                part for part in theirs.explain.leaves() if part.name == "vault_preference"
            ]
            assert preference.value == pytest.approx(-0.5 * (1 - priority))
            assert is_explained(response)


def test_of_one_id_the_vault_of_highest_priority_has_the_version_that_counts(
    tmp_path: Path,
) -> None:
    """Even where only the other version holds the words: it was replaced by one's own."""
    vault_file(tmp_path / "team.db", [{"id": "shared", "title": "Harbor token", "kind": "bug"}])
    own = [{"id": "shared", "title": "Quay ticket"}, {"id": "own", "title": "Harbor"}]
    with home(tmp_path / "home", own, team("team", tmp_path / "team.db")) as memory:
        response = memory.search("harbor token", facets=True)
        only = memory.search("harbor token", vaults=["team"])
    assert found(response) == [("own", "agent")]
    assert response.facets["kind"] == {"fact": 1}
    assert response.counts["dropped"] == {"repeated": 1}
    assert found(only) == [("shared", "team")]


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
            every.append(told(memory.search("the port of the bike")))
            for names in (["x", "y"], ["y", "x"]):
                named.append(told(memory.search("the port of the bike", vaults=names)))
    assert len(every[0]) == len(named[0]) > 1
    assert all(answer == every[0] for answer in every)
    assert all(answer == named[0] for answer in named)


def told(response: Response) -> list[tuple[str, str, float]]:
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
def server(
    memory: Recollect, spoil: Callable[[Any], object] = lambda it: None
) -> Iterator[Stranger]:
    """A server that has this vault, and changes what it sends."""

    def reply(handler: Any, body: Any) -> None:
        sent = answered(memory, body)
        spoil(sent)
        send(handler, 200, json.dumps(sent).encode())

    with Stranger(reply) as stranger:
        yield stranger


@pytest.mark.parametrize("model", ["builtin", "none"])
def test_a_vault_behind_a_server_is_ranked_as_the_same_file_would_be(
    tmp_path: Path, model: str
) -> None:
    notes = [
        {"id": f"n{number}", "title": f"Note {number}", "text": "The gateway restarts. " * number}
        for number in range(1, 12)
    ]
    queries = ("9443", "gateway port", "who is on call", "gatewey restarts", "the bike -wax")
    with opened(tmp_path / "team", [*TEAM, *notes], model=model) as library:
        file = VaultSettings(name="far", tier="dynamic", path=str(tmp_path / "team" / "vault.db"))
        with opened(tmp_path / "near", OWN, file, model=model) as memory:
            local = [memory.search(query, limit=40) for query in queries]
        with (
            server(library) as stranger,
            opened(tmp_path / "home", OWN, dynamic("far", stranger.url), model=model) as memory,
        ):
            remote = [memory.search(query, limit=40) for query in queries]
    assert len(stranger.asked) == len(queries), "one round trip for each search"
    for here, there in zip(local, remote, strict=True):
        assert told(there) == told(here)
        assert (there.evidence, there.understood) == (here.evidence, here.understood)
        assert away(there) == {}
    assert found(remote[0])[0] == ("port", "far")


@pytest.mark.parametrize("how", ["pool", "each"])
def test_what_replaces_what_is_told_of_a_vault_behind_a_server_as_of_a_file(
    tmp_path: Path, how: str
) -> None:
    statements: list[Fields] = [
        {
            "id": "old",
            "title": "The default editor is Neovim",
            "updated_at": "2026-01-02T00:00:00Z",
        },
        {"id": "new", "title": "The default editor is Zed", "updated_at": "2026-02-02T00:00:00Z"},
    ]
    with opened(tmp_path / "team", statements) as library:
        file = VaultSettings(name="far", tier="dynamic", path=str(tmp_path / "team" / "vault.db"))
        with opened(tmp_path / "near", OWN, file) as memory:
            here = memory.search("which editor", changes={"vaults": how})
        with (
            server(library) as stranger,
            opened(tmp_path / "home", OWN, dynamic("far", stranger.url)) as memory,
        ):
            there = memory.search("which editor", changes={"vaults": how})
    for response in (here, there):
        told = {result["id"]: result for result in as_json(response)["results"]}
        assert told["new"]["seems_to_replace"] == [
            {"id": "old", "updated_at": "2026-01-02T00:00:00Z"}
        ]
        assert told["old"]["seems_replaced_by"] == {
            "id": "new",
            "updated_at": "2026-02-02T00:00:00Z",
        }


def test_a_server_of_another_model_sends_no_vectors_and_that_is_said(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "team", TEAM, model="none") as library,
        server(library) as stranger,
        opened(tmp_path / "home", OWN, dynamic("far", stranger.url)) as memory,
    ):
        response = memory.search("9443")
        sent = answered(library, stranger.asked[0])
    assert sent["vectors"] == []
    assert found(response)[0] == ("port", "far")
    assert "far/vector" in {part.channel for part in response.degraded}


def test_an_older_server_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    with (
        Stranger(lambda handler, body: send(handler, 404, b"{}")) as stranger,
        home(tmp_path / "home", OWN, dynamic("far", stranger.url)) as memory,
    ):
        response = memory.search("bike")
    assert found(response) == [("bike", "agent")]
    assert "older Recollect" in away(response)["far"]


SPOILT: dict[str, Callable[[Any], object]] = {
    "a count below zero": lambda it: it.update(documents=-1),
    "a count beyond all bounds": lambda it: it["frequencies"].update(harbor=10**15),
    "a phrase that is not counted": lambda it: it["statistics"][0]["counts"][2].clear(),
    "a memory twice": lambda it: it["memories"].append(it["memories"][0]),
    "too many memories": lambda it: it.update(memories=it["memories"] * 5000),
    "a vector of no memory": lambda it: it["vectors"][0].__setitem__(0, "vermilion"),
    "a vector that is too long": lambda it: it["vectors"][0].__setitem__(2, "AACAPwAAgD8="),
    "a vector that is cut": lambda it: it["vectors"][0].__setitem__(2, "AAA="),
    "a vector that is none": lambda it: it["vectors"][0].__setitem__(2, "vermilion"),
    "a memory without times": lambda it: it["memories"][0].pop("updated_at"),
    "a tier that is none": lambda it: it["memories"][0].update(tier="vermilion"),
    "half a character": lambda it: it["memories"][0].update(text="\ud800 vermilion"),
    "no statistics": lambda it: it.pop("statistics"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    with opened(tmp_path_factory.mktemp("library"), TEAM) as memory:
        yield memory


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_a_server_sends_is_refused_as_a_whole_where_it_cannot_be(
    tmp_path: Path, library: Recollect, spoil: Callable[[Any], object]
) -> None:
    with (
        server(library, spoil) as stranger,
        opened(tmp_path / "home", OWN, dynamic("far", stranger.url)) as memory,
    ):
        response = memory.search("which port has the gateway")
    assert {vault for _, vault in found(response)} == {"agent"}
    reason = {part.channel: part.reason for part in response.degraded}["far"]
    assert reason.startswith("The vault far")
    assert "vermilion" not in reason


def test_the_words_of_a_server_are_one_line_each(tmp_path: Path, library: Recollect) -> None:
    def spoil(it: Any) -> None:
        it["degraded"] = [{"channel": "vector\x1b[2J", "reason": "slow\r\ntoday"}]

    with (
        server(library, spoil) as stranger,
        home(tmp_path / "home", OWN, dynamic("far", stranger.url)) as memory,
    ):
        response = memory.search("gateway port")
    assert ("far/vector [2J", "slow today") in {
        (part.channel, part.reason) for part in response.degraded
    }


def test_candidates_are_what_the_caller_may_read_and_no_more(library: Recollect) -> None:
    """Memories that match, numbers, and words of the query: nothing of any other memory."""
    body = {"query": "9443", "recipe": "router", "set": {}, "literal": False, "model": ""}
    sent = answered(library, body)
    assert [one["id"] for one in sent["memories"]] == ["port"]
    rest = json.dumps({name: value for name, value in sent.items() if name != "memories"})
    assert "pager" not in rest
    assert sent["documents"] == len(TEAM)
