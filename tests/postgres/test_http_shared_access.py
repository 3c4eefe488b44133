"""Two servers of one vault in PostgreSQL, each with a home of its own: what one lets in, the other
does, and no longer than that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from http_thread import ThreadServer, threaded_server

from patience import until
from recollect.auth.credentials import PER_ADDRESS, Credentials, SessionStore
from recollect.auth.token_store import TokenStore, digest
from recollect.settings import StoreSettings
from recollect.settings_reading import load_settings
from recollect.store.registry import open_access_at


class Place(NamedTuple):
    server: ThreadServer
    tokens: TokenStore


@pytest.fixture(scope="module")
def settings(postgres_url: str) -> StoreSettings:
    return StoreSettings(url=postgres_url, vault="shared-access")


def place(home: Path, settings: StoreSettings) -> Iterator[Place]:
    home.mkdir()
    config = f'[store]\nurl = "{settings.url}"\nvault = "{settings.vault}"\n'
    (home / "config.toml").write_text(config)
    tokens = TokenStore(open_access_at(home, load_settings(home, {}).store))
    with threaded_server(home, Credentials([], tokens, required=True)) as server:
        yield Place(server, tokens)
    tokens.close()


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, settings: StoreSettings) -> Iterator[Place]:
    yield from place(tmp_path_factory.mktemp("one") / "home", settings)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, settings: StoreSettings) -> Iterator[Place]:
    yield from place(tmp_path_factory.mktemp("other") / "home", settings)


def status(server: ThreadServer, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return server.client.get("/readyz", headers=headers).status_code


def test_a_token_of_one_server_is_valid_at_the_other_until_that_one_revokes_it(
    one: Place, other: Place
) -> None:
    secret, token = one.tokens.create(["search:use"], name="agent")
    assert [status(place.server, secret) for place in (one, other)] == [200, 200]
    other.tokens.revoke(token.id)
    assert [status(place.server, secret) for place in (one, other)] == [401, 401]
    assert not (one.server.engine.home / "access.db").exists()

    def refusals() -> list[str | None]:
        found = [*other.server.engine.audit.entries()]
        return [line.get("token") for line in found if line["outcome"] == "refused"]

    until(lambda: token.id in refusals())  # at whichever server


def test_a_browser_that_logged_in_at_one_server_is_known_at_the_other(
    one: Place, other: Place
) -> None:
    secret, _ = one.tokens.create(["search:use"], name="person")
    link = SessionStore(other.tokens).create_link(digest(secret))
    origin = {"host": "localhost"}
    begun = one.server.client.post(f"/login/{link}", headers=origin)
    assert begun.status_code == 303
    cookie = begun.headers["set-cookie"].partition(";")[0]
    asked = {**origin, "cookie": cookie, "accept": "text/html"}
    for server in (one.server, other.server):
        assert server.client.get("/", headers=asked).status_code == 200
    ended = other.server.client.post("/logout", headers={**origin, "cookie": cookie})
    assert ended.status_code == 303
    one.server.client.cookies.clear()
    assert one.server.client.get("/", headers=asked).status_code == 303


def test_wrong_logins_at_one_server_count_at_the_other(one: Place, other: Place) -> None:
    for _ in range(PER_ADDRESS):
        assert one.server.client.post("/login", data={"token": "wrong"}).status_code == 401
    assert other.server.client.post("/login", data={"token": "wrong"}).status_code == 429


def test_who_reads_at_one_server_is_seen_at_the_other(one: Place, other: Place) -> None:
    one.server.engine.save(title="Deploys need a ticket")
    before = other.server.engine.pulse()
    assert one.server.engine.search("deploys").results
    until(lambda: other.server.engine.pulse() != before)
    assert "search" in [entry.action for entry in other.server.engine.activity().entries]
