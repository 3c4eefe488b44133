"""Calling the command: help, usage, exit codes, and streams that are closed, full or gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from commandline import RECOLLECT, Home, check_error, check_usage_error

from patience import until
from recollect.interfaces.cli import commands
from recollect.interfaces.cli.commands import every_command
from recollect.version import __version__


@pytest.mark.installed
def test_the_version_is_printed(home: Home) -> None:
    assert home.run("--version").out == f"recollect {__version__}\n"
    assert home.run("-V").out == f"recollect {__version__}\n"


# Modules of the standard library and of others.
HEAVY = "asyncio httpx2 importlib.metadata locale numpy platformdirs rich"


@pytest.mark.parametrize(
    ("args", "unneeded", "most"),
    [
        ("--version", "argparse contextlib msgspec typing __future__ socket", 5),
        ("search note --json --recipe vault", HEAVY, 170),
        ("search note --json", HEAVY, 210),
    ],
)
def test_what_a_command_does_not_need_it_does_not_import(
    home: Home, args: str, unneeded: str, most: int
) -> None:
    """Start-up time, by what can be counted; `most` is the number of modules of Recollect."""
    home.save("--title", "A note")
    ran = home.run(*args.split(), through=(sys.executable, "-X", "importtime"))
    imported = {line.rpartition("|")[2].strip() for line in ran.err.splitlines()}
    own = {name.removeprefix("recollect.") for name in imported if name.startswith("recollect")}
    assert "interfaces.cli.main" in own
    assert imported & set(unneeded.split()) == set()
    assert len(own) <= most


WRONG = f"""
search x --limit many
search x --limit {"9" * 5000}
search x --nonsense
search x --reci vault
search x --project p --here
save --title
show
pin
forget
forget a --undo --purge
edit
edit a
edit a --tag x --add-tag y
save --title a --text - --details-file -
feedback q id
feedback q id --accept --dismiss
recipes frobnicate
recipes show
recipes diff vault
import
list vault
stats --verbose
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines(), ids=lambda line: line[:60])
def test_wrong_usage_is_exit_code_2(home: Home, line: str) -> None:
    check_usage_error(home.call(*line.split()), "recollect")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("search x --limit abc", "--limit must be a whole number, not 'abc'."),
        ("vault add a b --priority high", "--priority must be a number, not 'high'."),
        ("vault open", "ACTION cannot be 'open'; allowed are: status, lock, rekey, unlock."),
        ("search x --limit", "recollect search: --limit/-n: expected one argument"),
        ("search x --limit 0", "--limit must be at least 1, not 0."),
        ("search x --deadline-ms 0", "--deadline-ms must be a whole number of milliseconds"),
        ("search x --as-of someday", "--as-of 'someday' is not a time"),
        ("search x --vault nope", "there is only your own, 'agent'."),
        ("merge", "usage: recollect merge [options] ID ..."),
        ("merge a", "Name two or more memories to merge."),
        (
            "vault publish a --to guild --undo",
            "`recollect vault collections add guild FILE` creates it.",
        ),
    ],
)
def test_a_wrong_value_is_named_by_its_option(home: Home, line: str, told: str) -> None:
    assert told in home.call(*line.split()).err


def test_edit_states_no_defaults_of_new_memories(home: Home) -> None:
    assert "(default: capture)" in home.call("save", "--help").out
    assert "(default: capture)" not in home.call("edit", "--help").out


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("serach", "search"), ("sarch", "search"), ("lits", "list"), ("Shwo", "show"),
        ("vautl", "vault"), ("tga", "tag"),
    ],
)  # fmt: skip
def test_a_command_with_a_typing_error_is_answered_with_what_was_meant(
    home: Home, typed: str, meant: str
) -> None:
    check_usage_error(
        home.call(typed, "tokens"), f"There is no command '{typed}'. Did you mean `{meant}`?"
    )
    assert not home.folder.exists()


def test_words_that_are_no_command_are_searched_for(home: Home) -> None:
    home.save("--title", "We refresh tokens at noon", "--id", "noon")
    for query in ("how do we refresh tokens", "tokens-at-noon refresh", "REFRESH tokens"):
        assert home.json(*query.split())["query"] == query
    assert "noon" in home.call("in what are tokens refreshed").out  # quoted
    check_usage_error(home.call("nonsense", "--help"), "There is no command 'nonsense'.")


