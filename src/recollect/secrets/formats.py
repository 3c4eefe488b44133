"""The formats of credentials: a detector for each kind that its own format gives away."""

from __future__ import annotations

import re
from base64 import b64decode, urlsafe_b64decode

import msgspec

from recollect.secrets.detectors import SECRET, Detector, compiled, of_group, unless_made_up
from recollect.types import Span

# A token may begin anywhere but inside a word; an escape before it (`\\n`, `%3D`) is no word.
_ESCAPE = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])"
_START = rf"(?:(?<![A-Za-z0-9])|{_ESCAPE})"
_ALONE = rf"(?:(?<![\w-])|{_ESCAPE})"


# Keys in blocks

_BLOCK = r"(?:(?!PRIVATE KEY)[A-Z0-9]++ )*+PRIVATE KEY(?: BLOCK)?+-----"
_LINE_END = r"(?:\s|\\[nr]|[\"'+>*])"
# The rest of a block without an end: lines of base64, and the headers of old formats.
_REST = (
    rf"(?:{_LINE_END}*+"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]*+|[A-Za-z0-9+/=]{20,}+))++"
    r"(?:(?:\s|\\[nr])++[A-Za-z0-9+/]++={0,2}+(?=[\s\\\"']|\Z))?+"
)
_MATERIAL = re.compile(r"[A-Za-z0-9+/]{16}")


def of_block(found: re.Match[str]) -> Span | None:
    """The whole block; without an end, as far as it looks like a key. None for a mere mention."""
    if found["end"]:
        return Span(*found.span()) if _MATERIAL.search(found["body"]) else None
    rest = compiled(_REST).match(found.string, found.start("body"), found.end("body"))
    return Span(found.start(), rest.end()) if rest else None


