"""A vault that is slow, wrong or gone is named in one sentence, and the rest answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import apsw
import pytest
from vault_homes import (
    SECRET,
    Stranger,
    away,
    dynamic,
    found,
    home,
    honest_answer,
    is_explained,
    send,
    settings,
    team,
    vault_file,
)

from patience import until
from recollect import Recollect
from recollect.errors import RecollectError, StoreError
from recollect.store.sqlite.migration import VERSION
from recollect.types import Response
from recollect.vaults import federation
from recollect.vaults.federation import Federation, VaultThreads
from recollect.vaults.known import KnownVault
from recollect.vaults.remote import DEEPEST

OWN = [{"id": "mine", "title": "Harbor token", "text": "What I know of it."}]
THEIRS: list[dict[str, Any]] = [
    {"id": "theirs", "title": "Harbor token", "text": "The vermilion lighthouse keeps it."},
    {"id": "more", "title": "Another harbor token", "tags": ["auth"]},
]
NEAR_MS = 300  # a deadline that a test waits for
LONGEST_S = 50  # far beyond any deadline here; what hangs does so for a minute


def sentence(response: Response, name: str) -> str:
    """Why the vault took no part: one sentence that gives nothing away."""
    reasons = away(response)
    assert list(reasons) == [name], reasons
    told = reasons[name]
    assert told.endswith((".", "?")), told
    assert "\n" not in told
    assert told.isprintable()
    assert len(told) < 400, told
    for secret in (SECRET, "vermilion", "lighthouse", "Traceback", "Bearer"):
        assert secret not in told, told
    return told


def alone(response: Response) -> bool:
    """Return True if the own vault answered completely, without the other."""
    return found(response) == [("mine", "agent")] and is_explained(response)


# Files


def no_database(path: Path) -> None:
    path.write_bytes(b"the vermilion lighthouse " * 400)


def another_database(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE vermilion (lighthouse)")
    connection.close()


def from_the_future(path: Path) -> None:
    vault_file(path, THEIRS)
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()


def damage_vault(path: Path) -> None:
    vault_file(path, THEIRS)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x55" * (len(content) - 4096)
    path.write_bytes(bytes(content))


def held_alone(path: Path) -> apsw.Connection:
    """Lock the vault against all other processes, even readers, until this is closed."""
    connection = apsw.Connection(str(path))
    assert connection.pragma("journal_mode", "DELETE") == "delete"
    connection.execute("BEGIN EXCLUSIVE")
    return connection


@pytest.mark.parametrize(
    ("make", "holding"),
    [
        (lambda path: None, "there is no such file"),
        (Path.mkdir, "there is no such file"),
        (os.mkfifo, "there is no such file"),
        (no_database, "not a SQLite database"),
        (another_database, "not a Recollect vault"),
        (from_the_future, "install a newer Recollect"),
        (damage_vault, ""),
    ],
    ids=["nothing", "folder", "pipe", "text", "another database", "newer", "damaged"],
)
def test_a_file_that_is_no_vault_is_named_and_the_rest_answers(
    tmp_path: Path, make: Callable[[Path], None], holding: str
) -> None:
    file = tmp_path / "team.db"
    make(file)
    before = sorted(tmp_path.iterdir())
    with home(tmp_path / "home", OWN, team("platform", file)) as memory:
        response = memory.search("harbor token")
        assert alone(response)
        assert holding in sentence(response, "platform")
        assert alone(memory.search("harbor token")), "and again"
        with pytest.raises(StoreError, match="No vault could answer: platform"):
            memory.search("harbor token", vaults=["platform"])
    assert {one.name for one in before} >= {
        one.name for one in tmp_path.iterdir() if one.name != "home"
    } - {"team.db-wal", "team.db-shm", "team.db-damaged"}, "A vault that is not there is not made."


def test_a_vault_that_comes_back_is_used_again(tmp_path: Path) -> None:
    file = tmp_path / "team.db"
    with home(tmp_path / "home", OWN, team("platform", file)) as memory:
        assert "there is no such file" in sentence(memory.search("harbor token"), "platform")
        vault_file(file, THEIRS)
        assert ("theirs", "platform") in found(memory.search("harbor token"))


@pytest.fixture
def until_free_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline begins when the vault `free` has answered, however slow the machine is."""
    asked: dict[str, Future[Any]] = {}
    ask, awaited = Federation._ask, federation._wait_for

    def noted(self: Federation, vault: KnownVault, question: Callable[[], Any]) -> Future[Any]:
        asked[vault.name] = ask(self, vault, question)
        return asked[vault.name]

    def later(future: Future[Any], start: float, longest_s: float) -> Any:
        asked["free"].exception(LONGEST_S)
        return awaited(future, time.perf_counter(), longest_s)

    monkeypatch.setattr(Federation, "_ask", noted)
    monkeypatch.setattr(federation, "_wait_for", later)


