"""Write what is made from the commands' parsers: the help in docs/reference/commands.md, the manual
pages in man/ and the table for shell completion.

python docs/update_help.py            write them
python docs/update_help.py --check    exit 1 if one is out of date
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import textwrap
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

from recollect.interfaces.cli import completion_line
from recollect.interfaces.cli.arguments import parser_of
from recollect.interfaces.cli.commands import (
    ALIASES,
    FIRST,
    GROUPS,
    command_of,
    every_command,
    overview,
)
from recollect.interfaces.cli.completion import SCRIPTS
from recollect.recipes.registry import BUILT_IN
from recollect.settings import SemanticMode
from recollect.types import Severity, Sort, Tier, View

PAGE = Path(__file__).parent / "reference" / "commands.md"
MAN = Path(__file__).parents[1] / "man"
TABLE = Path(completion_line.__file__).with_name("completion.json")
SEE_ALSO = (".SH SEE ALSO", "\\fBrecollect\\fR(1)")
# The values of these commands' first argument.
ACTIONS: dict[str, str | list[str]] = {
    "completion": [*SCRIPTS],
    "recipes": "recipe",
    "vault": ["lock", "unlock", "rekey", "status"],
}
# A command's section begins with its heading, what it does, and a `text` block: both are generated.
SECTION = re.compile(
    r"^(?P<heading>##+ `recollect (?P<name>[\w ]+)`)\n\n(?:[^\n]+\n\n```text\n.*?\n```\n\n)?"
    r"(?P<rest>.*?)(?=^##|\Z)",
    re.DOTALL | re.MULTILINE,
)
# <!-- help: contents --> and <!-- help: shared -->, what is generated, <!-- /help -->.
MARKED = re.compile(r"<!-- help: (\w+) -->\n.*?<!-- /help -->", re.DOTALL)
# An option with the same text in this many commands is explained once, among the shared ones.
MANY = 3
SHARED = {"filters": "filters: a memory must satisfy all of them",
          "fields": "fields of a memory"}  # fmt: skip
DEFAULT = re.compile(r" \(default: (.+)\)$")
WIDTH = 100


class Option(NamedTuple):
    """An argument of a command as it is documented, without its default."""

    names: str  # `--limit, -n N`; `ID` for a positional argument
    help: str
    group: str  # `filters`, `fields` or empty
    default: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.names, self.help

    @property
    def name(self) -> str:
        """Return the long name alone: `--limit`."""
        return self.names.partition(",")[0].split()[0]


def options_of(name: str) -> list[Option]:
    """Return the arguments of a command in the order of its help."""
    parser, found = parser_of(name), []
    groups = {
        id(action): str(group.title)
        for group in parser._action_groups
        for action in group._group_actions
    }
    for action in parser._actions:
        names = ", ".join(action.option_strings) or str(action.metavar)
        metavar = action.metavar or (f"{{{','.join(action.choices)}}}" if action.choices else "")
        value = f" {metavar}" if action.option_strings and metavar else ""
        about = action.help or ""
        default = DEFAULT.search(about)
        group = groups.get(id(action), "")
        found.append(
            Option(
                f"{names}{value}",
                DEFAULT.sub("", about),
                group if group in SHARED else "",
                default[1] if default else "",
            )
        )
    return found


@cache
def shared_options() -> dict[tuple[str, str], Option]:
    """Return the options that are explained once: those of SHARED, and those of MANY commands.
    A default is part of the explanation only where all commands have the same."""
    met: dict[tuple[str, str], list[Option]] = {}
    for name in every_command():
        for option in options_of(name):
            met.setdefault(option.key, []).append(option)
    shared = {}
    for key, options in met.items():
        group = next((each.group for each in options if each.group), "")
        if len(options) >= MANY or group:
            optional = {""} if group else set()  # `edit` has the fields without their defaults
            same = len({each.default for each in options} - optional) == 1
            shared[key] = options[0]._replace(
                group=group, default=options[0].default if same else ""
            )
    return shared


def own_options(name: str) -> list[Option]:
    return [each for each in options_of(name) if each.key not in shared_options()]


def shared_line(name: str) -> str:
    """Return the shared options of a command in one line: `filters, --yes, --limit (20)`."""
    shared = shared_options()
    taken = {each.key: each for each in options_of(name) if each.key in shared}
    named = []
    for group in SHARED:
        whole = {key for key, each in shared.items() if each.group == group}
        if whole <= taken.keys():
            named.append(group)
            taken = {key: each for key, each in taken.items() if key not in whole}
    for key, each in taken.items():
        if each.names.startswith("-") and "--help" not in each.names:
            differs = each.default != shared[key].default
            named.append(f"{each.name} ({each.default})" if differs else each.name)
    return ", ".join(named)


def option_lines(options: Iterable[Option]) -> list[str]:
    """Return one line for each option, as in a command's help."""
    left = [each.names for each in options]
    width = min(max(map(len, left), default=0), 22)
    lines = []
    for names, each in zip(left, options, strict=True):
        text = f"{each.help} (default: {each.default})" if each.default else each.help
        room = textwrap.wrap(text, WIDTH - width - 4, break_on_hyphens=False) or [""]
        if len(names) > width:
            lines.append(f"  {names}")
        else:
            lines.append(f"  {names:{width}}  {room.pop(0)}")
        lines += [f"  {'':{width}}  {line}" for line in room]
    return lines


def usage_of(name: str) -> list[str]:
    """Return how a command is called, without its options."""
    parser = parser_of(name)
    if parser.usage:
        return [line.removeprefix("       ") for line in parser.usage.splitlines()]
    positional = argparse.ArgumentParser(prog=f"recollect {name}", add_help=False)
    for action in parser._get_positional_actions():
        positional._add_action(action)
    return [positional.format_usage().removeprefix("usage: ").strip()]


