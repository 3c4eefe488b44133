"""The files of a folder: ignore files as in git, hidden files, links."""

from __future__ import annotations

import inspect
import os
import socket
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from recollect.documents.document import LeftOut
from recollect.folders import ignore_rules
from recollect.folders.ignore_rules import parse_patterns
from recollect.folders.scan import FoundFile, Matcher, Skipped, walk


def make(root: Path, names: str | list[str], rules: dict[str, str] | None = None) -> Path:
    """Files with a word each, and ignore files with their patterns."""
    listed = names.split() if isinstance(names, str) else names
    for name, text in (dict.fromkeys(listed, "text\n") | (rules or {})).items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def list_taken(root: Path) -> list[str]:
    return [one.path for one in walk(root) if isinstance(one, FoundFile)]


def list_skipped(root: Path) -> dict[str, LeftOut]:
    return {one.path: one.left_out for one in walk(root) if isinstance(one, Skipped)}


def reasons(root: Path) -> dict[str, str]:
    return {path: left_out.reason for path, left_out in list_skipped(root).items()}


def test_files_come_in_the_order_of_their_names_with_path_and_size(tmp_path: Path) -> None:
    make(tmp_path, "b.md a/z.md a/b/c.md a.md B.md")
    found = [one for one in walk(tmp_path) if isinstance(one, FoundFile)]
    assert [one.path for one in found] == ["B.md", "a/b/c.md", "a/z.md", "a.md", "b.md"]
    assert found[1].full == tmp_path.resolve() / "a" / "b" / "c.md"
    assert found[1].size == 5


def test_a_pattern_of_a_deeper_file_wins_and_of_one_file_the_last(tmp_path: Path) -> None:
    rules = {".gitignore": "*.log\n!keep.log\n", "sub/.gitignore": "!*.log\nkeep.log\n"}
    make(tmp_path, "a.log keep.log sub/b.log sub/keep.log", rules)
    assert list_taken(tmp_path) == ["keep.log", "sub/b.log"]


def test_nothing_is_taken_back_from_a_folder_that_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, "build/keep.md a.md", {".gitignore": "build/\n!build/keep.md\n"})
    assert list_taken(tmp_path) == ["a.md"]
    assert reasons(tmp_path)["build/"] == "ignored"


def test_own_patterns_win_over_those_of_git(tmp_path: Path) -> None:
    rules = {
        ".gitignore": "drafts/\n*.tmp\n",
        ".recollectignore": "!drafts/\nsecret.md\n",
        "drafts/.gitignore": "!secret.md\n",
    }
    make(tmp_path, "drafts/a.md drafts/a.tmp drafts/secret.md", rules)
    assert list_taken(tmp_path) == ["drafts/a.md"]


def test_hidden_files_are_left_out_unless_own_patterns_take_them_back(tmp_path: Path) -> None:
    make(tmp_path, ".env .github/a.md .notes/b.md c.md")
    assert list_taken(tmp_path) == ["c.md"]
    assert reasons(tmp_path) == {".env": "hidden", ".github/": "hidden", ".notes/": "hidden"}
    make(tmp_path, "", {".recollectignore": "!.notes/\n", ".gitignore": "!.env\n"})
    assert list_taken(tmp_path) == [".notes/b.md", "c.md"]


@pytest.mark.parametrize(
    "name", [".git", ".hg", ".svn", ".recollect", "node_modules", "__pycache__", ".obsidian"]
)
def test_stores_of_other_programs_are_never_entered(tmp_path: Path, name: str) -> None:
    make(tmp_path, f"sub/{name}/a.md", {".recollectignore": f"!{name}/\n"})
    assert list_taken(tmp_path) == []
    assert reasons(tmp_path)[f"sub/{name}/"] == "ignored"


def test_a_virtual_environment_is_not_entered_whatever_its_name(tmp_path: Path) -> None:
    make(tmp_path, "env/pyvenv.cfg env/lib/a.py venv/notes.md")
    assert list_taken(tmp_path) == ["venv/notes.md"]
    assert reasons(tmp_path) == {"env/": "ignored"}
    assert not Matcher(tmp_path).takes("env/lib/a.py")


def test_a_folder_inside_a_repository_keeps_to_the_patterns_above_it(tmp_path: Path) -> None:
    rules = {
        ".gitignore": "outside.md\n",  # above the repository: it does not count
        "repo/.git/info/exclude": "mine.md\n",
        "repo/.gitignore": "*.log\n/docs/in/top.md\n",
        "repo/docs/.gitignore": "!keep.log\n",
    }
    make(tmp_path, "", rules)
    inside = make(tmp_path / "repo/docs/in", "a.log keep.log mine.md outside.md top.md deep/top.md")
    assert list_taken(inside) == ["deep/top.md", "keep.log", "outside.md"]


