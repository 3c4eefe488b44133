"""Command-line arguments that several commands share."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar

from recollect.checks import LARGEST_LIMIT, not_allowed, not_whole, split_list
from recollect.deadline import warn_if_slow
from recollect.errors import UserError
from recollect.files import project_of
from recollect.interfaces import requests
from recollect.interfaces.cli.commands import (
    about_command,
    command_of,
    did_you_mean,
    explain,
    help_width,
    near_misses,
    subcommands,
)
from recollect.interfaces.cli.output import show
from recollect.interfaces.signatures import add_parameters, parameters_of
from recollect.present.sentences import visible
from recollect.query.fields import query_of
from recollect.query.time.moments import read_time
from recollect.times import with_zone
from recollect.types import TIMES, Filter, Memory, Search

# argparse would import `locale` to look for translations, which do not exist.
argparse._ = str  # type: ignore[attr-defined]

IDS = (
    "ids, or their beginnings or ends; @1 is the first of the last results; - reads ids from stdin"
)
PROGRAM = "recollect "
SHORT_OPTIONS = frozenset("-n -t -p -k -j -q".split())
S = TypeVar("S")  # what a command's actions work on

AddArgument = Callable[[Any], object]  # adds an argument to a parser or group


class WrongUsage(UserError):
    """Raised if arguments are missing or cannot be combined."""

    exit_code = 2


Action = Callable[[S, argparse.Namespace], int | None]
# Name → (function, usage such as `add NAME PATH`). Names in brackets are optional; `...` means that
# more may follow.
Actions = Mapping[str, tuple[Action[S], str]]


def action(actions: Actions[Any], names: str, metavar: str = "NAME") -> AddArgument:
    """The argument ACTION (default: `list`), and those for its names; see `find_action`."""
    *first, last = actions
    about = f"{', '.join(first)} or {last} (default: list)"

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", metavar="ACTION", nargs="?", default="list", help=about)
        parser.add_argument("names", metavar=metavar, nargs="*", help=names)
        parser.set_defaults(command=parser.prog.removeprefix(PROGRAM), actions=actions)

    return add


def find_action(args: argparse.Namespace) -> Action[Any]:
    """Return the action's function; raise WrongUsage for an unknown action or number of names."""
    actions: Actions[Any] = args.actions
    if args.action not in actions:
        raise WrongUsage(f"There is no action {args.action!r}; there are: {', '.join(actions)}.")
    action, usage = actions[args.action]
    most = usage.count(" ")
    fewest = most - usage.count("[")
    if not fewest <= len(args.names) or (len(args.names) > most and not usage.endswith("...")):
        raise usage_error(f"{args.command} {usage}")
    return action


def usage_error(usage: str) -> WrongUsage:
    return WrongUsage(f"Usage: recollect {usage}")


