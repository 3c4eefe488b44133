"""The rules of `.gitignore` and `.recollectignore`, as in git.

Entries are checked from the root down, folders before their content, so that a pattern only has to
match the entry itself. The last matching pattern of the deepest ignore file decides.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from recollect.files import open_regular

GIT = ".gitignore"
OWN = ".recollectignore"
MOST_BYTES = 1_000_000  # the largest public collections of patterns have about 10 kB
# A name has up to 255 characters, and matching n stars may take 255ⁿ/n! steps: 3 stars take
# milliseconds, 6 hours.
MOST_STARS = 3
STARS = re.compile(r"(?<!\\)\*+")
ANY_DEPTH = re.compile(r"(?:\*\*/)+")
EVERYTHING = re.compile(r"\*|/?(?:\*\*/)?\*\*|/?\*\*/\*")


class IgnorePatterns(NamedTuple):
    """The patterns of one ignore file, in order; each ignores (True) or includes again (False).
    `problems`: lines that are not used, and why."""

    each: tuple[tuple[re.Pattern[str], bool], ...] = ()
    problems: tuple[str, ...] = ()

    def decide(self, path: str, *, folder: bool) -> bool | None:
        """Return True if the entry is ignored, None if no pattern matches. `path` is relative to
        the folder of the ignore file."""
        # A star in git matches a newline, but a dot in an expression does not.
        path = path.replace("\n", " ") + ("/" if folder else "")
        for expression, ignored in reversed(self.each):
            if expression.fullmatch(path):
                return ignored
        return None


NONE = IgnorePatterns()


def parse_patterns(text: str) -> IgnorePatterns:
    """Parse an ignore file."""
    each: list[tuple[re.Pattern[str], bool]] = []
    problems: list[str] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.startswith("#"):
            continue
        sign = "!" if line.startswith("!") else ""
        parts = [_merge_stars(part) for part in _trim(line[len(sign) :]).split("/")]
        if any(part.count("*") > MOST_STARS for part in parts):
            problems.append(f"Line {number} has too many stars and is not used.")
            continue
        try:
            made = GitIgnoreSpecPattern(sign + _expand("/".join(parts)))
        except (GitIgnorePatternError, re.error):
            problems.append(f"Line {number} is not a pattern and is not used.")
            continue
        if made.regex is not None and made.include is not None:
            each.append((made.regex, made.include))
    return IgnorePatterns(tuple(each), tuple(problems))


def _trim(pattern: str) -> str:
    """Remove spaces at the end, unless one is escaped."""
    pattern = pattern.removesuffix("\r")
    bare = pattern.rstrip(" ")
    return pattern if bare.endswith("\\") else bare


def _merge_stars(part: str) -> str:
    """Replace several stars by one, except `**` alone between slashes, which means any depth."""
    return "**" if len(part) > 1 and not part.strip("*") else STARS.sub("*", part)


def _expand(pattern: str) -> str:
    """Return an equivalent pattern whose expression matches whole paths. For patterns that match
    everything, the library's expression would match only a part of a path."""
    folders = "/" if pattern.endswith("/") else ""
    whole = ANY_DEPTH.sub("**/", pattern.removesuffix("/"))
    if EVERYTHING.fullmatch(whole):
        return f"?*{folders}"
    if whole.endswith("/**"):
        return f"{whole}/*{folders}"
    return pattern


def read_patterns(file: Path) -> IgnorePatterns:
    """Read an ignore file, which may not exist. Links are not followed."""
    try:
        stream = open_regular(file)
        if stream is None:
            return IgnorePatterns(problems=("It is not a file.",))
        with stream:
            raw = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return NONE
    except OSError as error:
        return IgnorePatterns(problems=(f"It cannot be read: {error.strerror}.",))
    if len(raw) > MOST_BYTES:
        return IgnorePatterns(
            problems=(f"It is larger than {MOST_BYTES:,} bytes and is not used.",)
        )
    return parse_patterns(raw.decode("utf-8", errors="replace"))


class Level(NamedTuple):
    """The patterns of one folder.

    - `above`: for a folder above the root, the path from it to the root.
    - `depth`: for a folder below the root, its depth: the number of names to remove from a path.
    """

    git: IgnorePatterns
    own: IgnorePatterns
    above: str = ""
    depth: int = 0

    def relative(self, path: str) -> str:
        if self.above:
            return f"{self.above}/{path}"
        return path.split("/", self.depth)[-1] if self.depth else path


class IgnoreRules(NamedTuple):
    """The patterns that apply in a folder, the outermost first."""

    levels: tuple[Level, ...]

    def below(self, level: Level) -> IgnoreRules:
        return IgnoreRules((*self.levels, level)) if level.git.each or level.own.each else self

    def decide(self, file: str, path: str, *, folder: bool) -> bool | None:
        """Return True if `file` (GIT or OWN) ignores an entry, None if no pattern matches. `path`
        is relative to the root."""
        for level in reversed(self.levels):
            patterns = level.own if file == OWN else level.git
            if patterns.each:
                ignored = patterns.decide(level.relative(path), folder=folder)
                if ignored is not None:
                    return ignored
        return None


def rules_above(root: Path) -> IgnoreRules:
    """Return the rules from above the root: the repository's excludes, and the ignore files between
    the repository's root and the root's parent. There are none without a repository."""
    around = (root, *root.parents)
    repository = next((each for each in around if os.path.lexists(each / ".git")), None)
    if repository is None:
        return IgnoreRules(())
    names = root.relative_to(repository).parts
    excludes = read_patterns(_git_folder(repository) / "info" / "exclude")
    rules = IgnoreRules(()).below(Level(excludes, NONE, "/".join(names)))
    folder = repository
    for number, name in enumerate(names):
        level = Level(
            read_patterns(folder / GIT), read_patterns(folder / OWN), "/".join(names[number:])
        )
        rules = rules.below(level)
        folder = folder / name
    return rules


def _git_folder(repository: Path) -> Path:
    """Return git's folder; in a linked working tree `.git` is a file with its path."""
    folder = repository / ".git"
    try:
        if folder.is_file():
            folder = repository / _line_of(folder).removeprefix("gitdir:").strip()
            return folder / _line_of(folder / "commondir")
    except OSError:
        pass  # there are no excludes
    return folder


def _line_of(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.readline(5000).decode("utf-8", errors="replace").strip()
