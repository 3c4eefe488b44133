"""Whatever a memory holds, the page shows it as text: nothing of it runs, and no tag stays open."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.interfaces.web.markdown_html import (
    code,
    marked_code,
    marked_line,
    names,
    render,
    title_line,
)

# What Markdown and HTML are made of, and what has got past sanitisers.
PIECES = st.sampled_from([
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=x>", "</p>",
    "</code>", "<mark>", "</mark>", "<!--", "-->", "<![CDATA[", "&lt;", "&#106;", "&Tab;", "\"",
    "'", ">", "<", "[a](javascript:x)", "[a](JaVa\tScript:x)", "[a](&#106;avascript:x)",
    "[a](data:text/html,x)",
    "![a](javascript:x)", "[a]: javascript:x\n", "[a]",
    "<javascript:x>", "<https://x.org/?\"onx=1>",
    "[a](https://x.org \"t\" onclick=x)", "[a](//x.org)", "[x](a.md)", "a-1", "https://x.org/a\"b",
    "# ", "## ", "- ", "1. ", "> ", "    ", "\t", "\n", "\n\n", "```", "```html\n", "~~~", "`",
    "``", "**", "*", "__", "_", "~~", "|", "\n|-|:-:|\n", "\\", "\x00", "\u2028",
    "\ue000", "\ue001", "…", "é", "👩‍👩‍👧", "word ",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=14).map("".join)
LINKS = {"a-1": 'x" onclick="y', "a.md": "../<b>"}
TAGS = frozenset(
    "p h2 h3 h4 h5 h6 ul ol li blockquote pre code span em strong s a br hr div table thead tbody "
    "tr th td mark".split()
)
VOID = frozenset({"br", "hr"})
ATTRIBUTES = frozenset({"href", "rel", "title", "class", "tabindex", "start"})
ADDRESSES = ("http://", "https://", "mailto:", "/memory/")


class Checker(HTMLParser):
    """Follows every tag; what is not allowed is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            assert name != "href" or (value or "").lower().startswith(ADDRESSES), value
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID, tag

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = unknown_decl = handle_pi = handle_comment  # type: ignore[assignment]


@given(text=TEXTS)
@settings(max_examples=examples(400), deadline=None)
def test_no_text_makes_a_script_a_handler_a_bad_link_or_an_open_tag(text: str) -> None:
    assert all(isinstance(name, str) for name in names(text))
    for shown in (
        render(text, LINKS), marked_line(text), marked_code(text), title_line(text),
        code(text, "x.py"), code(text, "x.html.txt"),
    ):  # fmt: skip
        checker = Checker()
        checker.feed(str(shown))
        checker.close()
        assert checker.open == []
        assert not {"\ue000", "\ue001"} & {*shown} or "\ue000" in text or "\ue001" in text
