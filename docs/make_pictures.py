"""Make docs/images/search.svg: what a real search on the demo vault prints on a real terminal.

    python docs/make_pictures.py            make the picture anew
    python docs/make_pictures.py --check    exit 1 where the picture shows something else

The command runs under a pseudo-terminal, so that it uses colour; rich turns the ANSI text into SVG.
The picture refers to nothing outside itself: no fonts are loaded, no address is named. It needs a
system with pseudo-terminals (Linux, macOS).
"""

from __future__ import annotations

import argparse
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PICTURE = Path(__file__).parent / "images" / "search.svg"
SEARCH = tuple("search getUserByID --kind bug --limit 2 --explain".split())
COLUMNS = 118
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
THEME = TerminalTheme(
    (24, 27, 33),
    (208, 212, 220),
    [
        (24, 27, 33),
        (224, 108, 117),
        (126, 192, 120),
        (224, 190, 112),
        (97, 160, 230),
        (190, 130, 210),
        (96, 184, 190),
        (208, 212, 220),
    ],
)


def self_contained(svg: str) -> str:
    """Without rich's web fonts and its comment, both of which name addresses."""
    bare = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    bare = re.sub(r"\s*<!--.*?-->", "", bare, flags=re.DOTALL)
    bare = bare.replace("Fira Code, monospace", FONTS).replace("family: arial", f"family: {FONTS}")
    return "\n".join(line.rstrip() for line in bare.splitlines()) + "\n"


def on_terminal(command: list[str], environment: dict[str, str]) -> str:
    """What the command prints on a terminal of COLUMNS columns, escape sequences included."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, COLUMNS, 0, 0))
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    printed = b""
    try:
        while chunk := os.read(ours, 65536):
            printed += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(ours)
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


def searched() -> str:
    """The search in the picture, on a fresh demo vault, with the bundled models."""
    recollect = str(Path(sys.executable).with_name("recollect"))
    with tempfile.TemporaryDirectory() as folder:
        home = str(Path(folder) / "demo-home")
        environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment |= {
            "RECOLLECT_HOME": home,
            "TERM": "xterm-256color",
            "PYTHONUTF8": "1",
        }
        kept = [recollect, "demo", "--keep", home]
        subprocess.run(kept, env=environment, check=True, stdout=subprocess.DEVNULL)
        return on_terminal([recollect, *SEARCH], environment)


def picture() -> str:
    """The SVG."""
    console = Console(
        record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="standard"
    )
    console.print(Text.from_ansi(f"\x1b[2m$\x1b[0m recollect {' '.join(SEARCH)}"))
    console.print(Text.from_ansi(searched().rstrip("\n")), soft_wrap=False)
    drawn = console.export_svg(title="recollect search", theme=THEME, unique_id="search")
    return self_contained(drawn)


def shown(svg: str) -> str:
    """The text in a picture. Numbers with decimals and the length of bars are not compared: times
    differ from run to run, and cosines a little from processor to processor."""
    pieces = re.findall(r"<text [^>]*>(.*?)</text>", svg, flags=re.DOTALL)
    text = html.unescape(" ".join(pieces)).replace("\xa0", " ")
    return re.sub(r"█+", "█", re.sub(r"\d+\.\d+", "N", " ".join(text.split())))


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the picture of a search.")
    parser.add_argument("--check", action="store_true", help="write nothing; say what differs")
    args = parser.parse_args()
    made = picture()
    if args.check:
        same = PICTURE.exists() and shown(PICTURE.read_text(encoding="utf-8")) == shown(made)
        print(f"{PICTURE.name} is {'up to date' if same else 'out of date: make it anew'}.")
        return 0 if same else 1
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(made, encoding="utf-8")
    print(f"{PICTURE.name} written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
