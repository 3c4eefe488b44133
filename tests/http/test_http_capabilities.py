"""Access over HTTP: every route with every set of capabilities, and no way around them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from http_server import API, SECRET, Server, environment, problem, refused_to_start, serving

from examples import one_in
from recollect import Recollect
from recollect.auth.access import HomeAccess
from recollect.auth.audit import Audit
from recollect.auth.capabilities import ADMIN, CAPABILITIES, SEARCH, WRITE
from recollect.auth.credentials import Credentials
from recollect.auth.token_store import TokenStore, digest
from recollect.ingest.draft import make_draft
from recollect.interfaces.app import create_app
from recollect.interfaces.http.api import OPERATIONS
from recollect.interfaces.http.guard import NOT_VALID, Guard
from recollect.interfaces.http.problems import ProblemResponses
from recollect.interfaces.http.service import Service
from recollect.interfaces.web import pages
from recollect.interfaces.web.rendering import problem_page
from recollect.settings_reading import load_settings

SAID = "Quokkas sleep at noon"
WORD = "quokka"
EVERY = [
    frozenset(some)
    for some in chain.from_iterable(
        combinations(CAPABILITIES, size) for size in range(1, len(CAPABILITIES) + 1)
    )
]
FEW = one_in(4)  # each bad token is shown to one route in so many, each route sees several
BODIES: dict[str, Any] = {
    f"POST {API}/undo": {"id": "kept", "to": 1},
    f"POST {API}/memories": {"title": "Another one"},
    f"PATCH {API}/memories/{{id:path}}": {"severity": "warning"},
    f"POST {API}/supersede/{{id:path}}": {"by": "newer"},
    f"POST {API}/merge": {"ids": ["newer"], "into": "kept"},
    f"POST {API}/bulk/change": {"ids": ["kept"], "change": {"severity": "warning"}},
    f"POST {API}/bulk/restore": {"query": WORD, "dry_run": True},
    f"POST {API}/bulk/forget": {"query": WORD, "dry_run": True},
    f"POST {API}/review/{{id:path}}": {"decision": "keep"},
    f"POST {API}/search": {"query": WORD},
    f"POST {API}/feedback": {"query": WORD, "id": "kept", "accepted": True},
    f"POST {API}/recipes": {"name": "mine", "extends": "blend", "replace": True},
    f"PATCH {API}/recipes/{{recipe}}": {"name": "other"},
}
FORMS: dict[str, dict[str, str]] = {
    "/feedback": {"query": WORD, "right": "kept"},
    "/lab/feedback": {"q": WORD, "accept": "kept"},
    "/lab/save": {"q": WORD, "save": "left", "left": "vault", "left.as": "m", "left.replace": "1"},
    "/lab/rename": {"q": WORD, "rename": "left", "left": "none", "left.name": "m"},
    "/lab/delete": {"q": WORD, "delete": "left", "left": "none"},
    "/upkeep/work": {"do": "measure"},
    "/unlock": {"passphrase": "none is needed"},
    "/new": {"title": "Another one"},
    "/undo": {"operation": "1000000"},
    "/supersede/{id:path}": {"by": "newer"},
    "/bulk": {"id": "kept", "action": "pin"},
    "/edit/{id:path}": {"title": "Changed"},
    "/review/{id:path}": {"decision": "keep"},
}


class Asked(NamedTuple):
    """One request, and the capabilities that it needs; None for none."""

    method: str
    path: str
    needs: tuple[str, ...] | None
    told: dict[str, Any]

    def address(self) -> str:
        recipe = "none" if self.missing() else "blend"
        path = self.path.replace("{id:path}", "kept").replace("{recipe}", recipe)
        return f"{path}?once=1" if path == "/live/events" else path  # else it goes on for ever

    def missing(self) -> bool:
        """True if its subject is missing: nothing forgotten, no such item, project or recipe."""
        absent = ("/restore", "/review/{", "/project/", "/tag/", "/lab/rename", "/lab/delete")
        own = self.method in ("DELETE", "PATCH") and self.path.endswith("/recipes/{recipe}")
        return own or self.path == "/undo" or self.path.removeprefix(API).startswith(absent)


def operations() -> list[Asked]:
    found = []
    for one in OPERATIONS:
        told: dict[str, Any] = {"params": {"q": WORD}} if one.path.endswith("/search") else {}
        if one.method != "GET":
            body = BODIES.get(f"{one.method} {one.path}")
            told = {} if body is None else {"json": body}
        found.append(Asked(one.method, one.path, one.needs, told))
    return found


def page_routes() -> list[Asked]:
    found = []
    for page in pages.PAGES:
        for method in sorted(page.methods):
            told = {"data": FORMS.get(page.path, {})} if method == "POST" else {}
            found.append(Asked(method, page.path, (SEARCH, *page.needs), told))
    return found


class World:
    """A vault, the application over it as `serve` makes it, and a way to ask it."""

    def __init__(self, home: Path, portal: BlockingPortal, *, required: bool = False) -> None:
        told = environment(home)
        self.portal = portal
        self.home = home
        self.engine = Recollect(home=home, settings=load_settings(home, told), environment=told)
        self.mend()
        self.access = TokenStore(HomeAccess(home))
        self.service = Service(self.engine)
        self.service.warm.set()
        self.credentials = Credentials([SECRET] if required else [], self.access)
        self.app = create_app(self.service, credentials=self.credentials)
        self.cookie_name = f"recollect_7117_{self.credentials.home_mark}"

    def send(self, method: str, path: str, **told: Any) -> httpx2.Response:
        async def ask() -> httpx2.Response:
            transport = httpx2.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://localhost:7117"
            ) as client:
                return await client.request(method, path, **told)

        return self.portal.call(ask)

    def cookie(self, token: str) -> str:
        """The cookie of a browser that logged in with that token."""
        secret, check = self.credentials.begin_session(digest(token), "")
        assert not check.wrong
        return f"{self.cookie_name}={secret}"

    def state(self) -> list[Any]:
        """Everything that a request could change."""
        engine = self.engine
        return [[*engine.export()], engine.opinions(), sorted(engine.recipes.names())]

    def mend(self) -> None:
        """As it was before; what was forgotten is back."""
        kept = {"id": "kept", "title": "Quokka", "text": SAID}
        self.engine.save_all(
            [make_draft(kept), make_draft({"id": "newer", "title": "Quokka again"})]
        )

    def audit_lines(self) -> list[dict[str, Any]]:
        return [*Audit(HomeAccess(self.home)).entries()]


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    """A loop in a thread of its own: the browser's tests keep theirs in this one."""
    with start_blocking_portal() as running:
        yield running


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, portal: BlockingPortal) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("home"), portal)
    yield made
    made.engine.close()


