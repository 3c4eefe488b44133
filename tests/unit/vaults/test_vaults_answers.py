"""The `vault` recipe over several vaults: score × priority, one version of an id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from vault_homes import by_id, found, home, home_and_team, is_explained, team, vault_file

from recollect.settings import VaultSettings
from recollect.types import recompute

# Each one word of two: with the other a token in the memory, a cosine of 1/√2.
JWT: dict[str, Any] = {"title": "jwt", "text": "tokens"}


def test_two_vaults_worked_by_hand(tmp_path: Path) -> None:
    """`vault`, keyword only, both as new as can be and of the asked word alone, so that the
    cosine and the decay are 1: 0.40 · 1 + 0.15 · severity + 0.15 · 1, tags and domain add nothing.

        own       no severity, 0.4   0.40 + 0.06 + 0.15 = 0.61   × 1.0 = 0.61
        team      critical, 1.0      0.40 + 0.15 + 0.15 = 0.70   × 0.6 = 0.42
    """
    own = [{"id": "mine", "title": "jwt"}]
    theirs = [{"id": "theirs", "title": "jwt", "severity": "critical"}]
    with home_and_team(tmp_path, own, theirs) as memory:
        response = memory.search("jwt", recipe="vault")
    assert found(response) == [("mine", "agent"), ("theirs", "team")]
    assert [one.score for one in response] == pytest.approx([0.61, 0.42], abs=1e-12)
    for result, priority in zip(response, (1.0, 0.6), strict=True):
        weight, inner = result.explain.parts
        assert (result.explain.name, result.explain.formula) == ("vault", "product")
        assert (weight.name, weight.value) == ("priority", priority)
        assert inner.name == result.vault
        assert {part.name for part in inner.parts} >= {"semantic", "severity", "temporal_decay"}
    assert [one.explain.parts[1].value for one in response] == pytest.approx([0.61, 0.70])


@pytest.mark.parametrize(
    ("tier", "told", "priority"),
    [
        ("team", None, 0.6),
        ("project", None, 0.8),
        ("team", 0.9, 0.9),
        ("project", 0.05, 0.05),
        ("team", 2.0, 2.0),
    ],
)
def test_a_tier_has_its_priority_unless_the_settings_say_another(
    tmp_path: Path, tier: Any, told: float | None, priority: float
) -> None:
    vault_file(tmp_path / "other.db", [{"id": "theirs", **JWT}])
    with home(tmp_path / "alone", [{"id": "theirs", **JWT}]) as alone:
        [bare] = alone.search("jwt", recipe="vault")
    other = VaultSettings(name="x", tier=tier, path=str(tmp_path / "other.db"), priority=told)
    with home(tmp_path / "home", [], other) as memory:
        [result] = memory.search("jwt", recipe="vault")
    assert result.explain.parts[0].value == priority
    assert result.score == result.explain.parts[1].value * priority
    assert result.explain.parts[1].value == bare.score, "as it is alone"


def test_the_version_of_the_highest_priority_stays_even_with_a_lower_score(tmp_path: Path) -> None:
    """A trap: the team's copy of `shared` is critical and far better, the own one barely matches.
    `shared` must come from the own vault, and the team's better score must not be borrowed."""
    filler = " ".join(f"word{n}" for n in range(30))
    own = [{"id": "shared", "title": "Notes", "text": f"{filler} jwt"}]
    theirs = [
        {"id": "shared", "title": "jwt", "severity": "critical"},
        {"id": "theirs", "title": "jwt", "severity": "critical"},
    ]
    with home_and_team(tmp_path, own, theirs) as memory:
        response = memory.search("jwt", recipe="vault")
    assert found(response) == [("theirs", "team"), ("shared", "agent")]
    assert by_id(response)["shared"].memory.title == "Notes"
    assert response.counts["dropped"] == {"repeated": 1}
    assert response.counts["returned"] == 2


def test_a_vault_above_the_homes_own_has_the_version_that_stays(tmp_path: Path) -> None:
    """The settings may give another vault more weight than one's own."""
    vault_file(tmp_path / "rules.db", [{"id": "shared", "title": "jwt as the rules say"}])
    own = [{"id": "shared", "title": "jwt as I remember"}]
    with home(tmp_path / "home", own, team("rules", tmp_path / "rules.db", 1.5)) as memory:
        response = memory.search("jwt", recipe="vault")
    assert found(response) == [("shared", "rules")]
    assert response.results[0].memory.title == "jwt as the rules say"


def test_of_equal_priorities_the_own_vault_wins_then_the_first_name(tmp_path: Path) -> None:
    for name in ("b", "a"):
        vault_file(tmp_path / f"{name}.db", [{"id": "shared", **JWT}, {"id": f"x-{name}", **JWT}])
    own = [{"id": "x-own", **JWT}]
    vaults = [team(name, tmp_path / f"{name}.db", 1.0) for name in ("b", "a")]
    with home(tmp_path / "home", own, *vaults) as memory:
        response = memory.search("jwt", recipe="vault")
    assert found(response) == [("shared", "a"), ("x-a", "a"), ("x-b", "b"), ("x-own", "agent")]
    assert len({one.score for one in response}) == 1, "equal scores stand by id"


# Three vaults with different memories about tokens, and one in common.
STORY: dict[str, list[dict[str, Any]]] = {
    "own": [
        {"id": "rotate", "title": "Refresh tokens rotate", "text": "Each use replaces the token.",
         "tags": ["auth"], "severity": "warning"},
        {"id": "shared", "title": "Token lifetime", "text": "Fifteen minutes, I think."},
        {"id": "laundry", "title": "Laundry", "text": "Brass tokens from the caretaker."},
    ],
    "team": [
        {"id": "shared", "title": "Token lifetime", "text": "Tokens live for ten minutes.",
         "severity": "critical"},
        {"id": "signing", "title": "Tokens are signed", "text": "The token key rotates."},
    ],
    "archive": [
        {"id": "shared", "title": "Token lifetime", "text": "Tokens used to live for a day."},
        {"id": "old", "title": "Tokens of 2024", "text": "A token was a cookie.", "tags": ["auth"]},
    ],
}  # fmt: skip


