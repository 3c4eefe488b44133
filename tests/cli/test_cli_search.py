"""`recollect search`: the JSON that programs rely on, filters, preferences, time, place."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commandline import NOW, Home, check_error, check_schema

from recollect.recipes.registry import BUILT_IN

KEYS = "query recipe view intent results counts evidence degraded timings_ms".split()
COMMON = "id score vault kind project created_at updated_at".split()
VIEWS = {
    "scan": "title type domain tags snippet token_estimate",
    "full": "memory breakdown",
    "pointer": "title what why impact category tags project source has_details created_at",
    "preview": "preview vector_similarity rerank_score kind timestamp topics complete verified",
    "snippet": "title snippet kind tags updated_at",
}
OWN_VIEW = {
    "blend": "scan",
    "vault": "scan",
    "echovault": "pointer",
    "gnosis": "preview",
    "router": "snippet",
    "covalence": "scan",
}
SIGNALS = {"semantic", "vector", "severity", "temporal_decay", "tag_overlap", "domain_match"}
QUERY = "rotating refresh tokens"


@pytest.mark.installed
def test_the_installed_command_answers_in_the_promised_shape(demo: Home) -> None:
    answer = demo.run("search", QUERY, "--recipe", "vault", "--view", "full", "--json").json()
    assert set(KEYS) <= set(answer)
    assert set(answer) - set(KEYS) == {"topics", "notes", "understood", "confidence"}
    assert answer["query"] == QUERY
    assert (answer["recipe"], answer["view"], answer["intent"]) == ("vault", "full", "semantic")
    assert {"keyword", "pool", "reranked", "returned", "dropped"} <= set(answer["counts"])
    assert answer["counts"]["returned"] == len(answer["results"])
    assert "total" in answer["timings_ms"]
    assert all(spent >= 0 for spent in answer["timings_ms"].values())
    [reason] = [one["reason"] for one in answer["degraded"] if one["channel"] == "vector"]
    assert "none" in reason
    for result in answer["results"]:
        assert set(result) - {"expired"} == {*COMMON, "memory", "breakdown"}
        assert result["vault"] == "agent"
        assert result["memory"]["id"] == result["id"]
        assert set(result["breakdown"]) in (SIGNALS, {"session"})


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("recipe", BUILT_IN)
def test_every_view_carries_its_fields_whatever_the_recipe(
    demo: Home, recipe: str, view: str
) -> None:
    answer = demo.search("refresh tokens", "--recipe", recipe, "--view", view)
    check_schema("search", answer)
    assert (answer["recipe"], answer["view"]) == (recipe, view)
    assert answer["results"]
    for result in answer["results"]:
        passage = {"snippet"} if recipe == "blend" and view != "full" else set()
        assert set(result) - {"expired"} == {*COMMON, *VIEWS[view].split()} | passage


@pytest.mark.parametrize(("recipe", "view"), OWN_VIEW.items())
def test_each_recipe_has_its_own_view(demo: Home, recipe: str, view: str) -> None:
    assert demo.search(QUERY, "--recipe", recipe)["view"] == view


def test_the_promised_example_tree(home: Home) -> None:
    """A weighted part says `weight × raw`, as in the contract's example."""
    home.save("--title", "JWT", "--severity", "critical")
    [result] = home.search("jwt", "--recipe", "vault", "--explain")["results"]
    [severity] = [part for part in result["explain"]["parts"] if part["name"] == "severity"]
    assert severity == {
        "name": "severity",
        "value": 0.15,
        "formula": "0.15 × 1",
        "weight": 0.15,
        "raw": 1.0,
        "how": "critical",
        "parts": [],
    }


def test_people_get_text_with_reasons(demo: Home) -> None:
    done = demo.run("search", QUERY, "--recipe", "vault", "--explain")
    assert done.code == 0
    assert " 1  " in done.out
    assert "%  shared words\n" in done.out, "In words, without what added nothing, and no figures."
    assert "├─ semantic" in demo.call("search", QUERY, "--recipe", "vault", "--explain=full").out
    assert "recipe vault" in done.out
    assert "No search by meaning: " in done.out
    assert "No memory matches." in demo.call("search", "zzyzx").out


def test_an_empty_vault_says_how_to_save(home: Home) -> None:
    assert "This vault is empty. To save: recollect save TEXT" in home.call("search", "x").out


def test_shares_are_of_what_counts_for_a_result_and_the_rest_counts_against_it(
    home: Home, tmp_path: Path
) -> None:
    """Not 167 % for the priority of a vault, and −67 % for everything that was found in it."""
    team = Home(tmp_path / "team", RECOLLECT_NOW=NOW)
    team.save("--title", "Token rotation", "--severity", "critical")
    home.save("--title", "Token expiry")
    assert home.call("vault", "add", "platform", str(team.vault)).code == 0
    printed = home.call("search", "token rotation", "--recipe", "vault", "--explain").out
    shares = [int(share) for share in re.findall(r"(-?\d+)%", printed)]
    assert len(shares) >= 4
    assert all(0 < share <= 100 for share in shares)
    assert printed.count("counts against it: ") == 1
    assert "counts against it: vault platform, tier team" in printed
    first = printed.split("\n 2  ")[0]
    assert sum(map(int, re.findall(r"(\d+)%", first))) in (99, 100, 101)


