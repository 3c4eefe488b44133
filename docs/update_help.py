"""Write what is made from the commands' parsers: the help in docs/reference/commands.md, the manual
pages in man/ and the table for shell completion.

python docs/update_help.py            write them anew
python docs/update_help.py --check    exit 1 where one differs
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, get_args

from recollect.interfaces.cli import completion_line
from recollect.interfaces.cli.arguments import parser_of
from recollect.interfaces.cli.commands import ALIASES, command_of, every_command, overview
from recollect.interfaces.cli.completion import SCRIPTS
from recollect.recipes.registry import BUILT_IN
from recollect.settings import SemanticMode
from recollect.types import Severity, Sort, Tier, View

PAGE = Path(__file__).parent / "reference" / "commands.md"
MAN = Path(__file__).parents[1] / "man"
TABLE = Path(completion_line.__file__).with_name("completion.json")
SEE_ALSO = (".SH SEE ALSO", "\\fBrecollect\\fR(1)")
# What the words of these commands are.
ACTIONS: dict[str, str | list[str]] = {
    "completion": [*SCRIPTS],
    "recipes": "recipe",
    "vault": ["lock", "unlock", "rekey", "status"],
}
# <!-- help: NAME -->, a fenced block, <!-- /help -->; the name `recollect` is the overview, and
# `--all` the whole one.
MARKED = re.compile(r"<!-- help: ([\w -]+) -->\n.*?<!-- /help -->", re.DOTALL)


def help_of(name: str) -> str:
    """What `recollect NAME --help` prints."""
    os.environ["COLUMNS"] = "80"
    if name in ("recollect", "--all"):
        return overview(whole=name == "--all")
    return parser_of(name).format_help()


def marked_block(name: str) -> str:
    """The help of a command between its marks."""
    return f"<!-- help: {name} -->\n```text\n{help_of(name).rstrip()}\n```\n<!-- /help -->"


def updated(page: str) -> str:
    """The page with every marked block made anew."""
    return MARKED.sub(lambda found: marked_block(found[1]), page)


def manual(name: str) -> str:
    """The manual page of a command in roff, from the same parser as its help."""
    if name == "recollect":
        about, rest = "memory search for AI agents and the people they work for", help_of("--all")
        return "\n".join([*head("recollect", about), ".SH COMMANDS", *verbatim(rest), ""])
    about, parser = every_command()[name][1], parser_of(name)
    lines = [*head(titled(name), about), ".SH SYNOPSIS", *verbatim(parser.format_usage())]
    lines.append(".SH OPTIONS")
    for action in parser._actions:
        names = ", ".join(action.option_strings) or str(action.metavar)
        value = f" {action.metavar}" if action.option_strings and action.metavar else ""
        lines += [".TP", f"\\fB{roff(names)}\\fR{roff(value)}", roff(action.help or "")]
    example = command_of(name).example
    return "\n".join([*lines, ".SH EXAMPLE", *verbatim(example), *SEE_ALSO, ""])


def head(title: str, about: str) -> list[str]:
    return [f'.TH {title.upper()} 1 "" Recollect', ".SH NAME", f"{roff(title)} \\- {roff(about)}"]


def titled(name: str) -> str:
    """The name of a command's manual page: `recollect-vault-add`."""
    return "-".join(["recollect", *name.split()])


def verbatim(text: str) -> list[str]:
    return [".nf", *map(roff, text.rstrip().splitlines()), ".fi"]


def roff(text: str) -> str:
    """The text on one line, with what roff would take for itself escaped."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe[:1] in (".", "'") else safe


def completion_table() -> str:
    """What shells complete: commands, their options, and what each takes."""
    commands = {}
    for name, (_, about) in every_command().items():
        parser = parser_of(name)
        positional = [str(each.metavar) for each in parser._get_positional_actions()]
        options = {
            option: {"about": action.help, "takes": taken(action.dest) if action.nargs != 0 else ""}
            for action in parser._actions
            for option in action.option_strings
        }
        ids = {"ID", "OLD", "NEW"}.intersection(positional) and name != "access token"
        takes = "forgotten" if name == "trash restore" else "id" if ids else ACTIONS.get(name, "")
        commands[name] = {"about": about, "takes": takes, "options": options}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in commands.items())
    aliases, recipes = json.dumps(ALIASES), json.dumps([*BUILT_IN])
    return f'{{"aliases": {aliases}, "recipes": {recipes}, "commands": {{\n{lines}\n}}}}\n'


def taken(dest: str) -> str | list[str]:
    """What an option of this name takes: something of the vault, one of several words, or '?' for
    anything else."""
    words = ["tag"] if dest in ("add", "remove") else dest.removesuffix("s").split("_")
    for kind in ("tag", "project", "recipe", "kind", "source", "domain", "space"):
        if kind in words:
            return kind
    fixed: dict[str, Any] = {
        "view": View, "sort": Sort, "severity": Severity, "tier": Tier, "semantic": SemanticMode,
    }  # fmt: skip
    if dest in fixed:
        return [*get_args(fixed[dest])]
    return "id" if dest in ("after", "supersedes", "into") else "?"


def files() -> dict[Path, str]:
    """Everything that is made, by its file."""
    made = {PAGE: updated(PAGE.read_text(encoding="utf-8")), TABLE: completion_table()}
    names = {name: titled(name) for name in every_command()} | {"recollect": "recollect"}
    return made | {MAN / f"{title}.1": manual(name) for name, title in names.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; say what differs")
    args = parser.parse_args()
    stale = {
        file: text
        for file, text in files().items()
        if not file.exists() or file.read_text(encoding="utf-8") != text
    }
    if args.check and stale:
        names = ", ".join(file.name for file in stale)
        print(f"Out of date: {names}. Run `python docs/update_help.py`.", file=sys.stderr)
        return 1
    MAN.mkdir(exist_ok=True)
    for file, text in stale.items():
        file.write_text(text, encoding="utf-8")
    print(f"{len(stale)} files updated.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