def bearer(token: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", **more}


def everything(world: World) -> list[Asked]:
    return [*operations(), *page_routes()]


def check_refused(answer: httpx2.Response, status: int) -> None:
    assert answer.status_code == status, (answer.request.url, answer.status_code, answer.text)
    assert WORD not in answer.text.lower()
    assert "kept" not in answer.text


# Allowed exactly where declared


def test_every_page_that_changes_something_declares_more() -> None:
    assert all(page.needs for page in pages.PAGES if "POST" in page.methods)
    assert {one for page in pages.PAGES for one in page.needs} <= CAPABILITIES.keys()


def test_what_needs_nothing_tells_nothing_of_the_vault() -> None:
    assert {one.path for one in OPERATIONS if one.needs is None} == {"/healthz", "/readyz"}
    assert all(one.needs for one in OPERATIONS if one.path.startswith(API))


@pytest.mark.parametrize("given", EVERY, ids=lambda given: "+".join(sorted(given)))
def test_every_route_answers_exactly_whom_it_should(world: World, given: frozenset[str]) -> None:
    token, _ = world.access.create(given)
    shown = [bearer(token), {"Cookie": world.cookie(token)}]
    before = world.state()
    every = everything(world)
    assert len(every) > len(OPERATIONS) > 0
    for number, one in enumerate(every, start=EVERY.index(given)):
        # Each route is shown both, by turns.
        answer = world.send(one.method, one.address(), headers=shown[number % 2], **one.told)
        if one.needs is not None and not given.issuperset(one.needs):
            check_refused(answer, 403)
            assert world.state() == before, one
            continue
        if one.missing():
            assert answer.status_code == 404, answer.text
        else:
            assert answer.status_code < 400, (one, answer.text)
        if one.needs is not None and one.method != "GET":
            world.mend()
            before = world.state()


def test_a_page_says_what_it_needs(world: World) -> None:
    token, _ = world.access.create([SEARCH])
    told = bearer(token, Accept="text/html")
    answer = world.send("GET", "/new", headers=told)
    assert answer.status_code == 403
    assert answer.headers["content-type"].startswith("text/html")
    assert WRITE in answer.text
    detail = problem(world.send("GET", "/new", headers=bearer(token)), 403, WRITE)
    assert detail == f"This needs {WRITE}, which this caller may not do."


def test_whether_a_memory_is_there_is_not_told(world: World) -> None:
    token, _ = world.access.create([ADMIN])
    for method in ("GET", "HEAD", "DELETE", "PATCH"):
        there, away = (
            world.send(method, f"{API}/memories/{id}", headers=bearer(token), json={"kind": "a"})
            for id in ("kept", "nobody")
        )
        assert there.status_code == away.status_code == 403
        if method != "HEAD":
            assert there.json()["detail"] == away.json()["detail"]


def test_who_may_write_and_not_read_is_told_an_id(world: World) -> None:
    token, _ = world.access.create([WRITE])
    answer = world.send(
        "PATCH", f"{API}/memories/kept", headers=bearer(token), json={"severity": "warning"}
    )
    assert answer.status_code == 200
    assert {*answer.json()} == {"id", "created_at", "updated_at"}
    assert answer.json()["id"] == "kept"
    assert "etag" not in answer.headers  # it would be that of another state
    assert WORD not in answer.text.lower()
    world.mend()


# Tokens that let nobody in


def bad_tokens(world: World) -> dict[str, str]:
    past = TokenStore(HomeAccess(world.home), lambda: datetime.now(UTC) - timedelta(days=2))
    soon = datetime.now(UTC) - timedelta(days=1)
    expired, _ = past.create(CAPABILITIES, expires_at=soon)
    revoked, known = world.access.create(CAPABILITIES)
    world.access.revoke(known.id)
    good, _ = world.access.create(CAPABILITIES)
    return {
        "expired": expired, "revoked": revoked, "unknown": "rcl_" + "A" * 43, "cut": good[:-1],
        "longer": good + "A", "case": good.swapcase(), "hash": "0" * 64, "empty": "",
        "id": known.id, "null": "rcl_" + "\\u0000" * 3, "sql": "' OR 1=1 --",
    }  # fmt: skip


@pytest.mark.parametrize("how", ["header", "cookie"])
def test_a_token_that_is_not_valid_is_refused_with_one_sentence(world: World, how: str) -> None:
    """Even on this machine, where none needs to be shown: it must not pass for the owner."""
    before = world.state()
    routes = [one for one in everything(world) if one.path != "/healthz"]
    for number, (name, token) in enumerate(bad_tokens(world).items()):
        cookie = {"Cookie": f'{world.cookie_name}="{token}"'}
        headers = bearer(token) if how == "header" else cookie
        if how == "cookie" and name in ("empty", "sql"):
            continue  # not the value of a cookie
        for one in routes[number % FEW :: FEW]:
            answer = world.send(one.method, one.address(), headers=headers, **one.told)
            check_refused(answer, 401)
            assert problem(answer, 401) == NOT_VALID
            assert answer.headers["www-authenticate"].startswith("Bearer")
            if token:
                assert token not in answer.text
    assert world.state() == before


def test_a_token_of_another_vault_gets_nowhere(world: World) -> None:
    token, _ = world.access.create(CAPABILITIES, vaults=["team"])
    before = world.state()
    for one in everything(world):
        answer = world.send(one.method, one.address(), headers=bearer(token), **one.told)
        if one.needs is not None:
            check_refused(answer, 403)
    assert world.state() == before
    both, _ = world.access.create([SEARCH], vaults=["team", "agent"])
    assert world.send("GET", f"{API}/memories/kept", headers=bearer(both)).status_code == 200


def test_a_revoked_token_is_refused_with_the_next_request(world: World) -> None:
    token, known = world.access.create([SEARCH])
    path = f"{API}/memories/kept"
    assert world.send("GET", path, headers=bearer(token)).status_code == 200
    TokenStore(HomeAccess(world.home)).revoke(known.id)  # as another process does it
    check_refused(world.send("GET", path, headers=bearer(token)), 401)


def test_without_a_token_the_caller_of_this_machine_is_the_owner(world: World) -> None:
    assert world.send("GET", f"{API}/memories/kept").status_code == 200
    assert world.send("POST", f"{API}/memories", json={"title": "Another one"}).is_success


def test_tokens_that_cannot_be_read_let_nobody_in(tmp_path: Path, portal: BlockingPortal) -> None:
    made = World(tmp_path, portal)
    (tmp_path / "access.db").write_bytes(b"not a database" * 100)
    answer = made.send("GET", f"{API}/memories/kept", headers=bearer("rcl_" + "A" * 43))
    check_refused(answer, 503)
    made.engine.close()


# Ways around


def test_whatever_else_the_header_holds_is_a_wrong_token(world: World) -> None:
    token, _ = world.access.create(CAPABILITIES)
    for told in (f"Basic {token}", token, f"Token {token}", "Bearer", "Bearer ", f"Bearer{token}"):
        check_refused(
            world.send("GET", f"{API}/memories/kept", headers={"Authorization": told}), 401
        )


def test_two_headers_are_one_too_many(world: World) -> None:
    good, _ = world.access.create(CAPABILITIES)
    small, _ = world.access.create([ADMIN])
    for one, other in ((good, small), (small, good), (good, good)):
        told = [("Authorization", f"Bearer {one}"), ("Authorization", f"Bearer {other}")]
        check_refused(world.send("GET", f"{API}/memories/kept", headers=told), 401)
    both = {"Authorization": f"Bearer {small}, Bearer {good}"}
    check_refused(world.send("GET", f"{API}/memories/kept", headers=both), 401)


def test_the_header_counts_and_not_the_cookie(world: World) -> None:
    good, _ = world.access.create(CAPABILITIES)
    small, _ = world.access.create([ADMIN])
    path = f"{API}/memories/kept"
    check_refused(world.send("GET", path, headers=bearer(small, Cookie=world.cookie(good))), 403)
    check_refused(world.send("GET", path, headers=bearer("wrong", Cookie=world.cookie(good))), 401)
    answer = world.send("GET", path, headers=bearer(good, Cookie=world.cookie(small)))
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "name", ["X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method", "X-Original-URL",
             "X-Rewrite-URL", "X-Forwarded-User", "X-Forwarded-For", "Forwarded"]
)  # fmt: skip
@pytest.mark.parametrize("value", ["DELETE", "/api/v1/memories/kept", "127.0.0.1", "owner"])
def test_no_header_makes_another_request_of_it(world: World, name: str, value: str) -> None:
    token, _ = world.access.create([ADMIN])
    before = world.state()
    told = bearer(token, **{name: value})
    check_refused(world.send("GET", f"{API}/memories/kept", headers=told), 403)
    check_refused(world.send("POST", f"{API}/memories", headers=told, json={"title": "x"}), 403)
    assert world.state() == before


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PUT", "FOO", "get", "delete"])
def test_no_other_method_leads_past_the_check(world: World, method: str) -> None:
    token, _ = world.access.create([ADMIN])
    before = world.state()
    for one in everything(world):
        answer = world.send(method, one.address(), headers=bearer(token))
        assert answer.status_code >= 400 or one.needs is None, (method, one)
        assert WORD not in answer.text.lower()
    assert world.state() == before


