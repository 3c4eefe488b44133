"""The contract of tokens, sessions and logs, held by the files of a home and by PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from recollect.auth.access import Access, HomeAccess, LineLog
from recollect.auth.credentials import (
    LASTS,
    LINK_LASTS,
    MOST_SESSIONS,
    PER_ADDRESS,
    Attempts,
    Credentials,
    SessionStore,
)
from recollect.auth.token_store import COARSE, TokenStore, digest, real_time
from recollect.errors import NotFound, RecollectError
from recollect.settings import StoreSettings
from recollect_postgres.access import PostgresAccess

SOON_S = 30.0  # for a log that is written in the background


class AccessContract:
    """The laws of `Access`. Each call of `access` gives another object on the same place, as each
    server has one; the place is empty when a test begins."""

    def access(self) -> Access:
        raise NotImplementedError

    def stores(self) -> tuple[TokenStore, TokenStore]:
        return TokenStore(self.access()), TokenStore(self.access())

    def test_a_token_is_valid_everywhere_and_refused_everywhere_once_revoked(self) -> None:
        one, other = self.stores()
        assert not other.has_live()
        secret, token = one.create(["search:use"], name="agent", vaults=["team"])
        found = other.find(secret)
        assert found is not None
        assert (found[0], found[1]) == (token, "live")
        assert other.has_live()
        assert other.revoke(token.id).revoked_at is not None
        checked = Credentials(stored=one).check_token(secret)
        assert (checked.wrong, checked.caller.token) == ("revoked token", token.id)
        again = one.revoke(token.id)
        assert again == other.list_all()[0]

    def test_a_token_that_is_not_there_cannot_be_revoked(self) -> None:
        one, _ = self.stores()
        with pytest.raises(NotFound, match="There is no token"):
            one.revoke("0a1b2c3d")
        assert one.find("rcl_" + "A" * 43) is None

    def test_secrets_are_stored_as_hashes(self) -> None:
        tokens, _ = self.stores()
        sessions = SessionStore(tokens)
        secret, _ = tokens.create(["search:use"])
        begun, _ = sessions.create(digest(secret))
        link = sessions.create_link(digest(secret))
        for table, shown in (("tokens", secret), ("sessions", begun), ("links", link)):
            [(hashed,)] = tokens.access.rows(f"SELECT hash FROM {table} WHERE {{vault}}")
            assert bytes(hashed) == digest(shown)

    def test_when_a_token_was_used_is_noted_to_the_hour(self) -> None:
        now = real_time()
        tokens = TokenStore(self.access(), lambda: now)
        secret, _ = tokens.create(["search:use"])
        assert tokens.list_all()[0].used_at is None
        start = now
        for later, noted in ((0, 0), (COARSE.seconds - 1, 0), (COARSE.seconds, COARSE.seconds)):
            now = start + timedelta(seconds=later)
            assert tokens.find(secret)
            assert tokens.list_all()[0].used_at == start + timedelta(seconds=noted)

    def test_a_session_is_known_everywhere_and_ends_everywhere(self) -> None:
        one, other = self.stores()
        token, known = one.create(["search:use"], name="agent")
        here, there = SessionStore(one), SessionStore(other)
        secret, session = here.create(digest(token), "Firefox\n on Linux")
        found = there.find(secret)
        assert found is not None
        assert (found.id, found.token_id, found.token_name) == (session.id, known.id, "agent")
        assert found.browser == "Firefox on Linux"
        assert Credentials(stored=other).check_session(secret).caller.name == "agent"
        with pytest.raises(NotFound):
            there.end([session.id, "0a1b2c3d"])
        assert here.find(secret) is not None
        there.end([session.id])
        assert here.find(secret) is None
        assert here.list_all() == []

    def test_sessions_and_links_end_by_themselves(self) -> None:
        now = real_time()
        sessions = SessionStore(TokenStore(self.access(), lambda: now))
        secret, _ = sessions.create(digest("of no token"))
        link = sessions.create_link(digest("of no token"))
        assert sessions.find(secret) is not None
        assert sessions.has_link(link)
        now += LINK_LASTS
        assert not sessions.has_link(link)
        assert sessions.use_link(link) is None
        now += LASTS - LINK_LASTS
        assert sessions.find(secret) is None

    def test_the_oldest_session_ends_where_there_are_too_many(self) -> None:
        now = real_time()
        sessions = SessionStore(TokenStore(self.access(), lambda: now))
        secrets = []
        for _ in range(MOST_SESSIONS + 1):
            now += timedelta(seconds=1)
            secrets.append(sessions.create(digest("a token"))[0])
        assert len(sessions.list_all()) == MOST_SESSIONS
        assert sessions.find(secrets[0]) is None
        assert sessions.find(secrets[1]) is not None

    def test_a_link_is_used_once_however_many_try(self) -> None:
        link = SessionStore(TokenStore(self.access())).create_link(digest("a token"))
        places = [SessionStore(TokenStore(self.access())) for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            used = list(threads.map(lambda place: place.use_link(link), places))
        assert sorted(used, key=bool) == [None, None, None, digest("a token")]

    def test_a_change_is_made_as_a_whole(self) -> None:
        access = self.access()
        row = "INSERT INTO links (hash, token_hash, expires_at) VALUES (?, ?, ?)"
        with pytest.raises(RecollectError):
            access.change((row, (b"1", b"2", 3)), (row, (b"1", b"2", None)))
        assert access.rows("SELECT hash FROM links WHERE {vault}") == []

    def test_wrong_logins_are_counted_together_where_they_are_shared(self) -> None:
        access, other = self.access(), self.access()
        if access.attempts is None:
            return
        one, another = Attempts(access.attempts), Attempts(other.attempts)
        for _ in range(PER_ADDRESS):
            assert another.wait_s("192.0.2.7") == 0
            one.count_failure("192.0.2.7")
        assert 1 <= another.wait_s("192.0.2.7") <= 5
        assert another.wait_s("192.0.2.8") == 0

    def test_lines_of_logs_are_in_order_and_there_for_all(self) -> None:
        access, other = self.access(), self.access()
        for log, there in ((access.audit, other.audit), (access.reads, other.reads)):
            assert (there.size(), [*there.since(0)]) == (0, [])
            for number in range(3):
                log.append(b'{"line": %d}' % number)
            first = _lines(there, 0, 3)
            assert [line for _, line in first] == [b'{"line": %d}' % n for n in range(3)]
            assert first[-1][0] == there.size()
            there.append(b'{"line": 3}')
            assert [line for _, line in _lines(log, first[-1][0], 1)] == [b'{"line": 3}']
        assert [line for _, line in access.audit.since(0)] != []

    def test_what_was_closed_is_opened_again(self) -> None:
        tokens, _ = self.stores()
        secret, _ = tokens.create(["search:use"])
        tokens.access.audit.append(b'{"action": "save"}')
        tokens.close()
        assert tokens.find(secret) is not None
        assert [line.strip() for _, line in tokens.access.audit.since(0)] == [b'{"action": "save"}']


def _lines(log: LineLog, start: int, count: int) -> list[tuple[int, bytes]]:
    """Return `count` lines as soon as they are there."""
    give_up = time.monotonic() + SOON_S
    while len(found := [*log.since(start)]) < count:
        assert time.monotonic() < give_up
        time.sleep(0.01)
    return [(end, line.strip()) for end, line in found]


class TestHome(AccessContract):
    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path) -> Iterator[None]:
        self.home = tmp_path
        self.opened: list[Access] = []
        yield
        for access in self.opened:
            access.close()

    def access(self) -> Access:
        self.opened.append(HomeAccess(self.home))
        return self.opened[-1]


class TestPostgres(TestHome):
    @pytest.fixture(autouse=True)
    def _vault(self, postgres_url: str, postgres_vault: str) -> None:
        self.place = StoreSettings(url=postgres_url, vault=postgres_vault)

    def access(self) -> Access:
        self.opened.append(PostgresAccess(self.place))
        return self.opened[-1]
