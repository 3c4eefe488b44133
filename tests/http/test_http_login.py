"""Logging in and out: sessions, one-time links, limits; in one process, as `serve` makes it."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from http_server import API, SECRET, environment, problem

from recollect import Recollect
from recollect.auth.access import HomeAccess
from recollect.auth.audit import Audit
from recollect.auth.capabilities import CAPABILITIES, SEARCH, WRITE
from recollect.auth.credentials import (
    IN_ALL,
    LASTS,
    LINK_LASTS,
    PER_ADDRESS,
    Attempts,
    Credentials,
    SessionStore,
    SharedCounts,
)
from recollect.auth.token_store import TokenStore, digest
from recollect.interfaces.app import create_app
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.login import LARGEST_LOGIN
from recollect.settings_reading import load_settings

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PAGE = {"Accept": "text/html", "User-Agent": FIREFOX}


class Clock:
    """A time that tests move."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Place:
    """A vault and the application over it, which asks for a token."""

    def __init__(self, home: Path, portal: BlockingPortal) -> None:
        told = environment(home)
        self.home, self.portal, self.clock = home, portal, Clock()
        self.engine = Recollect(home=home, settings=load_settings(home, told), environment=told)
        self.engine.save(id="kept", title="Quokkas sleep at noon")
        self.access = TokenStore(HomeAccess(home), self.clock)
        self.sessions = SessionStore(self.access)
        service = Service(self.engine)
        service.warm.set()
        self.app = create_app(
            service, credentials=Credentials([SECRET], self.access, required=True)
        )

    def browser(self, url: str = "http://localhost:7117", **client: Any) -> Visitor:
        return Visitor(self, url, **client)

    def audit_lines(self, action: str) -> list[dict[str, Any]]:
        lines = Audit(HomeAccess(self.home)).entries()
        return [line for line in lines if line["action"].split()[0] == action]


