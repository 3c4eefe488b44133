"""Credentials that must be decoded to be recognized."""

from __future__ import annotations

import re
from base64 import b64decode, urlsafe_b64decode

import msgspec

from recollect.secrets.detectors import SECRET, Detector, of_group, unless_made_up
from recollect.secrets.prefixes import ALONE
from recollect.types import Span


def of_jwt(found: re.Match[str]) -> Span | None:
    """The token, if its first part is a header that names an algorithm."""
    head = found["head"]
    try:
        header = msgspec.json.decode(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return None
    return Span(*found.span()) if isinstance(header, dict) and "alg" in header else None


def of_basic(found: re.Match[str]) -> Span | None:
    """The user and password of a header, if it decodes to text with a colon."""
    try:
        plain = b64decode(found[SECRET] + "=" * (-len(found[SECRET]) % 4))
    except ValueError:
        return None
    return of_group(found) if b":" in plain else None


def of_bearer(found: re.Match[str]) -> Span | None:
    value = found[SECRET]
    mixed = any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)
    return unless_made_up(found) if mixed else None


def of_encoded_key(found: re.Match[str]) -> Span | None:
    """The whole of a key in base64, unless it begins with the line of a certificate."""
    return Span(*found.span()) if b"PRIVATE KEY" in b64decode(found[0][:64]) else None


def of_discord(found: re.Match[str]) -> Span | None:
    """The token, if its first part is the number of a bot."""
    head = found["head"]
    try:
        number = urlsafe_b64decode(head + "=" * (-len(head) % 4))
    except ValueError:
        return None
    return Span(*found.span()) if number.isdigit() else None


DECODED = (
    Detector(
        "private key",
        ("LS0tLS1CRUdJTi",),
        # `-----BEGIN` in base64, in one line or in several.
        r"(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/]{50,}+"
        r"(?:(?:\r?\n[ \t]*+[A-Za-z0-9+/]{40,}+)++"
        r"(?:\r?\n[ \t]*+[A-Za-z0-9+/]{1,39}+(?=[=\s\"']|\Z))?+)?+={0,2}+",
        "kubernetes.io/docs/reference/config-api/kubeconfig.v1: client-key-data; RFC 7468",
        of_encoded_key,
        long=True,
    ),
    Detector(
        "discord token",
        # A number in base64: its first digit makes the first two letters.
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        r"(?<![\w+/-])(?P<head>[MNO][A-Za-z0-9]{22,27})\.[\w-]{6}\.[\w-]{27,38}(?![\w-])",
        "discord.com/developers/docs/reference#authentication (its example)",
        of_discord,
        long=True,
    ),
    Detector(
        "jwt",
        ("eyJ",),
        # Longer headers than these are not worth decoding.
        ALONE + r"(?P<head>eyJ[\w-]{8,2000}+)\.[\w-]{4,}+(?:\.[\w-]*+){1,3}+",
        "RFC 7519; RFC 7515, 3.1; RFC 7516, 3.1",
        of_jwt,
    ),
    Detector(
        "basic auth",
        (),
        r"(?i:authorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?basic) {1,4}"
        r"(?P<secret>[A-Za-z0-9+/]{8,}+={0,2}+)",
        "RFC 7617",
        of_basic,
        ("authorization",),
    ),
    Detector(
        "bearer token",
        (),
        r"(?i:(?<![a-z])bearer"
        r"|authorization\\?[\"']?\s{0,4}[:=,]\s{0,4}[rbf]?\\?[\"']?(?:token|apikey)) {1,4}"
        r"(?P<secret>[A-Za-z0-9._~+/-]{16,}+=*+)",
        "RFC 6750, 2.1",
        of_bearer,
        ("bearer", "authorization"),
    ),
)  # fmt: skip
