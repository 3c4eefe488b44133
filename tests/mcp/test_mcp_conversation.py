"""The conversation that `make clients` has with every client, here with the official Python SDK."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conversation import NEW, OLD, SEED, hold_conversation
from jsonschema import Draft202012Validator
from mcp_sessions import MODES, Mode, connect, open_engine, text_of

from recollect.interfaces.mcp.server import build


@pytest.mark.parametrize("mode", MODES)
def test_a_session_recalls_saves_contradicts_and_supersedes(tmp_path: Path, mode: Mode) -> None:
    with open_engine(tmp_path) as memory:
        for fields in SEED:
            memory.save(**fields)
        with connect(build(lambda ctx: memory), mode) as session:

            def call(tool: str, arguments: dict[str, Any]) -> str:
                result = session.call(tool, **arguments)
                assert not result.is_error, text_of(result)
                schema = session.tools[tool].output_schema
                assert schema is not None
                Draft202012Validator(schema).validate(result.structured_content)
                return text_of(result)

            assert hold_conversation(call, by_meaning=False) == []
        found = {each.id[:-7]: each for each in memory.list()}
    assert found[OLD].superseded_by == found[NEW].id
