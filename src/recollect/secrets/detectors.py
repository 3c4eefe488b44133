"""Detectors: how each kind of credential is found in a text; a table of services' tokens.

A pattern is tried only at its needles, the strings it can begin with: searching for a few strings
is cheap, and most texts have none. Patterns take linear time: repetitions are possessive (`++`),
and a look-behind keeps a match from beginning inside another.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from functools import cache
from typing import AnyStr, NamedTuple

from recollect.types import Span

# The group of a pattern that is replaced; without it, the whole match.
SECRET = "secret"
# A key of fewer different characters is a placeholder.
FEWEST_CHARACTERS = 6
# Placeholders show early; in a long random value `your` can occur by chance.
LONGEST_PLACEHOLDER = 100
MADE_UP = re.compile(r"example|xxxx|your|\*{3}|\.{3}|0{8}", re.IGNORECASE)
# As long as the shortest token with a prefix of its service.
LONG_WORD = b"w" * 25
IN_WORDS = string.ascii_letters + string.digits + "_+/=-"
BLANKS = bytes.maketrans(b"\t\n\v\f\r", b" " * 5)
WORD_BYTES = bytes(ord("w") if chr(byte) in IN_WORDS else ord(" ") for byte in range(256))


def has_long_word(text: str) -> bool:
    """Return whether the text has a run of token characters as long as LONG_WORD."""
    return LONG_WORD in text.encode(errors="replace").translate(WORD_BYTES)


def long_pieces(text: str) -> str:
    """Return the parts of a text between blanks that contain a long word."""
    raw = text.encode(errors="replace")
    words, spaced = raw.translate(WORD_BYTES), raw.translate(BLANKS)
    found: list[bytes] = []
    at = words.find(LONG_WORD)
    while at >= 0:
        end = spaced.find(b" ", at)
        found.append(raw[spaced.rfind(b" ", 0, at) + 1 : end if end >= 0 else None])
        at = words.find(LONG_WORD, end) if end >= 0 else -1
    return b" ".join(found).decode()


def is_made_up(value: str) -> bool:
    """Return whether it is a placeholder: `ghp_xxxx…`, or AWS's own `AKIA…EXAMPLE`."""
    if len(set(value)) < FEWEST_CHARACTERS:
        return True
    return MADE_UP.search(value, 0, LONGEST_PLACEHOLDER) is not None


def group_span(found: re.Match[str]) -> Span:
    return Span(*found.span(found.re.groupindex.get(SECRET, 0)))  # RE2 knows groups by number


def span_unless_made_up(found: re.Match[str]) -> Span | None:
    span = group_span(found)
    return None if is_made_up(found.string[span.start : span.end]) else span


class Detector(NamedTuple):
    """One kind of credential.

    - `needles`: the strings it can begin with; `words`: those that match in any case, in lower
      case.
    - `span`: returns the part of a match to replace, or None if it is no credential after all.
    - `source`: where the format is documented.
    - `long`: it has a long word, with no blank before it, so only the long pieces of a text are
      searched.
    """

    name: str
    needles: tuple[str, ...]
    pattern: str
    source: str
    span: Callable[[re.Match[str]], Span | None] = span_unless_made_up
    words: tuple[str, ...] = ()
    long: bool = False


