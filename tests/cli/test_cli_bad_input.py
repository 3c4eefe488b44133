"""Whatever is typed: a correct answer or one sentence, never a traceback, and nothing lost."""

from __future__ import annotations

import pytest
from commandline import NOW, Home, check_error

from recollect.recipes.registry import BUILT_IN

IDS = ["cjk", "emoji", "plain", "rtl"]
QUERIES = {
    "empty": "",
    "white space": " \t\n ",
    "a quote left open": '"refresh tokens',
    "quotes inside quotes": '"a "b" c"',
    "a parenthesis left open": "(refresh AND tokens",
    "operators alone": "AND OR NOT NEAR",
    "an operator at the end": "refresh AND",
    "not of nothing": "NOT",
    "near of nothing": "NEAR(, 5)",
    "a star alone": "*",
    "a column": "title: refresh",
    "a column that is none": "secret: refresh",
    "minus": "-refresh",
    "a caret": "^refresh + tokens",
    "braces": "{title text} : refresh",
    "signs": "!@#$%^&*()_+-=[]{}|;':\",./<>?`~\\",
    "sql": "'; DROP TABLE memories; --",
    "percent": "100% _under_ %s %d {0}",
    "emoji": "🔑 🚀",
    "a family": "👩‍👩‍👧‍👦",
    "right to left": "مفتاح الوصول",
    "right to left override": "\u202erefresh\u202c",
    "combining marks": "re\u0301fresh",
    "zero width": "re\u200bfresh",
    "cjk": "更新トークン",
    "control signs": "refresh\x01\x1b[31m tokens",
    "a very long word": "x" * 10_000,
    "a thousand words": " ".join(f"word{number}" for number in range(1_000)),
    "a thousand times the same": "refresh " * 1_000,
    "eight hundred operators": "refresh AND " * 800,
    "ten thousand parentheses": "(" * 10_000,
    "ten thousand quotes": '"' * 9_999,
    "two thousand nots": "NOT " * 2_000 + "x",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Four memories that no test of this module may lose."""
    made = Home(tmp_path_factory.mktemp("input") / "home", RECOLLECT_NOW=NOW)
    made.import_memories(
        {"id": "plain", "title": "Refresh tokens rotate", "text": "NEAR the end, NOT before."},
        {"id": "emoji", "title": "Keys 🔑", "text": "🚀 launch"},
        {"id": "rtl", "title": "مفتاح الوصول"},
        {"id": "cjk", "title": "更新トークン"},
    )
    return made


@pytest.mark.parametrize("recipe", BUILT_IN)
@pytest.mark.parametrize("name", QUERIES)
def test_any_query_is_answered(home: Home, name: str, recipe: str) -> None:
    """As JSON and as text by turns: each query and each recipe is asked for both."""
    turn = [*QUERIES].index(name) + [*BUILT_IN].index(recipe)
    args = ("--json", "--explain") if turn % 2 else ()
    done = home.call("search", "--exit-zero", "--recipe", recipe, *args, "--", QUERIES[name])
    if done.code:
        check_error(done, "keyword")  # gnosis needs one
        assert recipe == "gnosis"
    else:
        assert done.err == ""
        assert done.out


@pytest.mark.parametrize(
    ("query", "id"),
    [
        ('"refresh tokens', "plain"),
        ("(refresh tokens", "plain"),
        ("keys 🔑", "emoji"),
        ("مفتاح الوصول", "rtl"),
        ("更新トークン", "cjk"),
        ("refresh " * 1_000, "plain"),
    ],
)
def test_odd_queries_find_what_they_name(home: Home, query: str, id: str) -> None:
    assert home.search_ids(query, "--recipe", "router") == [id]


@pytest.mark.parametrize("name", ["a quote left open", "a thousand words", "emoji", "empty"])
@pytest.mark.installed
def test_the_installed_command_takes_them_too(home: Home, name: str) -> None:
    done = home.run("search", QUERIES[name], "--json", "--exit-zero")
    assert (done.code, done.err) == (0, "")
    assert done.json()["query"] == QUERIES[name]


def test_an_empty_query_returns_nothing_arbitrary(home: Home) -> None:
    for recipe in ("vault", "echovault", "router"):
        answer = home.search("", "--recipe", recipe)
        assert answer["results"] == []
        assert answer["intent"] == "keyword"
    assert "query is empty" in home.run("search", "", "--recipe", "vault").out
    check_error(home.call("search", "", "--recipe", "gnosis"), "keyword")
    # covalence documents browsing for it: core, captures, files; newest first.
    assert sorted(home.search_ids("", "--recipe", "covalence")) == IDS


@pytest.mark.parametrize(
    "line",
    [
        b"search \xff\xfe", b"search x --project \xff", b"search x --tag \xff",
        b"search x --recipe \xff", b"search x --view \xff", b"search x --since \xff",
        b"search x --now \xff", b"context \xff", b"context x --space \xff", b"save --title caf\xe9",
        b"save --title x --tag \xff", b"save --title x --id \xff", b"show \xff",
        b"list --kind \xff", b"list --after \xff", b"edit plain --text \xff",
        b"edit plain --add-tag \xff", b"edit \xff --title x", b"pin \xff", b"forget \xff",
        b"forget --undo \xff", b"forget --purge \xff", b"feedback \xff plain --accept",
        b"feedback q \xff --accept", b"recipes show \xff", b"recipes check \xff", b"import \xff",
    ],
)  # fmt: skip
def test_arguments_that_are_not_utf8_are_refused(home: Home, line: bytes) -> None:
    check_error(home.run(*line.split()))


def test_preferences_that_are_not_utf8_match_nothing(home: Home) -> None:
    assert home.run("search", "refresh", "--prefer-tag", b"\xff").code == 0
    assert home.run("search", "refresh", "--prefer-domain", b"\xff").code == 0


@pytest.mark.parametrize(
    ("args", "holding"),
    [
        (("--limit", "0"), ("at least 1", "0")),
        (("--limit", "-1"), ("at least 1", "-1")),
        (("--recipe", "nonsense"), ("'nonsense'", *BUILT_IN)),
        (("--recipe", ""), ("''", *BUILT_IN)),
        (("--recipe", "../../etc/passwd"), ("recipe",)),
        (
            ("--view", "nonsense"),
            ("'nonsense'", "scan", "full", "pointer", "preview", "snippet"),
        ),
        (("--view", ""), ("view",)),
    ],
)
def test_values_that_make_no_sense_are_refused(
    home: Home, args: tuple[str, ...], holding: tuple[str, ...]
) -> None:
    check_error(home.call("search", "refresh", *args), *holding)


def test_a_port_that_is_none_is_refused_in_words(home: Home) -> None:
    said = check_error(home.call("serve", "--port", "99999"))
    assert said == "The port must be a number from 0 to 65535, not 99999."


def test_values_may_begin_with_a_dash_where_the_shell_custom_is_kept(home: Home) -> None:
    for words in (["-refresh"], ["--", "-refresh"]):
        printed = home.call("search", "--recipe", "router", "--json", *words).json()
        assert [result["id"] for result in printed["results"]] == ["plain"]
    assert home.call("save", "--title=-dash", "--id=dash").code == 0
    assert home.call("forget", "--purge", "dash").code == 0


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_lost(home: Home) -> object:
    yield
    assert sorted(home.list_ids()) == IDS
    assert home.is_sound()
