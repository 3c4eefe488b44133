"""Plan changes of our block in an agent's instruction file, which says when to search and to save.

Only the text between the marks is ours; it can be updated and removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace as changed

from recollect.errors import UserError
from recollect.interfaces.setup import files
from recollect.interfaces.setup.clients import Machine
from recollect.interfaces.setup.registration import Action, FileChange

BEGIN = "<!-- recollect: begin; `recollect setup` writes this block -->"
END = "<!-- recollect: end -->"
BLOCK = """\
## Memory

Recollect keeps what earlier sessions learned. Its MCP tools:

- When a task begins, call `memory_context`, unless a hook has shown it already.
- Before you decide something or ask the user, call `memory_search`; the answer may be there.
- When the user decides, corrects you or states a preference, and when a bug is understood, call
  `memory_save`: one thing each, with why.
- When a memory is no longer true, call `memory_update`. Do not save a second one beside it."""

# The instruction files of each client, for the user and in a project; from their documentation:
# code.claude.com/docs/en/memory, developers.openai.com/codex/guides/agents-md,
# geminicli.com/docs/cli/gemini-md, cursor.com/docs/rules, docs.github.com/en/copilot (custom
# instructions), opencode.ai/docs/rules.
INSTRUCTION_FILES: Mapping[str, tuple[str, str]] = {
    "claude-code": ("{claude}/CLAUDE.md", "CLAUDE.md"),
    "codex": ("{codex}/AGENTS.md", "AGENTS.md"),
    "gemini-cli": ("{home}/.gemini/GEMINI.md", "GEMINI.md"),
    "qwen-code": ("{home}/.qwen/QWEN.md", "QWEN.md"),
    "cursor": ("", "AGENTS.md"),
    "copilot-cli": ("{copilot}/copilot-instructions.md", ".github/copilot-instructions.md"),
    "opencode": ("{config}/opencode/AGENTS.md", "AGENTS.md"),
}


def instruction_file(client: str, machine: Machine, project: Path | None) -> Path:
    """Return the client's instruction file, for the user or in that project."""
    if client not in INSTRUCTION_FILES:
        known = ", ".join(INSTRUCTION_FILES)
        raise UserError(
            f"{client} has no instruction file that is documented; these have: {known}."
        )
    own, shared = INSTRUCTION_FILES[client]
    if project is not None:
        return project / shared
    if not own:
        raise UserError(f"{client} reads instructions in projects only. Add --project.")
    return Path(own.format(**machine.folders()))


def plan_block(file: Path, block: str | None) -> FileChange:
    """Return the change that adds the block at the end of the file, or updates it; with None, the
    change that removes it."""
    before = files.read_file(file)
    newline = "\r\n" if "\r\n" in before.text else "\n"
    found = _find_block(file, before.text)
    marked = block and newline.join([BEGIN, *block.splitlines(), END])
    if found is None and marked:
        gap = newline if before.text.endswith("\n") or not before.text else newline * 2
        text = f"{before.text}{gap if before.text else ''}{marked}{newline}"
    elif found is None:
        text = before.text
    else:
        start, end = found
        head, tail = before.text[:start], before.text[end:]
        if not marked:
            head = head.removesuffix(newline)
            tail = tail.removeprefix(newline)
        text = head + (marked or "") + tail
    action: Action = "none"
    if text != before.text:
        action = "removed" if not marked else "added" if found is None else "updated"
    return FileChange(file, action, before, changed(before, text=text))


def _find_block(file: Path, text: str) -> tuple[int, int] | None:
    """Return the span of the block, or None; raise UserError if its marks are damaged."""
    begins, ends = text.count(BEGIN), text.count(END)
    if not begins and not ends:
        return None
    start, end = text.find(BEGIN), text.find(END)
    if (begins, ends) != (1, 1) or end < start:
        raise UserError(
            f"{file} cannot be changed: the marks of Recollect's block are damaged; remove them "
            "by hand. Nothing was changed."
        )
    return start, end + len(END)