@cache
def compile_once(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when first needed: most commands never meet a credential."""
    return re.compile(pattern)


def to_lower_case(text: str) -> str:
    """Return the text in lower case with the same length: U+0130, the one letter that would become
    two, is replaced first."""
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "\u0131").lower()


def find_spans(detector: Detector, text: str, low: str) -> Iterator[Span]:
    """Yield the spans of such credentials, from left to right, without overlaps. `low`: the text in
    lower case."""
    last = done = 0
    pattern = compile_once(detector.pattern)
    for at in _find_starts(detector, text, low):
        found = pattern.match(text, at) if at >= last else None
        if found is None:
            continue
        span = detector.span(found)
        if span is not None and span.end > span.start >= done:
            done = span.end
            yield span
        last = max(found.end(), done)


def _find_starts(detector: Detector, text: str, low: str) -> list[int]:
    """Return the positions of the needles, in order."""
    found = [at for needle in detector.needles for at in find_all(text, needle)]
    found += (at for word in detector.words for at in find_all(low, word))
    return sorted(found)


def find_all(text: AnyStr, needle: AnyStr) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)


# A token may begin anywhere but inside a word; an escape before it (`\\n`, `%3D`) is no word.
ESCAPE = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])"
START = rf"(?:(?<![A-Za-z0-9])|{ESCAPE})"
ALONE = rf"(?:(?<![\w-])|{ESCAPE})"
# For prefixes of letters alone, which base64 may contain anywhere.
_APART = rf"(?:(?<![\w+/-])|{ESCAPE})"
_END = r"(?![A-Za-z0-9])"
_WHOLE = r"(?![\w+/=-])"
# Names in code have no digits, or no letters of both cases.
_DIGIT = r"(?=[\w.=+/-]{0,80}\d)"
_CASES = r"(?=[\w.=+/-]{0,80}[a-z])(?=[\w.=+/-]{0,80}[A-Z])"
_DOTTED = r"[\w-]++(?:[.=]++[\w-]++)*+"  # does not end with the full stop of a sentence

_GITLEAKS = "github.com/gitleaks/gitleaks, config/gitleaks.toml: "


class Prefixed(NamedTuple):
    """A kind of token: its prefixes, what follows, and where that is documented."""

    name: str
    prefixes: tuple[str, ...]
    body: str
    source: str
    start: str = START


TABLE = (
    Prefixed("recollect token", ("rcl_", "rcs_"), r"[\w-]{43}(?![\w-])",
             "recollect/auth/token_store.py: tokens, and the secrets of sessions and login links"),
    Prefixed("github token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"\w{36,}+",
             "github.blog/changelog/2021-03-31-authentication-token-format-updates-are-generally-"
             "available"),
    Prefixed("anthropic key", ("sk-ant-",), _DIGIT + r"[\w-]{24,}+",
             "docs.anthropic.com/en/api/overview"),
    # Not `sk-` in a class name of a style sheet: one run of 32 with a digit, or the prefixes.
    Prefixed("openai key", ("sk-",), _DIGIT + r"(?=[\w-]{0,80}[A-Z])"
             r"(?:(?:proj|svcacct|admin|None)-[\w-]{20,}+|[A-Za-z0-9]{32,}+[\w-]*+)",
             "platform.openai.com/docs/api-reference/authentication", ALONE),
    Prefixed("google key", ("AIza",), r"[\w-]{35}(?![\w-])",
             "cloud.google.com/docs/authentication/api-keys", ALONE),
    Prefixed("google key", ("GOCSPX-", "ya29."), r"[\w-]{24,}+",
             "cloud.google.com/docs/authentication/token-types", ALONE),
    Prefixed("npm token", ("npm_",), r"[A-Za-z0-9]{36,}+",
             "github.blog/changelog/2021-09-23-npm-has-a-new-access-token-format"),
    # What follows is a macaroon in base64, and those of pypi.org begin alike.
    Prefixed("pypi token", ("pypi-AgE",), r"[\w-]{50,}+",
             "warehouse.pypa.io/development/token-scanning.html"),
    Prefixed("hugging face token", ("hf_",), r"[A-Za-z0-9]{30,}+",
             "huggingface.co/docs/hub/security-tokens"),
    Prefixed("sendgrid key", ("SG.",), r"[\w-]{22}\.[\w-]{43}(?![\w-])",
             "twilio.com/docs/sendgrid/ui/account-and-settings/api-keys: 69 characters"),
    Prefixed("twilio key", ("SK",), r"[0-9a-f]{32}" + _END,
             "twilio.com/docs/glossary/what-is-a-sid"),
    Prefixed("docker token", ("dckr_pat_",), r"[\w-]{20,}+",
             "docs.docker.com/security/access-tokens"),
    Prefixed("digitalocean token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{64}",
             "docs.digitalocean.com/reference/api/create-personal-access-token"),
    Prefixed("gitlab token", ("glpat-", "gldt-", "glrt-", "glrtr-", "glptt-", "glcbt-", "glsoat-",
             "glimt-", "glagent-", "glft-", "glffct-", "gloas-", "glwt-", "GR1348941"),
             r"[\w-]{20,}+(?:\.[\w-]{2,}+){0,2}",
             "docs.gitlab.com/security/tokens"),
    Prefixed("onepassword token", ("ops_eyJ",), r"[\w+/-]{200,}+={0,3}+",
             _GITLEAKS + "1password-service-account-token"),
    Prefixed("onepassword key", ("A3-",),
             r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?![\w-])",
             _GITLEAKS + "1password-secret-key", ALONE),
    Prefixed("shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9a-fA-F]{32}" + _END,
             _GITLEAKS + "shopify-access-token and the three others"),
    Prefixed("grafana token", ("glsa_",), r"[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}" + _END,
             _GITLEAKS + "grafana-service-account-token"),
    Prefixed("grafana token", ("glc_",), _DIGIT + _CASES + r"[A-Za-z0-9+/]{32,}+={0,3}+",
             _GITLEAKS + "grafana-cloud-api-token"),
    Prefixed("linear key", ("lin_api_",), r"[A-Za-z0-9]{40,}+",
             _GITLEAKS + "linear-api-key"),
    Prefixed("notion token", ("ntn_",), _DIGIT + r"[A-Za-z0-9]{40,}+",
             _GITLEAKS + "notion-api-token"),
    Prefixed("notion token", ("secret_",), _DIGIT + _CASES + r"[A-Za-z0-9]{43}(?![\w-])",
             "docs.gitguardian.com, detectors: notion_integration_token", ALONE),
    Prefixed("databricks token", ("dapi",), r"[0-9a-f]{32}(?:-\d)?+" + _WHOLE,
             _GITLEAKS + "databricks-api-token", _APART),
    Prefixed("postman key", ("PMAK-",), r"[0-9a-f]{24}-[0-9a-f]{34}" + _END,
             _GITLEAKS + "postman-api-token"),
    Prefixed("sentry token", ("sntryu_",), r"[0-9a-f]{64}" + _END,
             _GITLEAKS + "sentry-user-token"),
    Prefixed("sentry token", ("sntrys_eyJ",), r"[A-Za-z0-9+/=_-]{60,}+",
             _GITLEAKS + "sentry-org-token"),
    Prefixed("fly token", ("fo1_",), r"[\w-]{43}(?![\w-])",
             _GITLEAKS + "flyio-access-token"),
    Prefixed("fly token", ("fm1a_", "fm1r_", "fm2_"), r"[A-Za-z0-9+/]{60,}+={0,3}+",
             _GITLEAKS + "flyio-access-token"),
    Prefixed("figma token", ("figd_",), _DIGIT + _CASES + r"[\w-]{40,}+",
             "forum.figma.com/t/36338: `figd_`"),
    Prefixed("atlassian token", ("ATATT3", "ATCTT3", "ATSTT3"),
             _DIGIT + r"[\w-]{30,}+(?:=[0-9A-F]{8})?+", _GITLEAKS + "atlassian-api-token", _APART),
    Prefixed("atlassian token", ("ATBB",), _DIGIT + _CASES + r"[A-Za-z0-9]{32}" + _WHOLE,
             "support.atlassian.com/bitbucket-cloud/docs/app-passwords", _APART),
    Prefixed("discord token", ("mfa.",), _DIGIT + _CASES + r"[\w-]{80,}+",
             "docs.gitguardian.com, detectors: discord_token", ALONE),
    Prefixed("replicate token", ("r8_",), r"[A-Za-z0-9]{37}" + _END,
             "replicate.com/docs/topics/security/api-tokens: 40 characters"),
    Prefixed("groq key", ("gsk_",), _DIGIT + r"[A-Za-z0-9]{40,}+",
             "codeslick.dev/learn/groq-api-key-format: 56 characters"),
    Prefixed("xai key", ("xai-",), _DIGIT + r"[A-Za-z0-9]{70,}+",
             "docs.gitguardian.com, detectors: x_ai_api_key"),
    Prefixed("perplexity key", ("pplx-",), _DIGIT + r"[A-Za-z0-9]{40,}+",
             _GITLEAKS + "perplexity-api-key"),
    Prefixed("openrouter key", ("sk-or-v1-",), r"[0-9a-f]{64}" + _END,
             "openrouter.ai/docs/guides/features/guardrails/secret-formats"),
    Prefixed("mailgun key", ("key-",), r"[0-9a-f]{32}(?![\w-])",
             _GITLEAKS + "mailgun-private-api-token", ALONE),
    Prefixed("new relic key", ("NRAK-",), r"[A-Z0-9]{27}" + _END,
             _GITLEAKS + "new-relic-user-api-key"),
    Prefixed("new relic key", ("NRII-",), _DIGIT + r"[\w-]{32}(?![\w-])",
             _GITLEAKS + "new-relic-insert-key"),
    Prefixed("facebook token", ("EAA",), _DIGIT + _CASES + r"[A-Za-z0-9]{100,}+" + _WHOLE,
             _GITLEAKS + "facebook-page-access-token", _APART),
    Prefixed("cloudflare token", ("cfk_", "cfut_", "cfat_"), _DIGIT + _CASES + r"[\w-]{40,}+",
             "developers.cloudflare.com/fundamentals/api/get-started/token-formats"),
    Prefixed("cloudflare key", ("v1.0-",), r"[0-9a-f]{24}-[0-9a-f]{146}" + _END,
             "developers.cloudflare.com/fundamentals/api/get-started/ca-keys; gitleaks.toml"),
    Prefixed("supabase token", ("sbp_",), _DIGIT + r"[0-9a-z_]{40,}+" + _END,
             "docs.gitguardian.com, detectors: supabase_personal_access_token"),
    Prefixed("supabase key", ("sb_secret_",), _CASES + r"[\w-]{24,}+",
             "supabase.com/docs/guides/getting-started/api-keys"),
    Prefixed("planetscale token", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
             _DIGIT + _CASES + r"(?=[\w.=-]{32})" + _DOTTED,
             _GITLEAKS + "planetscale-api-token and the two others"),
    Prefixed("crates token", ("cio",), _DIGIT + _CASES + r"(?:_tp_)?[A-Za-z0-9]{32}" + _WHOLE,
             "github.com/rust-lang/crates.io, src/util/token.rs: `cio` and 32 characters", _APART),
    Prefixed("ruby gems key", ("rubygems_",), r"[0-9a-f]{48}" + _END,
             _GITLEAKS + "rubygems-api-token"),
    Prefixed("typeform token", ("tfp_",), _DIGIT + r"(?=[\w.=-]{50})" + _DOTTED,
             _GITLEAKS + "typeform-api-token"),
    Prefixed("easypost key", ("EZAK", "EZTK"), r"[A-Za-z0-9]{54}" + _WHOLE,
             _GITLEAKS + "easypost-api-token, easypost-test-api-token", _APART),
    Prefixed("tailscale key", ("tskey-",),
             r"(?:[a-z]{2,10}-)?[A-Za-z0-9]{8,30}-[A-Za-z0-9]{16,}+(?![\w-])",
             "tailscale.com/docs/reference/key-prefixes"),
    Prefixed("vercel token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"),
             _DIGIT + _CASES + r"[\w-]{40,}+",
             "vercel.com/changelog/new-token-formats-and-secret-scanning"),
    Prefixed("vercel token", ("vercel_blob_rw_",), _DIGIT + _CASES + r"\w{30,}+",
             "docs.gitguardian.com, detectors: vercel_blob_token"),
)  # fmt: skip

PREFIXED = tuple(
    Detector(row.name, row.prefixes, f"{row.start}(?:{'|'.join(row.prefixes)}){row.body}",
             row.source, long=_DOTTED not in row.body)
    for row in TABLE
)  # fmt: skip
