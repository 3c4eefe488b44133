"""`--json` is one thing: its shapes have schemas, errors have codes, rows can be chosen from."""

from __future__ import annotations

import json

import pytest
from commandline import NOW, Home, check_error, check_schema

from recollect.interfaces.cli.arguments import parser_of
from recollect.interfaces.cli.commands import every_command
from recollect.interfaces.cli.schemas import all_schemas

MINE = 'extends = "blend"\n'
# Which schema → calls whose output is held to it, in this order, in one home; {here} is a folder.
CALLS = (
    ("search", "search tokens --explain"),
    ("related", "related jwt"),
    ("count", "count --tag auth"),
    ("show", "show jwt old"),
    ("list", "list"),
    ("context", "context tokens"),
    ("history", "history jwt"),
    ("timeline", "timeline jwt"),
    ("trash", "trash"),
    ("duplicates", "duplicates"),
    ("review", "review"),
    ("save", "save Refresh tokens live for thirty days."),
    ("edit", "edit jwt --add-tag one"),
    ("edit", "edit jwt old --add-tag two"),
    ("pin", "pin jwt"),
    ("pin", "unpin jwt"),
    ("tag", "tag jwt --add three"),
    ("tag list", "tags"),
    ("tag", "tag"),
    ("tag rename", "tags rename three four --yes"),
    ("tag merge", "tag merge four two one --yes"),
    ("move", "move jwt --to-project harbor"),
    ("projects", "projects"),
    ("forget", "forget old"),
    ("forget", "forget old --undo"),
    ("trash restore", "restore gone"),
    ("undo", "undo"),
    ("redo", "redo"),
    ("undo", "undo"),
    ("review", "review ITEM keep"),
    ("supersede", "supersede old jwt"),
    ("merge", "merge same-1 same-2"),
    ("feedback", "feedback tokens jwt --accept"),
    ("tidy", "tidy --policies"),
    ("tidy", "tidy --yes"),
    ("import", "import {here}/lines.jsonl"),
    ("add", "add {here}/docs"),
    ("add list", "add --list"),
    ("add sync", "add --sync"),
    ("add remove", "add --remove {here}/docs --dry-run"),
    ("add remove", "add --remove {here}/docs --yes"),
    ("mirror", "mirror {here}/mirror"),
    ("backup", "backup {here}/backup.db"),
    ("backup", "backup --check {here}/backup.db"),
    ("trash restore", "restore --from {here}/backup.db"),
    ("trash", "trash --empty --yes"),
    ("vault collections add", "vault collections add team {here}/team.db"),
    ("vault collections", "vault collections"),
    ("vault publish", "vault publish jwt --to team"),
    ("vault publish", "vault publish jwt --to team --undo"),
    ("vault collections remove", "vault collections remove team"),
    ("vault add", "vault add other {here}/backup.db"),
    ("vault list", "vault list"),
    ("vault remove", "vault remove other"),
    ("vault trust", "vault trust {here}/project"),
    ("vault untrust", "vault untrust {here}/project"),
    ("vault", "vault status"),
    ("stats", "stats"),
    ("config", "config"),
    ("config get", "config get search.recipe"),
    ("config set", "config set search.recipe blend"),
    ("config check", "config check"),
    ("doctor", "doctor"),
    ("reindex", "reindex"),
    ("models", "models"),
    ("recipes", "recipes"),
    ("recipes show", "recipes show blend"),
    ("recipes check", "recipes check {here}/mine.toml"),
    ("recipes diff", "recipes diff blend vault"),
    ("recipes learned", "recipes learned"),
    ("eval add", "eval add tokens jwt"),
    ("eval suite", "eval suite --recipe gnosis"),
    ("setup", "setup"),
    ("setup", "setup cursor --dry-run"),
    ("hook", "hook --test claude-code"),
    ("access token create", "access token create --can search:use --name reader"),
    ("access token", "access token list"),
    ("access token revoke", "access token revoke TOKEN"),
    ("access sessions", "access sessions"),
    ("access sessions end", "access sessions end --all"),
    ("access audit", "access audit"),
    ("version", "version"),
)
# Parts of others; and those that need a data set or a server, which other tests have; PostgreSQL.
ELSEWHERE = {
    "memory",
    "result",
    "error",
    "eval",
    "store copy",
    "store migrate",
    "open",
    "models use",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    here = tmp_path_factory.mktemp("schema")
    home = Home(here / "home", RECOLLECT_NOW=NOW)
    text = "Refresh tokens live for 30 days."
    home.import_memories(
        {"id": "jwt", "title": "Switched to JWT", "text": text, "tags": ["auth"], "why": "Audit."},
        {"id": "old", "title": "Tokens never end", "valid_until": "2026-01-01", "details": "x"},
        {"id": "gone", "title": "Tokens of the old site"},
        *({"id": f"same-{n}", "title": "The cat", "text": "The cat sits.", "project": f"p{n}"}
          for n in (1, 2)),
    )  # fmt: skip
    home.call("edit", "jwt", "--text", text.replace("30", "14"))
    home.call("forget", "gone")
    home.call("eval", "init")
    config = '[policies.old]\nwhat = "expire"\nafter = "9 years"\n'
    files = {
        "home/config.toml": config, "docs/a.md": "# A\n\nWords.", "mine.toml": MINE,
        "mirror/.keep": "", "project/.recollect/vault.db": "",
        "lines.jsonl": '{"title": "One"}\n{"title": 2}\n',
    }  # fmt: skip
    for name, content in files.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(content)
    return home


def test_what_commands_print_is_as_their_schemas_say(home: Home) -> None:
    words = {"here": home.folder.parent}
    for name, line in CALLS:
        args = [word.format(**words) for word in line.split()]
        args = [str(words.get(word, word)) for word in args]
        done = home.call(*args, "--json")
        assert done.out, (line, done.err)
        printed = json.loads(done.out)
        if line not in ("tidy --policies", "access sessions"):
            assert printed, line
        check_schema(name, printed)
        if name == "review" and "items" in printed:
            words["ITEM"] = printed["items"][0]["id"]
        if name == "access token create":
            words["TOKEN"] = printed["id"]


def test_every_command_that_prints_json_has_a_schema() -> None:
    assert {name for name, _ in CALLS} | ELSEWHERE == set(all_schemas())
    for name in every_command():
        parser = parser_of(name)
        if "--json" not in parser._option_string_actions:
            assert name not in all_schemas()
            continue
        assert name in all_schemas()
        if name != "vault":  # which prints its state after each action
            for action in set(parser.get_default("actions") or ()) - {"list", "watch"}:
                assert f"{name} {action}" in all_schemas()


def test_every_schema_is_named_and_another_is_refused(home: Home) -> None:
    assert home.call("schema").out.splitlines() == [*all_schemas()]
    check_error(home.call("schema", "nope"), "no schema 'nope'", "recollect schema")


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
        (("list", "--fields", "colour"), 2, "wrong_usage"),
        (("access", "token", "create", "--can", "search:use", "--jsonl"), 2, "wrong_usage"),
        (("setup", "cursor", "--fields", "client"), 2, "wrong_usage"),
    ],
)
def test_errors_are_json_with_a_code_where_a_program_asks(
    home: Home, args: tuple[str, ...], exit_code: int, code: str
) -> None:
    failed = home.call(*args)
    assert (failed.code, failed.out) == (exit_code, "")
    error = json.loads(failed.err)
    check_schema("error", error)
    assert error["code"] == code


def test_compact_is_one_line_and_keeps_the_evidence(home: Home) -> None:
    printed = home.call("search", "tokens", "--json", "--compact")
    assert printed.out.count("\n") == 1
    _, counts, _ = printed.json()
    assert counts.endswith(f"; evidence: {home.search('tokens')['evidence']}")