@pytest.mark.parametrize(
    "path",
    [
        "//api/v1/memories/kept", "/api/v1//memories/kept", "/API/V1/memories/kept",
        "/api/v1/memories/./kept", "/api/v1/memories/kept/", "/api/v1/memories%2Fkept",
        "/api%2Fv1/memories/kept", "/healthz/../api/v1/memories/kept",
        "/static/../api/v1/memories/kept", "/static/..%2fapi/v1/memories/kept",
        "/login/../api/v1/memories/kept", "/login/api/v1/memories/kept", "/loginx", "/healthz/x",
        "/memory/kept/", "//memory/kept", "/memory//kept", "/static/%2e%2e/memory/kept",
        "/api/v1/memories/kept?token=x", "/api/v1/memories/kept;x", "/api/v1/memories/kept%00",
    ],
)  # fmt: skip
def test_no_path_leads_past_the_check(world: World, path: str) -> None:
    token, _ = world.access.create([ADMIN])
    for headers in (bearer(token), bearer("rcl_" + "A" * 43)):
        answer = world.send("GET", path, headers=headers, follow_redirects=True)
        assert answer.status_code >= 400
        assert WORD not in answer.text.lower()


def test_an_open_path_knows_nobody(world: World) -> None:
    """If there were a route that reads the vault, it would be refused."""
    asked: list[Any] = []

    async def probe(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["caller"])

    guard = Guard(
        probe,
        names=(),
        credentials=Credentials(),
        audit=world.engine.audit,
        problems=ProblemResponses(problem_page),
    )

    async def ask(scope: dict[str, Any]) -> None:
        await guard(scope, None, None)  # type: ignore[arg-type]

    for path in ("/healthz", "/login", "/static/base.css", "/memory/kept"):
        scope: dict[str, Any] = {"type": "http", "method": "GET", "path": path}
        scope |= {"query_string": b"", "headers": [(b"host", b"localhost")]}
        world.portal.call(partial(ask, scope))
    assert [one.name for one in asked] == ["nobody"] * 3 + ["owner"]


