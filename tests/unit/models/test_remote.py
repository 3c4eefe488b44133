"""`Remote`: retries, bounds, and what its errors say and leave out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_server import Fault, ModelServer
from recollect.errors import ProviderError, UserError
from recollect.models.remote import (
    LONGEST_PAUSE_S,
    TRIES,
    Blamed,
    Key,
    Remote,
    host_of,
    is_loopback,
    pause_s,
    retry_after_s,
    sort_by_index,
)
from recollect.settings_reading import checked_url

KEY = "sk-very-secret"
TEXT = "a private thought"
BODY = {"model": "toy", "query": TEXT, "documents": [TEXT]}


class Bench:
    """A server, and remotes on it whose pauses are noted instead of slept."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.pauses: list[float] = []
        self.made: list[Remote] = []

    def remote(self, url: str = "", **more: Any) -> Remote:
        given: dict[str, Any] = {"timeout_s": 5.0, "key": Key("TOY", KEY)}
        given |= {"blamed": Blamed.of("rerank"), "who": "The toy", "sleep": self.pauses.append}
        self.made.append(Remote(url or self.server.url, **given | more))
        return self.made[-1]

    def failure(self, remote: Remote, *, transient: bool) -> str:
        """The sentence of a failed request, checked for what must never be in it."""
        with pytest.raises(ProviderError) as caught:
            ask(remote)
        assert caught.value.transient is transient
        message = str(caught.value)
        assert message.startswith("The toy at ")
        assert message.endswith((".", "?"))
        assert KEY not in message
        assert TEXT not in message
        return message


@pytest.fixture
def bench() -> Iterator[Bench]:
    with ModelServer() as server:
        made = Bench(server)
        yield made
        for remote in made.made:
            remote.close()


def ask(remote: Remote) -> dict[str, Any]:
    return remote.post("/rerank", BODY, dict[str, Any])


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
def test_a_passing_failure_is_tried_again(bench: Bench, status: int) -> None:
    bench.server.fail_next(TRIES - 1, status)
    assert ask(bench.remote())["results"]
    assert len(bench.server.requests) == TRIES
    assert len(bench.pauses) == TRIES - 1


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_after_three_tries_it_is_reported_as_transient(bench: Bench, status: int) -> None:
    bench.server.fail_next(10, status)
    message = bench.failure(bench.remote(), transient=True)
    assert str(status) in message
    assert urlsplit(bench.server.url).netloc in message
    assert len(bench.server.requests) == TRIES == 3


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 405, 409, 413, 422])
def test_a_lasting_failure_is_not_tried_again(bench: Bench, status: int) -> None:
    bench.server.fail_next(10, status)
    assert str(status) in bench.failure(bench.remote(), transient=False)
    assert len(bench.server.requests) == 1
    assert bench.pauses == []


@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.HANG_UP])
def test_hanging_up_is_transient_and_a_page_of_html_is_not(bench: Bench, fault: Fault) -> None:
    bench.server.fault = fault
    bench.failure(bench.remote(), transient=fault is Fault.HANG_UP)
    assert len(bench.server.requests) == (TRIES if fault is Fault.HANG_UP else 1)


def test_an_unexpected_shape_says_where_and_quotes_nothing(bench: Bench) -> None:
    with pytest.raises(ProviderError, match=r"unexpected shape.*\$\[\.\.\.\]") as caught:
        bench.remote().post("/rerank", BODY, dict[str, int])
    assert not caught.value.transient


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "check the key in $TOY"),
        (403, "check the key in $TOY"),
        (429, "quota"),
        (422, "answered 422; use another model."),  # the provider's own hint
        (308, "has moved, check rerank.base_url"),  # not followed
    ],
)
def test_a_status_with_a_clear_cause_says_what_to_do(bench: Bench, status: int, says: str) -> None:
    bench.server.fail_next(TRIES, status)
    remote = bench.remote(hints={422: "use another model"})
    message = bench.failure(remote, transient=status == 429)
    assert says in message
    assert status != 422 or message.endswith(says)
    assert len(bench.server.requests) == (TRIES if status == 429 else 1)


def test_a_refused_connection_asks_whether_the_server_runs(bench: Bench) -> None:
    with ModelServer() as gone:
        url = gone.url
    message = bench.failure(bench.remote(url), transient=True)
    assert "that the server is running" in message
    assert "rerank.base_url" in message
    assert len(bench.pauses) == TRIES - 1


