"""`recollect open` and `clip`, and the user's editor: hand something to another program."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
import webbrowser
from base64 import b64encode
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from recollect.auth.credentials import SessionStore
from recollect.auth.token_store import TokenStore, digest, load_own_token
from recollect.errors import NotFound, UserError
from recollect.files import write_whole
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import (
    say,
)
from recollect.interfaces.cli.selection import matching_line, open_vault, resolve_id, resolve_ids
from recollect.interfaces.sockets import running_server
from recollect.memory_json import id_path
from recollect.present.sentences import counted
from recollect.settings_reading import home_folder, load_settings
from recollect.store.registry import open_access_at
from recollect.types import Memory

EDITORS = ("sensible-editor", "nano", "vim", "vi")
# Editors by how they take a line number: `+12 FILE`, `FILE:12`, or `--goto FILE:12`.
PLUS_LINE = (
    "sensible-editor editor nano vi vim nvim gvim view emacs emacsclient mg joe jed ne micro kak"
).split()
COLON_LINE = ("hx", "helix", "subl", "zed")
GOTO_LINE = ("code", "codium", "cursor", "windsurf")
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


def open_in_editor(path: Path, line: int = 1) -> None:
    """Open the file in the user's editor, at that line if the editor is known, and wait until it is
    closed."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    found = chosen or next(filter(shutil.which, EDITORS), None)
    if found is None:
        raise UserError("There is no editor; name yours in the variable EDITOR.")
    try:
        command = shlex.split(found)
        # If standard output is a pipe, the editor draws on standard error.
        code = subprocess.run(
            [*command, *line_arguments(command[0], path, line)],
            stdout=None if os.isatty(1) else 2,
            check=False,
        ).returncode
    except (OSError, ValueError) as error:
        raise UserError(f"The editor {found!r} cannot be started; the file is {path}.") from error
    if code:
        raise UserError(f"The editor ended with {code}; nothing was saved. The file is {path}.")


def line_arguments(program: str, path: Path, line: int) -> list[str]:
    """Return the arguments with which this editor opens the file at a line."""
    name = Path(program).stem
    if line > 1 and name in PLUS_LINE:
        return [f"+{line}", str(path)]
    if line > 1 and name in (*COLON_LINE, *GOTO_LINE):
        return [*(["--goto"] if name in GOTO_LINE else []), f"{path}:{line}"]
    return [str(path)]
