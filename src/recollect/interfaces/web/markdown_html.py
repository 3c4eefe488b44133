"""Markdown as safe HTML: a whole text, or a snippet in one line with marked matches.

HTML in the text is escaped, pictures become links, and links lead to web addresses, other memories
or files of the vault. Code has classes instead of styles, as the page's security policy requires.
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
from recollect.present.snippet import split_marks

WEB = re.compile(r"https?://[^\s<>\"'`\ue000\ue001]+[^\s<>\"'`.,;:!?)\]}\ue000\ue001]")
# A possible id or path: a word of several parts.
NAME = re.compile(r"\w[\w/-]*(?:[.:@][\w/-]+)*")
PARTS = re.compile(r"(?=.*[^\W\d_]).*(?:[^\W_][/._:@-]\w|\d)")
MOST_NAMES = 200  # looked up for one text
MOST_MARKDOWN = 50_000  # characters: half a second of parsing, three for text made to be slow
MOST_CODE = 20_000  # characters to highlight: a tenth of a second
LINKS = ("http://", "https://", "mailto:")
OUTWARD = "noreferrer noopener nofollow"
# Marks of the beginning and end of a match while a snippet is parsed.
OPEN, CLOSE = "\ue000", "\ue001"
MATCH = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}")
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
CODE_SPAN = re.compile("`([^`]+)`")
CUT_SPAN = re.compile(rf"…[^`]*[\w{CLOSE}]`(?![`\w{OPEN}])")  # the first backtick ends a span
STRAY = re.compile(f"[{OPEN}{CLOSE}]")
FENCE = re.compile(r"^\s{0,3}(?:```|~~~)[ \t]*(\S*)", re.MULTILINE)
# Types of files whose text is prose.
PROSE = frozenset({MARKDOWN, RST, TEXT, HTML, PDF, DOCX, NOTEBOOK})
# Kinds of tokens, the specific ones first, and their CSS classes.
CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"), (Keyword, "k"), (Operator.Word, "k"), (String, "s"), (Number, "m"),
    (Name.Function, "f"), (Name.Class, "f"), (Name.Decorator, "f"), (Name.Tag, "k"),
    (Name.Attribute, "f"), (Name.Builtin, "b"), (Name.Constant, "b"),
    (Generic.Inserted, "i"), (Generic.Deleted, "d"), (Generic.Heading, "k"),
)  # fmt: skip

Links = Mapping[str, str]  # a name in the text → the id of its memory
NO_LINKS: Links = {}


def render(text: str, links: Links = NO_LINKS, *, under: int = 1) -> Markup:
    """Return a text as HTML, its headings below the level `under`."""
    if len(text) > MOST_MARKDOWN:
        return Markup('<pre class="plain" tabindex="0">{}</pre>').format(text)
    return Markup(_parser().render(text, {"links": links, "under": under}))


def code(text: str, file: str) -> Markup:
    """Return the source code of a file as HTML; its name tells the language."""
    return Markup('<pre tabindex="0"><code>{}</code></pre>').format(
        highlight(text, _lexer_for(file))
    )


def is_source(file: str) -> bool:
    """Return True if a file of this name is source code."""
    return _lexer_for(file) is not None


def names(text: str) -> list[str]:
    """Return the possible ids and paths in a text."""
    targets = (unquote(found) for found in re.findall(r"\]\(\s*<?([^)\s>#]+)", text))
    found = dict.fromkeys([*targets, *(word for word in NAME.findall(text) if PARTS.match(word))])
    return [*found][:MOST_NAMES]


def marked_line(marked: str) -> Markup:
    """Return a snippet in one line with matches in `<mark>`, without comments and Markdown signs.
    Code whose beginning was cut off is still read as code."""
    text = COMMENT.sub("", _with_match_marks(marked))
    fences = FENCE.findall(text)
    if text.startswith("…") and fences and not fences[0] and (len(fences) % 2 or any(fences[1::2])):
        text = f"```\n{text}"
    elif CUT_SPAN.match(text):
        text = f"…`{text[1:]}"
    return Markup(" ").join(part for part in _block_lines(_parser().parse(text)) if part.strip())


def title_line(title: str) -> Markup:
    """Return a title with text in backticks as code; other Markdown stays as it is."""
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(CODE_SPAN.split(title))
    )


def marked_code(marked: str) -> Markup:
    """Return a snippet of source code with its lines and with matches in `<mark>`."""
    return _mark_matches(_with_match_marks(marked).strip("\n"))


def _with_match_marks(marked: str) -> str:
    """Put OPEN and CLOSE, which no text contains, around the matches of a snippet."""
    return "".join(
        f"{OPEN}{part}{CLOSE}" if matched else part
        for part, matched in split_marks(STRAY.sub("", marked))
    )


def _block_lines(tokens: Sequence[Token]) -> Iterator[Markup]:
    """Yield each block of a text as one line."""
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type in ("fence", "code_block"):
            yield Markup("<code>{}</code>").format(_mark_matches(" ".join(token.content.split())))
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
        return Markup("<code>{}</code>").format(_mark_matches(token.content))
    if token.type in SIMPLE:
        return Markup(SIMPLE[token.type])
    return _mark_matches(token.content)


def _mark_matches(text: str) -> Markup:
    """Escape a text and mark its matches; single OPEN and CLOSE signs are removed."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(part) if place % 2 else escape(STRAY.sub("", part))
        for place, part in enumerate(MATCH.split(text))
    )


