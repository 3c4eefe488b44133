"""Other users of this machine: the token that a server keeps for its user, and who can use it."""

from __future__ import annotations

import json
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from http_server import (
    API,
    RECOLLECT,
    SECRET,
    Server,
    environment,
    problem,
    serving,
)
from jsonschema import validate

from patience import until
from recollect.auth.access import HomeAccess
from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.auth.credentials import SessionStore
from recollect.auth.token_store import TokenStore, load_own_token
from recollect.interfaces.cli import desktop
from recollect.interfaces.cli import main as cli
from recollect.interfaces.cli.schemas import make_schema

PAGE = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("own") / "home", auth="yes") as start:
        yield start


@pytest.fixture
def at_home(server: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process is one of the server's user."""
    for name, value in environment(server.home).items():
        monkeypatch.setenv(name, value)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    return server.home


def bearer(home: Path) -> dict[str, str]:
    return {"Authorization": f"Bearer {(home / 'token').read_text().strip()}"}


def test_without_the_file_nobody_of_this_machine_reads_or_writes(server: Server) -> None:
    for path in (f"{API}/memories", "/metrics", "/openapi.json", "/readyz", "/"):
        problem(server.get(path), 401, "token")
    problem(server.post(f"{API}/memories", {"title": "Planted"}), 401)
    problem(server.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}), 401)
    assert server.get("/healthz").status_code == 200


def test_the_token_is_in_a_file_that_only_its_user_can_read(server: Server) -> None:
    for name in ("token", "access.db", "server.json"):
        assert stat.S_IMODE((server.home / name).stat().st_mode) == 0o600, name
    answer = server.post(f"{API}/memories", {"title": "Kept"}, headers=bearer(server.home))
    assert answer.status_code == 201
    assert server.get("/metrics", headers=bearer(server.home)).status_code == 200
    document = server.get("/openapi.json", headers=bearer(server.home)).json()
    assert document["security"] == [{"token": []}]
    assert document["paths"]["/healthz"]["get"]["security"] == []


def test_serve_prints_a_link_that_logs_in_once(server: Server) -> None:
    assert server.process.stdout is not None
    lines = [server.process.stdout.readline() for _ in range(2)]
    found = re.match(r"Log in: (http://\S+/login/rcs_\S+) ", lines[1])
    assert found is not None, lines
    link = found[1]
    with httpx2.Client(trust_env=False, verify=False) as browser:
        assert "data-link" in browser.get(link).text
        assert browser.post(link).status_code == 303
        assert browser.get(f"{server.url}/", headers=PAGE).status_code == 200
    assert server.client.post(link).status_code == 401
    secret = link.rpartition("/")[2]
    assert secret not in server.log_text()
    command = Path(f"/proc/{server.process.pid}/cmdline")
    if command.exists():
        assert b"rc" not in command.read_bytes().partition(b"serve")[2]


