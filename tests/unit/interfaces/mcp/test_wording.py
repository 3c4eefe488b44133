"""No error that reaches a model tells it to run a command that it has a tool for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect.interfaces.mcp.texts import COMMAND_TOOLS, for_tools
from recollect.interfaces.mcp.tools import BY_NAME

SOURCE = Path(recollect.__file__).parent
# What speaks to people at a terminal, and what no tool calls.
ELSEWHERE = ("interfaces/cli", "interfaces/setup", "interfaces/hooks", "interfaces/web", "evals")
USERS = re.compile(r"the user's command `recollect [^`]*`")


def written(node: ast.AST) -> Iterator[str]:
    """Return the texts of an expression, with X for what is filled in."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts
            )
        case _:
            for child in ast.iter_child_nodes(node):
                yield from written(child)


def sentences() -> Iterator[str]:
    """Every text in the source that names a command, wherever it is raised or returned."""
    for file in sorted(SOURCE.rglob("*.py")):
        if not file.relative_to(SOURCE).as_posix().startswith(ELSEWHERE):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Raise | ast.Return | ast.Assign):
                    yield from (
                        text for text in written(node) if re.search(r"[`:] ?recollect \w", text)
                    )


def test_every_error_that_names_a_command_names_a_tool_or_the_user() -> None:
    found = [*dict.fromkeys(sentences())]
    assert len(found) > 10
    for sentence in found:
        rest = USERS.sub("", for_tools(sentence))
        assert not re.search(r"`recollect \w|: recollect \w", rest), sentence
        assert "--" not in rest, sentence


@pytest.mark.parametrize("name", COMMAND_TOOLS.values())
def test_the_tools_are_there(name: str) -> None:
    assert name.split()[0] in BY_NAME


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("'x' is in the trash. `recollect forget --undo x` brings it back.",
         "'x' is in the trash. memory_forget with undo=true brings it back."),
        ("It is forgotten; `recollect forget x --undo` brings it back.",
         "It is forgotten; memory_forget with undo=true brings it back."),
        ("Say what to change: recollect review x edit --text TEXT",
         "Say what to change: memory_review"),
        ("It is damaged; `recollect doctor --fix` repairs it.",
         "It is damaged; the user's command `recollect doctor --fix` repairs it."),
    ],
)  # fmt: skip
def test_commands_become_tools(said: str, told: str) -> None:
    assert for_tools(said) == told
    assert for_tools(told) == told
