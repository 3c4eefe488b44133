"""Markdown as HTML that is safe to show: a whole text, or a snippet in one line with its matches.

HTML in the text stays text, pictures become links, and a link leads to a web address, to another
memory or to a file of the vault. Code has classes, no styles, as the page's policy demands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from posixpath import basename
from typing import Any
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound

from recollect.documents.file_types import (
    DOCX,
    HTML,
    MARKDOWN,
    NOTEBOOK,
    PDF,
    RST,
    TEXT,
    type_of,
)
from recollect.memory_json import id_path
from recollect.present.snippet import pieces

WEB = re.compile(r"https?://[^\s<>\"'`\ue000\ue001]+[^\s<>\"'`.,;:!?)\]}\ue000\ue001]")
# What may be an id or a path: a word of several parts, as ids and the names of files are.
NAME = re.compile(r"\w[\w/-]*(?:[.:@][\w/-]+)*")
PARTS = re.compile(r"(?=.*[^\W\d_]).*(?:[^\W_][/._:@-]\w|\d)")
MOST_NAMES = 200  # looked up for one text: a list of files has hundreds, and nobody reads on
# Characters that are read as Markdown, half a second of it; what is made to be slow takes three.
MOST_MARKDOWN = 50_000
MOST_CODE = 20_000  # characters that are highlighted: a tenth of a second
LINKS = ("http://", "https://", "mailto:")
OUTWARD = "noreferrer noopener nofollow"
# The beginning and the end of a match while a snippet is parsed.
OPEN, CLOSE = "\ue000", "\ue001"
MATCH = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}")
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)  # of HTML: nobody is meant to read it
CODE_SPAN = re.compile("`([^`]+)`")
CUT_SPAN = re.compile(rf"…[^`]*[\w{CLOSE}]`(?![`\w{OPEN}])")  # its first backtick ends a span
STRAY = re.compile(f"[{OPEN}{CLOSE}]")
FENCE = re.compile(r"^\s{0,3}(?:```|~~~)[ \t]*(\S*)", re.MULTILINE)
# Types of files whose text is prose.
PROSE = frozenset({MARKDOWN, RST, TEXT, HTML, PDF, DOCX, NOTEBOOK})
# Kinds of tokens, the particular ones first, and the classes that they are shown by.
CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"), (Keyword, "k"), (Operator.Word, "k"), (String, "s"), (Number, "m"),
    (Name.Function, "f"), (Name.Class, "f"), (Name.Decorator, "f"), (Name.Tag, "k"),
    (Name.Attribute, "f"), (Name.Builtin, "b"), (Name.Constant, "b"),
    (Generic.Inserted, "i"), (Generic.Deleted, "d"), (Generic.Heading, "k"),
)  # fmt: skip

Links = Mapping[str, str]  # a name in the text → the id of the memory that it leads to
NO_LINKS: Links = {}


def rendered(text: str, links: Links = NO_LINKS, *, under: int = 1) -> Markup:
    """The text as HTML. Its headings begin below the page's heading of the level `under`."""
    if len(text) > MOST_MARKDOWN:
        return Markup('<pre class="plain" tabindex="0">{}</pre>').format(text)
    return Markup(_parser().render(text, {"links": links, "under": under}))


def code(text: str, file: str) -> Markup:
    """The source code of a file of that name."""
    return Markup('<pre tabindex="0"><code>{}</code></pre>').format(
        highlighted(text, _lexer_for(file))
    )


def is_source(file: str) -> bool:
    """Whether a file of that name is shown as code."""
    return _lexer_for(file) is not None


def names(text: str) -> list[str]:
    """What in a text may be the id of a memory or the path of a file."""
    linked = (unquote(found) for found in re.findall(r"\]\(\s*<?([^)\s>#]+)", text))
    found = dict.fromkeys([*linked, *(word for word in NAME.findall(text) if PARTS.match(word))])
    return [*found][:MOST_NAMES]


def marked_line(marked: str) -> Markup:
    """A snippet in one line, its matches in `<mark>`, without comments and the signs that Markdown
    is made of. What the snippet's cut took the beginning of is read as what it was:
    code."""
    text = COMMENT.sub("", _signed(marked))
    fences = FENCE.findall(text)
    if text.startswith("…") and fences and not fences[0] and (len(fences) % 2 or any(fences[1::2])):
        text = f"```\n{text}"
    elif CUT_SPAN.match(text):
        text = f"…`{text[1:]}"
    return Markup(" ").join(part for part in _flowed(_parser().parse(text)) if part.strip())


def title_line(title: str) -> Markup:
    """A title with what stands in backticks as code; all else in it is meant as it stands."""
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(CODE_SPAN.split(title))
    )


def marked_code(marked: str) -> Markup:
    """A snippet of source code, its lines kept, its matches in `<mark>`."""
    return _matches(_signed(marked).strip("\n"))


def _signed(marked: str) -> str:
    """The snippet with one sign before and after each match, which no text has."""
    return "".join(
        f"{OPEN}{part}{CLOSE}" if matched else part
        for part, matched in pieces(STRAY.sub("", marked))
    )


def _flowed(tokens: Sequence[Token]) -> Iterator[Markup]:
    """Each block of a text in turn."""
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type in ("fence", "code_block"):
            yield Markup("<code>{}</code>").format(_matches(" ".join(token.content.split())))
        elif token.type == "inline":
            line = Markup("").join(map(_inline, token.children or ()))
            heading = before is not None and before.type in ("heading_open", "th_open")
            yield Markup("<strong>{}</strong>").format(line) if heading else line
        elif token.type in ("list_item_open", "td_open"):
            yield Markup("·")


