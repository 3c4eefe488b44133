"""The example in each command's help is one that its parser takes."""

from __future__ import annotations

import re
import shlex

import pytest

from recollect.interfaces.cli.arguments import parser_of
from recollect.interfaces.cli.commands import command_of, every_command, resolve

# Up to a pipe, the end of a substitution, or a remark after several spaces.
CALL = re.compile(r"recollect (?P<line>[\w-]+(?:\"[^\"]*\"|'[^']*'|(?!  )[^|<>)\"'])*)")


@pytest.mark.parametrize("name", every_command())
def test_every_line_of_an_example_is_a_command(name: str) -> None:
    text = re.sub(r"\\\n\s*", "", command_of(name).example)
    calls = [resolve(shlex.split(call["line"])) for call in CALL.finditer(text)]
    assert calls
    assert name.split()[0] in {command.split()[0] for command, _ in calls}
    for command, args in calls:
        parser_of(command).parse_args(args)
