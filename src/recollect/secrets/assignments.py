"""Detectors for credentials that only the name before them reveals: `password = "…"`, `API_KEY=…`,
`://ada:…@host`.

The value after such a name is judged by its form. Placeholders, references to where a secret is
kept, types, calls and words of prose are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from recollect.secrets.detectors import (
    SECRET,
    Detector,
    compile_once,
    is_made_up,
    span_unless_made_up,
)
from recollect.types import Span

# Only this many characters of a value are judged, so that a hostile text is not read repeatedly.
LONGEST_JUDGED = 120
SHORTEST_PASSWORD = 6
SHORTEST_TOKEN = 8
# A value that consists of these words only is a placeholder.
STAND_INS = frozenset(
    "abc api apikey bar baz changeit changeme default demo dummy fake foo foobar given here hidden"
    " key letmein me my mypassword mysecret mytoken new nil no none not null old pass passwd"
    " password passwort placeholder pw pwd redacted replace required sample secret set some string"
    " stub test testing the this token tokens todo undefined unknown unset user username value"
    " your".split()
)
PLACEHOLDER = re.compile(
    r"""\$\{ | \$\( | ^\$\w++$ | ^\$env: | \{\{ | \{\w*+[.!:\w]*+\}
    | ^<[^<>]*+>?+$ | ^%\(?\w*+\)?+[%sd]?+$
    | ^\*++$ | ^\.++$ | … | \.\.\. | x{4} | \*{3} | example | placeholder | change[_-]?me
    | (?<![a-z])(?:your|insert|replace|dummy|fake|redacted|todo|fixme)(?![a-z])""",
    re.IGNORECASE | re.VERBOSE,
)
# A reference to where a secret is kept.
REFERENCE = re.compile(
    r"""^(?:/|\./|\.\./|~/|[A-Za-z]:\\) | ://
    | ^(?:vault|ssm|arn|op|file|env|secretmanager|keyring|sops|sm|kms)[:/]
    | environ | getenv | process\.env | (?<![a-z])secrets?[./] | ^!\w | ^&\w | ^\*\w""",
    re.IGNORECASE | re.VERBOSE,
)
# The name of an algorithm is no password.
ALGORITHM = re.compile(
    r"(?:sha|md|argon|bcrypt|scrypt|pbkdf|hmac|base|utf|aes|rsa|ed|x)[-_]?\d*[a-z]{0,3}\d?$",
    re.IGNORECASE,
)
# A password hash is no secret.
BCRYPT = re.compile(r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}")
DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:[T ][\d:.]*(?:Z|[+-][\d:]+)?)?$")
DOTTED = re.compile(r"[A-Za-z_$]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+$")
PART = re.compile(r"[A-Za-z]+(?:\d{1,5}[A-Za-z]{3,})?\d{0,4}|\d+")
BETWEEN = re.compile(r"[-_./:@+=~%\s]+")
TOKEN = re.compile(r"[A-Za-z0-9_./+=~:%@!$*-]+")


class AssignedValue(NamedTuple):
    """A value that may be a secret. `firm`: it is quoted, or alone after `=`, so it is not a word
    of a sentence. `pattern`: the expression it was read with."""

    text: str
    span: Span
    firm: bool
    quoted: bool
    pattern: str


def is_stand_in(value: str) -> bool:
    """Return whether it is a placeholder, or a reference to where a secret is kept."""
    if PLACEHOLDER.search(value) or REFERENCE.search(value) or len(set(value)) < 4:
        return True
    words = re.findall(r"[a-z]+", value.lower())
    return bool(words) and all(word in STAND_INS for word in words)


def is_like_a_name(value: str) -> bool:
    """Return whether it is words and numbers, like `refresh-token-2` or `oauth2AccessToken`."""
    return all(PART.fullmatch(part) for part in BETWEEN.split(value) if part)


def is_jumbled(value: str) -> bool:
    """Return whether it is long and its letters change case at random, in runs of two or three."""
    runs = len(re.findall(r"[a-z]+|[A-Z]+", value))
    return len(value) >= 16 and value.isalnum() and value.isascii() and len(value) < 2.5 * runs


def is_password(value: AssignedValue) -> bool:
    text = value.text
    letters, digits = any(map(str.isalpha, text)), any(map(str.isdigit, text))
    signs = any(not sign.isalnum() and sign not in "_-./:" for sign in text)
    if len(text) < SHORTEST_PASSWORD or is_stand_in(text):
        return False
    if ALGORITHM.match(text) or DATE.match(text) or BCRYPT.match(text):
        return False
    if not value.quoted and DOTTED.match(text):
        return False
    if not value.firm and not signs and not text.isalnum() and is_like_a_name(text):
        return False
    if digits and letters:
        return True
    return value.firm and (digits or (letters and signs) or is_jumbled(text))


def is_token(value: AssignedValue) -> bool:
    text = value.text
    letters, digits = any(map(str.isalpha, text)), any(map(str.isdigit, text))
    if (
        len(text) < SHORTEST_TOKEN
        or not TOKEN.fullmatch(text)
        or is_stand_in(text)
        or is_made_up(text)
    ):
        return False
    if DATE.match(text) or BCRYPT.match(text) or (not value.quoted and DOTTED.match(text)):
        return False
    return (digits and letters and not is_like_a_name(text)) or is_jumbled(text)


# Reading the value after a name

_QUOTE = re.compile(r"[rbfuRBFU]{0,2}(\\?[\"'`])")
_PLAIN = r"[^\s\"'`<>,;|&()\[\]{}\\]"
_BARE = rf"{_PLAIN}*+(?:&(?!\w{{1,40}}=){_PLAIN}*+)*+"  # an `&` that begins no parameter
_WHOLE = r"\S++"
# The name is at the beginning of its line, with nothing but the rest of the name before it.
_LINE_START = re.compile(r"(?:^|\n)[ \t]*(?:(?:export|set|ENV|ARG)[ \t]+)?[A-Za-z0-9_]*$")
# A call, an index, or an argument on a line of its own: code, where a line ends otherwise.
_CODE = re.compile(r"[A-Za-z_][\w.]{0,80}(?:[(\[]|[,;)]+[ \t]*(?:#|//|\n|\Z))")
_FLAG = re.compile(r"(?:^|\s)(?:--[A-Za-z0-9-]*|login[ ]+\S+[ ]+)$")
_RANDOM = re.compile(
    r"(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[a-z])(?=[\w-]{0,60}[A-Z])[A-Za-z0-9_-]{20,}+(?![\w.])"
)
LONGEST_NAME = 80  # characters of the name before the word that says secret


def _read(found: re.Match[str]) -> AssignedValue | None:
    """Return the value after a matched name and its separator, or None."""
    text, at, joint = found.string, found.end(), found["joint"].strip(" \t\"'\\])")
    before = text[max(0, found.start() - LONGEST_NAME) : found.start()]
    random = _RANDOM.match(text, at)
    if not (joint or _FLAG.search(before) or (random and not is_like_a_name(random[0]))):
        return None  # a space separates only after `--`, in a .netrc, before random letters
    if quote := _QUOTE.match(text, at):
        return _read_quoted(text, quote)
    tight = joint == "=" and found["joint"].endswith("=")
    if tight and _LINE_START.search(before) and not _CODE.match(text, at):
        return _read_unquoted(text, at, _WHOLE, firm=True)
    value = _read_unquoted(text, at, _BARE, firm=tight or joint in ("", ">"))
    if value is None or text[value.span.end : value.span.end + 1] in tuple("([{"):
        return None  # a call or an index, whose value is not here
    if joint == ">" and not text.startswith("</", value.span.end):
        return None  # `<password>` is a placeholder here, not an element
    bare = value.text.rstrip(".:!?")
    if value.firm or len(bare) == len(value.text):
        return value
    return value._replace(text=bare, span=Span(at, at + len(bare)))


def _read_quoted(text: str, quote: re.Match[str]) -> AssignedValue | None:
    sign, at = re.escape(quote[1]), quote.end()
    pattern = rf"(?:(?!{sign})(?:\\.|[^\\\n]))++"
    found = compile_once(pattern).match(text, at, at + LONGEST_JUDGED)
    if found is None or any(map(str.isspace, found[0])):
        return None  # a sentence about passwords, or a passphrase, which needs a redaction mark
    return AssignedValue(found[0], Span(*found.span()), firm=True, quoted=True, pattern=pattern)


def _read_unquoted(text: str, at: int, pattern: str, *, firm: bool) -> AssignedValue | None:
    found = compile_once(pattern).match(text, at, at + LONGEST_JUDGED)
    if not found or not found[0]:
        return None
    return AssignedValue(found[0], Span(*found.span()), firm, quoted=False, pattern=pattern)


def _value_span(
    judge: Callable[[AssignedValue], bool],
) -> Callable[[re.Match[str]], Span | None]:
    def span(found: re.Match[str]) -> Span | None:
        value = _read(found)
        return _whole_span(found.string, value) if value is not None and judge(value) else None

    return span


def _whole_span(text: str, value: AssignedValue) -> Span:
    """Return the span of the whole value, even beyond LONGEST_JUDGED. Called only for values that
    are replaced, so nothing is read twice."""
    if len(value.text) < LONGEST_JUDGED:
        return value.span
    whole = compile_once(value.pattern).match(text, value.span.start)
    return Span(*whole.span()) if whole else value.span


# Names that say secret

_BEHIND = r"(?:[_-]?(?:prod(?:uction)?|dev|staging|live|base|value|raw|old|new|\d{1,3}))?+"
_TYPE = r":[ \t]?[\w.]{2,30}(?:\[[\w., |]{1,40}\])?(?:[ \t]?\|[ \t]?\w{1,20})?[ \t]{0,4}=[ \t]{0,4}"
# What a password is for, and the verbs of a sentence that tells it, in English and German.
_ABOUT = "for|of|on|at|in|to|für|vom|von|des|der|zum|zur|auf|im|am"
_VERBS = (
    "(?:was |has been |is )?(?:changed|set|reset) to", "is", "was", "to", "ist", "war", "lautet",
    "heißt", "heisst", "wurde (?:geändert )?(?:auf|in|zu)",
)  # fmt: skip
_ADVERBS = "now|still|currently|just|jetzt|nun|noch|immer noch|aktuell"
_SAID = rf"(?:[ ]{{1,4}}(?:{'|'.join(_VERBS)})|['’]s)(?:[ ](?:{_ADVERBS}))?"
# The separators between a name and its value, with the quote after the name.
_JOINTS = (
    _TYPE,
    r"[ \t]{0,20}(?:=>|:=|={1,3}|:)[ \t]{0,20}",
    r">",  # an element
    r"[ \t]{0,4},[ \t]{0,4}(?=\\?[\"'`])",  # `set("X-Auth-Token", "…")`
    r"[ \t]{1,40}\|[ \t]{1,40}",  # a table
    r"\r?\n[ \t]{0,40}value:[ \t]{0,4}",  # an environment in YAML: the value one line below
    r"[ ]?\([^()\n]{1,30}\)[ ]?[:=][ ]{0,4}",  # `Password (staging): …`
    # `password for the router is …`, `Das Passwort vom WLAN lautet jetzt …`
    rf"(?:[ ](?:{_ABOUT})[ ][^\n.:;,=\"]{{1,40}}?)?(?:{_SAID}):?[ ]{{1,4}}",
    rf"[ ](?:{_ABOUT})[ ][^\n.:;,=\"]{{1,40}}:[ ]{{1,4}}",
    r"[ ]{1,4}",
)
_JOINT = rf"(?P<joint>\\?[\"'`]?\]?(?:{'|'.join(_JOINTS)}))"
_PASSWORDS = r"pass(?:word|wd|wort|phrase|code)|kennwort|(?<![a-z])(?:pass|pwd|pw)"
_OF_KEYS = (
    "access", "account", "api", "app", "auth", "deploy", "encryption", "master", "private",
    "service", "shared", "signing", "storage",
)  # fmt: skip
# A `key` is a secret after one of these words, with or without a separator between them.
_KEY = "|".join(f"(?<={name})|(?<={name}[_. -])" for name in _OF_KEYS)
_SECRETS = rf"(?<!publickey)token|secret(?:[_. -]?key)?+|credentials?+|(?:{_KEY})key"

# After the `@` comes a host: a letter, a digit, or the bracket of an IPv6 address.
_URL = r"://[^\s/:@\"'<>`]*+:(?P<secret>[^\s/\"'<>`]+)@(?=[\w\[])"


def url_span(found: re.Match[str]) -> Span | None:
    """Return the password before the host, unless it is a placeholder, as in `user:pass@`."""
    value = found[SECRET]
    if "@" in value and not any(map(str.isdigit, value)):
        value = value.rpartition("@")[2] or value
    return None if is_stand_in(value) else Span(*found.span(SECRET))


def option_span(found: re.Match[str]) -> Span | None:
    """Return the value of an option that only takes a password, even if short."""
    value = found[SECRET].strip("\"',;:.)")
    stand_in = PLACEHOLDER.search(value) or STAND_INS.issuperset(re.split(r"[_-]", value.lower()))
    return None if stand_in else Span(*found.span(SECRET))


def user_span(found: re.Match[str]) -> Span | None:
    return None if is_stand_in(found[SECRET]) else Span(*found.span(SECRET))


_MAIL = re.compile(r"(?<![a-z])(?:app|application|gmail|google|e?mail|smtp|imap)", re.IGNORECASE)
_CONSONANTS = re.compile(r"[b-df-hj-np-tv-xz]{3}")


def app_password_span(found: re.Match[str]) -> Span | None:
    """Return an app password after a name that mentions mail. Random letters have three consonants
    in a row somewhere; words of four letters do not."""
    drawn = _CONSONANTS.search(found[SECRET]) and "abcd" not in found[SECRET]
    named = _MAIL.search(found.string, max(0, found.start() - 40), found.start(SECRET))
    return span_unless_made_up(found) if drawn and named else None


ASSIGNMENTS = (
    Detector(
        "app password",
        (),
        r"(?i:pass(?:word|wd|wort)?|(?<![a-z])pw|gmail)"
        r"(?:[^\n]{0,40}?(?<![\w-])(?=[a-z]{4}[ -][a-z]{4}[ -])"
        r"|\\?[\"'`]?(?:[ ]{1,4}(?:is|ist|lautet)[ ]|[ \t]{0,4}[:=])[ \t]{0,4}\\?[\"'`]?)"
        r"(?P<secret>[a-z]{4}(?:[ -][a-z]{4}){3}|[a-z]{16})(?![\w-]|[ ][a-z])",
        "support.google.com/accounts/answer/185833: 16 letters, shown in groups of four",
        app_password_span,
        ("pass", "pw", "gmail"),
    ),
    Detector(
        "password",
        ("mysql", "mariadb"),
        r"(?<!\w)(?:mysql|mariadb)[\w-]{0,12} (?:[^\n|;&]{0,200}? )?-p"
        r"(?P<secret>\"[^\"\n]{3,}+\"|'[^'\n]{3,}+'|[^\s\"'`$<{*]\S{2,}+)",
        "dev.mysql.com/doc/refman/en/password-security-user.html: -p without a blank",
        option_span,
    ),
    Detector(
        "password",
        ("sshpass ", "docker login "),
        r"(?<!\w)(?:sshpass|docker login) [^\n]{0,100}?-p[ =]?[\"']?(?P<secret>[^\s\"']{4,}+)",
        "their manual pages: -p",
        user_span,
    ),
    Detector("password", ("://",), _URL, "RFC 3986, 3.2.1: userinfo", url_span),
    Detector(
        "password",
        ("curl ",),
        r"(?<!\w)curl [^\n]{0,200}?(?:-u|--user)[ =]?[\"']?[\w.@+-]{1,80}:"
        r"(?P<secret>[^\s\"'@:/]{4,}+)",
        "curl's manual page: -u, --user",
        user_span,
    ),
    Detector(
        "password",
        (),
        rf"(?i:(?:{_PASSWORDS}){_BEHIND}{_JOINT})",
        "how configurations and code name them",
        _value_span(is_password),
        ("pass", "pwd", "pw", "kennwort"),
    ),
    Detector(
        "secret",
        (),
        rf"(?i:(?:{_SECRETS}){_BEHIND}{_JOINT})",
        "how configurations and code name them",
        _value_span(is_token),
        ("token", "secret", "credential", "key"),
    ),
)  # fmt: skip
