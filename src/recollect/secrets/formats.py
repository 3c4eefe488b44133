"""Detectors for credentials that are recognised by their own format."""

from __future__ import annotations

import re
from base64 import b64decode, urlsafe_b64decode

import msgspec

from recollect.secrets.detectors import (
    ALONE,
    SECRET,
    START,
    Detector,
    compile_once,
    group_span,
    is_made_up,
    span_unless_made_up,
)
from recollect.types import Span

# Keys in blocks

_BLOCK = r"(?:(?!PRIVATE KEY)[A-Z0-9]++ )*+PRIVATE KEY(?: BLOCK)?+-----"
_LINE_END = r"(?:\s|\\[nr]|[\"'+>*])"
# A key block without an end line: lines of base64, and the headers of old formats.
_REST = (
    rf"(?:{_LINE_END}*+"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]*+|[A-Za-z0-9+/=]{20,}+))++"
    r"(?:(?:\s|\\[nr])++[A-Za-z0-9+/]++={0,2}+(?=[\s\\\"']|\Z))?+"
)
_MATERIAL = re.compile(r"[A-Za-z0-9+/]{16}")


def block_span(found: re.Match[str]) -> Span | None:
    """Return the whole block, or without an end line, as far as it looks like a key. None if the
    block is only mentioned."""
    if found["end"]:
        return Span(*found.span()) if _MATERIAL.search(found["body"]) else None
    rest = compile_once(_REST).match(found.string, found.start("body"), found.end("body"))
    return Span(found.start(), rest.end()) if rest else None


BLOCKS = (
    Detector(
        "private key",
        ("-----BEGIN ",),
        # The body goes as far as the next five hyphens, so that no two attempts read the same.
        rf"-----BEGIN {_BLOCK}(?P<body>[^-]*+(?:-(?!----)[^-]*+)*+)(?P<end>-----END {_BLOCK})?+",
        "RFC 7468; RFC 4880, 6.2; openssh.com's PROTOCOL.key",
        block_span,
    ),
    Detector(
        "private key",
        ("Private-Lines:",),
        r"Private-Lines: \d++\s++(?P<secret>(?:[A-Za-z0-9+/=]{4,}+\s*+)++)",
        "PuTTY's manual, appendix C: PPK file format",
        group_span,
    ),
    Detector(
        "private key",
        ("AGE-SECRET-KEY-1",),
        r"(?<!\w)AGE-SECRET-KEY-1[A-Z0-9]{50,}+",
        "github.com/C2SP/C2SP, age.md",
    ),
)  # fmt: skip


# Tokens that begin with a prefix of their service

_NUMBER = re.compile(r"(?<!\d)\d{8,10}$")


def telegram_span(found: re.Match[str]) -> Span | None:
    """Return the token with the bot's number, which comes before the needle."""
    start = found.start()
    number = _NUMBER.search(found.string[max(0, start - 11) : start])
    return Span(start - len(number[0]), found.end()) if number else None


_BEFORE_SIGNATURE = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{76}$")


def devops_span(found: re.Match[str]) -> Span | None:
    """Return the token with the 76 characters before its signature, which is the needle."""
    start = found.start()
    before = _BEFORE_SIGNATURE.search(found.string[max(0, start - 77) : start])
    return Span(start - 76, found.end()) if before and not is_made_up(before[0]) else None


_OLDER_DEVOPS = re.compile(r"(?<![A-Za-z0-9])(?=[a-z]{0,40}[2-7])[a-z2-7]{52}(?![A-Za-z0-9])")
AROUND_NAME = 120  # characters searched on either side of a name


def older_devops_span(found: re.Match[str]) -> Span | None:
    """Return a token of the older form, which only a name in the same line reveals."""
    text, at = found.string, found.start()
    start = max(text.rfind("\n", 0, at) + 1, at - AROUND_NAME)
    end = text.find("\n", at, at + AROUND_NAME)
    token = _OLDER_DEVOPS.search(text, start, end if end >= 0 else at + AROUND_NAME)
    return Span(*token.span()) if token and not is_made_up(token[0]) else None


