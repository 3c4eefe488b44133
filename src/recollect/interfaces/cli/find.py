"""`recollect find`, `open` and `clip`: find a memory while typing, hand it to another program."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import webbrowser
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TextIO, cast
from urllib.parse import quote

from msgspec.structs import replace

from recollect.auth.credentials import SessionStore
from recollect.auth.token_store import TokenStore, digest, load_own_token
from recollect.engine import Recollect
from recollect.entry_points import entry_points_of
from recollect.errors import NotFound, UserError
from recollect.files import write_whole
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.layout import MarkedText, count_cells, lay_out, shorten, wrap_text
from recollect.interfaces.cli.main import main
from recollect.interfaces.cli.output import (
    BOLD,
    COLOURS,
    CYAN,
    DIM,
    ELSEWHERE,
    MARK,
    NO_COLOURS,
    Screen,
    paint,
    say,
)
from recollect.interfaces.cli.results import INDENT, about_line, passage_lines, reason_lines
from recollect.interfaces.cli.save import open_in_editor
from recollect.interfaces.cli.selection import matching_line, open_vault, resolve_id, resolve_ids
from recollect.interfaces.sockets import running_server
from recollect.memory_json import id_path
from recollect.present import sentences
from recollect.present.picking import GROUP, PickerType
from recollect.present.sentences import age, counted, heading_line, place_in_file, visible
from recollect.present.snippet import join_lines
from recollect.query.terms import WORD
from recollect.settings import UsageSettings
from recollect.settings_reading import home_folder, load_settings
from recollect.store.registry import open_access_at
from recollect.types import Memory, Result, Search

FILE = "open.html"
BROWSER_S = 20.0  # a browser that is not running yet may need this long
LOOK_S = 0.1
PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={link}">
<title>Recollect</title>
<p><a href="{link}">Log in to Recollect</a></p>
"""
# Clipboard program → the environment variable that shows that it can work.
PROGRAMS = {
    "wl-copy": "WAYLAND_DISPLAY",
    "xclip -selection clipboard": "DISPLAY",
    "xsel --clipboard --input": "DISPLAY",
    "pbcopy": "HOME",
    "clip.exe": "PATH",
    "tmux load-buffer -w -": "TMUX",  # it does not pass on OSC 52 by itself
}
CLIPBOARD_S = 5.0


@command(
    "  recollect open\n  recollect open auth-jwt-001\n  recollect open --print",
    arg.argument("id", "ID", "a memory: open its page or its file", nargs="?"),
    arg.argument("--line", "N", "the line of the file to open", type=int),
    arg.flag("--print", "print the link and start no browser, as --json does"),
    arg.add_json,
)
def open_(args: argparse.Namespace) -> None:
    home = home_folder(os.environ)
    page = ""
    if args.id is not None:
        with open_vault() as memory:
            [found] = memory.show([resolve_id(memory, args.id)])
            place = memory.store.folders.places([found.id]).get(found.id)
            first = place.chunk.first_line if place else 1
            line = args.line or matching_line(memory, args.id) or first
        if found.tier == "file" and Path(found.path).is_file() and not (args.print or args.json):
            open_in_editor(Path(found.path), line)
            return
        page = f"memory/{id_path(found.id)}"
    server = running_server(home)
    if server is None:
        raise NotFound("No server is running for this vault. Start one: recollect serve")
    with closing(open_access_at(home, load_settings(home).store)) as access:
        stored = TokenStore(access)
        sessions, link, secret = SessionStore(stored), f"{server.url}/{page}", ""
        if server.auth:
            secret = sessions.create_link(digest(load_own_token(home, stored)[0]))
            link = f"{server.url}/login/{secret}" + (f"?next=/{quote(page)}" if page else "")
        if args.print or args.json or not _has_display():
            say(args.json, link, link=link)
        elif not _open_in_browser(home, link, sessions, secret):
            print("The browser did not open the page. Open this link yourself; it works once:")
            print(link)


