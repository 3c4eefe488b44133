"""The marked block in an instruction file: written once, updated, removed; the rest stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import UserError
from recollect.interfaces.setup.agent_files import (
    BEGIN,
    BLOCK,
    END,
    INSTRUCTION_FILES,
    instruction_file,
    plan_block,
)
from recollect.interfaces.setup.clients import CLIENTS, Machine


@pytest.mark.parametrize("text", ["# Ours\n", "# Ours", "# A\r\n\r\nb\r\n", "\ufeff# Ours\n", ""])
def test_the_block_is_written_once_and_removing_gives_back_the_bytes(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_bytes(text.encode())
    change = plan_block(file, BLOCK)
    assert change.action == "added"
    change.carry_out()
    after = file.read_bytes().decode()
    assert after.startswith(text)
    assert after.count(BEGIN) == after.count(END) == 1
    assert "\n" not in after.replace("\r\n", "") or "\r\n" not in text
    assert plan_block(file, BLOCK).action == "none"
    removed = plan_block(file, None)
    assert removed.action == "removed"
    removed.carry_out()
    assert file.read_bytes().decode().rstrip("\r\n") == text.rstrip("\r\n")
    assert plan_block(file, None).action == "none"


def test_an_older_block_is_replaced_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "CLAUDE.md"
    file.write_text(f"before\n\n{BEGIN}\nold words\n{END}\n\nafter\n", encoding="utf-8")
    change = plan_block(file, BLOCK)
    assert change.action == "updated"
    assert change.after.text == f"before\n\n{BEGIN}\n{BLOCK}\n{END}\n\nafter\n"


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{BEGIN}\n{END}"])
def test_damaged_marks_are_named_and_the_file_left_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text(text, encoding="utf-8")
    for block in (BLOCK, None):
        with pytest.raises(UserError, match=r"AGENTS\.md cannot be changed.*damaged"):
            plan_block(file, block)


def test_each_client_has_its_file(tmp_path: Path) -> None:
    machine = Machine({"HOME": "/h"}, "linux")
    assert set(INSTRUCTION_FILES) <= set(CLIENTS)
    assert instruction_file("claude-code", machine, None) == Path("/h/.claude/CLAUDE.md")
    assert instruction_file("codex", machine, tmp_path) == tmp_path / "AGENTS.md"
    with pytest.raises(UserError, match="Add --project"):
        instruction_file("cursor", machine, None)
    with pytest.raises(UserError, match="zed has no instruction file"):
        instruction_file("zed", machine, None)
