"""Whether an entry of a folder is taken, by its name, its kind, and the rules around it."""

from __future__ import annotations

import os
import stat

from recollect.documents.document import LeftOut
from recollect.folders.ignore_rules import GIT, OWN, Rules

# Other programs' stores and caches: no one means their files, and there are many of them.
NEVER = frozenset(
    ".git .hg .svn .recollect node_modules __pycache__ .obsidian .trash".split()
)  # fmt: skip
# Read as what they are.
RULES = frozenset((GIT, OWN))
# A folder that holds this is a virtual environment of Python.
ENVIRONMENT = "pyvenv.cfg"
IGNORED = LeftOut("ignored")
HIDDEN = LeftOut("hidden")
LINK = LeftOut("link")
SPECIAL = LeftOut("special", "it is neither a file nor a folder")
UNSAYABLE = LeftOut("unreadable", "its name is not valid UTF-8")


def judged(path: str, found: os.stat_result, rules: Rules) -> LeftOut | None:
    """Why an entry is left out, or None; the folders above it have been judged before."""
    is_folder = stat.S_ISDIR(found.st_mode)
    name = path.rpartition("/")[2]
    if name in (NEVER if is_folder else RULES):
        return IGNORED
    said = rules.own(path, folder=is_folder)
    if said is None and name.startswith("."):
        return HIDDEN
    if said is None:
        said = rules.git(path, folder=is_folder)
    if said:
        return IGNORED
    if is_link(found):
        return LINK
    return None if is_folder or stat.S_ISREG(found.st_mode) else SPECIAL


def is_link(found: os.stat_result) -> bool:
    """A symbolic link, or what Windows calls a junction."""
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(found.st_mode) or (
        junction is not None and getattr(found, "st_reparse_tag", None) == junction
    )


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def shown(name: str) -> str:
    """A name whose bytes are not UTF-8, in a form that can be shown and saved."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