@pytest.mark.usefixtures("until_free_answers")
def test_a_vault_that_is_held_by_another_process_is_left_behind(tmp_path: Path) -> None:
    """Another process has locked the team's file; opening it would wait for a minute. Another
    vault, which is opened at the same time, must not wait too."""
    held = vault_file(tmp_path / "held.db", THEIRS)
    vault_file(tmp_path / "free.db", [{"id": "free", "title": "Harbor token"}])
    holder = held_alone(held)
    vaults = [team("a-held", held), team("free", tmp_path / "free.db")]
    start = time.monotonic()
    with home(tmp_path / "home", OWN, *vaults, deadline_ms=NEAR_MS) as memory:
        response = memory.search("harbor token")
        assert set(found(response)) == {("mine", "agent"), ("free", "free")}
        assert "did not answer in time" in sentence(response, "a-held")
        assert alone(memory.search("harbor token", vaults=["agent"]))
        for _ in range(5):
            assert "did not answer in time" in sentence(memory.search("harbor"), "a-held")
        with pytest.raises(RecollectError, match="'nowhere'"):
            memory.show(["nowhere"])
    assert time.monotonic() - start < LONGEST_S, "closing waits for nobody"
    holder.close()


@pytest.mark.parametrize("recipe", ["blend", "vault"])
def test_a_vault_that_misses_a_searchs_deadline_is_left_out(tmp_path: Path, recipe: str) -> None:
    holder = held_alone(vault_file(tmp_path / "held.db", THEIRS))
    far = 1000 * LONGEST_S
    with home(
        tmp_path / "home", OWN, team("held", tmp_path / "held.db"), deadline_ms=far
    ) as memory:
        response = memory.search("harbor token", recipe=recipe, deadline_ms=20)
        assert found(response) == [("mine", "agent")]
        assert "did not answer in time" in away(response)["held"]
    holder.close()


def test_what_came_too_late_is_never_begun() -> None:
    """Searches that waited for a vault that hangs leave no queue of questions."""
    go, begun = threading.Event(), []
    crew = VaultThreads("recollect-vault-test", 1)
    first = crew.ask(lambda: go.wait(LONGEST_S))
    late = [crew.ask(lambda n=n: begun.append(n)) for n in range(5)]  # type: ignore[misc]
    assert all(one.cancel() for one in late)
    go.set()
    assert first.result(LONGEST_S) is True
    assert crew.ask(lambda: "next").result(LONGEST_S) == "next"
    assert begun == []
    crew.close()


def test_what_fails_in_a_thread_is_raised_where_it_was_asked() -> None:
    crew = VaultThreads("recollect-vault-test", 1)
    with pytest.raises(ZeroDivisionError):
        crew.ask(lambda: 1 // 0).result(LONGEST_S)
    assert crew.ask(lambda: 1).result(LONGEST_S) == 1, "and the thread goes on"
    crew.close()


# Servers


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Recollect]:
    """The vault of the other server."""
    with home(tmp_path / "library", THEIRS) as memory:
        yield memory


def closing(handler: BaseHTTPRequestHandler) -> threading.Event:
    """Set when the test is over."""
    server: Any = handler.server
    event: threading.Event = server.closing
    return event


def hang(handler: BaseHTTPRequestHandler, body: Any) -> None:
    closing(handler).wait()


def trickle(handler: BaseHTTPRequestHandler, body: Any) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not closing(handler).wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def hang_up(handler: BaseHTTPRequestHandler, body: Any) -> None:
    handler.close_connection = True


def html(handler: BaseHTTPRequestHandler, body: Any) -> None:
    send(handler, 200, b"<html>Sign in to the vermilion lighthouse</html>")


def redirect(handler: BaseHTTPRequestHandler, body: Any) -> None:
    send(handler, 302, b"", Location="http://127.0.0.1:9/vermilion")