def test_a_memory_without_a_text_that_is_found_by_a_tag_has_its_title(home: Home) -> None:
    home.save("--title", "We deploy with Jenkins", "--tag", "deploy")
    for recipe in ("vault", "echovault", "router", "covalence", "blend"):
        assert home.run("search", "deploy", "--recipe", recipe).out.startswith(
            " 1  We deploy with Jenkins\n"
        ), recipe


def test_previews_of_scores_without_a_scale_have_no_percentages(home: Home) -> None:
    for number in range(3):
        home.save("--title", f"Harbour {number}", "--text", "Pilots meet at nine.")
    printed = home.run("search", "violin harbour", "--view", "preview").out
    assert " 1  Harbour" in printed
    assert "unverified" not in printed


def test_what_says_the_same_scores_the_same_however_many_say_it(home: Home) -> None:
    subjects = "alpine bridge copper desert engine forest garden harbor island".split()
    home.import_memories(*({"id": one, "title": f"Token note: {one}"} for one in subjects))
    home.import_memories(*({"title": f"Nothing to do with it, {number}"} for number in range(40)))
    home.save("--title", "Token of another kind")
    scores = {one["id"]: one["score"] for one in home.search("token note")["results"]}
    assert len({scores[one] for one in subjects}) == 1


def test_compact_json_is_results_counts_and_topics(demo: Home) -> None:
    results, counts, topics = demo.search("auth tokens", "--recipe", "gnosis", "--compact")
    assert set(results[0]) == {*COMMON, *VIEWS["preview"].split()} - {"score", "vault"}
    assert counts.startswith("Reranked 0 of ")
    assert topics["auth"] >= 1


def _raw(answer: Any, id: str, signal: str) -> float:
    [tree] = [result["explain"] for result in answer["results"] if result["id"] == id]
    [raw] = [part["raw"] for part in tree["parts"] if part["name"] == signal]
    assert isinstance(raw, float)
    return raw


def test_since_and_until_are_times_or_ages(home: Home) -> None:
    home.import_memories(
        {"id": "today", "title": "token of today", "updated_at": "2026-03-01T09:00:00Z"},
        {"id": "week", "title": "token of the week", "updated_at": "2026-02-23T12:00:00Z"},
        {"id": "year", "title": "token of the year", "updated_at": "2025-03-01"},
    )
    for args, ids in (
        (("--since", "7d"), ["today", "week"]),
        (("--since", "12h"), ["today"]),
        (("--since", "1w", "--until", "2026-02-28"), ["week"]),
        (("--until", "2026-02-23T13:00:00+01:00"), ["week", "year"]),
    ):
        assert sorted(home.search_ids("token", *args)) == home.list_ids(*args) == ids, args
    moved = home.search_ids("token", "--since", "2w", "--now", "2025-03-02")
    assert sorted(moved) == ["today", "week", "year"], "Ages count from --now."
    refused = home.call("search", "note", "--since", "last week of the note")
    check_error(refused, "since 'last week of the note'", "7d")


def test_results_may_be_listed_newest_first(home: Home) -> None:
    home.save("--id", "best", "--title", "Tides and tides", "--updated-at", "2026-01-01")
    home.save(
        "--id", "newer", "--title", "Tides", "--text", "x " * 50, "--updated-at", "2026-02-01"
    )
    home.save("--id", "old", "--text", "tides " + "y " * 90, "--updated-at", "2025-01-01")
    ranked = home.search("tides", "--recipe", "router")
    listed = home.search("tides", "--recipe", "router", "--sort", "newest")
    assert [one["id"] for one in ranked["results"]] != ["newer", "best", "old"]
    assert [one["id"] for one in listed["results"]] == ["newer", "best", "old"]
    scores = [{one["id"]: one["score"] for one in found["results"]} for found in (ranked, listed)]
    assert scores[0] == scores[1]
    check_error(home.call("search", "tides", "--sort", "age"), "best, newest")


def test_tags_and_projects_can_be_left_out(home: Home) -> None:
    home.save("--id", "a", "--title", "Tides", "--tag", "Old", "--project", "quay")
    home.save("--id", "b", "--title", "Tides", "--tag", "new", "--project", "harbor")
    home.save("--id", "c", "--title", "Tides")
    assert set(home.search_ids("tides", "--not-tag", "old")) == {"b", "c"}
    assert home.search_ids("tides", "--not-tag", "old", "--not-tag", "new") == ["c"]
    assert set(home.list_ids("--not-project", "quay")) == {"b", "c"}
    either = ("--project", "quay", "--project", "harbor")
    assert set(home.search_ids("tides", *either)) == {"a", "b"}
    assert home.list_ids(*either, "--not-project", "quay") == ["b"]
    home.save("--id", "d", "--title", "Tides at the quay wall", "--kind", "session")
    assert home.search_ids("tides", "--kind", "session", "--kind", "bug") == ["d"]
    assert set(home.search_ids("tides", "--not-kind", "fact")) == {"d"}
    assert set(home.list_ids("--not-kind", "session")) == {"a", "b", "c"}
    left_out = ("not-project=quay", "not-tag=new", "not-kind=session")
    where = (*(part for each in left_out for part in ("--where", each)), "--yes")
    assert home.json("edit", *where, "--severity", "warning") == {"changed": ["c"]}


