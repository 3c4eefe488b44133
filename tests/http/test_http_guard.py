"""Access by host name, origin and token, at every path; and headers for browsers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from http_server import API, NOW, SECRET, Server, problem, refused_to_start, serving

# One of each kind: state, API, MCP, page, document, file, and what is not there.
PATHS = ("/healthz", f"{API}/memories", "/mcp", "/", "/openapi.json", "/static/base.css", "/none")
POSTS = (f"{API}/memories", f"{API}/search", f"{API}/feedback", "/mcp")
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
MCP = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home")) as started:
        yield started


# Host


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "localhost.evil",
        "127.0.0.2", "[::2]", "0.0.0.0:{port}", "user@127.0.0.1", "localhost, evil.example", ":80",
    ],
)  # fmt: skip
def test_a_name_that_the_server_does_not_go_by_is_refused(
    server: Server, path: str, host: str
) -> None:
    """So does a page that made its own name point to this machine."""
    answer = server.get(path, headers={"Host": host.format(port=server.port)})
    problem(answer, 421, "name")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "localhost", "[::1]:{port}"],
)
def test_the_names_of_this_machine_are_let_in(server: Server, host: str) -> None:
    answer = server.get("/healthz", headers={"Host": host.format(port=server.port)})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "hosts", [b"", b"Host: localhost\nHost: localhost\n", b"Host: localhost\nHost: evil.example\n"]
)
@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_a_request_names_exactly_one_host(server: Server, hosts: bytes, version: bytes) -> None:
    request = b"GET /healthz HTTP/%b\n%bConnection: close\n\n" % (version, hosts)
    assert server.raw(request)[0] in (400, 421)


def test_further_names_are_set_in_the_settings(tmp_path: Path) -> None:
    with serving(tmp_path / "home", RECOLLECT_SERVE__HOSTS="memory.lan, other.lan") as server:
        for host in ("memory.lan", "Other.LAN:80", "localhost"):
            assert server.get("/healthz", headers={"Host": host}).status_code == 200
        problem(server.get("/healthz", headers={"Host": "third.lan"}), 421)


def test_the_server_can_listen_on_ipv6_alone(tmp_path: Path) -> None:
    with serving(tmp_path / "home", "--host", "::1") as server:
        assert server.url == f"http://[::1]:{server.port}"
        assert server.get("/healthz").status_code == 200
        problem(server.get("/healthz", headers={"Host": "evil.example"}), 421)
        problem(server.get("/healthz", headers={"Host": ":80"}), 421)


# Origin and Sec-Fetch-Site


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example", "null", "", "http://localhost", "http://127.0.0.1:1",
        "http://127.0.0.1:{port}.evil.example", "http://evil.example@127.0.0.1:{port}",
        "file://", "http://[::1", "127.0.0.1:{port}", "chrome-extension://127.0.0.1:{port}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_origin_may_not_call(server: Server, method: str, origin: str) -> None:
    told = {"Origin": origin.format(port=server.port)}
    for path in PATHS if method == "GET" else POSTS:
        body = None if method == "GET" else {"title": "Planted", "query": "x"}
        problem(server.client.request(method, path, headers=told, json=body), 403, "origin")
    assert server.list_ids() == []


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_a_page_of_the_server_itself_may_call(server: Server, name: str) -> None:
    host = f"{name}:{server.port}"
    told = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    assert server.post(f"{API}/search", {"query": "x"}, headers=told).status_code == 200
    assert server.post("/mcp", CALL, headers=told | MCP).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("mode", ["cors", "no-cors", "websocket"])
def test_a_page_of_another_site_may_not_fetch(server: Server, site: str, mode: str) -> None:
    told = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
    for path in PATHS:
        problem(server.get(path, headers=told), 403, "site")
    for path in POSTS:
        problem(server.post(path, {}, headers=told), 403, "site")


def test_a_link_on_another_site_may_lead_here_but_a_form_may_not_post(server: Server) -> None:
    told = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert server.get("/", headers=told).status_code == 200
    problem(server.post(f"{API}/memories", {"title": "Planted"}, headers=told), 403)
    for site in ("none", "same-origin"):
        assert server.get("/", headers=told | {"Sec-Fetch-Site": site}).status_code == 200


def test_mcp_is_offered_at_its_path(server: Server) -> None:
    tools = server.post("/mcp", CALL, headers=MCP).json()["result"]["tools"]
    assert "memory_search" in [tool["name"] for tool in tools]


# Tokens


def test_another_address_is_not_served_without_a_token(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::"):
        told = refused_to_start(tmp_path, "--host", host, "--port", "0")
        assert "RECOLLECT_TOKEN" in told


def test_a_token_that_could_be_guessed_is_refused(tmp_path: Path) -> None:
    short = "fifteen letters"
    told = refused_to_start(tmp_path, "--port", "0", RECOLLECT_TOKEN=short)
    assert "too short" in told
    assert short not in told


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on every address of the machine, which asks for a token."""
    home = tmp_path_factory.mktemp("locked")
    told = {"RECOLLECT_TOKEN": SECRET, "RECOLLECT_NOW": NOW}
    with serving(home, "--host", "0.0.0.0", auth="yes", **told) as started:
        yield started