def test_a_further_working_tree_keeps_to_the_repositorys_excludes(tmp_path: Path) -> None:
    rules = {
        "main/.git/info/exclude": "mine.md\n",
        "main/.git/worktrees/two/commondir": "../..\n",
        "two/.git": f"gitdir: {tmp_path}/main/.git/worktrees/two\n",
    }
    make(tmp_path, "two/mine.md two/ours.md", rules)
    assert list_taken(tmp_path / "two") == ["ours.md"]


def test_a_folder_named_by_the_user_is_taken_even_if_git_ignores_it(tmp_path: Path) -> None:
    make(tmp_path, ".git/HEAD build/a.md build/b.log", {".gitignore": "build/\n*.log\n"})
    assert list_taken(tmp_path / "build") == ["a.md"]


def test_links_are_counted_and_never_followed(tmp_path: Path) -> None:
    make(tmp_path, "outside/secret.md root/a.md root/sub/b.md")
    root = tmp_path / "root"
    (root / "sub/loop").symlink_to(root)
    (root / "file.md").symlink_to(root / "a.md")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "nowhere").symlink_to(tmp_path / "nothing")
    (root / "self").symlink_to(root / "self")
    assert list_taken(root) == ["a.md", "sub/b.md"]
    links = ("file.md", "nowhere", "out", "self", "sub/loop")
    assert reasons(root) == dict.fromkeys(links, "link")
    assert not Matcher(root).takes("out/secret.md")


