"""Addresses of model providers and other servers: checked, and shown without passwords."""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from recollect.errors import UserError


def checked_url(url: str, setting: str) -> SplitResult:
    """The parts of an http(s) URL; UserError naming the setting (not its value) otherwise."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an impossible port, a bracket left open
        usable = False
    if not usable:
        raise UserError(
            f"{setting} must be an http:// or https:// address, such as http://127.0.0.1:8080."
        )
    return parts


def host_of(url: SplitResult) -> str:
    """Host and port, without user and password."""
    return url.netloc.rpartition("@")[2]


def is_loopback(url: SplitResult) -> bool:
    """Whether the address is this machine's own."""
    host = url.hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified
