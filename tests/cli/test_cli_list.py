"""`recollect list`: order, filters, pages, and what programs get."""

from __future__ import annotations

import re
import shlex

import pytest
from commandline import Home, check_error


def test_list_browses_core_then_captures_then_files_newest_first(home: Home) -> None:
    home.import_memories(
        {"id": "old-core", "title": "x", "tier": "core", "updated_at": "2020-01-01"},
        {"id": "new-core", "title": "x", "tier": "core", "updated_at": "2025-01-01"},
        {"id": "old", "title": "x", "updated_at": "2021-01-01"},
        {"id": "new", "title": "x", "updated_at": "2026-01-01"},
        {"id": "twin-b", "title": "x", "updated_at": "2022-01-01"},
        {"id": "twin-a", "title": "x", "updated_at": "2022-01-01"},
        {"id": "file", "title": "x", "tier": "file", "updated_at": "2026-02-01"},
    )
    order = ["new-core", "old-core", "new", "twin-a", "twin-b", "old", "file"]
    assert home.list_ids() == order
    pages: list[list[str]] = []
    after: list[str] = []
    while page := [memory["id"] for memory in home.json("list", "--limit", "2", *after)]:
        pages.append(page)
        after = ["--after", page[-1]]
    assert pages == [order[0:2], order[2:4], order[4:6], order[6:]]


@pytest.mark.parametrize(
    ("args", "holding"),
    [
        (("--limit", "0"), ("at least 1",)),
        (("--limit", "-1"), ("at least 1",)),
        (("--after", "nothing"), ("'nothing'",)),
        (("--since", "some day"), ("since 'some day'", "2026-03-01")),
        (("--until", "7x"), ("until '7x'",)),
        (("--since", "99999999999d"), ("since '99999999999d'",)),
    ],
)
def test_list_refuses_what_makes_no_sense(
    home: Home, args: tuple[str, ...], holding: tuple[str, ...]
) -> None:
    check_error(home.call("list", *args), *holding)


def test_a_limit_beyond_all_numbers_means_everything(home: Home) -> None:
    home.save("--title", "A", "--id", "a")
    for limit in (10**9, 10**30):
        assert [one["id"] for one in home.json("list", "--limit", str(limit))] == ["a"]
        assert home.json("context", "--limit", str(limit))["topped_up"] == 1
        assert home.search_ids("A", "--limit", str(limit)) == []  # one letter is no keyword
        assert home.search_ids("A", "--limit", str(limit), "--recipe", "router") == ["a"]


def test_list_says_how_to_go_on(home: Home) -> None:
    assert "No memories found" in home.call("list").out
    for id in ("a", "b", "c"):
        home.save("--title", id, "--id", id)
    assert "1 more: recollect list --limit 2 --after b" in home.call("list", "--limit", "2").out
    home.save("--title", "d", "--id", "d")
    after = ("list", "--limit", "2", "--after", "a")
    assert "More: recollect list --limit 2 --after c" in home.call(*after).out


def test_the_way_on_keeps_filters_and_limit(home: Home) -> None:
    home.import_memories(
        *({"id": f"n{number}", "title": "N", "kind": "to do"} for number in range(5))
    )
    home.save("--id", "other", "Another one")
    command, listed = ["list", "--kind", "to do", "--limit=2", "--as-of", "1h"], []
    home.environment["RECOLLECT_NOW"] = "2026-03-01T15:00:00Z"
    while command:
        text = home.call(*command).out
        shown, *more = re.split(r"(?:More|\d more): recollect ", text)
        listed += re.findall(r"n\d|other$", shown, re.MULTILINE)
        command = shlex.split("".join(more))
        assert not command or command[:4] == ["list", "--kind", "to do", "--limit=2"]
    assert listed == ["n0", "n1", "n2", "n3", "n4"]


def test_programs_get_the_whole_list(home: Home) -> None:
    home.import_memories(*({"id": f"n{number:02}", "title": "N"} for number in range(30)))
    ids = [f"n{number:02}" for number in range(30)]
    assert home.call("list", "--ids").out.split() == ids
    assert [one["id"] for one in home.json("list")] == ids
    assert len(home.call("list", "--jsonl").out.splitlines()) == 30
    assert home.call("list", "--ids", "--limit", "2").out.split() == ids[:2]
    assert "10 more: recollect list --after n19" in home.call("list").out
    text = home.call("list", "--all").out
    assert "More" not in text
    assert all(id in text for id in ids)
    assert home.call("forget", "-", stdin="\n".join(ids).encode()).code == 0
    assert len(home.json("trash")) == 30
    assert "10 more: recollect trash --all" in home.call("trash").out
    assert home.call("trash", "--all").out.count("forgotten,") == 30


def test_no_rows_are_no_line(home: Home) -> None:
    for command in ("list --ids", "list --jsonl", "search nothing --ids", "trash --jsonl"):
        assert home.call(*command.split()).out == "", command
    assert home.call("list", "--json").out == "[]\n"


def test_a_list_in_which_nothing_matches_does_not_call_the_vault_empty(home: Home) -> None:
    home.save("--title", "A", "--id", "a")
    nothing = "No memories match these filters. There is no kind 'nosuch'; there are: fact.\n"
    assert home.call("list", "--kind", "nosuch").out == nothing
    assert home.search("x", "--kind", "fakt")["notes"] == [
        "There is no kind 'fakt'; did you mean fact?"
    ]
    assert home.list_ids("--kind", "Facts") == home.list_ids()
    assert home.call("list", "--after", "a").out == "No memories found after a.\n"


def test_a_list_is_written_with_commas(home: Home) -> None:
    for id, tags, kind in (
        ("a", "x,y", "bug"),
        ("b", "x, z", "decision"),
        ("c", r"q\,r,y", "fact"),
    ):
        home.call("save", id, "--id", id, "--tag", tags, "--kind", kind, "--project", f"p-{id}")

    def listed(*args: str) -> list[str]:
        return sorted(home.call("list", "--ids", *args).out.split())

    assert home.json("show", "c")[0]["tags"] == ["q,r", "y"]
    assert listed("--tag", "x,y") == listed("-t", "x", "-t", "y") == ["a"]
    assert listed("--tag", r"q\,r") == ["c"]
    assert listed("--kind", "bug,decision") == ["a", "b"]
    assert listed("--project", "p-a,p-c") == ["a", "c"]
    assert listed("--tag", "y", "--not-tag", "x,other") == ["c"]
    assert home.call("edit", "--where", "kind=bug,fact", "--add-tag", "n,m", "--yes").code == 0
    assert listed("--tag", "n,m") == ["a", "c"]
    assert home.call("tag", "a", "c", "--remove", "n,m").code == 0
    assert listed("--tag", "m") == []
