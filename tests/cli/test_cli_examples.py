"""The example in each command's help is one that its parser takes."""

from __future__ import annotations

import re
import shlex

import pytest

from recollect.interfaces.cli.arguments import parser_of
from recollect.interfaces.cli.commands import COMMANDS, command_of

# Up to a pipe, the end of a substitution, or a remark behind several spaces.
CALL = re.compile(r"recollect (?P<name>[\w-]+)(?P<args>(?:\"[^\"]*\"|'[^']*'|(?!  )[^|<>)\"'])*)")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_line_of_an_example_is_a_command(name: str) -> None:
    text = re.sub(r"\\\n\s*", "", command_of(name).example)
    calls = list(CALL.finditer(text))
    assert name in {call["name"] for call in calls}
    for call in calls:
        if call["name"] == name:
            parser_of(name).parse_args(shlex.split(call["args"]))
