"""Make docs/images/search.svg: a real search on the demo vault, as printed on a terminal.

    python docs/make_pictures.py            write the picture
    python docs/make_pictures.py --check    exit 1 if the picture is out of date

The command runs under a pseudo-terminal, so that it uses colour; rich turns the ANSI text into SVG.
The picture refers to nothing outside itself: it loads no fonts and names no address. It needs a
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


def remove_addresses(svg: str) -> str:
    """Remove rich's web fonts and comment, which name addresses."""
    bare = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    bare = re.sub(r"\s*<!--.*?-->", "", bare, flags=re.DOTALL)
    bare = bare.replace("Fira Code, monospace", FONTS).replace("family: arial", f"family: {FONTS}")
    return "\n".join(line.rstrip() for line in bare.splitlines()) + "\n"


def run_on_terminal(command: list[str], environment: dict[str, str]) -> str:
    """Run a command on a terminal of COLUMNS columns; return its output with escape sequences."""
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
    except OSError:  # Linux: the other end is closed
        pass
    finally:
        os.close(ours)
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{printed.decode()}")
    return printed.decode().replace("\r\n", "\n")


def run_search() -> str:
    """Run the search of the picture on a new demo vault, with the bundled models."""
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
        return run_on_terminal([recollect, *SEARCH], environment)


def picture() -> str:
    """Return the picture as SVG."""
    console = Console(
        record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="standard"
    )
    console.print(Text.from_ansi(f"\x1b[2m$\x1b[0m recollect {' '.join(SEARCH)}"))
    console.print(Text.from_ansi(run_search().rstrip("\n")), soft_wrap=False)
    drawn = console.export_svg(title="recollect search", theme=THEME, unique_id="search")
    return remove_addresses(drawn)


def text_of(svg: str) -> str:
    """Return the text in a picture, without decimals and the length of bars: times differ from run
    to run, and cosines a little between processors."""
    pieces = re.findall(r"<text [^>]*>(.*?)</text>", svg, flags=re.DOTALL)
    text = html.unescape(" ".join(pieces)).replace("\xa0", " ")
    return re.sub(r"█+", "█", re.sub(r"\d+\.\d+", "N", " ".join(text.split())))


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the picture of a search.")
    parser.add_argument("--check", action="store_true", help="write nothing; say what differs")
    args = parser.parse_args()
    made = picture()
    if args.check:
        same = PICTURE.exists() and text_of(PICTURE.read_text(encoding="utf-8")) == text_of(made)
        print(f"{PICTURE.name} is {'up to date' if same else 'out of date: make it again'}.")
        return 0 if same else 1
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(made, encoding="utf-8")
    print(f"{PICTURE.name} written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