BLOCKS = (
    Detector(
        "private key",
        ("-----BEGIN ",),
        # The body goes as far as the next five hyphens, so that no two attempts read the same.
        rf"-----BEGIN {_BLOCK}(?P<body>[^-]*+(?:-(?!----)[^-]*+)*+)(?P<end>-----END {_BLOCK})?+",
        "RFC 7468; RFC 4880, 6.2; openssh.com's PROTOCOL.key",
        of_block,
    ),
    Detector(
        "private key",
        ("Private-Lines:",),
        r"Private-Lines: \d++\s++(?P<secret>(?:[A-Za-z0-9+/=]{4,}+\s*+)++)",
        "PuTTY's manual, appendix C: PPK file format",
        of_group,
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


def of_telegram(found: re.Match[str]) -> Span | None:
    """The token with the number of the bot, which comes before the needle."""
    start = found.start()
    number = _NUMBER.search(found.string[max(0, start - 11) : start])
    return Span(start - len(number[0]), found.end()) if number else None


TOKENS = (
    Detector(
        "aws access key id",
        ("AKIA", "ASIA"),
        _START + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html",
    ),
    Detector(
        "aws secret key",
        (),
        r"(?i:secret[_. -]?(?:access[_. -]?)?key)\\?[\"']?\]?[ \t]{0,20}(?:=>|:=|[=:])?+[ \t]{0,20}"
        r"\\?[\"']?(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        "docs.aws.amazon.com/STS/latest/APIReference/API_GetAccessKeyInfo.html (its example)",
        unless_made_up,
        ("secret",),
    ),
    Detector(
        "github token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        _START + r"(?:gh[pousr]_|github_pat_)\w{36,}+",
        "github.blog/changelog/2021-03-31-authentication-token-format-updates-are-generally-available",
    ),
    Detector(
        "gitlab token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"),
        _START + r"gl(?:pat|dt|rt|ptt|cbt|soat)-[\w-]{20,}+(?:\.[\w-]{2,}+){0,2}",
        "docs.gitlab.com/security/tokens",
    ),
    Detector(
        "slack token",
        ("xox", "xapp-"),
        _START + r"(?:xox[abeprs][.-](?:xox[bp]-)?|xapp-)(?=[\w-]{0,60}\d)[\w-]{20,}+",
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
        _START + r"(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/]{16,}+={0,2}+",
        "docs.stripe.com/keys",
    ),
    Detector(
        "anthropic key",
        ("sk-ant-",),
        _START + r"sk-ant-(?=[\w-]{0,60}\d)[\w-]{24,}+",
        "docs.anthropic.com/en/api/overview",
    ),
    Detector(
        "openai key",
        ("sk-",),
        # Not `sk-` in a class name of a style sheet: one run of 32 with a digit, or the prefixes.
        _ALONE + r"sk-(?=[\w-]{0,80}\d)(?=[\w-]{0,80}[A-Z])"
        r"(?:(?:proj|svcacct|admin|None)-[\w-]{20,}+|[A-Za-z0-9]{32,}+[\w-]*+)",
        "platform.openai.com/docs/api-reference/authentication",
    ),
    Detector(
        "google key",
        ("AIza", "GOCSPX-", "ya29."),
        _ALONE + r"(?:AIza[\w-]{35}(?![\w-])|GOCSPX-[\w-]{24,}+|ya29\.[\w-]{30,}+)",
        "cloud.google.com/docs/authentication/api-keys",
    ),
    Detector(
        "npm token",
        ("npm_",),
        _START + r"npm_[A-Za-z0-9]{36,}+",
        "github.blog/changelog/2021-09-23-npm-has-a-new-access-token-format",
    ),
    Detector(
        "pypi token",
        ("pypi-",),
        # What follows is a macaroon in base64, and those of pypi.org begin alike.
        _START + r"pypi-AgE[\w-]{50,}+",
        "warehouse.pypa.io/development/token-scanning.html",
    ),
    Detector(
        "hugging face token",
        ("hf_",),
        _START + r"hf_[A-Za-z0-9]{30,}+",
        "huggingface.co/docs/hub/security-tokens",
    ),
    Detector(
        "sendgrid key",
        ("SG.",),
        _START + r"SG\.[\w-]{22}\.[\w-]{43}(?![\w-])",
        "twilio.com/docs/sendgrid/ui/account-and-settings/api-keys: 69 characters",
    ),
    Detector(
        "twilio key",
        ("SK",),
        _START + r"SK[0-9a-f]{32}(?![A-Za-z0-9])",
        "twilio.com/docs/glossary/what-is-a-sid",
    ),
    Detector(
        "telegram token",
        (":AA",),
        r":AA[\w-]{33}(?![\w-])",
        "core.telegram.org/bots/api#authorizing-your-bot",
        of_telegram,
    ),
    Detector(
        "azure key",
        (),
        r"(?i:accountkey|sharedaccesskey|sharedaccesssignature)="
        r"(?P<secret>(?=[^\s;\"']{0,99}\d)[A-Za-z0-9+/%&=. -]{30,}+)",
        "learn.microsoft.com/azure/storage/common/storage-configure-connection-string",
        unless_made_up,
        ("accountkey=", "sharedaccess"),
    ),
    Detector(
        "azure signature",
        ("sig=",),
        r"(?<=[?&])sig=(?P<secret>(?:[A-Za-z0-9+/]|%[0-9A-Fa-f]{2}){40,}+=?+)",
        "learn.microsoft.com/rest/api/storageservices/create-service-sas",
    ),
    Detector(
        "vault token",
        ("hvs.", "hvb."),
        _START + r"hv[sb]\.[\w-]{24,}+",
        "developer.hashicorp.com/vault/docs/concepts/tokens",
    ),
    Detector(
        "docker token",
        ("dckr_pat_",),
        _START + r"dckr_pat_[\w-]{20,}+",
        "docs.docker.com/security/access-tokens",
    ),
    Detector(
        "digitalocean token",
        ("dop_v1_", "doo_v1_", "dor_v1_"),
        _START + r"do[opr]_v1_[0-9a-f]{64}",
        "docs.digitalocean.com/reference/api/create-personal-access-token",
    ),
)  # fmt: skip


# Tokens that must be decoded to be recognized


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


DECODED = (
    Detector(
        "jwt",
        ("eyJ",),
        # Longer headers than these are not worth decoding.
        _ALONE + r"(?P<head>eyJ[\w-]{8,2000}+)\.[\w-]{4,}+(?:\.[\w-]*+){1,3}+",
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