TOKENS = (
    Detector(
        "aws access key id",
        ("AKIA", "ASIA"),
        START + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
    ),
    Detector(
        "aws secret key",
        (),
        r"(?i:secret[_. -]?(?:access[_. -]?)?key)\\?[\"']?\]?[ \t]{0,20}(?:=>|:=|[=:])?+[ \t]{0,20}"
        r"\\?[\"']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        "docs.aws.amazon.com/STS/latest/APIReference/API_GetAccessKeyInfo.html (its example)",
        span_unless_made_up,
        ("secret",),
    ),
    Detector(
        "slack token",
        ("xox", "xapp-"),
        START + r"(?:xox[abeprs][.-](?:xox[bp]-)?|xapp-)(?=[\w-]{0,60}\d)[\w-]{20,}+",
        "docs.slack.dev/authentication/tokens",
    ),
    Detector(
        "slack webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/-]{24,}+)",
        "docs.slack.dev/messaging/sending-messages-using-incoming-webhooks",
    ),
    Detector(
        "stripe key",
        ("sk_", "rk_", "whsec_"),
        START + r"(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/]{16,}+={0,2}+",
        "docs.stripe.com/keys",
    ),
    Detector(
        "telegram token",
        (":AA",),
        r":AA[\w-]{33}(?![\w-])",
        "core.telegram.org/bots/api#authorizing-your-bot",
        telegram_span,
    ),
    Detector(
        "azure key",
        (),
        r"(?i:accountkey|sharedaccesskey|sharedaccesssignature)="
        r"(?P<secret>(?=[^\s;\"']{0,99}\d)[A-Za-z0-9+/%&=. -]{30,}+)",
        "learn.microsoft.com/azure/storage/common/storage-configure-connection-string",
        span_unless_made_up,
        ("accountkey=", "sharedaccess"),
    ),
    Detector(
        "azure signature",
        ("sig=",),
        r"(?<=[?&])sig=(?P<secret>(?:[A-Za-z0-9+/]|%[0-9A-Fa-f]{2}){40,}+=?+)",
        "learn.microsoft.com/rest/api/storageservices/create-service-sas",
    ),
    Detector(
        "azure devops token",
        ("AZDO",),
        r"AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])",
        "learn.microsoft.com/purview/sit-defn-azure-devops-personal-access-token",
        devops_span,
        long=True,
    ),
    Detector(
        "azure devops token",
        (),
        r"",
        "learn.microsoft.com/azure/devops/cli/log-in-via-pat",
        older_devops_span,
        ("devops", "dev.azure.com", "visualstudio.com", "vsts", "pat=", "pat:", "pat is"),
    ),
    Detector(
        "private key",
        (),
        r"(?i:client-key-data)\\?[\"']?[ \t]{0,4}:[ \t]{0,4}\\?[\"']?"
        r"(?P<secret>[A-Za-z0-9+/]{40,}+={0,2}+)",
        "kubernetes.io/docs/reference/config-api/kubeconfig.v1: client-key-data",
        words=("client-key-data",),
    ),
    Detector(
        "kubernetes token",
        (),
        r"(?i:token)\\?[\"']?[ \t]{0,4}[:= ][ \t]{0,4}\\?[\"']?"
        r"(?P<secret>(?=[a-z.]{0,22}\d)[a-z0-9]{6}\.[a-z0-9]{16})(?![\w.-])",
        "kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens",
        words=("token",),
    ),
    Detector(
        "discord webhook",
        ("/webhooks/",),
        r"/webhooks/\d{17,20}/(?P<secret>[\w-]{60,}+)",
        "discord.com/developers/docs/resources/webhook",
        long=True,
    ),
    Detector(
        "vault token",
        ("hvs.", "hvb."),
        START + r"hv[sb]\.[\w-]{24,}+",
        "developer.hashicorp.com/vault/docs/concepts/tokens",
    ),
)  # fmt: skip


# Credentials that must be decoded to be recognized


def jwt_span(found: re.Match[str]) -> Span | None:
    """Return the token if its first part is a header that names an algorithm."""
    head = found["head"]
    try:
        header = msgspec.json.decode(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return None
    return Span(*found.span()) if isinstance(header, dict) and "alg" in header else None


def basic_auth_span(found: re.Match[str]) -> Span | None:
    """Return the user and password of a header if they decode to text with a colon."""
    try:
        plain = b64decode(found[SECRET] + "=" * (-len(found[SECRET]) % 4))
    except ValueError:
        return None
    return group_span(found) if b":" in plain else None


def bearer_span(found: re.Match[str]) -> Span | None:
    value = found[SECRET]
    mixed = any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)
    return span_unless_made_up(found) if mixed else None


def encoded_key_span(found: re.Match[str]) -> Span | None:
    """Return the whole of a key in base64, unless it is a certificate."""
    return Span(*found.span()) if b"PRIVATE KEY" in b64decode(found[0][:64]) else None


def discord_span(found: re.Match[str]) -> Span | None:
    """Return the token if its first part is a bot's number."""
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
        encoded_key_span,
        long=True,
    ),
    Detector(
        "discord token",
        # A number in base64: its first digit makes the first two letters.
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
        r"(?<![\w+/-])(?P<head>[MNO][A-Za-z0-9]{22,27})\.[\w-]{6}\.[\w-]{27,38}(?![\w-])",
        "discord.com/developers/docs/reference#authentication (its example)",
        discord_span,
        long=True,
    ),
    Detector(
        "jwt",
        ("eyJ",),
        # Longer headers than these are not worth decoding.
        ALONE + r"(?P<head>eyJ[\w-]{8,2000}+)\.[\w-]{4,}+(?:\.[\w-]*+){1,3}+",
        "RFC 7519; RFC 7515, 3.1; RFC 7516, 3.1",
        jwt_span,
    ),
    Detector(
        "basic auth",
        (),
        r"(?i:authorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?basic) {1,4}"
        r"(?P<secret>[A-Za-z0-9+/]{8,}+={0,2}+)",
        "RFC 7617",
        basic_auth_span,
        ("authorization",),
    ),
    Detector(
        "bearer token",
        (),
        r"(?i:(?<![a-z])bearer"
        r"|authorization\\?[\"']?\s{0,4}[:=,]\s{0,4}[rbf]?\\?[\"']?(?:token|apikey)) {1,4}"
        r"(?P<secret>[A-Za-z0-9._~+/-]{16,}+=*+)",
        "RFC 6750, 2.1",
        bearer_span,
        ("bearer", "authorization"),
    ),
)  # fmt: skip