SIMPLE = {
    "strong_open": "<strong>", "strong_close": "</strong>", "em_open": "<em>", "em_close": "</em>",
    "s_open": "<s>", "s_close": "</s>", "softbreak": " ", "hardbreak": " ",
}  # fmt: skip


def _inline(token: Token) -> Markup:
    if token.type == "code_inline":
        return Markup("<code>{}</code>").format(_matches(token.content))
    if token.type in SIMPLE:
        return Markup(SIMPLE[token.type])
    return _matches(token.content)


def _matches(text: str) -> Markup:
    """Text, escaped, with its matches marked; a mark that lost its other half goes."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(part) if place % 2 else escape(STRAY.sub("", part))
        for place, part in enumerate(MATCH.split(text))
    )


# Code


def highlighted(text: str, lexer: Lexer | None) -> Markup:
    """Code with a class for each kind of token."""
    if lexer is None or len(text) > MOST_CODE:
        return escape(text)
    runs = groupby(lexer.get_tokens(text), key=lambda token: _class_of(token[0]))
    joined = ((shown, "".join(value for _, value in run)) for shown, run in runs)
    return Markup("").join(
        Markup('<span class="{}">{}</span>').format(shown, value) if shown else escape(value)
        for shown, value in joined
    )


@cache
def _class_of(kind: _TokenType) -> str:
    return next((shown for known, shown in CLASSES if kind in known), "")


@cache
def _lexer_named(name: str) -> Lexer | None:
    try:
        return get_lexer_by_name(name, stripnl=False, ensurenl=False) if name else None
    except ClassNotFound:
        return None


@cache
def _lexer_for(file: str) -> Lexer | None:
    """The lexer of a file's language; None for one of prose, whatever a highlighter knows of it."""
    if type_of(basename(file)) in PROSE:
        return None
    try:
        return get_lexer_for_filename(file, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


# The parser


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=SafeHtml)
    parser.enable(["table", "strikethrough"])
    parser.core.ruler.push("links", _link)
    parser.core.ruler.push("levels", _level)
    return parser


class SafeHtml(RendererHTML):
    """Writes what the parser found; nothing of the text reaches the page unescaped."""

    def fence(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        [language, *_] = tokens[at].info.split(maxsplit=1) or [""]
        shown = highlighted(tokens[at].content, _lexer_named(language.lower()))
        return str(Markup('<pre tabindex="0"><code>{}</code></pre>\n').format(shown))

    def code_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return self.fence(tokens, at, options, env)

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return '<div class="scroll" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        """A picture would be asked of another server: it is named, and the link shows it."""
        source = str(tokens[at].attrs.get("src", ""))
        alt = tokens[at].content.strip() or "picture"
        return str(_outward(source, f"[{alt}]") if source.startswith(LINKS) else escape(f"[{alt}]"))


def _outward(address: str, text: str) -> Markup:
    return Markup('<a href="{}" rel="{}">{}</a>').format(address, OUTWARD, text)


def _level(state: Any) -> None:
    """Headings follow one another without a gap, as the outline of a page must."""
    above: list[int] = []
    for token in state.tokens:
        if token.type == "heading_open":
            level = int(token.tag[1:])
            above = [*(other for other in above if other < level), level]
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, state.env.get('under', 1) + len(above))}"
        elif token.type in ("th_open", "td_open"):
            aligned = str(token.attrs.pop("style", "")).removeprefix("text-align:")
            if aligned in ("center", "right"):
                token.attrs["class"] = aligned


def _link(state: Any) -> None:
    links = state.env.get("links", {})
    for token in state.tokens:
        if token.type == "inline":
            token.children = [*_linked(token.children or [], links)]


def _linked(children: Sequence[Token], links: Links) -> Iterator[Token]:
    """The same tokens with links to web addresses and memories; those that lead nowhere go."""
    inside: list[bool] = []  # of each link that is open, whether it leads anywhere
    for token in children:
        if token.type == "link_open":
            target = _target(str(token.attrs.get("href", "")), links)
            inside.append(bool(target))
            token.attrs = target
        if token.type in ("link_open", "link_close"):
            if inside[-1]:
                yield token
            if token.type == "link_close":
                inside.pop()
        elif any(inside) or token.type not in ("text", "code_inline"):
            yield token
        elif token.type == "text":
            yield from _split(token.content, links)
        elif token.content in links:
            yield from _around(_target(token.content, links), [token])
        else:
            yield token


def _target(href: str, links: Links) -> dict[str, str | int | float]:
    """Where a link leads: a web address, or a memory that goes by that name; else nowhere."""
    if href.lower().startswith(LINKS):
        return {"href": href, "rel": OUTWARD}
    id = links.get(unquote(href).partition("#")[0])
    return {"href": f"/memory/{id_path(id)}"} if id is not None else {}


def _split(text: str, links: Links) -> Iterator[Token]:
    """Text as tokens, with links where it names something."""
    last = 0
    for start, end, target in _named(text, links):
        yield _text(text[last:start])
        yield from _around(target, [_text(text[start:end])])
        last = end
    yield _text(text[last:])


def _named(text: str, links: Links) -> Iterator[tuple[int, int, dict[str, Any]]]:
    last = 0
    for web in [*WEB.finditer(text), None]:
        end = web.start() if web else len(text)
        for name in NAME.finditer(text, last, end):
            if name[0] in links:
                yield name.start(), name.end(), _target(name[0], links)
        if web:
            yield web.start(), web.end(), {"href": web[0], "rel": OUTWARD}
            last = web.end()


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _around(attrs: dict[str, Any], tokens: Sequence[Token]) -> Iterator[Token]:
    yield Token("link_open", "a", 1, attrs=attrs)
    yield from tokens
    yield Token("link_close", "a", -1)