class CommandParser(argparse.ArgumentParser):
    """A command's parser. If it has `words`, they are all arguments that are not options, and all
    that follow `--`. After one dash there is one short option (`-n 5`, `-n5`), never several:
    `-docker` is a word, which excludes memories. An unknown option is answered with the nearest
    known ones."""

    words: argparse.Action | None = None  # the argument that takes the words
    as_query = False  # True if the words are a query, in which a quoted word is a phrase
    as_json = False  # True if JSON was asked for, so errors are JSON, too

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        self.as_json = not {"-j", "--json", "--jsonl", "--fields"}.isdisjoint(args)
        end = args.index("--") if self.words and "--" in args else len(args)
        parsed, more = self.parse_known_args(args[:end], namespace)
        parsed.typed = args
        if getattr(parsed, "fields", None) or getattr(parsed, "json", None) == "lines":
            self._check_rows(parsed)
            parsed.json = parsed.json or True
        for word in filter(self._is_option, more):
            self.error(self._unknown_option_message(word.partition("=")[0]))
        if self.words is None:
            if more:
                second = [each.split()[-1] for each in subcommands(self.prog.removeprefix(PROGRAM))]
                meant = did_you_mean(near_misses(more[0], second))
                self.error(f"unrecognized arguments: {' '.join(more)}.{meant}")
            return parsed
        words = [*getattr(parsed, self.words.dest), *more, *args[end + 1 :]]
        if not words and self.words.default is None:
            self.error(f"the following arguments are required: {self.words.metavar}")
        setattr(parsed, self.words.dest, query_of(words) if self.as_query else " ".join(words))
        return parsed

    def _parse_optional(self, arg_string: str) -> Any:
        """Return None for a word, else argparse's result: argparse would take `-docker` for -d, and
        `-person` for -p with a value."""
        return None if self._is_word(arg_string) else super()._parse_optional(arg_string)

    def _is_word(self, word: str) -> bool:
        """Return whether it is one of the words, though it begins with a dash."""
        if not self.words or word[:1] != "-" or word[:2] == "--":
            return False
        short = self._option_string_actions.get(word[:2])
        if short is None:  # a short option of other commands is a mistake, not a word
            return word not in SHORT_OPTIONS
        return not (len(word) == 2 or (short.nargs != 0 and word[2:].isdecimal()))

    def _check_rows(self, parsed: argparse.Namespace) -> None:
        """Refuse `--fields` and `--jsonl` early if the command prints no rows, or no such field."""
        from recollect.interfaces.cli.schemas import row_field_names  # noqa: PLC0415  start-up time

        known = row_field_names(self.prog.removeprefix(PROGRAM), getattr(parsed, "action", None))
        if known is None or (parsed.no_rows_with and getattr(parsed, parsed.no_rows_with)):
            self.error(
                "--jsonl and --fields are for lists, and this prints one object: use --json."
            )
        for name in filter(None, map(str.strip, (parsed.fields or "").split(","))):
            if name not in known:
                self.error(
                    f"--fields {name}: there is no such field; there are: {', '.join(known)}."
                )

    def _is_option(self, word: str) -> bool:
        number = self._negative_number_matcher.match(word)
        dashed = word[:1] == "-" and len(word) > 1 and " " not in word
        return dashed and not (number or self._is_word(word))

    def _unknown_option_message(self, option: str) -> str:
        known = [name for name in self._option_string_actions if name.startswith("--")]
        meant = did_you_mean(near_misses(option, known))
        as_word = f" To use it as a word: {self.prog} -- {option}" if self.words else ""
        return f"There is no option {option}.{meant}{as_word}"

    def print_help(self, file: object = None) -> None:
        show(self.format_help().rstrip("\n"))

    def format_help(self) -> str:
        self.formatter_class = partial(_Formatter, width=help_width())
        return super().format_help()

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type is int:
                self.error(not_whole(_name_of(action), arg_string))
            if action.type is float:
                self.error(f"{_name_of(action)} must be a number, not {arg_string!r}.")
            raise

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            self.error(not_allowed(_name_of(action), value, action.choices))

    def with_options(self, sentence: str) -> str:
        """Return an error about a parameter, such as `as_of`, with its option: `--as-of`."""
        name, _, rest = sentence.partition(" ")
        option = f"--{name.replace('_', '-')}"
        known = option in self._option_string_actions
        return (
            f"{option} {rest}" if known and rest.startswith(("must", "cannot", "'")) else sentence
        )

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        if self.as_json:
            raise WrongUsage(message)
        takes = "".join(
            f" {each.metavar}{' ...' if each.nargs in ('+', '*') else ''}"
            for each in self._get_positional_actions()
        )
        self.exit(2, f"usage: {self.prog} [options]{takes}\n{self.prog}: {message}\n")


def _name_of(action: argparse.Action) -> str:
    return str(max(action.option_strings, key=len, default=action.metavar))


class _Formatter(argparse.HelpFormatter):
    """Wraps descriptions, but not indented blocks such as examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        blocks = text.split("\n\n")
        fill = super()._fill_text
        return "\n\n".join(
            block if "\n  " in block or block[:1] == " " else fill(block, width, indent)
            for block in blocks
        )


def parser_of(name: str) -> CommandParser:
    """Return a command's parser, with its example and its subcommands in the help."""
    about, command = about_command(name), command_of(name)
    example = f"example:\n{command.example}"
    more = subcommands(name)
    parser = CommandParser(
        prog=f"{PROGRAM}{name}",
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"commands:\n{explain(more)}\n\n{example}" if more else example,
        formatter_class=partial(_Formatter, width=80),
        allow_abbrev=False,
    )
    for add in command.arguments:
        add(parser)
    return parser