def status(number: int) -> Callable[[BaseHTTPRequestHandler, Any], None]:
    def reply(handler: BaseHTTPRequestHandler, body: Any) -> None:
        quoted = f"{handler.headers.get('Authorization')} vermilion {body}".encode()
        send(handler, number, quoted)

    return reply


def huge(handler: BaseHTTPRequestHandler, body: Any) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(2**30))
    handler.end_headers()
    for _ in range(64):
        handler.wfile.write(b"[" * 2**20)


def written(content: bytes) -> Callable[[BaseHTTPRequestHandler, Any], None]:
    return lambda handler, body: send(handler, 200, content)


@pytest.mark.parametrize(
    ("reply", "holding"),
    [
        (hang, "in time"),
        (trickle, "in time"),
        (hang_up, "closed the connection"),
        (html, "not JSON"),
        (redirect, "302"),
        (status(401), "401"),
        (status(403), "403"),
        (status(404), "404"),
        (status(422), "422"),
        (status(500), "500"),
        (status(503), "503"),
        (huge, "more than 48 MB"),
        (written(b""), "not JSON"),
        (written(b"null"), "unexpected shape"),
        (written(b"[]"), "unexpected shape"),
        (written(b"{}"), "unexpected shape"),
        (written(b'{"results": "vermilion"}'), "unexpected shape"),
        (written(b"[" * 100_000), "unexpected shape"),
        (written(b'{"a":' * 100_000), "not JSON"),
        (written(b"\xff\xfe vermilion"), "not JSON"),
    ],
)
def test_a_server_that_answers_badly_is_left_out(tmp_path: Path, reply: Any, holding: str) -> None:
    slow = reply in (hang, trickle)
    with (
        Stranger(reply) as stranger,
        home(
            tmp_path / "home",
            OWN,
            dynamic("far", stranger.url, "FAR_TOKEN"),
            deadline_ms=NEAR_MS if slow else 20_000,
            environment={"FAR_TOKEN": SECRET},
        ) as memory,
    ):
        response = memory.search("harbor token")
        until(lambda: bool(stranger.headers))  # the search may have been the quicker one
    assert alone(response)
    assert holding in sentence(response, "far")
    assert stranger.headers[0]["authorization"] == f"Bearer {SECRET}"


def test_a_redirect_does_not_carry_the_token_on(tmp_path: Path) -> None:
    with Stranger(status(200)) as thief:

        def elsewhere(handler: BaseHTTPRequestHandler, body: Any) -> None:
            send(handler, 307, b"", Location=f"{thief.url}/api/v1/search")

        with (
            Stranger(elsewhere) as stranger,
            home(
                tmp_path / "home",
                OWN,
                dynamic("far", stranger.url, "FAR_TOKEN"),
                environment={"FAR_TOKEN": SECRET},
            ) as memory,
        ):
            assert "it has moved" in sentence(memory.search("harbor token"), "far")
        assert thief.asked == []


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with home(tmp_path / "home", OWN, dynamic("far", "http://127.0.0.1:9")) as memory:
        response = memory.search("harbor token")
    assert alone(response)
    assert "cannot be reached" in sentence(response, "far")


def test_a_token_that_no_header_can_carry_is_named_by_its_variable(tmp_path: Path) -> None:
    with home(
        tmp_path / "home",
        OWN,
        dynamic("far", "http://127.0.0.1:9", "FAR_TOKEN"),
        environment={"FAR_TOKEN": f"{SECRET}\r\nX-Evil: 1"},
    ) as memory:
        response = memory.search("harbor token")
    assert alone(response)
    assert "$FAR_TOKEN" in sentence(response, "far")


Spoil = Callable[[Any], object]
NAN, INFINITE = float("nan"), float("inf")


def term(value: float, formula: str = "sum", **more: Any) -> dict[str, Any]:
    return {"name": "x", "value": value, "formula": formula, "parts": [], **more}


def deep(levels: int) -> dict[str, Any]:
    """A tree of single parts, each of the same value, and so right at every level."""
    made = term(1.0, "as it is")
    for _ in range(levels):
        made = {**term(1.0), "parts": [made]}
    return made


def first(found: Any, **fields: Any) -> None:
    found["results"][0].update(fields)