def _has_display() -> bool:
    """Return whether a browser can open a window; text browsers cannot show the page."""
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_in_browser(home: Path, link: str, sessions: SessionStore, secret: str) -> bool:
    """Open the link in the browser; return whether it was used. Every user can see a process's
    arguments, so the browser gets a private file that redirects to the link."""
    if not secret:
        return webbrowser.open(link)
    file = home / FILE
    write_whole(file, PAGE.format(link=link))
    try:
        give_up = time.monotonic() + BROWSER_S
        opened = webbrowser.open(file.resolve().as_uri())
        while opened and sessions.has_link(secret) and time.monotonic() < give_up:
            time.sleep(LOOK_S)
    finally:
        file.unlink(missing_ok=True)
    return opened and not sessions.has_link(secret)


@command("  recollect clip auth-jwt-001", arg.argument("ids", "ID", arg.IDS, nargs="+"))
def clip(args: argparse.Namespace) -> None:
    with open_vault() as memory:
        found = memory.show(resolve_ids(memory, args.ids))
    text = "\n\n".join(map(memory_text, found))
    if not copy_text(text, sys.stdout.write if sys.stdout.isatty() else None):
        raise UserError(
            "There is no clipboard: no program for one, and no terminal. Use `recollect show ID`."
        )
    print(f"{counted(len(found), 'memory')} copied.")


def memory_text(memory: Memory) -> str:
    return "\n\n".join(filter(None, (memory.title, memory.text, memory.details)))