def test_open_prints_a_link_where_there_is_no_screen(
    server: Server, at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["open"]) == 0
    link = capsys.readouterr().out.strip()
    assert link.startswith(f"{server.url}/login/rcs_")
    assert server.client.post(link).status_code == 303
    server.client.cookies.clear()
    assert cli.main(["open", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["link"].startswith(f"{server.url}/login/rcs_")
    validate(printed, make_schema("open"))


def test_open_gives_the_browser_a_private_file_and_no_secret(
    server: Server, at_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arguments of the browser's process can be read by every user."""
    seen = tmp_path / "seen.json"
    script = tmp_path / "browser.py"
    script.write_text(
        "import json, os, sys, urllib.request as u, re, pathlib\n"
        "path = u.url2pathname(sys.argv[1].removeprefix('file://'))\n"
        "link = re.search('url=([^\"]+)', pathlib.Path(path).read_text())[1]\n"
        f"pathlib.Path({str(seen)!r}).write_text(json.dumps("
        "{'argv': sys.argv[1:], 'mode': os.stat(path).st_mode & 0o777, 'path': path}))\n"
        "u.urlopen(u.Request(link, data=b'', method='POST', headers={'Accept': 'text/html'}))\n"
    )
    monkeypatch.setenv("BROWSER", f"{sys.executable} -I {script} %s")
    monkeypatch.setattr(desktop, "BROWSER_S", 30.0)
    assert cli.main(["open"]) == 0
    found = json.loads(seen.read_text())
    assert found["mode"] == 0o600
    assert "rcs_" not in "".join(found["argv"])
    assert not Path(found["path"]).exists()


def test_sessions_are_listed_and_ended_from_the_terminal(
    server: Server, at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = SessionStore(TokenStore(HomeAccess(at_home)))
    store.end([session.id for session in store.list_all()])
    cli.main(["open", "--print"])
    with httpx2.Client(trust_env=False, verify=False) as browser:
        browser.post(capsys.readouterr().out.strip())
        assert browser.get(f"{server.url}/", headers=PAGE).status_code == 200
        assert cli.main(["access", "sessions", "--json"]) == 0
        [session] = json.loads(capsys.readouterr().out)
        assert (session["name"], len(session["id"])) == ("owner", 8)
        assert cli.main(["access", "sessions"]) == 0
        assert session["id"] in capsys.readouterr().out
        assert cli.main(["access", "sessions", "end", session["id"]]) == 0
        assert cli.main(["access", "sessions", "end", session["id"]]) == 1
        assert cli.main(["access", "sessions", "end"]) == 2
        assert cli.main(["access", "sessions", "end", "--all"]) == 0
        assert browser.get(f"{server.url}/", headers=PAGE).status_code == 303
    assert cli.main(["access", "audit", "--json"]) == 0
    assert f"end session {session['id']}" in capsys.readouterr().out


# The file


def test_the_token_stays_the_same_until_it_is_revoked_or_others_could_read_it(
    tmp_path: Path,
) -> None:
    store = TokenStore(HomeAccess(tmp_path))
    first, known = load_own_token(tmp_path, store)
    assert load_own_token(tmp_path, store) == (first, known)
    (tmp_path / "token").chmod(0o644)
    second, _ = load_own_token(tmp_path, store)
    assert second != first
    assert store.find(first) is not None
    assert [token.state(store.clock()) for token in store.list_all()] == ["revoked", "live"]
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    store.revoke(store.list_all()[1].id)
    third, _ = load_own_token(tmp_path, store)
    (tmp_path / "token").write_text("something else")
    assert len({first, second, third, load_own_token(tmp_path, store)[0]}) == 4


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    store = TokenStore(HomeAccess(tmp_path / "home"))
    elsewhere = tmp_path / "elsewhere"
    theirs, _ = store.create(["admin"])
    elsewhere.write_text(theirs)
    (tmp_path / "home" / "token").symlink_to(elsewhere)
    assert load_own_token(tmp_path / "home", store)[0] != theirs
    assert elsewhere.read_text() == theirs
    assert not (tmp_path / "home" / "token").is_symlink()


# Without authentication, and by a file


def start_refused(monkeypatch: pytest.MonkeyPatch, *told: str) -> int:
    """The exit code of `recollect serve`, which ends before it serves."""
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    return cli.main(["serve", *told])


def test_no_auth_is_for_this_machine_alone(
    at_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in ("0.0.0.0", "::"):
        assert start_refused(monkeypatch, "--no-auth", "--host", host) == 1
        assert "others can reach" in capsys.readouterr().err
    monkeypatch.setenv("RECOLLECT_TOKEN", SECRET)
    assert start_refused(monkeypatch, "--no-auth") == 1
    assert "contradict" in capsys.readouterr().err
    assert start_refused(monkeypatch, "--socket", "x", "--port", "1") == 2


def test_a_unix_socket_is_for_its_user_and_needs_no_token(
    tmp_path: Path,
    disk_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = disk_path / "s"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))  # as a killed server leaves it
    home = tmp_path / "home"
    home.mkdir()
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    process = start(home, path)
    try:
        assert process.stdout is not None
        assert str(path) in process.stdout.readline()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        transport = httpx2.HTTPTransport(uds=str(path), retries=5)
        with httpx2.Client(transport=transport, base_url="http://localhost") as client:
            assert client.post(f"{API}/memories", json={"title": "Kept"}).status_code == 201
            wrong = client.get("/healthz", headers={"Host": "evil.example"})
            assert wrong.status_code == 421
        assert start_refused(monkeypatch, "--socket", str(path)) == 1
        assert "Another server listens" in capsys.readouterr().err
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()
    assert not path.exists()
    path.write_text("not a socket")
    assert start_refused(monkeypatch, "--socket", str(path)) == 1
    assert "is not a socket" in capsys.readouterr().err
    assert cli.main(["open"]) == 1  # no server of this home has a page


def start(home: Path, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [RECOLLECT, "serve", "--socket", str(path)],
        env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


# Nobody reads the file by way of the vault


def sync(server: Server, path: Path, headers: dict[str, str]) -> httpx2.Response:
    """Ask the page of upkeep to read a folder, and wait until it has."""
    form = {"do": "sync", "path": str(path)}
    answer = server.client.post("/upkeep/work", data=form, headers=headers)
    owner = bearer(server.home)
    until(lambda: "data-running" not in server.get("/upkeep/work", headers=owner).text)
    return answer


def test_an_operator_does_not_become_the_owner(server: Server) -> None:
    """A token without memory:delete has the server read the owner's token file, and reads it."""
    secret, _ = TokenStore(HomeAccess(server.home)).create([SEARCH, WRITE, ADMIN])
    operator = {"Authorization": f"Bearer {secret}"}
    answer = sync(server, server.home, operator)
    assert answer.status_code == 403
    assert DELETE in answer.text
    listed = server.get(f"{API}/memories", headers=operator).json()["memories"]
    assert not [each for each in listed if each["path"]]
    assert "add-folder" not in server.get("/upkeep", headers=operator | PAGE).text


@pytest.mark.parametrize("way", ["home", "link", "inside", "dots", "parent"])
def test_the_home_is_not_read_even_for_the_owner(server: Server, way: str) -> None:
    home = server.home
    link = home.parent / "link"
    if not link.is_symlink():
        link.symlink_to(home)
        (home / "inner").mkdir()
        (home / "inner" / "copy.md").write_text((home / "token").read_text())
        (home.parent / "note.md").write_text("The tide tables are here.\n")
    path = {
        "home": home, "link": link, "inside": home / "inner", "dots": home / "inner" / "..",
        "parent": home.parent,
    }[way]  # fmt: skip
    sync(server, path, bearer(home))
    listed = server.get(f"{API}/memories", headers=bearer(home)).json()["memories"]
    paths = [each["path"] for each in listed if each["path"]]
    assert not [path for path in paths if path.startswith(f"{home}/")]
    assert (str(home.parent / "note.md") in paths) is (way == "parent")
    said = server.get("/upkeep/work", headers=bearer(home)).text
    assert (" added" if way == "parent" else "is in the home folder") in said


def test_settings_are_shown_without_passwords(tmp_path: Path) -> None:
    """A caller who may only repair the vault must not learn how to reach it without the server."""
    told = {"RECOLLECT_EMBEDDING__BASE_URL": "https://ada:hunter2@models.example/v1?password=tiger"}
    with serving(tmp_path / "home", **told) as start:
        page = start.get("/upkeep", headers=PAGE).text
    assert "https://…@models.example/v1?password=…" in page
    assert "hunter2" not in page
    assert "tiger" not in page