@pytest.fixture
def locked(asking: Server) -> Server:
    """A client that has not logged in."""
    asking.client.cookies.clear()
    return asking


def bearer(token: str, scheme: str = "Bearer") -> dict[str, str]:
    return {"Authorization": f"{scheme} {token}"}


def operations(server: Server) -> list[tuple[str, str]]:
    """Every documented method and path, its names filled in."""
    document = server.get("/openapi.json", headers=bearer(SECRET)).json()
    recipe = f"{API}/recipes/{{recipe}}"
    named = {("patch", recipe): "mine", ("delete", recipe): "other"}  # only one's own
    return [
        (
            method.upper(),
            path.replace("{id}", "kept-1").replace("{recipe}", named.get((method, path), "blend")),
        )
        for path, methods in document["paths"].items()
        for method in methods
    ]


BODIES: dict[tuple[str, str], Any] = {
    ("POST", f"{API}/memories"): [{"id": f"kept-{n}", "title": f"Kept {n}"} for n in (1, 2, 3)],
    ("POST", f"{API}/supersede/kept-1"): {"by": "kept-2"},
    ("POST", f"{API}/merge"): {"ids": ["kept-3"], "into": "kept-2"},
    ("POST", f"{API}/undo"): {"id": "kept-2"},
    ("POST", f"{API}/bulk/change"): {"ids": ["kept-1"], "change": {"severity": "warning"}},
    ("POST", f"{API}/bulk/forget"): {"query": "kept", "dry_run": True},
    ("POST", f"{API}/bulk/restore"): {"query": "kept", "dry_run": True},
    ("POST", f"{API}/review/kept-1"): {"decision": "keep"},
    ("PATCH", f"{API}/memories/kept-1"): {"text": "More"},
    ("POST", f"{API}/search"): {"query": "kept"},
    ("POST", f"{API}/feedback"): {"query": "kept", "id": "kept-1", "accepted": True},
    ("POST", f"{API}/recipes"): {"name": "mine", "extends": "blend"},
    ("PATCH", f"{API}/recipes/mine"): {"name": "other"},
}


def test_every_operation_asks_for_the_token_and_answers_with_it(locked: Server) -> None:
    every = operations(locked)
    assert len(every) > 15
    # The first saves what the others ask for; the last but one forgets it, the last restores it.
    gone = ("DELETE", f"{API}/memories/kept-1")
    every.sort(key=lambda one: (one == gone) + 2 * ("/restore/" in one[1]))
    for method, path in every:
        told: dict[str, Any] = {"params": {"q": "kept"}} if path.endswith("/search") else {}
        told = told if method == "GET" else {"json": BODIES.get((method, path))}
        if path == "/healthz":
            continue
        for headers in ({}, bearer("not-the-token-at-all"), bearer(SECRET, "Basic")):
            refused = locked.client.request(method, path, headers=headers, **told)
            problem(refused, 401, "token")
            assert refused.headers["www-authenticate"].startswith("Bearer")
        answer = locked.client.request(method, path, headers=bearer(SECRET), **told)
        if "/review/" in path and method == "POST":  # there is nothing to decide
            problem(answer, 404, "kept-1")
        else:
            assert 200 <= answer.status_code < 300, (method, path, answer.text)


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/mcp", "/metrics", "/browse", "/none"])
def test_pages_documents_and_mcp_ask_for_the_token_as_well(locked: Server, path: str) -> None:
    problem(locked.get(path), 401)
    problem(locked.post(path, CALL, headers=MCP), 401)


def test_mcp_answers_whoever_shows_the_token(locked: Server) -> None:
    answer = locked.post("/mcp", CALL, headers=MCP | bearer(SECRET))
    assert (answer.status_code, answer.json()["id"]) == (200, CALL["id"])


def test_whether_the_server_is_alive_is_told_without_a_token(locked: Server) -> None:
    assert locked.get("/healthz").json()["status"] == "ok"