SPOILT: dict[str, Spoil] = {
    "a score that is too high": lambda it: first(it, score=it["results"][0]["score"] + 0.1),
    "a score of another memory": lambda it: first(it, memory=it["results"][1]["memory"]),
    "a score that is not a number": lambda it: first(it, score=NAN, explain=term(NAN)),
    "a score without end": lambda it: first(it, score=INFINITE, explain=term(INFINITE)),
    "a score that would overflow": lambda it: first(it, score=1e300, explain=term(1e300)),
    "a part that is not a number": lambda it: first(
        it, score=1.0, explain={**term(1.0), "parts": [term(NAN, "x")]}
    ),
    "parts that do not add up": lambda it: first(
        it, score=1.0, explain={**term(1.0), "parts": [term(0.2, "x"), term(0.3, "x")]}
    ),
    "a weight that does not multiply": lambda it: first(
        it, score=1.0, explain=term(1.0, "x", weight=0.5, raw=0.5)
    ),
    "an operation that is none": lambda it: first(
        it, score=1.0, explain={**term(1.0, "__import__('os')"), "parts": [term(1.0, "x")]}
    ),
    "an explanation too deep": lambda it: first(it, score=1.0, explain=deep(DEEPEST + 1)),
    "an explanation far too deep": lambda it: first(it, score=1.0, explain=deep(300)),
    "a name that steers the terminal": lambda it: first(
        it, score=1.0, explain={**term(1.0, "x"), "name": "\x1b[2Jvermilion"}
    ),
    "no explanation": lambda it: it["results"][0].pop("explain"),
    "no memory": lambda it: it["results"][0].pop("memory"),
    "a memory without times": lambda it: it["results"][0]["memory"].pop("updated_at"),
    "a memory whose title is a number": lambda it: it["results"][0]["memory"].update(title=5),
    "a tier that is none": lambda it: it["results"][0]["memory"].update(tier="vermilion"),
    "a field of the view that is missing": lambda it: it["results"][0].pop("snippet"),
    "a field of the view of another type": lambda it: first(it, snippet=["vermilion"]),
    "another view": lambda it: it.update(view="full"),
    "a view that is none": lambda it: it.update(view="vermilion"),
    "counts that are words": lambda it: it.update(counts={"keyword": "vermilion"}),
    "notes that are numbers": lambda it: it.update(notes=[1, 2]),
    "results that are words": lambda it: it.update(results=["vermilion"]),
    "too many results": lambda it: it.update(results=it["results"] * 600),
    "half a character": lambda it: it["results"][0]["memory"].update(text="\ud800 vermilion"),
}


@contextmanager
def far_server(
    folder: Path, library: Recollect, change: Spoil = lambda told: None
) -> Iterator[tuple[Stranger, Recollect]]:
    """A server that changes its honest answers, and a home that knows it as `far`."""

    def reply(handler: BaseHTTPRequestHandler, body: Any) -> None:
        told = honest_answer(library, body)
        change(told)
        send(handler, 200, json.dumps(told).encode())

    with (
        Stranger(reply) as stranger,
        home(folder / "home", OWN, dynamic("far", stranger.url)) as memory,
    ):
        yield stranger, memory


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_an_answer_with_a_lie_is_refused(tmp_path: Path, library: Recollect, spoil: Spoil) -> None:
    with far_server(tmp_path, library, spoil) as (_, memory):
        response = memory.search("harbor token", recipe="vault")
    assert alone(response)
    assert "The vault far" in sentence(response, "far")


HARMLESS: dict[str, Spoil] = {
    "nothing": lambda it: None,
    "fields of a newer version": lambda it: [
        it.update(more=1),
        *[one.update(more={"a": 1}) for one in it["results"]],
    ],
    "no counts": lambda it: it.update(counts={}),
    "no timings": lambda it: it.pop("timings_ms"),
    "another question": lambda it: it.update(query="vermilion", recipe="vermilion"),
    "times without a zone": lambda it: it["results"][0]["memory"].update(
        updated_at="2026-01-01T00:00:00"
    ),
    "the vault's name for itself": lambda it: first(it, vault="agent"),
    "the same result twice": lambda it: it["results"].append(it["results"][0]),
    "no results": lambda it: it.update(results=[]),
}