def help_block(name: str, *, example: bool) -> str:
    """Return the generated part of a command's section: what it does, its usage, its own options
    and the names of the shared ones. `example`: also the first line of its example."""
    about = every_command()[name][1]
    lines = usage_of(name)
    if own := own_options(name):
        lines += ["", *option_lines(own)]
    if more := shared_line(name):
        also = textwrap.wrap(f"also: {more}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        lines += ["", *also]
    shown = command_of(name).example.splitlines()[0].strip()
    if example and shown != lines[0]:
        lines += ["", f"example: {shown}"]
    return f"{about[0].upper()}{about[1:]}.\n\n```text\n" + "\n".join(lines) + "\n```"


def shared_block() -> str:
    """Return the options that several commands have, by group."""
    parts = []
    for group, title in {"": "", **SHARED}.items():
        options = [each for each in shared_options().values() if each.group == group]
        options = [each for each in options if each.names.startswith("-")]
        parts.append("\n".join([*filter(None, [title]), *option_lines(options)]))
    return "```text\n" + "\n\n".join(parts) + "\n```"


def contents() -> str:
    """Return links to the sections, grouped as in the overview."""
    groups = {"most used": FIRST, **GROUPS}
    named = " ".join(groups.values()).split()
    own = [name for name in every_command() if " " not in name]
    groups["rarely needed"] = " ".join(name for name in own if name not in named)
    return "\n".join(
        f"- {title.capitalize()}: "
        + ", ".join(f"[`{name}`](#recollect-{name})" for name in names.split())
        for title, names in groups.items()
    )


def update(page: str) -> str:
    """Return the page with every generated part made again. A section without a `console` block
    shows the command's own example."""

    def replace_section(found: re.Match[str]) -> str:
        block = help_block(found["name"], example="```console" not in found["rest"])
        return f"{found['heading']}\n\n{block}\n\n{found['rest']}"

    def replace_marked(found: re.Match[str]) -> str:
        made = {"contents": contents, "shared": shared_block}[found[1]]()
        return f"<!-- help: {found[1]} -->\n{made}\n<!-- /help -->"

    return SECTION.sub(replace_section, MARKED.sub(replace_marked, page)).rstrip() + "\n"


def manual(name: str) -> str:
    """Return the manual page of a command in roff. `recollect(1)` has the shared options."""
    if name == "recollect":
        os.environ["COLUMNS"] = "80"
        about = "memory search for AI agents and the people they work for"
        lines = [*head("recollect", about), ".SH COMMANDS", *verbatim(overview(whole=True))]
        lines.append(".SH OPTIONS THAT SEVERAL COMMANDS HAVE")
        for group, title in {"": "", **SHARED}.items():
            lines += [f".SS {roff(title)}"] if title else []
            options = shared_options().values()
            lines += manual_options(each for each in options if each.group == group)
        return "\n".join([*lines, ""])
    about, parser = every_command()[name][1], parser_of(name)
    lines = [*head(title_of(name), about), ".SH SYNOPSIS", *verbatim(parser.format_usage())]
    if own := own_options(name):
        lines += [".SH OPTIONS", *manual_options(own)]
    if more := shared_line(name):
        lines += [".PP", f"Also, explained in \\fBrecollect\\fR(1): {roff(more)}."]
    example = command_of(name).example
    return "\n".join([*lines, ".SH EXAMPLE", *verbatim(example), *SEE_ALSO, ""])


def manual_options(options: Iterable[Option]) -> list[str]:
    lines = []
    for each in options:
        text = f"{each.help} (default: {each.default})" if each.default else each.help
        lines += [".TP", f"\\fB{roff(each.names)}\\fR", roff(text)]
    return lines


def head(title: str, about: str) -> list[str]:
    return [f'.TH {title.upper()} 1 "" Recollect', ".SH NAME", f"{roff(title)} \\- {roff(about)}"]


def title_of(name: str) -> str:
    """Return the name of a command's manual page: `recollect-vault-add`."""
    return "-".join(["recollect", *name.split()])


def verbatim(text: str) -> list[str]:
    return [".nf", *map(roff, text.rstrip().splitlines()), ".fi"]


def roff(text: str) -> str:
    """Return the text on one line, with what roff would take for itself escaped."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe[:1] in (".", "'") else safe


def completion_table() -> str:
    """Return the table for shell completion: commands, their options, and what each takes."""
    commands = {}
    for name, (_, about) in every_command().items():
        parser = parser_of(name)
        positional = [str(each.metavar) for each in parser._get_positional_actions()]
        options = {
            option: {
                "about": action.help,
                "takes": values_of(action.dest) if action.nargs != 0 else "",
            }
            for action in parser._actions
            for option in action.option_strings
        }
        ids = {"ID", "OLD", "NEW"}.intersection(positional) and name != "access token"
        takes = "forgotten" if name == "trash restore" else "id" if ids else ACTIONS.get(name, "")
        commands[name] = {"about": about, "takes": takes, "options": options}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in commands.items())
    aliases, recipes = json.dumps(ALIASES), json.dumps([*BUILT_IN])
    return f'{{"aliases": {aliases}, "recipes": {recipes}, "commands": {{\n{lines}\n}}}}\n'


def values_of(dest: str) -> str | list[str]:
    """Return what an option takes: something of the vault, a list of words, or '?' for anything
    else."""
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
    """Return every generated file with its text."""
    made = {PAGE: update(PAGE.read_text(encoding="utf-8")), TABLE: completion_table()}
    names = {name: title_of(name) for name in every_command()} | {"recollect": "recollect"}
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