@pytest.mark.parametrize(
    "path",
    [
        f"/healthz/..{API}/memories", f"/static/..{API}/memories", f"/static/%2e%2e{API}/memories",
        f"/login/../..{API}/memories", f"//{API[1:]}/memories", f"/healthz?/..{API}/memories",
    ],
)  # fmt: skip
def test_no_detour_leads_past_the_token(locked: Server, path: str) -> None:
    request = f"GET {path} HTTP/1.1\nHost: localhost\nConnection: close\n\n"
    status, answer = locked.raw(request.encode())
    assert status in (400, 401, 404)
    assert b'"memories"' not in answer


def test_a_person_logs_in_by_a_form_and_the_browser_keeps_a_cookie(locked: Server) -> None:
    asked = locked.get("/", headers={"Accept": "text/html"})
    assert (asked.status_code, asked.headers["location"]) == (303, "/login")
    assert "<form" in locked.get("/login").text
    wrong = locked.client.post("/login", data={"token": "not-the-token-at-all"})
    assert (wrong.status_code, wrong.headers.get("set-cookie")) == (401, None)
    with locked.new_client() as browser:
        answer = browser.post("/login", data={"token": SECRET})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "path=/" in cookie
        assert browser.get("/").status_code == 200
        assert browser.get(f"{API}/memories").status_code == 200


def test_another_site_cannot_log_a_browser_in(locked: Server) -> None:
    told = {"Origin": "http://evil.example"}
    answer = locked.client.post("/login", data={"token": SECRET}, headers=told)
    problem(answer, 403)
    assert "set-cookie" not in answer.headers


def test_the_token_is_never_written_to_the_log(locked: Server) -> None:
    locked.get(f"{API}/memories", headers=bearer(SECRET))
    locked.get(f"{API}/memories", params={"token": SECRET})
    locked.client.post("/login", data={"token": SECRET})
    locked.log_lines(locked.get(f"/{SECRET}", headers=bearer(SECRET)))
    assert SECRET not in locked.log_text()
    assert SECRET not in locked.first_line


def test_a_server_without_a_token_warns(server: Server) -> None:
    assert server.process.stdout is not None
    server.process.stdout.readline()
    assert "every user of this machine" in server.process.stdout.readline()
    assert not (server.home / "token").exists()


def test_a_server_without_a_token_has_no_login(server: Server) -> None:
    problem(server.get("/login"), 404)


# What browsers are told


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}), ("/browse", {}), ("/none", {"Accept": "text/html"}), ("/openapi.json", {}),
        (f"{API}/memories", {}), (f"{API}/none", {}), ("/static/base.css", {}), ("/metrics", {}),
        ("/healthz", {"Host": "evil.example"}), ("/", {"Origin": "null"}), ("/mcp", {}),
    ],
)  # fmt: skip
def test_every_answer_forbids_foreign_content_and_frames(
    server: Server, path: str, headers: dict[str, str]
) -> None:
    told = server.get(path, headers=headers).headers
    policy = dict(part.strip().split(" ", 1) for part in told["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["base-uri"] == "'none'"
    assert set(policy["script-src"].split()) == {"'self'"}
    assert "unsafe" not in told["content-security-policy"]
    assert "http" not in told["content-security-policy"]
    assert told["x-content-type-options"] == "nosniff"
    assert told["referrer-policy"] == "same-origin"
    assert told["cross-origin-opener-policy"] == "same-origin"
    assert told["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in told
    assert not [name for name in told if name.startswith("access-control-")]


def test_a_page_is_not_kept_and_its_files_are(server: Server) -> None:
    page = server.get("/")
    assert page.headers["cache-control"] == "no-store"
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text))
    assert len(files) > 3
    for file in files:
        answer = server.get(file)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        known = {"If-None-Match": answer.headers["etag"]}
        assert server.get(file, headers=known).status_code == 304
        plain = server.get(file.partition("?")[0])
        assert "immutable" not in plain.headers.get("cache-control", "")


def test_pages_hold_no_script_and_no_style_of_their_own(server: Server) -> None:
    """The policy would block inline scripts and styles: they are in files."""
    for path in ("/", "/browse", "/lab", "/timeline"):
        text = server.get(path).text
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), path
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", text), path
        assert not re.findall(r'(?:src|href)="(?:https?:)?//', text), path


def test_static_files_are_only_those_of_the_folder(server: Server) -> None:
    for path in ("/static/../pages.py", "/static/%2e%2e/pages.py", "/static/..%2fpages.py"):
        request = f"GET {path} HTTP/1.1\nHost: localhost\nConnection: close\n\n"
        status, answer = server.raw(request.encode())
        assert status == 404
        assert b"import" not in answer


def test_no_answer_of_the_guard_repeats_what_it_refuses(server: Server) -> None:
    told = {"Host": "evil.example", "X-Request-ID": "plain-1"}
    answer = server.get("/<b>", headers=told)
    assert json.loads(answer.text)["request_id"] == "plain-1"
    assert "evil" not in answer.text
