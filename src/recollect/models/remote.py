"""JSON over HTTP to a model provider: time-outs, bounded retries, errors as sentences.

No sentence has the API key, the request's texts, or the server's own words (which may quote both).
Of the address it has only the host, since a URL may have a password.
"""

from __future__ import annotations

import ipaddress
import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import SplitResult, urlunsplit

import msgspec

from recollect.errors import ProviderError, UserError
from recollect.settings_reading import checked_url

if TYPE_CHECKING:  # httpx2 takes about 100 ms to import; most commands never need it
    import httpx2

Answer = TypeVar("Answer")
Item = TypeVar("Item")

TRIES = 3
LONGEST_TIMEOUT_S = 3600.0
# Five times the largest honest answer: 100 vectors of 4,096 numbers are about 9 MB of JSON.
LARGEST_ANSWER = 48 * 2**20

NOT_NOW = {408, 425, 429}  # and every 5xx
FIRST_SERVER_ERROR = 500
FIRST_PAUSE_S = 0.25
# A search should not wait longer; a server that needs more time to recover is reported instead.
LONGEST_PAUSE_S = 4.0


@dataclass(frozen=True)
class Key:
    """An API key and its environment variable; only the variable is ever shown."""

    variable: str = ""
    secret: str = field(default="", repr=False)

    @classmethod
    def read(cls, environment: Mapping[str, str], variable: str) -> Key:
        """Read the key from `variable`; empty if the variable is unset or unnamed."""
        secret = environment.get(variable, "").strip() if variable else ""
        if not (secret.isascii() and secret.isprintable()):
            raise UserError(
                f"The key in ${variable} holds characters that no HTTP header can carry; "
                "set it again."
            )
        return cls(variable, secret)


class _BusyError(ProviderError):
    """A transient failure, with the pause in seconds that the server asked for, or 0."""

    def __init__(self, message: str, asked_s: float = 0.0) -> None:
        super().__init__(message, transient=True)
        self.asked_s = asked_s


@dataclass(frozen=True)
class Blamed:
    """The settings that an error message names as the cause."""

    url: str
    timeout: str
    key: str

    @classmethod
    def of(cls, section: str) -> Blamed:
        return cls(f"{section}.base_url", f"{section}.timeout_s", f"{section}.api_key_env")