def test_the_rest_of_the_line_is_the_query_wherever_options_stand(home: Home) -> None:
    home.save("--title", "Tokens -- refreshed --if-exists", "--id", "noon")
    line = "search how do --limit 3 we --json refresh -1 -- --x y"
    assert home.call(*line.split()).json()["query"] == "how do we refresh -1 --x y"
    assert home.call("context", "refreshed", "tokens", "--json").json()["matched"] == 1
    assert home.call("context", "--json").json()["matched"] == 0


def test_a_word_behind_one_dash_leaves_out(home: Home) -> None:
    home.save("--title", "Connection refused by docker", "--kind", "bug", "--id", "docker")
    home.save("--title", "A connection that nobody refused", "--kind", "bug", "--id", "apart")
    home.save("--title", "Port 5432: connection refused", "--kind", "bug", "--id", "bug")
    home.save("--title", "Why a firewall says connection refused", "--id", "fact")
    line = ("kind:bug", "-docker", "connection refused", "--limit", "1")
    found = home.json("search", *line)
    assert found["query"] == 'kind:bug -docker "connection refused"'
    assert found["understood"] == ["kind bug", "without docker"]
    assert [result["id"] for result in found["results"]] == ["bug"]
    assert home.json(*line)["results"] == found["results"]
    for before in ("-hosts", "-limit", "-h5", "-j4", "-x=y"):  # no cluster of short options
        query = f"{before} connection"
        assert home.json("search", *query.split())["query"] == query
    for typed, query, count in (  # short options stand alone
        ("connection -n 1 -docker", "connection -docker", 1),
        ("-n1 connection -name", "connection -name", 1),
        ("-qn5 connection", "-qn5 connection", 4),
        ("connection -- -n 1", "connection -n 1", 4),
    ):
        answer = home.call("search", "--json", *typed.split()).json()
        assert (answer["query"], len(answer["results"])) == (query, count), typed
    assert len(home.call("search", "-not", "connection", "-q").out.split()) == 4
    assert home.call("search", "connection", "-h").out == home.call("help", "search").out
    saved = home.save("build", "with", "-j4", "by make")
    assert home.json("show", saved)[0]["title"] == "build with -j4 by make"
    assert home.json("context", "kind:fact", "-docker")["matched"] == 0


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("stats --jsn", "There is no option --jsn. Did you mean --json?"),
        ("save --titel=x", "There is no option --titel. Did you mean --title?"),
        ("--verison", "There is no option --verison. Did you mean --version?"),
        ("search --if-exists", "To use it as a word: recollect search -- --if-exists"),
    ],
)
def test_an_unknown_option_is_answered_with_what_was_meant(
    home: Home, line: str, answer: str
) -> None:
    unknown = line.split()[-1].partition("=")[0]
    check_usage_error(home.call(*line.split()), f"There is no option {unknown}.", answer)


def test_what_people_type_who_know_other_programs(home: Home) -> None:
    home.save("--title", "A note", "--id", "note")
    assert home.call("ls").out == home.call("list").out
    assert home.call("help", "search").out == home.call("search", "--help").out
    assert home.call("help", "rm").out == home.call("forget", "--help").out
    assert home.call("version").out == home.call("-V").out
    assert home.json("version")["version"] == __version__
    assert home.call("rm", "note").code == 0
    assert home.list_ids() == []


def test_actions_of_tag_are_first_words_and_the_others_ids(home: Home) -> None:
    both = {"list", "rename"}
    for id in both:
        home.save("--title", f"The {id}", "--id", id, "--tag", "old")
    assert set(home.json("tag", "--add", "x", *both)["tagged"]) == both
    assert home.json("tag", "list") == home.json("tags") == home.json("tag") == {"old": 2, "x": 2}
    assert set(home.json("tag", "rename", "old", "new", "--yes")["changed"]) == both
    assert set(home.json("tags", "merge", "new", "x", "y", "--yes")["changed"]) == both
    assert home.json("tags") == {"y": 2}
    check_usage_error(home.call("tag", "list", "--add", "x"), "recollect tag list")
    check_usage_error(home.call("tag", "--project", "p"), "--add TAG or --remove TAG")