def test_where_nobody_is_known_the_service_lets_nobody_in(world: World) -> None:
    assert world.service.engine.caller.name == "nobody"


# Logging in


def test_a_person_logs_in_with_a_token_of_the_home(world: World) -> None:
    token, known = world.access.create([SEARCH])
    answer = world.send("POST", "/login", data={"token": token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"].startswith(f"{world.cookie_name}=rcs_")
    assert token not in answer.headers["set-cookie"]
    world.access.revoke(known.id)
    wrong = world.send("POST", "/login", data={"token": token})
    assert (wrong.status_code, wrong.headers.get("set-cookie")) == (401, None)
    assert token not in wrong.text


def test_a_browser_lets_go_of_a_cookie_that_is_no_longer_valid(world: World) -> None:
    told = {"Cookie": f"{world.cookie_name}=a-session-of-some-other-day", "Accept": "text/html"}
    answer = world.send("GET", "/", headers=told)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"].startswith(f'{world.cookie_name}=""; ')
    assert "max-age=0" in answer.headers["set-cookie"].lower()


def test_where_a_token_is_required_a_browser_is_led_to_the_login(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    made = World(tmp_path, portal, required=True)
    for told in ({}, {"Cookie": f"{made.cookie_name}=wrong"}):
        answer = made.send("GET", "/", headers={"Accept": "text/html", **told})
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    check_refused(made.send("GET", f"{API}/memories/kept"), 401)
    token, _ = made.access.create([SEARCH])
    for good in (SECRET, token):
        assert made.send("GET", f"{API}/memories/kept", headers=bearer(good)).is_success
    assert made.send("DELETE", f"{API}/memories/kept", headers=bearer(token)).status_code == 403
    assert made.send("DELETE", f"{API}/memories/kept", headers=bearer(SECRET)).is_success
    made.engine.close()


# The log of writes and refusals


def test_writes_and_refusals_are_noted_without_what_they_say(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    made = World(tmp_path, portal)
    token, known = made.access.create([WRITE], name="writer")
    made.access.create([SEARCH])  # where there is no token, there is no login
    saved = made.send("POST", f"{API}/memories", headers=bearer(token), json={"title": "Wombats"})
    assert saved.status_code == 201
    made.send("GET", f"{API}/search", headers=bearer(token), params={"q": "wombats"})
    made.send("DELETE", f"{API}/memories/kept", headers=bearer(token))
    made.send("GET", "/memory/kept", headers=bearer(token))
    made.send("GET", f"{API}/search", headers=bearer("rcl_" + "B" * 43), params={"q": "wombats"})
    made.access.revoke(known.id)
    made.send("GET", f"{API}/search", headers=bearer(token), params={"q": "wombats"})
    made.send("POST", "/login", data={"token": token})
    told = [(one["caller"], one["action"], one["outcome"]) for one in made.audit_lines()[1:]]
    assert told == [
        ("writer", "save", "done"),
        ("writer", f"GET {API}/search", "refused"),
        ("writer", f"DELETE {API}/memories/{{id:path}}", "refused"),
        ("writer", "GET /memory/{id:path}", "refused"),
        ("unknown", "request", "refused"),
        ("writer", "request", "refused"),
        ("writer", "login", "refused"),
    ]
    assert {one.get("token") for one in made.audit_lines()[1:]} == {known.id, None}
    text = json.dumps(made.audit_lines()).lower()
    for word in ("wombat", WORD, "kept", token.lower(), "rcl_"):
        assert word not in text
    made.engine.close()


# The process


def test_another_address_is_served_with_a_token_of_the_home_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    access = TokenStore(HomeAccess(home))
    token, known = access.create([SEARCH, WRITE])
    with serving(home, "--host", "0.0.0.0", auth="yes") as server:
        problem(server.get(f"{API}/memories"), 401)
        assert server.get(f"{API}/memories", headers=bearer(token)).status_code == 200
        saved = server.post(f"{API}/memories", {"title": "Kept"}, headers=bearer(token))
        assert saved.status_code == 201
        assert raw_status(server, token, token) == 401
        access.revoke(known.id)
        problem(server.get(f"{API}/memories", headers=bearer(token)), 401)
        assert token not in server.log_text()
    told = refused_to_start(home, "--host", "0.0.0.0", "--port", "0")
    assert "recollect access token create" in told


def raw_status(server: Server, *tokens: str) -> int:
    shown = "".join(f"Authorization: Bearer {token}\n" for token in tokens)
    request = f"GET {API}/memories HTTP/1.1\nHost: localhost\n{shown}Connection: close\n\n"
    return server.raw(request.encode())[0]


def test_whoever_shows_nothing_or_comes_from_elsewhere_is_noted_too(
    tmp_path: Path, portal: BlockingPortal
) -> None:
    made = World(tmp_path, portal, required=True)
    made.send("GET", f"{API}/memories")
    made.send("GET", "/", headers={"Accept": "text/html"})  # led to the login, not refused
    made.send("GET", f"{API}/memories", headers={"Host": "evil.example"})
    made.send("GET", f"{API}/memories", headers={"Origin": "http://evil.example"})
    told = made.audit_lines()[1:]
    assert [(one["caller"], one["outcome"]) for one in told] == [("unknown", "refused")] * 3
    assert told[0]["why"] == "no token"
    assert "evil" not in json.dumps(told)
    made.engine.close()