@pytest.mark.parametrize("host", ["a\x7fb", "☃☃..x", "a..b", "a" * 64])
def test_a_host_name_that_cannot_exist_points_at_the_setting(bench: Bench, host: str) -> None:
    assert "rerank.base_url" in bench.failure(bench.remote(f"http://{host}"), transient=False)


def test_an_untrusted_certificate_is_not_worth_another_try(bench: Bench) -> None:
    error = bench.remote()._connect_error(
        httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    )
    assert not error.transient
    assert "SSL_CERT_FILE" in str(error)


class Clock:
    """A clock that advances only while a remote waits, for an answer and between two tries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.tries: list[float] = []
        once = Remote._once

        def timed(remote: Remote, method: str, path: str, body: Any, timeout_s: float) -> bytes:
            self.tries.append(timeout_s)
            try:
                return once(remote, method, path, body, timeout_s)
            finally:
                self.now += timeout_s

        monkeypatch.setattr(Remote, "_once", timed)
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr("recollect.models.remote.time", clock)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_slow_server_is_given_up_in_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.server.delay_s = 3600.0
    clock = Clock(monkeypatch)
    message = bench.failure(bench.remote(timeout_s=0.2, sleep=clock.sleep), transient=True)
    assert "rerank.timeout_s" in message
    assert clock.now < 3 * 0.2 + 0.1
    assert 1 < len(clock.tries) <= TRIES


def test_an_answer_that_trickles_is_given_up_as_well(bench: Bench) -> None:
    """Each byte comes in time, the whole does not."""
    bench.server.fault = Fault.TRICKLE
    body = {"documents": ["a"] * 50_000}  # an answer that takes hours to come
    remote = bench.remote(timeout_s=0.3)
    with pytest.raises(ProviderError, match="in time") as caught:
        remote.post("/rerank", BODY | body, dict[str, Any])
    assert caught.value.transient


def test_no_pause_is_begun_that_would_outlast_the_deadline(bench: Bench) -> None:
    bench.server.fail_next(10, 503, retry_after="3")
    bench.failure(bench.remote(timeout_s=0.5), transient=True)
    assert bench.pauses == []
    assert len(bench.server.requests) == 1


def test_retry_after_is_honoured(bench: Bench) -> None:
    bench.server.fail_next(1, 429, retry_after="2")
    ask(bench.remote())
    (pause,) = bench.pauses
    assert 2 < pause < 2.5


def test_a_long_retry_after_is_bounded_and_told(bench: Bench) -> None:
    bench.server.fail_next(10, 429, retry_after="3600")
    assert "3600 s" in bench.failure(bench.remote(timeout_s=60.0), transient=True)
    assert bench.pauses == [LONGEST_PAUSE_S] * (TRIES - 1)


@given(st.integers(1, 20), st.floats(0, 1e6), st.floats(0, 1))
def test_pauses_are_bounded_but_long_enough(attempt: int, asked_s: float, chance: float) -> None:
    pause = pause_s(attempt, asked_s, chance)
    assert 0 < pause <= LONGEST_PAUSE_S
    assert pause >= min(asked_s, LONGEST_PAUSE_S)


def test_pauses_double_and_vary_by_chance() -> None:
    assert [pause_s(n, 0, 0) for n in (1, 2, 3)] == [0.25, 0.5, 1.0]
    assert pause_s(1, 0, 1) == 0.125


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("", 0), ("7", 7), ("0.5", 0.5), ("-3", 0), ("nan", 0), ("inf", 0), ("soon", 0),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0)],
)  # fmt: skip
def test_retry_after_is_read_in_seconds_or_as_a_date(header: str, seconds: float) -> None:
    assert retry_after_s(header) == seconds
    assert 25 < retry_after_s(formatdate(time.time() + 30, usegmt=True)) <= 30


def test_a_single_try_is_not_repeated(bench: Bench) -> None:
    bench.server.fail_next(1, 503)
    with pytest.raises(ProviderError):
        bench.remote().get_once("/api/ps", dict[str, Any], timeout_s=60.0)
    assert len(bench.server.requests) == 1


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_not_used_for_loopback(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert ask(bench.remote())["results"]


def test_an_environments_proxy_is_used(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", bench.server.url)
    bench.failure(bench.remote("http://model.example"), transient=False)
    assert bench.server.requests[0].path == "http://model.example/rerank"


def test_a_bad_proxy_hides_its_password(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://me:hunter2@proxy")
    remote = bench.remote("http://model.example")
    with pytest.raises(ProviderError, match="check HTTP_PROXY") as caught:
        ask(remote)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_user_and_password_of_the_address_are_sent_but_never_shown(bench: Bench) -> None:
    url = bench.server.url.replace("http://", "http://me:hunter2@")
    bench.server.fail_next(1, 404)
    remote = bench.remote(url, key=Key())
    assert "hunter2" not in bench.failure(remote, transient=False)
    assert "hunter2" not in repr(remote)
    assert bench.server.requests[0].headers["authorization"].startswith("Basic ")


def test_the_paths_of_the_address_are_joined_and_its_query_is_kept(bench: Bench) -> None:
    bench.failure(bench.remote(f"{bench.server.url}/deep/?version=2"), transient=False)
    assert bench.server.requests[0].path == "/deep/rerank?version=2"


def test_one_connection_pool_serves_many_threads(bench: Bench) -> None:
    remote = bench.remote()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: ask(remote), range(40)))
    assert all(answer["results"] for answer in answers)
    assert len(bench.server.requests) == 40


def test_a_closed_remote_opens_again(bench: Bench) -> None:
    remote = bench.remote()
    ask(remote)
    remote.close()
    remote.close()
    assert ask(remote)["results"]


def test_closing_during_a_request_raises_nothing_but_provider_errors(bench: Bench) -> None:
    bench.server.delay_s = 0.3
    remote = bench.remote(timeout_s=1.0)
    with ThreadPoolExecutor(1) as threads:
        under_way = threads.submit(ask, remote)
        while not bench.server.requests:
            time.sleep(0.01)
        remote.close()
        error = under_way.exception()
    assert error is None or isinstance(error, ProviderError)


def test_a_client_closed_by_another_thread_just_before_use_is_transient(bench: Bench) -> None:
    remote = bench.remote()
    remote._http_client().close()
    assert "closed" in bench.failure(remote, transient=True)


def test_a_key_is_stripped_and_shown_by_no_repr() -> None:
    key = Key.read({"TOY": f" {KEY}\n"}, "TOY")
    assert key.secret == KEY
    assert KEY not in repr(key)
    assert "TOY" in repr(key)
    assert Key.read({"TOY": KEY}, "").secret == ""


@pytest.mark.parametrize("bad", ["sk-\u00e9", "sk-a\nb", "sk-\x00"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(bad: str) -> None:
    with pytest.raises(UserError, match=r"\$TOY") as caught:
        Key.read({"TOY": bad}, "TOY")
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://127.0.0.1:1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:80", True),
        ("http://localhost/v1", True),
        ("http://LOCALHOST", True),
        ("http://ollama.localhost", True),
        ("http://0.0.0.0:11434", True),
        ("http://localhost.example", False),
        ("http://10.0.0.1", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_what_counts_as_loopback(url: str, near: bool) -> None:
    assert is_loopback(urlsplit(url)) is near


@pytest.mark.parametrize("url", ["", "host", "host:80", "ftp://h", "http://", "http://[::1", "//h"])
def test_what_is_no_http_address_is_refused_by_the_settings_name(url: str) -> None:
    with pytest.raises(UserError, match=r"rerank\.base_url"):
        checked_url(url, "rerank.base_url")


def test_the_host_is_named_without_user_and_password() -> None:
    assert host_of(urlsplit("https://me:pw@host:8080/v1?key=1")) == "host:8080"


def test_items_are_ordered_by_their_index() -> None:
    assert sort_by_index([(1, "b"), (0, "a")], count=2, who="The toy") == ["a", "b"]


@pytest.mark.parametrize("indexes", [[0], [0, 0], [0, 2], [1, 2], [-1, 0], [0, 1, 2]])
def test_indexes_must_be_each_exactly_once(indexes: list[int]) -> None:
    with pytest.raises(ProviderError, match="The toy") as caught:
        sort_by_index([(index, None) for index in indexes], count=2, who="The toy")
    assert not caught.value.transient


def test_an_answer_without_end_is_given_up(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.models.remote.LARGEST_ANSWER", 10)
    assert "more than" in bench.failure(bench.remote(), transient=False)


@pytest.mark.parametrize("reply", [b'{"a": "\xff"}', b'{"a":' + b"[" * 100_000, b"", b"{"])
def test_replies_that_break_parsers_are_provider_errors(bench: Bench, reply: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        bench.remote()._decode(reply, dict[str, Any])
    assert not caught.value.transient
