"""Commands made from operations that declare one: `command="chain ID"` names the command and its
positional parameters; the others become options."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from recollect.engine import Recollect
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import DECLARED, DeclaredCommand
from recollect.interfaces.cli.output import json_text
from recollect.interfaces.operations import InterfaceOperation, as_text, list_operations
from recollect.interfaces.signatures import add_parameters, parameters_of
from recollect.present.sentences import visible
from recollect.types import Filter


def operation_commands() -> dict[str, str]:
    """Declare the commands of operations; return name → what it does."""
    found: dict[str, str] = {}
    for offered in list_operations("command"):
        usage, about = offered.declared.command, offered.about
        name = usage.split()[0]
        DECLARED[name] = DeclaredCommand(
            f"  recollect {usage}",
            (partial(_add_arguments, offered),),
            partial(_run, offered),
            True,
        )
        found[name] = f"{about[0].lower()}{about[1:]}"
    return found


def _add_arguments(offered: InterfaceOperation, parser: argparse.ArgumentParser) -> None:
    _, *words = offered.declared.command.split()
    parameters = dict(offered.parameters)
    for word in words:
        each = parameters.pop(word.strip("[].").lower())
        more: dict[str, Any] = {}
        if each.several or word.startswith("["):
            more["nargs"] = "?" if not each.several else "*" if word.startswith("[") else "+"
        parser.add_argument(each.name, metavar=word.strip("[]."), help=each.about, **more)
    if parameters.keys() >= (filters := parameters_of(Filter)).keys():
        arg.add_filter(parser)
        parameters = {name: each for name, each in parameters.items() if name not in filters}
    add_parameters(parser, parameters.values())
    arg.add_json(parser)


def _run(offered: InterfaceOperation, memory: Recollect, args: argparse.Namespace) -> str:
    answer = offered.call(memory, arg.arguments_by_name(args) if "here" in args else vars(args))
    if args.json:
        return json_text(offered.as_json(answer))
    return visible(as_text(answer))
