"""Files that tell coding agents how to work in a project: which they are, by their names.

A file of instructions is followed by itself, and a folder of rules as any folder; what they say is
core, the most trusted. Sources: code.claude.com/docs/en/memory, cursor.com/docs/rules,
developers.openai.com/codex/guides/agents-md, geminicli.com/docs/cli/gemini-md, docs.windsurf.com
(memories and rules), docs.github.com/en/copilot (custom instructions).
"""

from __future__ import annotations

from pathlib import Path

SOURCE = "instructions"
# Below the root of a project, or of a client's own folder.
FILES = (
    "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "AGENTS.override.md",
    "GEMINI.md", ".cursorrules", ".windsurfrules", ".github/copilot-instructions.md",
    "copilot-instructions.md",
)  # fmt: skip
FOLDERS = (".cursor/rules", ".windsurf/rules", ".claude/rules", ".github/instructions")
NAMES = frozenset(name.rpartition("/")[2] for name in FILES)


def is_instruction_file(path: str) -> bool:
    """Whether a file of that path is one of instructions, whether it is there or not."""
    return Path(path).name in NAMES


def is_instructions(path: str) -> bool:
    """Whether the path is that of a file of instructions or of a folder of rules."""
    return is_instruction_file(path) or Path(path).as_posix().endswith(
        tuple(f"/{name}" for name in FOLDERS)
    )


def instruction_places(root: Path) -> list[Path]:
    """The files of instructions and folders of rules in the root; itself, where it is one."""
    if is_instructions(str(root)):
        return [root]
    files = (root / name for name in FILES)
    folders = (root / name for name in FOLDERS)
    return [file for file in files if file.is_file()] + [each for each in folders if each.is_dir()]
