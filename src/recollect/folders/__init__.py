"""Folders whose files are memories: which files count, and keeping the memories up to date.

This module recognizes files with instructions for coding agents by their names.
An instruction file is followed by itself, and a folder of rules like any folder; their memories are
core, the most trusted tier. Sources: code.claude.com/docs/en/memory, cursor.com/docs/rules,
developers.openai.com/codex/guides/agents-md, geminicli.com/docs/cli/gemini-md, docs.windsurf.com
(memories and rules), docs.github.com/en/copilot (custom instructions).
"""

from __future__ import annotations

from pathlib import Path

SOURCE = "instructions"
# In the root of a project or of a client's own folder.
FILES = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "AGENTS.override.md",
    "GEMINI.md", ".cursorrules", ".windsurfrules", ".github/copilot-instructions.md",
    "copilot-instructions.md",
)  # fmt: skip
FOLDERS = (".cursor/rules", ".windsurf/rules", ".claude/rules", ".github/instructions")
NAMES = frozenset(name.rpartition("/")[2] for name in FILES)


def is_instruction_file(path: str) -> bool:
    """Return True if the path is that of an instruction file, existing or not."""
    return Path(path).name in NAMES


def is_instructions(path: str) -> bool:
    """Return True if the path is that of an instruction file or of a folder of rules."""
    return is_instruction_file(path) or Path(path).as_posix().endswith(
        tuple(f"/{name}" for name in FOLDERS)
    )


def instruction_places(root: Path) -> list[Path]:
    """Return the instruction files and folders of rules in the root, which may be one itself."""
    if is_instructions(str(root)):
        return [root]
    files = (root / name for name in FILES)
    folders = (root / name for name in FOLDERS)
    return [file for file in files if file.is_file()] + [each for each in folders if each.is_dir()]
