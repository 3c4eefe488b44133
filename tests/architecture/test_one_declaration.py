"""An operation that is declared once is in every interface, with what it checks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect.engine import Recollect
from recollect.engine.operations import declared_function
from recollect.interfaces.operations import list_operations

PROGRAM = Path(__file__).with_name("word_count.py")
pytestmark = pytest.mark.installed  # not a fork of a process that has imported the package


class Program:
    """`recollect` with the operation, over a vault of its own."""

    def __init__(self, home: Path) -> None:
        self._environment = {
            "PATH": "/usr/bin:/bin",
            "RECOLLECT_HOME": str(home),
            "RECOLLECT_EMBEDDING__PROVIDER": "none",
            "RECOLLECT_RERANK__PROVIDER": "none",
        }

    def run(self, *args: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(PROGRAM), *args],
            env=self._environment, input=given, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def python(self, code: str) -> Any:
        """Run code that prints JSON, with `word_count` imported."""
        done = subprocess.run(
            [sys.executable, "-c", f"import json, word_count\n{code}"],
            env=self._environment, cwd=PROGRAM.parent, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    made = Program(tmp_path_factory.mktemp("home"))
    for title, kind in (("We use tide tables", "decision"), ("The pump is loud", "bug")):
        assert made.run("save", title, "--kind", kind).returncode == 0
    return made


def test_every_operation_that_declares_a_command_has_one() -> None:
    """Those of modules that are imported later would have none."""
    declared = {
        name
        for name, method in vars(Recollect).items()
        if hasattr(method, "function") and declared_function(method).operation.command  # type: ignore[attr-defined]
    }
    assert declared == {each.name for each in list_operations("command")}


def test_it_is_a_command_with_options_help_and_json(program: Program) -> None:
    assert program.run("word-count").stdout == "memories: 2\nwords: 8\n"
    told = program.run("word-count", "--kind", "bug", "--least", "4", "--json")
    assert json.loads(told.stdout) == {"memories": 1, "words": 2}
    helped = program.run("word-count", "--help").stdout
    assert "Count the words of memories." in helped
    assert "--least LEAST" in helped
    assert "--not-tag TAG" in helped
    assert "word-count" in program.run("help", "--all").stdout
    schema = json.loads(program.run("schema", "word-count").stdout)
    assert schema["$defs"]["WordCount"]["properties"].keys() == {"memories", "words"}


def test_it_is_a_method_that_checks_what_its_caller_may(program: Program) -> None:
    code = """
from recollect import Recollect
from recollect.auth.capabilities import Caller
from recollect.errors import Forbidden
with Recollect() as memory:
    found = memory.word_count(least=4)
    try:
        memory.acting_as(Caller(name="writer", capabilities=frozenset())).word_count()
    except Forbidden as error:
        print(json.dumps([found.words, str(error)]))
"""
    words, refused = program.python(code)
    assert words == 4
    assert "search:use" in refused


def test_it_is_a_route_in_openapi(program: Program) -> None:
    code = """
from recollect.interfaces.http.api import openapi
print(json.dumps(openapi(required=True)["paths"]["/api/v1/word-count"]["get"]))
"""
    told = program.python(code)
    assert told["summary"] == "Count the words of memories"
    assert told["x-capabilities"] == ["search:use"]
    by_name = {each["name"]: each["schema"] for each in told["parameters"]}
    assert by_name["least"]["minimum"] == 1
    assert by_name.keys() >= {"kind", "tag", "not_tag", "since"}
    assert told["responses"]["200"]["content"]["application/json"]["schema"]


def test_it_is_a_tool(program: Program) -> None:
    code = """
from recollect import Recollect
from recollect.interfaces.mcp.calls import Served
from recollect.interfaces.mcp.tools import call, list_tools
listed = next(t for t in list_tools(None, sets=("all",)) if t["name"] == "memory_word_count")
with Recollect() as memory:
    done = call(Served(memory), "memory_word_count", {"kind": "bug", "least": "4"})
print(json.dumps([listed, done.structured, done.text]))
"""
    listed, structured, text = program.python(code)
    assert listed["description"].startswith("Count the words of memories.")
    assert listed["inputSchema"]["properties"]["least"]["type"] == "integer"
    assert listed["annotations"]["readOnlyHint"] is True
    assert structured == {"memories": 1, "words": 2}
    assert text == "memories: 1\nwords: 2"