class Visitor:
    """A browser: it keeps cookies, and follows no redirect by itself."""

    def __init__(self, place: Place, url: str, address: str = "127.0.0.1") -> None:
        self._place, self._url, self._address = place, url, address
        self.cookies: dict[str, str] = {}

    def get(self, path: str, **more: Any) -> httpx2.Response:
        return self.ask("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx2.Response:
        return self.ask("POST", path, **more)

    def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        async def asked() -> httpx2.Response:
            transport = httpx2.ASGITransport(self._place.app, client=(self._address, 50_000))
            headers = PAGE | more.pop("headers", {})
            if self.cookies:
                headers["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
            async with httpx2.AsyncClient(transport=transport, base_url=self._url) as client:
                return await client.request(method, path, headers=headers, **more)

        answer = self._place.portal.call(asked)
        for name, value in re.findall(r'(\w+)="?([^;"]*)', answer.headers.get("set-cookie", ""))[
            :1
        ]:
            self.cookies[name] = value
            if not value:
                del self.cookies[name]
        return answer

    def log_in(self, token: str, path: str = "/login") -> httpx2.Response:
        return self.post(path, data={"token": token})


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as running:
        yield running


@pytest.fixture
def place(tmp_path: Path, portal: BlockingPortal) -> Iterator[Place]:
    made = Place(tmp_path, portal)
    yield made
    made.engine.close()


# What a login may be


def test_a_login_that_is_larger_than_any_token_is_not_read(place: Place) -> None:
    """Sixteen megabytes of fields stood before everybody for 20 s. The pieces that are taken are
    counted, not the seconds."""
    taken = 0

    async def much() -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(4096):
            taken += 1
            yield b"a=1&" * 1024

    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = place.browser().post("/login", content=much(), headers=kind)
    assert answer.status_code == 413
    assert taken <= 3
    whole = place.browser().post("/login", content=b"token=" + b"a" * LARGEST_LOGIN, headers=kind)
    assert whole.status_code == 413


def test_a_login_has_one_field(place: Place) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "*/*"}
    for body in (b"", b"token=a&token=b", b"a=1&token=x", b"a=1", b"a=1&" * 500, b"\xff"):
        problem(place.browser().post("/login", content=body, headers=kind), 400, "one field")


# Attempts


def test_wrong_tokens_are_limited_and_the_wait_is_told(place: Place) -> None:
    browser = place.browser()
    answers = [browser.log_in("not the right one") for _ in range(PER_ADDRESS + 5)]
    assert [answer.status_code for answer in answers] == [401] * PER_ADDRESS + [429] * 5
    assert 0 < int(answers[-1].headers["retry-after"]) <= 5
    assert browser.log_in(SECRET).status_code == 429  # whether it is right is not told either
    assert place.browser(address="192.0.2.7").log_in(SECRET).status_code == 303
    assert len(place.audit_lines("login")) < PER_ADDRESS  # repeated refusals do not fill the log


def test_an_attacker_does_not_lock_the_owner_out(place: Place) -> None:
    attacker, owner = place.browser(), place.browser()
    for _ in range(PER_ADDRESS + 5):
        attacker.log_in("rcl_" + "A" * 43)
    assert attacker.log_in("rcl_" + "A" * 43).status_code == 429
    token, _ = place.access.create(CAPABILITIES)
    assert owner.log_in(token).status_code == 303
    link = place.sessions.create_link(digest(token))
    assert owner.post(f"/login/{link}").status_code == 303


def test_attempts_are_counted_by_address_and_in_all() -> None:
    now = 0.0
    attempts = Attempts(SharedCounts(lambda: now))
    for _ in range(PER_ADDRESS):
        assert attempts.wait_s("192.0.2.1") == 0
        attempts.count_failure("192.0.2.1")
    assert attempts.wait_s("192.0.2.1") == 5
    assert attempts.wait_s("192.0.2.2") == 0
    now = 5.0
    assert attempts.wait_s("192.0.2.1") == 0  # one came back
    attempts.count_failure("192.0.2.1")
    assert attempts.wait_s("192.0.2.1") == 5
    for _ in range(1000):
        attempts.count_failure("192.0.2.1")
    assert attempts.wait_s("192.0.2.1") == 5  # and no longer, however many come
    for number in range(IN_ALL):
        attempts.count_failure(f"2001:db8:{number:x}::1")
    assert attempts.wait_s("198.51.100.1") > 0
    now = 10_000.0
    assert attempts.wait_s("192.0.2.1") == 0
    child = os.fork()
    if not child:  # a worker of the same server
        for _ in range(PER_ADDRESS):
            attempts.count_failure("192.0.2.3")
        os._exit(0)
    os.waitpid(child, 0)
    assert attempts.wait_s("192.0.2.3") == 5


def test_a_whole_network_of_ipv6_counts_as_one_address() -> None:
    attempts = Attempts(SharedCounts(lambda: 0.0))
    for number in range(PER_ADDRESS):
        attempts.count_failure(f"2001:db8::{number + 1:x}")
    assert attempts.wait_s("2001:db8::ffff") == 5
    assert attempts.wait_s("2001:db8:0:1::1") == 0


# Sessions


def test_the_cookie_is_a_random_id_that_is_not_the_token(place: Place) -> None:
    token, _ = place.access.create([SEARCH])
    browser, other = place.browser(), place.browser("https://localhost")
    cookie = browser.log_in(token).headers["set-cookie"]
    assert re.fullmatch(r"recollect_7117_[0-9a-f]{8}=rcs_[\w-]{43}; .*", cookie)
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= parts
    assert "secure" not in parts
    secure = other.log_in(token).headers["set-cookie"]
    assert "secure" in secure.lower()
    assert re.match(r"recollect_[0-9a-f]{8}=", secure)
    assert token not in cookie + secure
    assert browser.get(f"{API}/memories/kept").status_code == 200
    [secret] = browser.cookies.values()
    stored = (place.home / "access.db").read_bytes() + (place.home / "access.db-wal").read_bytes()
    assert secret.encode() not in stored
    assert token.encode() not in stored


def test_a_session_is_of_use_in_its_own_cookie_alone(place: Place, tmp_path: Path) -> None:
    token, _ = place.access.create(CAPABILITIES)
    browser = place.browser()
    browser.log_in(token)
    [(name, secret)] = browser.cookies.items()
    asked = place.browser()
    shown = {"Authorization": f"Bearer {secret}", "Accept": "*/*"}
    problem(asked.get(f"{API}/memories/kept", headers=shown), 401)
    for other in ("recollect_token", "recollect_7118" + name[14:], name[:-1] + "x"):
        asked.cookies = {other: secret}
        problem(asked.get(f"{API}/memories/kept", headers={"Accept": "*/*"}), 401)
    asked.cookies = {name: token}
    problem(asked.get(f"{API}/memories/kept", headers={"Accept": "*/*"}), 401)
    assert asked.log_in(secret).status_code == 401
    assert asked.post(f"/login/{secret}").status_code == 401


def test_logging_out_ends_the_session_for_everybody_who_has_the_cookie(place: Place) -> None:
    browser, thief = place.browser(), place.browser()
    browser.log_in(SECRET)
    thief.cookies = dict(browser.cookies)
    assert thief.get("/").status_code == 200
    answer = browser.post("/logout")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert browser.cookies == {}
    assert thief.get("/").headers["location"] == "/login"
    assert thief.cookies == {}
    assert browser.get("/logout").status_code == 405
    assert browser.post("/logout").status_code == 303  # once more does no harm
    assert [line["outcome"] for line in place.audit_lines("logout")] == ["done"]


@pytest.mark.parametrize("end", ["revoked", "expired", "session expired", "server token changed"])
def test_a_session_ends_with_its_token_and_after_a_month(
    place: Place, portal: BlockingPortal, end: str
) -> None:
    expires = place.clock.now + timedelta(days=1) if end == "expired" else None
    token, known = place.access.create([SEARCH], expires_at=expires)
    browser = place.browser()
    browser.log_in(SECRET if end == "server token changed" else token)
    assert browser.get("/").status_code == 200
    if end == "revoked":
        TokenStore(HomeAccess(place.home)).revoke(known.id)
    elif end == "server token changed":
        changed = Credentials(["another-token-of-the-server"], place.access, required=True)
        place.app = create_app(Service(place.engine), credentials=changed)
    else:
        place.clock.now += LASTS if end == "session expired" else timedelta(days=2)
    assert browser.get("/").headers["location"] == "/login"
    assert browser.cookies == {}


def test_one_sees_and_ends_the_sessions_of_ones_own_token(place: Place) -> None:
    small, _ = place.access.create([SEARCH], name="reader")
    reader, again, owner = place.browser(), place.browser(), place.browser()
    for browser, token in ((reader, small), (again, small), (owner, SECRET)):
        assert browser.log_in(token).status_code == 303
    ids = {session.id: session.token_name for session in place.sessions.list_all()}
    assert sorted(ids.values()) == ["", "reader", "reader"]
    shown = re.findall(r'data-session="(\w+)"', reader.get("/sessions").text)
    assert sorted(shown) == sorted(id for id, name in ids.items() if name == "reader")
    assert "Firefox on Linux" in reader.get("/sessions").text
    assert len(re.findall("data-session=", owner.get("/sessions").text)) == 3
    [owners] = [id for id, name in ids.items() if name == ""]
    refused = reader.post("/sessions/end", data={"id": owners})
    assert refused.status_code == 404
    assert reader.post("/sessions/end", data={"others": "1"}).status_code == 303
    assert again.get("/").headers["location"] == "/login"
    assert reader.get("/").status_code == 200
    [left] = [session.id for session in place.sessions.list_all() if session.token_name]
    assert owner.post("/sessions/end", data={"id": left}).status_code == 303
    assert reader.get("/").headers["location"] == "/login"
    assert len(place.audit_lines("end")) == 2
    problem(place.browser().get("/sessions", headers={"Accept": "*/*"}), 401)


def test_another_site_cannot_log_a_browser_out(place: Place) -> None:
    browser = place.browser()
    browser.log_in(SECRET)
    for path in ("/logout", "/sessions/end"):
        answer = browser.post(path, headers={"Origin": "http://evil.example", "Accept": "*/*"})
        problem(answer, 403)
    assert browser.get("/").status_code == 200


# Where a login leads


def test_after_the_login_comes_the_page_that_was_wanted(place: Place) -> None:
    browser = place.browser()
    asked = browser.get("/browse?kind=fact&tag=a%26b")
    assert asked.headers["location"] == "/login?next=%2Fbrowse%3Fkind%3Dfact%26tag%3Da%2526b"
    form = browser.get(asked.headers["location"])
    [action] = re.findall(r'action="(/login[^"]*)"', form.text)
    answer = browser.log_in(SECRET, action.replace("&amp;", "&"))
    assert answer.headers["location"] == "/browse?kind=fact&tag=a%26b"
    assert browser.get(answer.headers["location"]).status_code == 200


ELSEWHERE = [
    "//evil.example", "/\\evil.example", "\\\\evil.example", "http://evil.example", "evil.example",
    "https:evil.example", "javascript:alert(1)", "/\t/evil.example", "/\n/evil.example", "///evil",
    "/%0d%0aSet-Cookie:x=y\r\n", " //evil.example", "/a\\..\\b", "", "?x", "/login", "/logout",
    "/login?next=//evil.example", "/é", "/" + "a" * 2001,
]  # fmt: skip


def test_a_login_leads_to_no_other_place(place: Place) -> None:
    for path in ELSEWHERE:
        answer = place.browser().log_in(SECRET, f"/login?next={quote(path, safe='')}")
        assert answer.headers["location"] == "/", path


def test_a_script_that_asks_for_a_piece_is_not_led_to_the_login(place: Place) -> None:
    answer = place.browser().get("/?piece=1", headers={"Sec-Fetch-Mode": "cors"})
    assert answer.status_code == 401


# Links


def test_a_link_logs_in_once(place: Place) -> None:
    token, _ = place.access.create(CAPABILITIES)
    link = place.sessions.create_link(digest(token))
    first, second = place.browser(), place.browser()
    for method in ("GET", "HEAD", "GET"):  # looking does not use it up
        assert first.ask(method, f"/login/{link}").status_code == 200
    answer = first.post(f"/login/{link}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert first.get("/").status_code == 200
    assert first.post(f"/login/{link}").headers["location"] == "/"  # it is logged in already
    refused = second.post(f"/login/{link}")
    assert (refused.status_code, second.cookies) == (401, {})
    assert "recollect open" in refused.text


def test_a_link_is_of_no_use_when_it_is_old_or_its_token_is_gone(place: Place) -> None:
    token, known = place.access.create(CAPABILITIES)
    old, fresh = (place.sessions.create_link(digest(token)) for _ in range(2))
    place.clock.now += LINK_LASTS
    assert place.browser().post(f"/login/{old}").status_code == 401
    fresh = place.sessions.create_link(digest(token))
    place.access.revoke(known.id)
    assert place.browser().post(f"/login/{fresh}").status_code == 401
    for wrong in ("x", "rcs_" + "A" * 43, token, SECRET):
        assert place.browser().post(f"/login/{wrong}").status_code == 401


# What a page offers

GIVEN: dict[str, tuple[str, ...]] = {
    "reader": (SEARCH,),
    "writer": (SEARCH, WRITE),
    "deleter": (SEARCH, "memory:delete"),
    "keeper": (SEARCH, "admin"),
    "owner": tuple(CAPABILITIES),
}
SENT = re.compile(r'(?:form)?action="(/[^"?]*)[^"]*"|href="(/(?:new|edit)[^"?]*)[^"]*"')


def list_actions(place: Place, browser: Visitor) -> dict[str, set[str]]:
    """Return the forms and links of each page that lead to changes."""
    paths = ("/", "/?q=quokkas", "/browse", "/memory/kept", "/lab?q=quokkas", "/upkeep")
    return {
        path: {"".join(found) for found in SENT.findall(browser.get(path).text)}
        - {"/", "/lab", "/logout", "/browse", "/timeline"}
        for path in paths
    }


def test_a_page_offers_exactly_what_the_token_allows(place: Place) -> None:
    found = {}
    for name, capabilities in GIVEN.items():
        token, _ = place.access.create(capabilities)
        browser = place.browser()
        browser.log_in(token)
        found[name] = {path for offers in list_actions(place, browser).values() for path in offers}
    writing = {"/new", "/edit/kept", "/pin/kept", "/feedback", "/lab/feedback", "/bulk"}
    writing |= {"/undo", "/undo/kept", "/supersede/kept"}
    assert found["reader"] == set()
    assert found["writer"] == writing
    assert found["deleter"] == {"/forget/kept"}
    keeping = {"/upkeep/work", "/lab/save"}
    assert found["keeper"] == keeping
    assert found["owner"] == writing | keeping | {"/forget/kept"}


def test_only_who_may_do_everything_makes_and_revokes_tokens(place: Place) -> None:
    """The secret is on the page that answers and nowhere else: no log, no audit, no address."""
    keeper, _ = place.access.create([SEARCH, "admin"])
    browser = place.browser()
    browser.log_in(keeper)
    assert "data-create" not in browser.get("/sessions").text
    assert browser.post("/sessions/tokens", data={SEARCH: "1"}).status_code == 403
    owner, _ = place.access.create(tuple(CAPABILITIES))
    browser = place.browser()
    browser.log_in(owner)
    assert browser.post("/sessions/tokens", data={"name": "none"}).status_code == 400
    asked = {"name": "phone", SEARCH: "1", WRITE: "1", "expires": "90d"}
    answer = browser.post("/sessions/tokens", data=asked)
    assert answer.headers["cache-control"] == "no-store"
    [secret] = re.findall(r"data-secret>(rcl_[\w-]+)<", answer.text)
    made, state = place.access.find(secret) or (None, "")
    assert made is not None
    assert (made.name, made.capabilities, state) == ("phone", (SEARCH, WRITE), "live")
    assert made.expires_at is not None
    assert secret not in browser.get("/sessions").text
    assert secret not in (place.home / "audit.jsonl").read_text()
    assert browser.post("/sessions/revoke", data={"id": made.id}).status_code == 303
    assert (place.access.find(secret) or ("", ""))[1] == "revoked"


def test_who_may_not_search_sees_no_menu_and_can_log_out(place: Place) -> None:
    token, _ = place.access.create([WRITE])
    browser = place.browser()
    browser.log_in(token)
    refused = browser.get("/")
    assert refused.status_code == 403
    assert 'href="/browse"' not in refused.text
    assert 'action="/logout"' in refused.text
