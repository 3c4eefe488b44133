"""Which entries of a folder are taken: by name, by kind, and by the ignore rules around them."""

from __future__ import annotations

import os
import stat

from recollect.documents.document import LeftOut
from recollect.folders.ignore_rules import GIT, OWN, IgnoreRules

# Other programs' stores and caches: nobody wants their files as memories, and there are many.
NEVER = frozenset(
    ".git .hg .svn .recollect node_modules __pycache__ .obsidian .trash".split()
)  # fmt: skip
# Ignore files are no documents.
RULES = frozenset((GIT, OWN))
# A folder that holds this is a virtual environment of Python.
ENVIRONMENT = "pyvenv.cfg"
IGNORED = LeftOut("ignored")
HIDDEN = LeftOut("hidden")
LINK = LeftOut("link")
SPECIAL = LeftOut("special", "it is neither a file nor a folder")
NOT_UTF8 = LeftOut("unreadable", "its name is not valid UTF-8")


def reason_to_skip(path: str, status: os.stat_result, rules: IgnoreRules) -> LeftOut | None:
    """Why an entry is left out, or None. The folders above it are taken."""
    is_folder = stat.S_ISDIR(status.st_mode)
    name = path.rpartition("/")[2]
    if name in (NEVER if is_folder else RULES):
        return IGNORED
    ignored = rules.own(path, folder=is_folder)
    if ignored is None and name.startswith("."):
        return HIDDEN
    if ignored is None:
        ignored = rules.git(path, folder=is_folder)
    if ignored:
        return IGNORED
    if is_link(status):
        return LINK
    return None if is_folder or stat.S_ISREG(status.st_mode) else SPECIAL


def is_link(status: os.stat_result) -> bool:
    """True for a symbolic link, and for a junction of Windows."""
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(status.st_mode) or (
        junction is not None and getattr(status, "st_reparse_tag", None) == junction
    )


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def shown(name: str) -> str:
    """A name whose bytes are not UTF-8, in a form that can be shown and saved."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
