"""Errors in the words of tools: the engine's sentences name commands, which a model cannot run."""

from __future__ import annotations

import re

# Command → the tool that does the same.
TOOLS = {
    "list": "memory_list",
    "search": "memory_search",
    "show": "memory_retrieve",
    "history": "memory_retrieve with history=true",
    "save": "memory_save",
    "edit": "memory_update",
    "supersede": "memory_update with superseded_by",
    "forget": "memory_forget",
    "restore": "memory_forget with undo=true",
    "merge": "memory_forget with merge_into",
    "feedback": "memory_feedback",
    "review": "memory_review",
    "context": "memory_context",
}
COMMAND = re.compile(
    r"(?<!command )`recollect (?P<name>\w+)(?P<rest>[^`]*)`|: recollect (?P<last>\w+)(?P<end>.*)$"
)


def for_tools(sentence: str) -> str:
    """The sentence with a tool for each command; a command without one is said to be the user's.
    What was said so already stays."""
    return COMMAND.sub(_named, sentence)


def _named(found: re.Match[str]) -> str:
    name, rest = found["name"] or found["last"], found["rest"] or found["end"] or ""
    start = "" if found["name"] else ": "
    if name in TOOLS and "--from" not in rest:
        undone = " with undo=true" if "--undo" in rest else ""
        return f"{start}{TOOLS[name]}{undone}"
    return f"{start}the user's command `recollect {name}{rest}`"