class Remote:
    """One provider's server. Threads may share it: they use one connection pool.

    A request whose failure may pass (no connection, a time-out, 408, 425, 429, 5xx) is tried up to
    `TRIES` times; no try begins later than `TRIES` × `timeout_s` seconds after the first. httpx2
    times connecting and each read apart, so the last try may overrun that by a time-out or two.
    """

    def __init__(
        self,
        base_url: str,
        *,
        blamed: Blamed,
        who: str,
        timeout_s: float,
        key: Key = Key(),  # noqa: B008  frozen
        hints: Mapping[int, str] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Check the settings.

        blamed: the settings that error messages name.
        who: the start of each message.
        hints: what to do about a status code.
        """
        self._base = checked_url(base_url, blamed.url)
        if not 0 < timeout_s <= LONGEST_TIMEOUT_S:
            raise UserError(
                f"{blamed.timeout} must be above 0 and at most {LONGEST_TIMEOUT_S:g} seconds."
            )
        self._blamed = blamed
        self._place = f"{who} at {host_of(self._base)}"
        self._timeout_s = timeout_s
        self._key = key
        self._hints = {**_key_hints(key, blamed.key), **(hints or {})}
        self._sleep = sleep
        self._client: httpx2.Client | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Remote {self._place}>"

    def post(self, path: str, body: Mapping[str, Any], answer: type[Answer]) -> Answer:
        """Send `body` as JSON to the base URL + `path`; return the reply as an `answer`."""
        # A lone surrogate has no UTF-8 form; it is sent as "?" rather than failing the batch.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", errors="replace")
        return self._decode(self._with_retries("POST", path, content), answer)

    def post_once(
        self, path: str, body: Mapping[str, Any], answer: type[Answer], *, timeout_s: float
    ) -> Answer:
        """Like `post`, in a single try with a time-out of its own."""
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", errors="replace")
        return self._decode(self._once("POST", path, content, timeout_s), answer)

    def get_once(self, path: str, answer: type[Answer], *, timeout_s: float) -> Answer:
        """Read the base URL + `path` in a single try, with a time-out of its own."""
        return self._decode(self._once("GET", path, None, timeout_s), answer)

    def ready(self) -> None:
        """Create the HTTP client, which takes a moment; no request is sent."""
        self._http_client()

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _with_retries(self, method: str, path: str, content: bytes) -> bytes:
        deadline = time.monotonic() + TRIES * self._timeout_s
        attempt = 1
        while True:
            # Above 0: a pause may last longer than asked, and sockets refuse other time-outs.
            left_s = max(0.01, deadline - time.monotonic())
            try:
                return self._once(method, path, content, min(self._timeout_s, left_s))
            except _BusyError as failure:
                pause = pause_s(attempt, failure.asked_s, random.random())
                if attempt == TRIES or time.monotonic() + pause >= deadline:
                    raise
            self._sleep(pause)
            attempt += 1

    def _once(self, method: str, path: str, content: bytes | None, timeout_s: float) -> bytes:
        import httpx2  # noqa: PLC0415  start-up time

        url = urlunsplit(self._base._replace(path=self._base.path.rstrip("/") + path))
        give_up = time.monotonic() + timeout_s
        try:
            client = self._http_client()
            with client.stream(method, url, content=content, timeout=timeout_s) as response:
                self._check_status(response)
                return self._body(response, give_up)
        except httpx2.TimeoutException as error:
            raise self._late() from error
        except httpx2.ConnectError as error:
            raise self._connect_error(error) from error
        except httpx2.TransportError as error:
            raise _BusyError(f"{self._place} closed the connection before it answered.") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:  # the last: "a..b"
            raise self._permanent(
                f"cannot be called ({type(error).__name__}); check {self._blamed.url}"
            ) from error
        except RuntimeError as error:  # another thread closed the client
            raise _BusyError(
                f"{self._place} was called while its connections were being closed; try again."
            ) from error

    def _http_client(self) -> httpx2.Client:
        import httpx2  # noqa: PLC0415  start-up time

        near = is_loopback(self._base)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key.secret:
            headers["Authorization"] = f"Bearer {self._key.secret}"
        with self._lock:
            if self._client is None:
                try:
                    self._client = httpx2.Client(
                        headers=headers,
                        # A proxy would look for the loopback address on its own machine.
                        trust_env=not near,
                        # Plain HTTP to this machine has no certificates; loading the authorities'
                        # would take 20 ms.
                        verify=not (near and self._base.scheme == "http"),
                    )
                except (ImportError, OSError, ValueError, httpx2.InvalidURL):
                    # From None: the cause may quote a proxy's password.
                    raise self._permanent(
                        "cannot be reached as the environment says; check HTTP_PROXY, "
                        "HTTPS_PROXY, ALL_PROXY, NO_PROXY and SSL_CERT_FILE"
                    ) from None
            return self._client

    def _check_status(self, response: httpx2.Response) -> None:
        status = response.status_code
        if response.is_success:
            return
        hint = f"; {self._hints[status]}" if status in self._hints else ""
        if status in NOT_NOW or status >= FIRST_SERVER_ERROR:
            asked_s = retry_after_s(response.headers.get("Retry-After", ""))
            wait = f"; it asks to wait {asked_s:.0f} s" if asked_s > LONGEST_PAUSE_S else ""
            raise _BusyError(f"{self._place} answered {status}{hint}{wait}.", asked_s)
        if response.is_redirect:
            hint = f"; it has moved, check {self._blamed.url}"
        raise self._permanent(f"answered {status}{hint}")

    def _body(self, response: httpx2.Response, give_up: float) -> bytes:
        """Return the whole reply. httpx2's time-out is per read, so a slow trickle is checked
        here."""
        received = bytearray()
        for chunk in response.iter_bytes():
            received += chunk
            if len(received) > LARGEST_ANSWER:
                raise self._permanent(f"answered with more than {LARGEST_ANSWER >> 20} MB")
            if time.monotonic() > give_up:
                raise self._late()
        return bytes(received)

    def _decode(self, reply: bytes, answer: type[Answer]) -> Answer:
        try:
            return _parse(reply, answer)
        except msgspec.ValidationError as error:
            raise self._permanent(f"answered in an unexpected shape: {error}") from error
        except (ValueError, RecursionError) as error:
            raise self._permanent(
                f"answered with something that is not JSON; check {self._blamed.url}"
            ) from error

    def _connect_error(self, error: httpx2.ConnectError) -> ProviderError:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return self._permanent(
                "has a TLS certificate that is not trusted here; set SSL_CERT_FILE to the "
                "authority's certificate if it is your own server"
            )
        return _BusyError(
            f"{self._place} cannot be reached; check that the server is running and that "
            f"{self._blamed.url} is right."
        )

    def _late(self) -> _BusyError:
        return _BusyError(
            f"{self._place} did not answer in time; you can raise {self._blamed.timeout}."
        )

    def _permanent(self, what: str) -> ProviderError:
        return ProviderError(f"{self._place} {what}.", transient=False)


def host_of(url: SplitResult) -> str:
    """Return host and port, without user and password."""
    return url.netloc.rpartition("@")[2]


def is_loopback(url: SplitResult) -> bool:
    """Return True for an address of this machine."""
    host = url.hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def sort_by_index(items: Iterable[tuple[int, Item]], *, count: int, who: str) -> list[Item]:
    """Return items by their index, which must be each of 0 … `count` - 1 exactly once."""
    numbered = sorted(items, key=lambda pair: pair[0])
    if [index for index, _ in numbered] != list(range(count)):
        raise ProviderError(
            f"{who} gave {len(numbered)} results for {count} texts, or numbered them wrongly.",
            transient=False,
        )
    return [item for _, item in numbered]


def _parse(reply: bytes, answer: type[Answer]) -> Answer:
    try:
        return msgspec.json.decode(reply, type=answer)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Python servers write NaN, which is not JSON; the check of the numbers reports it.
        return msgspec.convert(json.loads(reply), answer)


def _key_hints(key: Key, setting: str) -> dict[int, str]:
    if not key.variable:
        advice = f"if it wants a key, name the variable that holds it in {setting}"
    elif key.secret:
        advice = f"check the key in ${key.variable}"
    else:
        advice = f"put the key into ${key.variable}, which is not set"
    return {
        401: advice,
        403: advice,
        429: "too many requests, or the account's quota is used up",
    }


def pause_s(attempt: int, asked_s: float, chance: float) -> float:
    """Return the seconds to wait after try number `attempt` (from 1): doubled each time, less up to
    half by `chance` (0…1), plus the server's own pause, at most LONGEST_PAUSE_S."""
    own = FIRST_PAUSE_S * 2.0 ** (attempt - 1) * (1 - chance / 2)
    return min(LONGEST_PAUSE_S, asked_s + own)


def retry_after_s(header: str) -> float:
    """Return the seconds of a Retry-After header (a number or an HTTP date); 0 if unreadable."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return 0.0
    return max(0.0, seconds) if isfinite(seconds) else 0.0