@pytest.mark.parametrize("spoil", HARMLESS.values(), ids=HARMLESS)
@pytest.mark.parametrize("view", ["scan", "full", "pointer", "preview", "snippet"])
def test_harmless_changes_are_taken(
    tmp_path: Path, library: Recollect, spoil: Spoil, view: str
) -> None:
    with far_server(tmp_path, library, spoil) as (_, memory):
        response = memory.search("harbor token", view=view, recipe="vault")
    assert away(response) == {}
    assert is_explained(response)
    assert (response.query, response.recipe) == ("harbor token", "vault")
    assert {vault for _, vault in found(response)} <= {"agent", "far"}
    assert len({id for id, _ in found(response)}) == len(response)
    assert all(one.memory.updated_at.tzinfo for one in response)
    json.dumps([one.fields for one in response])


def test_another_servers_words_are_cut_and_printable(tmp_path: Path, library: Recollect) -> None:
    def change(told: Any) -> None:
        told["notes"] = ["\x1b]0;owned\x07 look\nhere", "x" * 10_000] + ["again"] * 1000
        told["degraded"] = [{"channel": "vector\x1b[2J", "reason": "slow\r\ntoday"}]
        told["counts"]["dropped"] = {"\x1b[2Jreason": 3}

    with far_server(tmp_path, library, change) as (_, memory):
        response = memory.search("harbor token", recipe="vault")
    words = [*response.notes, *(f"{one.channel} {one.reason}" for one in response.degraded)]
    words += [*response.counts, *response.counts["dropped"]]  # type: ignore[misc]
    assert all(word.isprintable() for word in words)
    assert max(map(len, words)) <= 300
    assert len(response.notes) <= 25
    assert ("far/vector [2J", "slow today") in {
        (one.channel, one.reason) for one in response.degraded
    }


# What the other server is asked


def test_another_server_is_asked_the_whole_question(tmp_path: Path, library: Recollect) -> None:
    with far_server(tmp_path, library) as (stranger, memory):
        memory.search(
            "harbor token", recipe="vault", view="full", limit=5000, project="harbor",
            tags=("auth",), prefer_tags=["api"], prefer_domain="security", literal=True,
            changes={"limits.default": 3},
        )  # fmt: skip
        memory.context("harbor token", semantic="never")
    [asked, context] = stranger.asked
    assert asked["federate"] is False
    assert asked["whole"] is asked["explain"] is True
    assert asked["set"] == {"limits.default": 3}
    assert asked["limit"] == 1000, "more than a server gives is not asked for"
    assert asked["now"] == "2026-03-01T12:00:00Z", "ages are counted from the same moment"
    told = {name: asked[name] for name in ("recipe", "view", "project", "tags", "prefer_tags")}
    assert told == {"recipe": "vault", "view": "full", "project": "harbor",
                    "tags": ["auth"], "prefer_tags": ["api"]}  # fmt: skip
    assert (asked["literal"], asked["prefer_domain"]) == (True, "security")
    assert (context["recipe"], context["federate"]) == ("echovault", False)
    assert context["set"] == {"recall.vector.when": "never"}


def test_query_fields_become_another_servers_filters(tmp_path: Path, library: Recollect) -> None:
    with far_server(tmp_path, library) as (stranger, memory):
        found = memory.search("project:harbor token -tag:old", recipe="vault")
        browsed = memory.search("project:harbor")
    words = [(each["query"], each["project"], each["recipe"]) for each in stranger.asked]
    assert words == [("token", "harbor", "vault"), ("", "harbor", "covalence")]
    assert stranger.asked[0]["without_tags"] == ["old"]
    assert found.understood == ("project harbor", "without tag old")
    assert away(found) == away(browsed) == {}


def test_own_recipes_are_sent_as_changes_of_known_ones(tmp_path: Path, library: Recollect) -> None:
    with far_server(tmp_path, library) as (stranger, memory):
        memory.save_recipe("mine", extends="vault", changes={"limits.default": 4})
        response = memory.search("harbor token", recipe="mine")
    assert (stranger.asked[0]["recipe"], stranger.asked[0]["set"]) == (
        "vault",
        {"limits.default": 4},
    )
    assert away(response) == {}
    assert {one.explain.name for one in response if one.vault == "far"} == {"mine"}


def test_a_filter_it_does_not_know_leaves_a_server_out(tmp_path: Path, library: Recollect) -> None:
    """Its answer would hold what the filter excludes."""
    with far_server(tmp_path, library) as (stranger, memory):
        response = memory.search("harbor token", among=("mine",))
        assert stranger.asked == []
    assert alone(response)
    assert "filter" in sentence(response, "far")