def print_help(name: str) -> None:
    """Print a command's help; for commands that need a subcommand."""
    parser_of(name).print_help()


# Functions that return an `AddArgument`, for `@command`, and a few that are one.


def words(
    name: str, about: str, default: str | None = None, metavar: str = "QUERY"
) -> Callable[[CommandParser], None]:
    """An argument that takes the line's words as one text. In a `QUERY`, a quoted word is a
    phrase."""

    def add(parser: CommandParser) -> None:
        parser.words = parser.add_argument(name, metavar=metavar, nargs="*", help=about)
        parser.words.default = default
        parser.as_query = metavar == "QUERY"

    return add


def argument(names: str, metavar: str, about: str, **how: Any) -> AddArgument:
    """An argument, or an option with a value, such as `--kind -k`."""
    return lambda parser: parser.add_argument(*names.split(), metavar=metavar, help=about, **how)


def flag(names: str, about: str, **how: Any) -> AddArgument:
    """An option without a value."""
    how = {"action": "store_true"} | how
    return lambda parser: parser.add_argument(*names.split(), help=about, **how)


def repeatable(name: str, metavar: str, about: str) -> AddArgument:
    """An option that may be repeated, or have several values; its value is a list."""
    about = f"{about}; repeatable, or a,b"
    return argument(name, metavar, about, action="extend", type=split_list, default=[])


def limit(default: object, *, whole: bool = False) -> AddArgument:
    """`--limit`, and if `whole`, `--all`. `default`: for the help."""
    about = f"maximum number of results (default: {default})"
    every = [flag("--all", "show all, as --json and --ids do")] if whole else []
    return one_of(argument("--limit -n", "N", about, type=int), *every)


def one_of(*adding: AddArgument) -> AddArgument:
    """Arguments that exclude each other."""
    return lambda parser: _add_all(parser.add_mutually_exclusive_group(), adding)


def group(title: str, *adding: AddArgument) -> AddArgument:
    """Arguments with a heading of their own in the help."""
    return lambda parser: _add_all(parser.add_argument_group(title), adding)


def _add_all(parser: Any, adding: Iterable[AddArgument]) -> None:
    for add in adding:
        add(parser)


def rows(unless: str = "") -> AddArgument:
    """`--json`, `--jsonl` and `--fields`, for output with rows. `unless`: the argument with which
    the output has none."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.set_defaults(no_rows_with=unless)
        add_json(parser)
        lines = {"dest": "json", "action": "store_const", "const": "lines"}
        flag("--jsonl", "print JSON Lines: one result a line", **lines)(parser)
        about = "only these fields of each, as JSON: a,b"
        argument("--fields", "NAMES", about)(parser)

    return add


add_json = flag("--json -j", "print JSON, for programs")
add_dates = flag("--dates", "exact dates, not `3 days ago`")
add_ids_only = flag("--ids --quiet -q", "print only ids, one a line")
add_exit_zero = flag("--exit-zero", "exit with 0, not 1, if nothing is found")


def limit_of(args: argparse.Namespace, default: int) -> int:
    """Return the number of results for `limit(whole=True)`. A program gets all of them unless it
    gives a limit, since it would not notice missing ones."""
    if args.limit is not None:
        return int(args.limit)
    whole = args.all or args.json or getattr(args, "ids", False)
    return LARGEST_LIMIT if whole else default


def more_line(command: str, left: int, args: argparse.Namespace) -> str:
    """Return a line that says how many a list left out, and how to see them; "" if none."""
    again = " ".join(filter(None, (command, repeat_options(args, limit=None, n=None), "--all")))
    return visible(f"{left:,} more: recollect {again}") if left > 0 else ""


def repeat_options(args: argparse.Namespace, **values: str | None) -> str:
    """Return the typed options, quoted for a shell, with these values replaced, or removed if
    None."""
    options = {
        f"{'--' if name[1:] else '-'}{name.replace('_', '-')}": value
        for name, value in values.items()
    }
    kept, words = [], iter(args.typed)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in options:
            kept.append(word)
        elif not equals:
            next(words, None)
    given = ((name, value) for name, value in options.items() if value is not None)
    return shlex.join([*kept, *(part for option in given for part in option)])


def add_filter(parser: argparse.ArgumentParser) -> None:
    """Add the options that filter memories."""
    group = parser.add_argument_group("filters", "a memory must satisfy all of them")
    offered = dict(parameters_of(Filter))
    where = group.add_mutually_exclusive_group()
    add_parameters(where, [offered.pop("project")])
    where.add_argument(
        "--here", action="store_true", help="only the project named after the working directory"
    )
    add_parameters(group, offered.values())


def add_as_of(parser: argparse.ArgumentParser) -> None:
    add_parameters(parser, [parameters_of(Search)["as_of"]])


def read_as_of(args: argparse.Namespace, now: datetime) -> datetime | None:
    """Return the time of `--as-of`, or None."""
    return requests.read_as_of(vars(args), now)


def read_filter(args: argparse.Namespace, now: datetime) -> Filter:
    """Return the Filter of the arguments of `add_filter`."""
    return requests.read_filter(arguments_by_name(args), now)


def read_search(args: argparse.Namespace, now: datetime) -> Search:
    """Return the Search of the arguments of `recollect search`."""
    return requests.read_search(arguments_by_name(args), now)


def arguments_by_name(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments by name; `--here` sets the project."""
    return vars(args) | ({"project": current_project()} if args.here else {})