def test_a_root_that_is_a_link_is_entered(tmp_path: Path) -> None:
    make(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert list_taken(tmp_path / "link") == ["a.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_pipes_and_sockets_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
        assert reasons(tmp_path) == {"pipe.md": "special", "socket": "special"}
        assert list_taken(tmp_path) == []


def test_a_pipe_in_place_of_an_ignore_file_does_not_hold_up_the_walk(tmp_path: Path) -> None:
    make(tmp_path, "a.md")
    os.mkfifo(tmp_path / ".gitignore")
    assert list_taken(tmp_path) == ["a.md"]
    assert list_skipped(tmp_path) == {".gitignore": LeftOut("unreadable", "It is not a file.")}


def test_a_folder_that_cannot_be_listed_is_named_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a.md closed/b.md z.md")
    real = os.scandir

    def refusing(folder: Path) -> object:
        """Permissions do not stop root, so that errors are simulated here."""
        if str(folder).endswith("closed"):  # pytest's own clean-up asks by number
            raise PermissionError(13, "Permission denied")
        return real(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    assert list_taken(tmp_path) == ["a.md", "z.md"]
    assert list_skipped(tmp_path) == {"closed/": LeftOut("unreadable", "Permission denied")}


def test_a_root_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert list_skipped(tmp_path / "none") == {
        "./": LeftOut("unreadable", "No such file or directory")
    }


def test_a_name_with_a_newline_is_taken_and_patterns_mean_it(tmp_path: Path) -> None:
    names = ["two\nlines.md", "in\nside/a.md", "in\nside/a.log"]
    make(tmp_path, names, {".gitignore": "*.log\n"})
    assert list_taken(tmp_path) == ["in\nside/a.md", "two\nlines.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="names are text elsewhere")
def test_a_name_that_is_not_utf8_is_left_out_in_a_form_that_can_be_shown(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text("text")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/d\xff")).mkdir()
    found = list_skipped(tmp_path)
    assert list(found) == ["caf\\xe9.md", "d\\xff"]
    assert {one.reason for one in found.values()} == {"unreadable"}
    assert "".join(found).encode()


def test_a_deep_folder_is_walked_without_going_deep_itself(tmp_path: Path) -> None:
    deep = "/".join("d" * 300)
    make(tmp_path, f"{deep}/a.md")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        found = list_taken(tmp_path)
    finally:
        sys.setrecursionlimit(before)
    assert found == [f"{deep}/a.md"]


def test_lines_that_are_no_patterns_are_named_and_the_others_hold(tmp_path: Path) -> None:
    make(tmp_path, "a.log a.md", {".gitignore": "!\n*a*a*a*a*a*b\n*.log\n"})
    assert list_taken(tmp_path) == ["a.md"]
    problems = [one.left_out.detail for one in walk(tmp_path) if isinstance(one, Skipped)]
    assert "Line 1 is not a pattern and is not used." in problems
    assert "Line 2 has too many stars and is not used." in problems


def test_ignore_files_may_be_bad_or_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "a.log a.md")
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbf*.log\r\n\xff\xfe\r\n")
    assert list_taken(tmp_path) == ["a.md"]
    monkeypatch.setattr(ignore_rules, "MOST_BYTES", 10)
    assert list_taken(tmp_path) == ["a.log", "a.md"]
    assert "larger than" in next(iter(list_skipped(tmp_path).values())).detail


def test_a_pattern_of_many_stars_side_by_side_is_one_star() -> None:
    patterns = parse_patterns("*" * 500 + "b\nc" + "*" * 500 + "\n")
    assert patterns.decide("a" * 250, folder=False) is None
    assert patterns.decide("a" * 250 + "b", folder=False) is True


PATTERNS = [
    ["a"], ["a/"], ["/a"], ["a/b"], ["*"], ["*", "!*/", "!*.md"], ["a/*", "!a/b"], ["**/b"],
    ["a/**"], ["a/**/c"], ["/*", "!/a"], ["a/**", "!a/b/"], ["[ab]"], ["?.md"], ["\\#x", "#y"],
    ["*.md", "!a/*.md"], ["!a", "a"], ["a/b/"], ["**"], ["/**/b/"], ["**/**"], ["b*/", "!b"],
    ["a.md "], ["[!a].md"], ["\\!b.md"], ["*/b"], ["a/*/c"], ["**/*.md"], ["/**/"],
]  # fmt: skip


@pytest.mark.skipif(which("git") is None, reason="git is not installed")
def test_patterns_mean_what_git_takes_them_to_mean(tmp_path: Path) -> None:
    names = ["a", "b", "a.md", "b.md", "c", "#x", "!b.md"]
    make(
        tmp_path, [f"{x}{y}/{z}" for x in "abc" for y in ("", "/a", "/b", "/c") for z in names[2:4]]
    )
    make(tmp_path, ["a/b/c/d.md", "#x", "#y", "!b.md", "b b.md", "a.md", "b.md"])
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    listing = [*git, "-c", "core.excludesFile=", "-c", "core.quotePath=off"]
    for patterns in PATTERNS:
        (tmp_path / ".gitignore").write_text("\n".join(patterns) + "\n")
        said = subprocess.run(
            [*listing, "ls-files", "-o", "-z", "--exclude-standard"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        expected = {name for name in said.stdout.split("\0") if name and name[0] != "."}
        assert set(list_taken(tmp_path)) == expected, patterns


def agrees(root: Path, one: Matcher) -> None:
    """The matcher and the walk say the same of every file there is."""
    files = [
        file.relative_to(root).as_posix()
        for file in root.rglob("*")
        if file.is_symlink() or not file.is_dir()
    ]
    assert [file for file in sorted(files) if one.takes(file)] == sorted(list_taken(root))


def test_the_matcher_says_what_the_walk_does_also_after_ignore_files_change(
    tmp_path: Path,
) -> None:
    make(tmp_path, "", {".git/info/exclude": "x.md\n"})
    names = "a.md x.md build/b.md sub/c.log sub/.hidden/d.md node_modules/e.md"
    root = make(tmp_path / "root", names, {".gitignore": "*.log\nbuild/\n"})
    (root / "link.md").symlink_to(root / "a.md")
    one = Matcher(root)
    agrees(root, one)
    assert one.takes("a.md")
    (root / ".gitignore").write_text("a.md\n")
    agrees(root, one)
    assert not one.takes("a.md")
    make(root, "", {"sub/.recollectignore": "!.hidden\n"})
    agrees(root, one)
    assert one.takes("sub/.hidden/d.md")
    (root / ".gitignore").unlink()
    agrees(root, one)
    assert one.takes("a.md")


def test_the_matcher_judges_a_path_that_is_gone_by_its_name(tmp_path: Path) -> None:
    make(tmp_path, "a.md", {".gitignore": "*.log\nold/\n"})
    one = Matcher(tmp_path)
    assert one.takes("gone.md")
    assert one.takes("gone/too.md")
    assert one.takes("a.md/below.md")
    assert not one.takes("gone.log")
    assert not one.takes("old/a.md")
    assert not one.takes(".gone/a.md")


@pytest.mark.parametrize(
    "path", ["", "..", "../a.md", "a/../../b.md", "/etc/passwd", "a//b", "\udcff"]
)
def test_the_matcher_takes_no_path_that_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    assert not Matcher(tmp_path).takes(path)


def test_the_matcher_knows_which_files_change_what_is_taken(tmp_path: Path) -> None:
    one = Matcher(tmp_path)
    assert one.is_rule(".gitignore")
    assert one.is_rule("docs/.recollectignore")
    assert not one.is_rule("docs/a.md")
    assert not one.is_rule("node_modules/x/.gitignore")