def copy_text(text: str, to_terminal: Callable[[str], object] | None) -> bool:
    """Copy the text with a program, or else through the terminal, which works even over ssh
    (OSC 52); `to_terminal` is None without a terminal. Return whether it was copied."""
    for program, variable in PROGRAMS.items():
        command = program.split()
        if os.environ.get(variable) and shutil.which(command[0]):
            # Some programs keep running to serve the text, and would keep a pipe open.
            with suppress(subprocess.SubprocessError):  # it failed, or hangs without its display
                subprocess.run(
                    command, input=text.encode(), timeout=CLIPBOARD_S, check=True,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
                return True
    if to_terminal is None:
        return False
    to_terminal(f"\x1b]52;c;{b64encode(text.encode()).decode()}\x07")
    return True


# `recollect find`

OPEN = b"SQLite format 3\0"  # how a vault begins that is not locked
DEFAULT = 20
LEFT = 130  # exit code if nothing was chosen, so that a script that needs an id stops
NEEDS = (
    "`recollect find` needs a terminal that can be drawn on and typed into. Use `recollect search "
    "WORDS`, with --ids for ids alone."
)
AGES_FROM = 48  # columns from which a list shows ages
TAB = 4
NEAR = 400  # characters of a text that are visible without scrolling
SAME = 60  # characters of a passage that are looked for in the visible text
PASSAGE = 4  # lines
FIELDS = ("context", "why", "impact", "details")


@command(
    "  recollect find\n  recollect find tokens --project harbor-api\n"
    "  recollect show $(recollect find)",
    arg.words("query", "the words to start with", default=""),
    arg.argument("--recipe", "NAME", "the ranking to use; see `recollect recipes`"),
    arg.limit(DEFAULT),
    arg.add_filter,
)
def find(args: argparse.Namespace) -> int:
    terminal = find_terminal()
    if terminal is None:
        raise UserError(NEEDS)
    picker = _installed_picker()
    home = home_folder(os.environ)
    settings = load_settings(home)
    now = datetime.now(UTC)
    search = Search(
        query=args.query,
        recipe=args.recipe,
        limit=DEFAULT if args.limit is None else args.limit,
        filter=arg.read_filter(args, now),
        mark=True,
    )

    def open_uncounted() -> Recollect:
        # Half-typed queries must not count as searches.
        return open_vault(settings=replace(settings, usage=UsageSettings(keep=False)))

    # A locked vault asks for its passphrase, so it is opened before the screen is drawn.
    vault = home / "vault.db"
    locked = vault.is_file() and vault.open("rb").read(len(OPEN)) != OPEN
    opened = open_uncounted() if locked else None
    chosen = picker(lambda: opened or open_uncounted(), search, main, terminal, TerminalText())
    if chosen is None:
        return LEFT
    memory, line = chosen
    if sys.stdout.isatty() and memory.tier == "file" and Path(memory.path).is_file():
        return main(["open", f"--line={line}", "--", memory.id])
    print(visible(memory.id) if sys.stdout.isatty() else memory.id)
    return 0


def _installed_picker() -> PickerType:
    """Return the first installed picker, by name; raise UserError if there is none."""
    for point in entry_points_of(GROUP).values():
        return cast(PickerType, point.load())
    raise UserError("No picker is installed here. Use `recollect search WORDS`.")


def find_terminal() -> TextIO | None:
    """Return the terminal to draw a picker on: standard output, or standard error if the id goes
    into a pipe; None without a usable terminal."""
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown") or not _is_terminal(sys.stdin):
        return None
    return next(filter(_is_terminal, (sys.stdout, sys.stderr)), None)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


class TerminalText:
    """Formats memories for a picker, as lines that fit (see `PickerText`)."""

    def row(self, memory: Memory, columns: int, now: datetime | None) -> str:
        """Return a memory as one line of a list: its title, and its age if there is room."""
        old = age(memory.updated_at, now) if now and columns >= AGES_FROM else ""
        pinned = "* " if memory.tier == "core" else ""
        title = shorten(f"{pinned}{heading_line(memory)}", columns - len(old) - 1)
        return f"{title}{' ' * (columns - len(old) - count_cells(title))}{old}"

    def preview(
        self,
        memory: Memory,
        result: Result | None,
        now: datetime,
        columns: int,
        *,
        colour: bool,
        why: bool,
    ) -> list[str]:
        """Return a memory as lines with terminal escapes, or if `why`, the reasons for its
        score."""
        # Result lines are indented, so the screen is wider by the indent.
        width = columns + len(INDENT)
        shown = ELSEWHERE.set(
            Screen(terminal=True, width=width, styles=COLOURS if colour else NO_COLOURS)
        )
        try:
            whole = _reason_lines(result) if why else _preview_lines(memory, result, now, columns)
            heading = (paint(line, BOLD) for line in wrap_text(heading_line(memory), columns))
            return [*heading, *whole]
        finally:
            ELSEWHERE.reset(shown)

    def copy(self, memory: Memory, to_terminal: Callable[[str], object]) -> object:
        """Copy a memory to the clipboard, by a program or by the terminal."""
        return copy_text(memory_text(memory), to_terminal)


def _reason_lines(result: Result | None) -> Iterator[str]:
    yield ""
    if result is None:
        yield "This is a list, not a search: type some words."
    else:
        yield from (line.removeprefix(INDENT) for line in reason_lines(result.explain))


def _preview_lines(
    memory: Memory, result: Result | None, now: datetime, columns: int
) -> Iterator[str]:
    yield paint(about_line(memory, now, partial(age, now=now)), DIM)
    words: set[str] = set()
    if result is not None:
        notes = [place_in_file(result.file)] if result.file else []
        for each in (*notes, *sentences.others(result)):
            yield paint(shorten(each, columns), DIM)
        passage = MarkedText.of(result.marked)
        words = {passage.text[start:end].casefold() for start, end in passage.matches}
        if join_lines(passage.text[:SAME]).strip("… ") not in join_lines(memory.text[:NEAR]):
            yield from ("", *passage_lines(passage, PASSAGE))
    yield from ("", *_mark_words(memory.text, words, columns))
    for name in FIELDS:
        if value := getattr(memory, name):
            yield from ("", paint(name, CYAN), *_mark_words(value, words, columns))


def _mark_words(text: str, words: set[str], columns: int) -> Iterator[str]:
    """Yield the lines of the text, with these words marked."""

    def mark(found: re.Match[str]) -> str:
        return paint(found[0], MARK) if found[0].casefold() in words else found[0]

    for line in lay_out(visible(text).expandtabs(TAB), columns):
        yield WORD.sub(mark, line)