def read_now(args: argparse.Namespace, otherwise: datetime) -> datetime:
    return read_time(args.now, otherwise, "now") if args.now else otherwise


def current_project() -> str:
    """Return the project named after the working directory, or after its repository's root."""
    try:
        return project_of(Path.cwd())
    except OSError as error:
        raise UserError("--here: the working directory no longer exists.") from error


# Fields of a memory that have no option, or one that is added separately.
OTHERS = ("id", "tags", "project", "details", "superseded_by", "archived_at")
TEXT = {"text": "the memory itself; - reads standard input"}


def add_fields(parser: argparse.ArgumentParser, *, change: bool = False) -> None:
    """Add a memory's fields as options. `change`: those of a saved one, which have no defaults."""
    group = parser.add_argument_group("fields")
    offered = parameters_of(Memory)
    plain = {name: each for name, each in offered.items() if name not in OTHERS}
    without_default = {name: each.about.partition(" (default")[0] for name, each in plain.items()}
    about = (without_default if change else {}) | TEXT
    add_parameters(group, (each._replace(default=None) for each in plain.values()), about)
    where = group.add_mutually_exclusive_group()
    add_parameters(where, [offered["project"]._replace(default=None)])
    where.add_argument(
        "--here", action="store_true", help="the project named after the working directory"
    )
    group.add_argument(
        "--details-file",
        metavar="FILE",
        help="a file with the long version; - reads standard input",
    )


def memory_fields(args: argparse.Namespace) -> dict[str, Any]:
    """Return the memory's fields that the arguments set."""
    given = {name: getattr(args, name, None) for name in parameters_of(Memory) if name != "tags"}
    fields = {name: value for name, value in given.items() if value is not None}
    fields |= {name: with_zone(fields[name]) for name in TIMES if name in fields}
    if args.here:
        fields["project"] = current_project()
    if fields.get("text") == "-":
        if args.details_file == "-":
            raise WrongUsage("Only one of --text and --details-file can read standard input.")
        fields["text"] = read_text_file("-")
    if args.details_file is not None:
        fields["details"] = read_text_file(args.details_file)
    return fields


def read_text_file(name: str) -> str:
    """Read a file, or standard input for `-`; raise UserError if it is not UTF-8."""
    try:
        if name != "-":
            return Path(name).read_bytes().decode()
        with warn_if_slow("Waiting: standard input has not ended; Ctrl-D ends what is typed."):
            return standard_input().read().decode()
    except OSError as error:
        raise UserError(f"{name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        what = "Standard input" if name == "-" else name
        raise UserError(f"{what} is not valid UTF-8 text (byte {error.start}).") from error


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UserError("Standard input cannot be read: it is closed.")
    return sys.stdin.buffer