def test_short_options_are_what_people_expect(home: Home) -> None:
    home.save("Tides turn at noon", "-t", "sea", "-p", "harbor", "-k", "note", "-q")
    home.save("Tides turn twice", "-t", "moon")
    home.save("Tides turn", "--id", "turn")
    assert home.call("save", "Tides turned", "--id", "turn", "-q") == (0, "turn\n", "")
    assert "turn already existed" in home.call("save", "Tides turn", "--id", "turn").err
    assert (
        home.call("list", "-p", "harbor", "-q").out == home.call("list", "-t", "sea", "--ids").out
    )
    ask = ("search", "tides", "-n", "1", "-k", "note", "-p", "harbor", "-t", "sea")
    [found] = home.call(*ask, "-j").json()["results"]
    assert home.call(*ask, "-q").out == f"{found['id']}\n"


def test_output_may_be_cut_off_by_its_reader(home: Home) -> None:
    """`recollect export | head -c 1`: no traceback, and success."""
    home.import_memories(
        *({"title": f"Note {number}", "text": "word " * 500} for number in range(200))
    )
    for args in (["export"], ["list", "--limit", "200", "--json"], ["search", "word", "--json"]):
        with home.start(*args) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(1)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")  # noqa: PTH110
@pytest.mark.parametrize("args", ["list", "export", "search note --json", "--version", "--help"])
def test_output_that_cannot_be_written_is_an_error(home: Home, args: str) -> None:
    home.save("--title", "A note")
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [RECOLLECT, *args.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            env=home.environment,
            check=False,
        )
    assert done.returncode == 1
    said = "Cannot print: No space left on device."
    error = {"code": "os_error", "message": said}
    expected = json.dumps(error) if "--json" in args else f"recollect: {said}"
    assert done.stderr.decode() == f"{expected}\n"


@pytest.mark.parametrize(
    ("shell", "code", "err"),
    [
        ('"$0" list >&-', 0, ""),
        ('"$0" export >&-', 0, ""),
        ('"$0" --version >&-', 0, ""),
        ('"$0" show nothing 2>&-', 1, ""),
        ('"$0" import - <&-', 1, "Standard input cannot be read"),
        ('"$0" save --title x --text - <&-', 1, "Standard input cannot be read"),
    ],
)
def test_closed_streams_do_no_harm(home: Home, shell: str, code: int, err: str) -> None:
    home.save("--title", "A note", "--id", "note")
    done = home.run(through=("sh", "-c", shell))
    assert (done.code, done.out) == (code, "")
    assert err in done.err
    assert "Traceback" not in done.err
    assert home.list_ids() == ["note"]
    assert home.is_sound()


def test_output_is_utf8_whatever_the_locale(home: Home) -> None:
    home.save("--title", "日本語 ünd ✓", "--id", "odd")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert "日本語 ünd ✓" in home.run("list", using=plain).out
    assert home.run("show", "odd", "--json", using=plain).json()[0]["title"] == "日本語 ünd ✓"
    check_error(home.run("show", "nö", using=plain), "There is no memory")


def test_an_interrupt_is_one_line_and_130(home: Home) -> None:
    home.save("--title", "A note", "--id", "note")
    process = home.start("import", "-")
    assert process.stdin is not None
    process.stdin.write(b'{"title": "half')
    process.stdin.flush()
    until(lambda: _holds_file(process.pid, home.vault))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err == b"recollect: Interrupted. Everything saved so far is kept.\n"
    assert home.list_ids() == ["note"]


def _holds_file(pid: int, file: Path) -> bool:
    """Return whether the process has opened the file; its signal handlers are set by then."""
    descriptors = Path(f"/proc/{pid}/fd")
    try:
        return any(link.readlink() == file for link in descriptors.iterdir())
    except FileNotFoundError:  # one of its files was closed while this looked
        return False


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("eval", "recollect_evaluation", "eval"),
        ("eval suite", "recollect_evaluation", "eval"),
        ("store", "recollect_postgres", "postgres"),
        ("store copy", "recollect_postgres", "postgres"),
        ("store migrate", "recollect_postgres", "postgres"),
    ],
)
def test_a_command_of_a_missing_package_says_what_to_install(
    home: Home, monkeypatch: pytest.MonkeyPatch, command: str, package: str, extra: str
) -> None:
    def missing(module: str) -> ModuleType:
        raise ModuleNotFoundError(name=module.partition(".")[0])

    assert every_command()[command][0].startswith(f"{package}.")
    monkeypatch.setattr(commands, "import_module", missing)
    check_error(home.call(*command.split()), f"run: pip install 'recollect-memory[{extra}]'")


@pytest.mark.installed
def test_the_installed_command_names_the_missing_word_and_makes_no_home(home: Home) -> None:
    check_usage_error(home.run("search"), "usage: recollect search", "QUERY")
    assert not home.folder.exists()
