"""Keep the help texts in docs/commands.md equal to what the commands print.

python docs/update_help.py            write them anew
python docs/update_help.py --check    exit 1 where one differs
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib import import_module
from pathlib import Path

from recollect.interfaces.cli.arguments import parser_of
from recollect.interfaces.cli.commands import COMMANDS, overview

PAGE = Path(__file__).with_name("commands.md")
# <!-- help: NAME -->, a fenced block, <!-- /help -->; the name `recollect` is the overview.
MARKED = re.compile(r"<!-- help: (\S+) -->\n.*?<!-- /help -->", re.DOTALL)


def help_of(name: str) -> str:
    """What `recollect NAME --help` prints."""
    if name == "recollect":
        return overview()
    module, about = COMMANDS[name]
    command = import_module(f"recollect.interfaces.cli.{module}")
    return parser_of(name, about, command).format_help()


def marked_block(name: str) -> str:
    """The help of a command between its marks."""
    return f"<!-- help: {name} -->\n```text\n{help_of(name).rstrip()}\n```\n<!-- /help -->"


def updated(page: str) -> str:
    """The page with every marked block made anew."""
    return MARKED.sub(lambda found: marked_block(found[1]), page)


def main() -> int:
    parser = argparse.ArgumentParser(description="Update the help texts in docs/commands.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; say what differs")
    args = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    after = updated(before)
    if after == before:
        print(f"{PAGE.name} is up to date.")
        return 0
    if args.check:
        print(f"{PAGE.name} is out of date; run `python docs/update_help.py`.", file=sys.stderr)
        return 1
    PAGE.write_text(after, encoding="utf-8")
    print(f"{PAGE.name} updated.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
