"""Markdown is shown as what it means, and nothing of it can act on the page."""

from __future__ import annotations

from datetime import UTC, datetime

from recollect.interfaces.web.markdown_html import code, marked_line, names, render, title_line
from recollect.interfaces.web.rendering import heading
from recollect.types import Memory

NOW = datetime(2026, 3, 14, tzinfo=UTC)

TEXT = """## Rotation
See auth-jwt-001, `src/auth.py` and [the notes](notes/refresh.md#why).
Kept on its own line.

#### Steps
1. sign
2. verify

| who | ms |
|-----|---:|
| api |  3 |

```python
def refresh(): return "new"  # rotates
```
![diagram](https://example.org/d.png) <b onclick="x()">raw</b> [no](javascript:x())
"""
LINKS = {"auth-jwt-001": "auth-jwt-001", "src/auth.py": "file/1", "notes/refresh.md": ".."}


def test_comments_and_signs_of_markdown_are_in_no_snippet_and_no_heading() -> None:
    text = "<!-- who edits\nthis -->\n## Rotation ##\n\nKeys **rotate**. <!-- soon -->"
    assert str(marked_line(text)) == "<strong>Rotation</strong> Keys <strong>rotate</strong>."
    memory = Memory(id="a", title="", text=text, created_at=NOW, updated_at=NOW)
    assert heading(memory) == "Rotation"


def test_a_text_has_headings_lists_tables_links_and_coloured_code() -> None:
    shown = render(TEXT, LINKS)
    for part in (
        "<h2>Rotation</h2>",
        "<h3>Steps</h3>",  # no level is left out
        '<a href="/memory/auth-jwt-001">auth-jwt-001</a>',
        '<a href="/memory/file%2F1"><code>src/auth.py</code></a>',
        '<a href="/memory/..%2F">the notes</a>',
        "<br />\nKept on its own line.",
        "<ol>\n<li>sign</li>",
        '<td class="right">3</td>',
        '<span class="k">def</span> <span class="f">refresh</span>',
        '<span class="c"># rotates</span>',
        '<a href="https://example.org/d.png" rel="noreferrer noopener nofollow">[diagram]</a>',
        "&lt;b onclick=&quot;x()&quot;&gt;raw",
        "[no](javascript:x())",
    ):
        assert part in shown, part
    assert "<h4>Rotation</h4>" in render(TEXT, under=3)


def test_a_link_that_leads_nowhere_is_text() -> None:
    assert render("[a file](../other.md) and x-1") == "<p>a file and x-1</p>\n"


def test_names_are_those_of_memories_and_files() -> None:
    found = names("It is auth-jwt-001 (not 15 minutes); see [n](a%20b.md#x), src/a.py, v1.2.")
    assert {"a b.md", "auth-jwt-001", "src/a.py", "v1.2"} <= {*found}
    assert not {"15", "minutes", "not"} & {*found}


def test_a_snippet_keeps_its_matches_and_loses_its_signs() -> None:
    shown = marked_line("## How <mark>tokens</mark> *live*\n\n- **one**\n- `two <mark>x</mark>`")
    assert shown == (
        "<strong>How <mark>tokens</mark> <em>live</em></strong> · <strong>one</strong> · "
        "<code>two <mark>x</mark></code>"
    )
    cut = marked_line(
        "…return <mark>new</mark>\n```\nThen ~~old~~ text [l](https://x.org/<mark>a</mark>)"
    )
    assert cut == "<code>…return <mark>new</mark></code> Then <s>old</s> text l"
    assert marked_line("…explain` <mark>lists</mark> them; it answers `E1` at (`--once`).") == (
        "…<code>explain</code> <mark>lists</mark> them; it answers <code>E1</code> at "
        "(<code>--once</code>)."
    )
    assert marked_line("| a | <mark>b</mark> |\n|---|---|\n| c | d |") == (
        "<strong>a</strong> <strong><mark>b</mark></strong> · c · d"
    )


def test_a_title_shows_code_and_stays_as_it_is_otherwise() -> None:
    assert title_line("1. `a<b>` and __init__ # x") == "1. <code>a&lt;b&gt;</code> and __init__ # x"


def test_source_code_of_a_file_is_coloured_by_its_name() -> None:
    assert '<span class="k">let</span>' in code("let x = 1", "/src/main.rs")
    assert code("<b>", "/x/unknown.zzz") == '<pre tabindex="0"><code>&lt;b&gt;</code></pre>'
