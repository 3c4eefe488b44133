"""Single sign-on by a reverse proxy: only its header names the user.

The server and its callers are on one machine; 127.0.0.2 is the proxy's address here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from http_server import API, LONGEST_S, SECRET, Server, problem, refused_to_start, serving

from recollect.auth.access import HomeAccess
from recollect.auth.audit import Audit

PROXY = "127.0.0.2"
NAME = "ada@example.org"
SETTINGS = {
    "RECOLLECT_SERVE__PROXIES": f"192.0.2.0/24, {PROXY}",
    "RECOLLECT_SERVE__USER_HEADER": "Remote-User",
    "RECOLLECT_SERVE__USERS": f'{{"{NAME}": "search:use, memory:write", "guest": ""}}',
    "RECOLLECT_TOKEN": SECRET,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("proxied") / "home", auth=SECRET, **SETTINGS) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(server: Server) -> Iterator[httpx2.Client]:
    transport = httpx2.HTTPTransport(local_address=PROXY)
    with httpx2.Client(base_url=server.url, transport=transport, timeout=LONGEST_S) as client:
        yield client


def test_the_proxys_user_is_the_caller_in_history_and_audit(
    server: Server, proxy: httpx2.Client
) -> None:
    named = {"Remote-User": NAME}
    saved = proxy.post(f"{API}/memories", json={"title": "Deploys need a ticket"}, headers=named)
    assert saved.status_code == 201, saved.text
    id = saved.json()["id"]
    history = proxy.get(f"{API}/history/{id}", headers=named).json()
    assert [version["user"] for version in history["versions"]] == [NAME]
    done = [one for one in Audit(HomeAccess(server.home)).entries() if one["outcome"] == "done"]
    assert [one["caller"] for one in done] == [NAME]
    refused = proxy.delete(f"{API}/memories/{id}", headers=named)
    problem(refused, 403, "memory:delete")


def test_who_has_no_line_in_the_settings_may_do_what_they_say_of_all(proxy: httpx2.Client) -> None:
    other = {b"Remote-User": "Bäcker".encode()}
    assert proxy.get(f"{API}/memories", headers=other).status_code == 200
    problem(proxy.post(f"{API}/memories", json={"title": "No"}, headers=other), 403, "memory:write")
    guest = {"Remote-User": "guest"}
    problem(proxy.get(f"{API}/memories", headers=guest), 403, "search:use")


@pytest.mark.parametrize("more", [{}, {"X-Forwarded-For": PROXY}, {"Forwarded": f"for={PROXY}"}])
def test_the_header_counts_from_no_other_address(server: Server, more: dict[str, str]) -> None:
    sent = {"Remote-User": "mallory", **more}
    problem(server.get(f"{API}/memories", headers=sent), 401, "needs a token")
    assert "mallory" not in server.log_text()
    assert "mallory" not in (server.home / "audit.jsonl").read_text()


@pytest.mark.parametrize(
    "sent",
    [
        [(b"Remote-User", b"ada@example.org"), (b"remote-user", b"bo")],
        [(b"Remote-User", b"ada@example.org"), (b"Remote-User", b"")],
        [(b"Remote-User", b"a" * 101)],
        [(b"Remote-User", b"ada\xff")],
        [(b"Remote-User", b"owner")],
        [(b"Remote-User", b"server token")],
        [(b"Remote-User", "ada\u202eadmin".encode())],
    ],
)
def test_a_proxy_names_one_user_in_one_line(
    proxy: httpx2.Client, sent: list[tuple[bytes, bytes]]
) -> None:
    problem(proxy.get(f"{API}/memories", headers=sent), 401, "one user")


def test_who_is_not_named_or_shows_a_token_is_nobodys_user(proxy: httpx2.Client) -> None:
    problem(proxy.get(f"{API}/memories"), 401, "needs a token")
    problem(proxy.get(f"{API}/memories", headers={"Remote-User": ""}), 401, "needs a token")
    both = {"Remote-User": "guest", "Authorization": f"Bearer {SECRET}"}
    assert proxy.get(f"{API}/memories", headers=both).status_code == 200
    wrong = {"Remote-User": NAME, "Authorization": "Bearer wrong"}
    problem(proxy.get(f"{API}/memories", headers=wrong), 401, "not valid")


def test_a_server_that_asks_nobody_has_no_use_for_a_proxy(tmp_path: Path) -> None:
    told = refused_to_start(tmp_path, "--no-auth", RECOLLECT_SERVE__PROXIES=PROXY)
    assert "--no-auth lets every caller do everything, but serve.proxies" in told
