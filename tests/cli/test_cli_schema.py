"""`--json` is one thing: its shapes have schemas, errors have codes, rows can be chosen from."""

from __future__ import annotations

import json

import pytest
from commandline import NOW, Home, refused
from jsonschema import Draft202012Validator

from recollect.interfaces.cli.schema import SCHEMAS

CALLS = {
    "search": ("search", "tokens", "--explain"),
    "related": ("related", "jwt"),
    "show": ("show", "jwt", "old"),
    "list": ("list",),
    "context": ("context", "tokens"),
    "history": ("history", "jwt"),
    "trash": ("trash",),
    "save": ("save", "Refresh tokens live for thirty days."),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("schema") / "home", RECOLLECT_NOW=NOW)
    text = "Refresh tokens live for 30 days."
    home.bring_in(
        {"id": "jwt", "title": "Switched to JWT", "text": text, "tags": ["auth"], "why": "Audit."},
        {"id": "old", "title": "Tokens never end", "valid_until": "2026-01-01", "details": "x"},
        {"id": "gone", "title": "Tokens of the old site"},
    )
    home.call("edit", "jwt", "--text", text.replace("30", "14"))
    home.call("forget", "gone")
    return home


def schema(home: Home, name: str) -> Draft202012Validator:
    return Draft202012Validator(home.call("schema", name).json())


@pytest.mark.parametrize("name", CALLS)
def test_what_a_command_prints_is_as_its_schema_says(home: Home, name: str) -> None:
    printed = home.json(*CALLS[name])
    assert printed
    schema(home, name).validate(printed)


@pytest.mark.parametrize("view", ["scan", "full", "pointer", "preview", "snippet"])
def test_every_view_has_the_names_of_a_memory_and_its_dates(home: Home, view: str) -> None:
    printed = home.search("tokens", "--view", view)
    schema(home, "search").validate(printed)
    for result in printed["results"]:
        assert {"id", "kind", "project", "created_at", "updated_at"} <= set(result)


def test_every_schema_is_named_and_another_is_refused(home: Home) -> None:
    assert home.call("schema").out.split() == [*SCHEMAS]
    refused(home.call("schema", "nope"), "no schema 'nope'", "search")


def test_lines_and_fields_are_chosen(home: Home) -> None:
    whole = home.json("list")
    lines = home.call("list", "--jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == whole
    fields = home.call("list", "--fields", "id, kind").json()
    assert fields == [{"id": each["id"], "kind": each["kind"]} for each in whole]
    found = home.call("search", "tokens", "--fields", "id,score").json()
    assert found["evidence"]
    assert all(set(result) == {"id", "score"} for result in found["results"])


@pytest.mark.parametrize(
    ("args", "exit_code", "code"),
    [
        (("show", "nothing", "--json"), 1, "not_found"),
        (("list", "--since", "soonish", "--jsonl"), 1, "user_error"),
        (("list", "--nope", "--json"), 2, "wrong_usage"),
        (("list", "--fields", "colour"), 1, "user_error"),
    ],
)
def test_errors_are_json_with_a_code_where_a_program_asks(
    home: Home, args: tuple[str, ...], exit_code: int, code: str
) -> None:
    failed = home.call(*args)
    assert (failed.code, failed.out) == (exit_code, "")
    error = json.loads(failed.err)
    schema(home, "error").validate(error)
    assert error["code"] == code


def test_compact_is_one_line_and_keeps_the_evidence(home: Home) -> None:
    printed = home.call("search", "tokens", "--json", "--compact")
    assert printed.out.count("\n") == 1
    _, counts, _ = printed.json()
    assert counts.endswith(f"; evidence: {home.search('tokens')['evidence']}")