def test_show_takes_only_the_memory_that_was_asked_for(tmp_path: Path, library: Recollect) -> None:
    def reply(handler: BaseHTTPRequestHandler, body: Any) -> None:
        if handler.path == "/api/v1/memories/theirs?federate=false":
            send(handler, 200, json.dumps({
                "id": "theirs", "title": "Harbor token",
                "created_at": "2026-01-01T00:00:00", "updated_at": "2026-01-01T00:00:00",
            }).encode())  # fmt: skip
        elif handler.path == "/api/v1/memories/odd%2Fid%3F?federate=false":
            send(handler, 200, json.dumps({
                "id": "another", "created_at": "2026-01-01", "updated_at": "2026-01-01",
            }).encode())  # fmt: skip
        else:
            send(handler, 404, b"{}")

    with (
        Stranger(reply) as stranger,
        home(tmp_path / "home", OWN, dynamic("far", stranger.url)) as memory,
    ):
        [mine, theirs] = memory.show(["mine", "theirs"])
        assert (mine.title, theirs.title) == ("Harbor token", "Harbor token")
        assert theirs.updated_at.tzinfo is not None
        for id in ("odd/id?", "nowhere"):
            with pytest.raises(RecollectError, match="There is no memory"):
                memory.show([id])


# Many at once, and the end


def test_many_searches_at_once_each_get_the_whole_answer(tmp_path: Path) -> None:
    vault_file(tmp_path / "a.db", THEIRS)
    vault_file(tmp_path / "b.db", [{"id": "b", "title": "Harbor token"}])
    vaults = [team("a", tmp_path / "a.db"), team("b", tmp_path / "b.db")]
    with (
        home(tmp_path / "home", OWN, *vaults) as memory,
        ThreadPoolExecutor(8) as threads,
    ):
        expected = found(memory.search("harbor token"))
        assert len(expected) == 4
        futures = [threads.submit(memory.search, "harbor token") for _ in range(80)]
        for future in futures:
            response = future.result(LONGEST_S)
            assert (found(response), away(response)) == (expected, {})


def test_no_thread_is_left_behind_by_a_closed_federation(tmp_path: Path) -> None:
    vault_file(tmp_path / "a.db", THEIRS)
    with home(tmp_path / "home", OWN, team("a", tmp_path / "a.db")) as memory:
        memory.search("harbor token")
        mine = [one for one in threading.enumerate() if one.name == "recollect-vault-a"]
        assert mine
    for thread in mine:
        thread.join(LONGEST_S)
        assert not thread.is_alive()


def test_a_process_ends_although_a_vault_hangs(tmp_path: Path) -> None:
    """A file that another process holds would keep its thread waiting for a minute."""
    held = vault_file(tmp_path / "held.db", THEIRS)
    vault_file(tmp_path / "home" / "vault.db", OWN)
    holder = held_alone(held)
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from recollect import Recollect\n"
        "from vault_homes import away, settings, team\n"
        "told = settings(team('held', Path(sys.argv[3])), deadline_ms=100)\n"
        "with Recollect(home=sys.argv[2], settings=told, environment={}) as memory:\n"
        "    print(*away(memory.search('harbor token')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent), str(tmp_path / "home"), held],
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        cwd=tmp_path,
        check=False,
    )
    holder.close()
    assert (done.returncode, done.stdout) == (0, "held\n"), done.stderr


def test_a_vault_that_is_opened_by_its_path_is_searched_alone(tmp_path: Path) -> None:
    """A path means that file, whatever other vaults the home knows."""
    vault_file(tmp_path / "team.db", THEIRS)
    vault_file(tmp_path / "other.db", OWN)
    told = settings(team("platform", tmp_path / "team.db"))
    with Recollect(
        tmp_path / "other.db", home=tmp_path / "home", settings=told, environment={}
    ) as memory:
        response = memory.search("harbor token")
        assert found(response) == [("mine", "agent")]
        assert memory.session.others.federation is None
        with pytest.raises(RecollectError, match="no vault 'platform'"):
            memory.search("harbor token", vaults=["platform"])
        with pytest.raises(RecollectError, match="There is no memory 'theirs'"):
            memory.show(["theirs"])
