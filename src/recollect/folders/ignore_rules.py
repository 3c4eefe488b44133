"""The rules of `.gitignore` and `.recollectignore`, as git applies them.

Each entry is checked on the way down from the root, folders before their content, so that a pattern
need only match the entry itself. The last matching pattern of the deepest file decides.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from pathspec.patterns.gitignore import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from recollect.files import opened_regular

GIT = ".gitignore"
OWN = ".recollectignore"
# The largest public collections of patterns have some 10 kB.
MOST_BYTES = 1_000_000
# A part of a path has up to 255 characters, and trying a pattern of n stars on it may take 255ⁿ/n!
# steps: 3 stars are milliseconds, 6 are hours.
MOST_STARS = 3
STARS = re.compile(r"(?<!\\)\*+")
ANY_DEPTH = re.compile(r"(?:\*\*/)+")
EVERYTHING = re.compile(r"\*|/?(?:\*\*/)?\*\*|/?\*\*/\*")


class IgnorePatterns(NamedTuple):
    """The patterns of one ignore file, from top to bottom: what each matches, and whether it leaves
    out (True) or takes back (False). `problems`: the lines that are not used, and why."""

    each: tuple[tuple[re.Pattern[str], bool], ...] = ()
    problems: tuple[str, ...] = ()

    def decide(self, path: str, *, folder: bool) -> bool | None:
        """Whether the entry is left out; None where no pattern matches. `path` is relative to the
        folder of the ignore file."""
        # In a pattern's expression a dot matches no newline, but in git a star does.
        path = path.replace("\n", " ") + ("/" if folder else "")
        for expression, leaves_out in reversed(self.each):
            if expression.fullmatch(path):
                return leaves_out
        return None


NONE = IgnorePatterns()


def parsed(text: str) -> IgnorePatterns:
    """The patterns of a text, one a line."""
    each: list[tuple[re.Pattern[str], bool]] = []
    problems: list[str] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.startswith("#"):
            continue
        sign = "!" if line.startswith("!") else ""
        parts = [_fewer_stars(part) for part in _trimmed(line[len(sign) :]).split("/")]
        if any(part.count("*") > MOST_STARS for part in parts):
            problems.append(f"Line {number} has too many stars and is not used.")
            continue
        try:
            made = GitIgnoreSpecPattern(sign + _spelled_out("/".join(parts)))
        except (GitIgnorePatternError, re.error):
            problems.append(f"Line {number} is not a pattern and is not used.")
            continue
        if made.regex is not None and made.include is not None:
            each.append((made.regex, made.include))
    return IgnorePatterns(tuple(each), tuple(problems))


def _trimmed(pattern: str) -> str:
    """Without the spaces at its end, unless a backslash keeps one of them."""
    pattern = pattern.removesuffix("\r")
    bare = pattern.rstrip(" ")
    return pattern if bare.endswith("\\") else bare


def _fewer_stars(part: str) -> str:
    """Two stars mean any depth where they are alone between slashes; elsewhere they are one."""
    return "**" if len(part) > 1 and not part.strip("*") else STARS.sub("*", part)


def _spelled_out(pattern: str) -> str:
    """The same pattern in a form whose expression matches whole paths: for a pattern that matches
    everything, the library makes a shorter expression that matches a part of a path."""
    folders = "/" if pattern.endswith("/") else ""
    whole = ANY_DEPTH.sub("**/", pattern.removesuffix("/"))
    if EVERYTHING.fullmatch(whole):
        return f"?*{folders}"
    if whole.endswith("/**"):
        return f"{whole}/*{folders}"
    return pattern


def read_patterns(file: Path) -> IgnorePatterns:
    """The patterns of a file; none where there is no file. Links are not followed."""
    try:
        stream = opened_regular(file)
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
    return parsed(raw.decode("utf-8", errors="replace"))


class Level(NamedTuple):
    """The patterns of one folder.

    - `above`: for a parent of the walk's root, the names of the folders between them, which go
      before a path.
    - `depth`: how many folders it is below the root; so many names at the beginning of a path are
      not below it.
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

    def own(self, path: str, *, folder: bool) -> bool | None:
        """Whether `.recollectignore` leaves an entry out; None where no pattern matches. `path` is
        relative to the walk's root."""
        return self._decide(OWN, path, folder=folder)

    def git(self, path: str, *, folder: bool) -> bool | None:
        """Whether `.gitignore` leaves an entry out; None where no pattern matches."""
        return self._decide(GIT, path, folder=folder)

    def _decide(self, file: str, path: str, *, folder: bool) -> bool | None:
        for level in reversed(self.levels):
            patterns = level.own if file == OWN else level.git
            if patterns.each:
                ignored = patterns.decide(level.relative(path), folder=folder)
                if ignored is not None:
                    return ignored
        return None


def rules_above(root: Path) -> IgnoreRules:
    """The rules that apply at the root before its own ignore files: the repository's excludes, and
    the ignore files of the folders from the repository's root down to the root's parent. None
    without a repository around the root."""
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
    """The folder with git's excludes; in a linked working tree `.git` is a file that names it."""
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