def test_vault_spans_vaults_by_its_documented_rule(tmp_path: Path) -> None:
    """Each vault alone is asked first; the merged list must follow from these answers and nothing
    else: score × priority, the first version of an id by priority, ties by id."""
    recipe, query = "vault", "auth token rotate"
    priorities = {"own": 1.0, "team": 0.6, "archive": 0.3}
    files = {name: vault_file(tmp_path / f"{name}.db", held) for name, held in STORY.items()}
    expected: dict[str, tuple[float, str]] = {}
    for name, priority in priorities.items():
        with home(tmp_path / f"only-{name}", STORY[name]) as alone:
            for result in alone.search(query, recipe=recipe):
                expected.setdefault(result.id, (result.score * priority, name))
    vaults = [team("team", files["team"]), team("archive", files["archive"], 0.3)]
    with home(tmp_path / "home", STORY["own"], *vaults) as memory:
        response = memory.search(query, recipe=recipe)
    order = sorted(expected.items(), key=lambda one: (-one[1][0], one[0]))
    names = {"own": "agent"}
    wanted = [(id, names.get(vault, vault)) for id, (_, vault) in order]
    assert found(response) == wanted[: len(response)]
    assert [one.score for one in response] == pytest.approx(
        [score for _, (score, _) in order][: len(response)], rel=1e-6
    )
    assert len(response) > 1
    assert {vault for _, vault in found(response)} > {"agent"}
    assert is_explained(response)
    assert {one.explain.name for one in response} == {recipe}


@pytest.mark.parametrize("view", ["scan", "full", "pointer", "preview", "snippet"])
def test_every_view_shows_what_other_vaults_hold(tmp_path: Path, view: str) -> None:
    theirs = STORY["team"]
    with home_and_team(tmp_path, STORY["own"], theirs) as memory:
        response = memory.search("token", view=view, recipe="vault")
    one, other = (
        next(result for result in response if result.vault == vault) for vault in ("agent", "team")
    )
    assert one.fields.keys() == other.fields.keys() != set()


def test_as_many_come_back_as_were_asked_for_whatever_the_number_of_vaults(tmp_path: Path) -> None:
    held = {
        name: [{"id": f"{name}-{n}", "title": f"token {n}"} for n in range(60)]
        for name in ("own", "team")
    }
    with home_and_team(tmp_path, held["own"], held["team"]) as memory:
        response = memory.search("token", limit=7, recipe="blend")
        assert len(response) == 7
        assert response.counts["returned"] == 7
        dropped: Any = response.counts["dropped"]
        assert dropped["limit"] >= 7, "the other vault's results were cut, and that is told"
        assert is_explained(response)


def test_evidence_is_judged_over_all_that_was_found(tmp_path: Path) -> None:
    """The own vault has a word in common; the answer itself is in the team's."""
    own = [{"id": "noise", "title": "A harbor in the fog"}]
    theirs = [
        {
            "id": "answer",
            "title": "Harbor gateway port",
            "text": "The harbor gateway port is 8443.",
        }
    ]
    with home_and_team(tmp_path, own, theirs) as memory:
        alone = memory.search("harbor gateway port 8443", federate=False)
        both = memory.search("harbor gateway port 8443")
        nothing = memory.search("violin strings")
    assert alone.evidence != "strong"
    assert found(both)[0] == ("answer", "team")
    assert both.evidence == "strong"
    assert both.confidence is not None
    assert both.confidence >= 0.95
    assert nothing.evidence == "none"


def test_counts_topics_and_facets_are_of_all_vaults(tmp_path: Path) -> None:
    own = [{"id": "a", "title": "token", "tags": ["auth", "api"]}]
    theirs = [{"id": "b", "title": "token", "tags": ["auth"]}]
    with home_and_team(tmp_path, own, theirs) as memory:
        response = memory.search("token", recipe="vault", facets=True)
    assert response.counts["keyword"] == 2
    assert response.topics == {"auth": 2, "api": 1}
    assert response.facets["tags"] == {"auth": 2, "api": 1}
    assert response.timings_ms.keys() >= {"total", "vaults.agent", "vaults.team"}


def test_a_search_of_one_other_vault_is_weighed_too(tmp_path: Path) -> None:
    own = [{"id": "a", "title": "jwt"}]
    theirs = [{"id": "b", "title": "jwt"}]
    with home_and_team(tmp_path, own, theirs) as memory:
        response = memory.search("jwt", recipe="vault", vaults=["team"])
        assert found(response) == [("b", "team")]
        assert response.results[0].score == pytest.approx(0.61 * 0.6)
        own_only = memory.search("jwt", recipe="vault", vaults=["agent"])
        assert found(own_only) == [("a", "agent")]
        assert recompute(own_only.results[0].explain) == own_only.results[0].score


def test_equal_scores_of_one_vault_stay_in_its_order(tmp_path: Path) -> None:
    """Sessions all score 0.5 and are ordered by relevance, also in an answer of several vaults."""
    sessions = [
        {"id": "a", "title": "A chat", "text": "About a token.", "kind": "session"},
        {"id": "b", "title": "Token token", "kind": "session"},
    ]
    other = vault_file(tmp_path / "team.db", sessions)
    with home(tmp_path / "home", [], team("team", other)) as memory:
        response = memory.search("token", recipe="vault")
    assert found(response) == [("b", "team"), ("a", "team")]