def test_now_comes_from_the_option_before_the_environment_before_the_clock(home: Home) -> None:
    home.import_memories({"id": "a", "title": "token", "updated_at": "2025-03-01T12:00:00Z"})

    def decay(*args: str, now: str = NOW) -> float:
        ask = ("token", "--recipe", "vault", "--explain", *args)
        answer = home.search(*ask, using={"RECOLLECT_NOW": now})
        return _raw(answer, "a", "temporal_decay")

    assert decay() == pytest.approx(0.5)
    assert decay("--now", "2025-03-01T12:00:00Z") == 1.0
    assert decay("--now", "2025-03-01T14:00:00+02:00") == 1.0
    assert decay(now="2024-03-01T12:00:00Z") == 1.0, "Never younger than new."
    assert decay(now="2027-03-01T12:00:00") == pytest.approx(0.25)


@pytest.mark.parametrize("now", ["never", "2026-13-01", "2026-03-01T25:00:00Z", "25:00"])
def test_a_time_that_is_none_is_refused(home: Home, now: str) -> None:
    check_error(home.call("search", "x", "--now", now), f"now {now!r}")
    check_error(home.call("list", using={"RECOLLECT_NOW": now}), "RECOLLECT_NOW", repr(now))


def test_deep_search(demo: Home) -> None:
    deep = demo.search("refresh tokens", "--recipe", "gnosis", "--deep")
    assert deep["recipe"] == "gnosis"
    assert deep["results"]
    check_error(demo.call("search", "tokens", "--recipe", "gnosis", "--deep"), "2 keywords")
    check_error(demo.call("search", "how is it", "--recipe", "gnosis"), "1 keyword")
    check_error(demo.call("search", "refresh tokens", "--recipe", "vault", "--deep"), "gnosis")


def test_a_limit_that_a_recipe_cannot_give_is_said(demo: Home) -> None:
    answer = demo.search("refresh tokens", "--recipe", "gnosis", "--limit", "1000")
    assert any("at most 32" in note for note in answer["notes"])


def test_limits_hold(demo: Home) -> None:
    for recipe in ("echovault", "gnosis", "router", "covalence"):
        assert len(demo.search_ids("harbor tokens", "--recipe", recipe, "--limit", "2")) <= 2, (
            recipe
        )
    assert len(demo.search_ids("auth", "--recipe", "echovault")) == 5, "echovault's own limit."


def test_here_is_the_repository_or_else_the_folder(home: Home, tmp_path: Path) -> None:
    repository, alone = tmp_path / "harbor", tmp_path / "elsewhere"
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)
    alone.mkdir()
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    inside = home.run("save", "--title", "Token in harbor", "--here", cwd=deep).out.strip()
    outside = home.run("save", "--title", "Token elsewhere", "--here", cwd=alone).out.strip()
    assert [one["project"] for one in home.json("show", inside, outside)] == [
        "harbor",
        "elsewhere",
    ]
    for folder, id in ((repository, inside), (deep, inside), (alone, outside)):
        answer = home.run("search", "token", "--here", "--json", cwd=folder).json()
        assert [result["id"] for result in answer["results"]] == [id]
    assert home.list_ids() == sorted([inside, outside])
    listed = home.run("list", "--here", "--json", cwd=deep).json()
    assert [memory["id"] for memory in listed] == [inside]
    context = home.run("context", "--here", "--json", cwd=deep).json()
    assert [memory["id"] for memory in context["memories"]] == [inside]


def test_a_worktree_is_a_repository_too(home: Home, tmp_path: Path) -> None:
    """There `.git` is a file."""
    tree = tmp_path / "branch"
    tree.mkdir()
    (tree / ".git").write_text("gitdir: elsewhere\n")
    (tree / "docs").mkdir()
    id = home.run("save", "--title", "x", "--here", cwd=tree / "docs").out.strip()
    assert home.json("show", id)[0]["project"] == "branch"


def test_identifiers_and_words_of_other_scripts_are_found(home: Home) -> None:
    home.import_memories(
        {"id": "code", "title": "Bug in parse_http_header", "text": "E1234-ZX in v1.4-ROADMAP.md"},
        {"id": "cjk", "title": "データベース", "text": "接続プールは十個まで"},
        {"id": "cyrillic", "title": "Настройка сервера"},
    )
    for recipe in ("vault", "echovault", "router", "covalence"):
        assert home.search_ids("parse_http_header", "--recipe", recipe) == ["code"], recipe
        assert home.search_ids("E1234-ZX", "--recipe", recipe) == ["code"], recipe
        assert home.search_ids("データベース", "--recipe", recipe) == ["cjk"], recipe
        assert home.search_ids("настройка", "--recipe", recipe) == ["cyrillic"], recipe
    assert home.search_ids("1.4 roadmap", "--recipe", "covalence") == ["code"]