# Code


def highlight(text: str, lexer: Lexer | None) -> Markup:
    """Return code as HTML with a class for each kind of token."""
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
    """Return the lexer of a file's language; None for prose, even if there is one."""
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
    """Renders tokens as HTML; all text is escaped."""

    def fence(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        [language, *_] = tokens[at].info.split(maxsplit=1) or [""]
        shown = highlight(tokens[at].content, _lexer_named(language.lower()))
        return str(Markup('<pre tabindex="0"><code>{}</code></pre>\n').format(shown))

    def code_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return self.fence(tokens, at, options, env)

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return '<div class="scroll" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return "</table></div>\n"

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        """Render a picture as a link, because loading it would contact another server."""
        source = str(tokens[at].attrs.get("src", ""))
        text = f"[{tokens[at].content.strip() or 'picture'}]"
        if not source.startswith(LINKS):
            return str(escape(text))
        return str(Markup('<a href="{}" rel="{}">{}</a>').format(source, OUTWARD, text))


def _level(state: Any) -> None:
    """Renumber headings so that no level is skipped."""
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
            token.children = [*_add_links(token.children or [], links)]


def _add_links(children: Sequence[Token], links: Links) -> Iterator[Token]:
    """Add links to web addresses and memories; remove links without a target."""
    inside: list[bool] = []  # for each open link, True if it has a target
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
            yield from _wrap_link(_target(token.content, links), [token])
        else:
            yield token


def _target(href: str, links: Links) -> dict[str, str | int | float]:
    """Return the attributes of a link to a web address or to a memory; empty without a target."""
    if href.lower().startswith(LINKS):
        return {"href": href, "rel": OUTWARD}
    id = links.get(unquote(href).partition("#")[0])
    return {"href": f"/memory/{id_path(id)}"} if id is not None else {}


def _split(text: str, links: Links) -> Iterator[Token]:
    """Split a text into tokens, with links for web addresses and names of memories."""
    last = 0
    for start, end, target in _find_targets(text, links):
        yield _text(text[last:start])
        yield from _wrap_link(target, [_text(text[start:end])])
        last = end
    yield _text(text[last:])


def _find_targets(text: str, links: Links) -> Iterator[tuple[int, int, dict[str, Any]]]:
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


def _wrap_link(attrs: dict[str, Any], tokens: Sequence[Token]) -> Iterator[Token]:
    yield Token("link_open", "a", 1, attrs=attrs)
    yield from tokens
    yield Token("link_close", "a", -1)
