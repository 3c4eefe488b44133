"""Results on screens of any width: measured, wrapped, cut, linked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from commandline import NOW, Home

from recollect import Recollect
from recollect.interfaces.cli.layout import MarkedText, count_cells, cut, lay_out, wrap_text
from recollect.interfaces.cli.output import ELSEWHERE, ENDLESS, Screen, detect_screen
from recollect.interfaces.cli.results import memory_lines, response_text, time_format
from recollect.settings import Embedding, Rerank, Settings

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPEAKERS = (
    "Refresh tokens live 1,250,000 seconds. 更新令牌有效期是三十天,旧的令牌随即失效。 רענון token"
)
MEMORIES: dict[str, dict[str, Any]] = {
    "prose": {"title": "How tokens are refreshed", "text": 5 * f"{SPEAKERS} "},
    "wide": {"title": 9 * "刷新令牌", "text": 9 * "刷新令牌的有效期是三十天。" + "token"},
    "long": {"text": f"https://example.com/{30 * 'token/'}{60 * 'x'} token"},
    "code": {
        "title": "Rotate",
        "text": 'Use it:\n```go\nfunc Rotate() {\n\tif used(token) {\n\t\treturn "", '
        "ErrReuse // the family of the token ends, and the user logs in again\n\t}\n}\n```\n",
    },
    "table": {"title": "Limits", "text": "| a | b |\n|---|---|\n| /token | 10/min |\n| /x | 1 |"},
    "emoji": {"text": 6 * "The standup 👩‍💻 is at 09:30 🇩🇪, token é "},
    "tagged": {"text": "token", "tags": [f"tag-{number}" for number in range(30)]},
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    folder = tmp_path_factory.mktemp("layout")
    settings = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
    with Recollect(folder / "vault.db", home=folder, settings=settings, clock=lambda: AT) as opened:
        for id, fields in MEMORIES.items():
            opened.save(id=id, **fields)
        notes = tmp_path_factory.mktemp("files") / "notes"
        notes.mkdir()
        (notes / "a b.md").write_text(f"# Tokens\n{SPEAKERS}\n")
        opened.add_folder(str(notes))
        yield opened


@pytest.fixture
def shown_on() -> Iterator[object]:
    tokens = []
    yield lambda screen: tokens.append(ELSEWHERE.set(screen))
    for token in reversed(tokens):
        ELSEWHERE.reset(token)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize("view", ["scan", "pointer", "preview"])
def test_a_result_fits_the_screen_in_four_lines(
    memory: Recollect, shown_on: object, width: int, view: str
) -> None:
    shown_on(Screen(terminal=True, width=width, styles=0))  # type: ignore[operator]
    text = response_text(memory.search("token", limit=20, view=view, mark=True), AT)
    assert max(map(count_cells, text.splitlines())) <= width
    *results, _ = text.split("\n\n")
    assert len(results) == len(MEMORIES) + 1
    for lines in map(str.splitlines, results):
        assert 2 <= len(lines) <= 4, lines
        assert all(line.startswith("    ") for line in lines[1:])
        assert "token" in "".join(lines).lower(), "What matched is among what is shown."
    assert "1,250,000" in text
    assert "    │ " in text, "Code and tables are set apart."


def test_in_a_pipe_no_line_is_wrapped(memory: Recollect, shown_on: object) -> None:
    shown_on(Screen(terminal=False, width=ENDLESS, styles=0))  # type: ignore[operator]
    text = response_text(memory.search("refresh token", limit=20, mark=True), AT)
    assert max(len(line) for line in text.splitlines()) > 150


@pytest.mark.parametrize("room", [12, 20, 33])
def test_wrapping_loses_nothing_and_breaks_no_number(room: int) -> None:
    text = f"{SPEAKERS} https://example.com/a/b/0123456789?q=1,250,000 Straße 30.5 s"
    lines = wrap_text(text, room)
    assert all(0 < count_cells(line) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for number in ("1,250,000", "30.5", "0123456789"):
        assert any(number in line for line in lines), (number, lines)


def test_widths_are_counted_in_cells() -> None:
    texts = ("abc", "é", "e\u0301", "刷新", "한", "רע", "☀\ufe0f")
    assert [*map(count_cells, texts)] == [3, 1, 1, 4, 2, 2, 2]
    assert cut("刷新令牌", 5) == "刷新…"
    assert cut("several words here", 14) == "several words…"


def test_a_whole_text_keeps_code_tables_and_items() -> None:
    code = "```\na = 1  # long enough to be wrapped\n```"
    text = f"- one two three four\n  more\n\n{code}\n| a | b c d e f |"
    assert [*lay_out(text, 14)] == [
        "- one two",
        "  three four",
        "  more",
        "",
        "```",
        "a = 1  # long enough to be wrapped",
        "```",
        "| a | b c d e f |",
    ]


def test_marks_stay_on_their_words() -> None:
    text = MarkedText.of("one  <mark>two</mark>\nthree <mark>four</mark> five").on_one_line()
    assert [text.text[start:end] for start, end in text.matches] == ["two", "four"]
    [line] = text.wrap(14, 1)
    assert [line.text[start:end] for start, end in line.matches] == ["two"]
    assert line.text == "one two…"


def test_dates_are_relative_or_exact(memory: Recollect) -> None:
    [prose] = memory.show(["prose"], opened=False)
    relative, exact = (
        " ".join(memory_lines(prose, time_format(dates, AT))) for dates in (False, True)
    )
    assert "created_at   just now" in relative
    assert "created_at   2026-03-01 12:00 UTC" in exact


def test_a_file_is_a_link_where_the_terminal_shows_links(
    memory: Recollect, shown_on: object
) -> None:
    shown_on(Screen(terminal=True, width=60, styles=0, links=True))  # type: ignore[operator]
    text = response_text(memory.search("tokens", limit=20), AT)
    assert "\x1b]8;;file://" in text
    assert "/notes/a%20b.md\x1b\\" in text
    assert text.count("\x1b]8;;\x1b\\") == 1


@pytest.mark.parametrize(
    ("environment", "links"),
    [
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7200"}, True),
        ({"TERM": "xterm-256color", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "dumb", "TERM_PROGRAM": "vscode"}, False),
    ],
)
def test_links_are_for_terminals_that_show_them(
    environment: dict[str, str], links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.interfaces.cli.output.os.environ", environment)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert detect_screen().links == links
    assert bool(detect_screen().styles) == (environment["TERM"] != "dumb")


@pytest.mark.parametrize(("columns", "told", "width"), [(0, "", 80), (0, "55", 55), (33, "9", 33)])
def test_a_terminal_without_a_size_has_eighty_columns(
    columns: int, told: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", told)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.fileno", lambda: 1, raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 0)))
    assert detect_screen().width == width


def test_a_dumb_terminal_gets_no_escapes_and_the_c_locale_all_letters(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", RECOLLECT_NOW=NOW)
    home.import_memories({"id": "he", "title": "רענון 刷新", "text": "token"})
    shown = home.on_terminal("search", "token", using={"TERM": "dumb", "LC_ALL": "C"})
    assert "\x1b" not in shown.out
    assert "רענון 刷新" in shown.out
    assert "he - fact" in shown.out, "What Recollect draws is plain where the terminal may be."
