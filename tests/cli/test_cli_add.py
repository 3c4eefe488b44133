"""`recollect add`: files become memories, and what is left out is counted and named."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home, check_error

LONG = "What is known of {word} stands here, in a sentence of its own. " * 20
GATEWAY = "# Gateway\n\n" + "\n".join(
    f"## {word.title()}\n\n{LONG.format(word=word)}\n" for word in ("ports", "tokens", "cranes")
)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "work").mkdir(parents=True)
    (folder / "tides.md").write_text("# Tides\n\nThe tables are in the office.\n")
    (folder / "work/gateway.md").write_text(GATEWAY)
    (folder / "sync.py").write_text("def retry_with_backoff(times):\n    return times\n")
    return folder


@pytest.mark.installed
def test_the_installed_command_makes_memories_of_files(home: Home, notes: Path) -> None:
    done = home.run("add", str(notes))
    assert (done.code, done.err) == (0, "")
    assert done.out == "Files: 3 added. Memories: 5 added.\n"
    [found] = home.search("retry_with_backoff")["results"]
    place = {"heading": "retry_with_backoff", "line": 1, "lines": [1, 2]}
    assert found["file"] == {"path": str(notes / "sync.py")} | place
    assert home.run("add", str(notes)).out == "Files: 3 unchanged. No memories changed.\n"
    assert home.is_sound()


def test_a_result_names_file_line_and_heading(home: Home, notes: Path) -> None:
    home.call("add", str(notes))
    printed = home.call("search", "cranes").out
    first = GATEWAY.split("\n").index("## Cranes") + 1
    assert f"{notes}/work/gateway.md:{first}, Gateway > Cranes\n" in printed
    [found, *_] = home.search("cranes", "--limit", "1")["results"]
    assert found["file"]["heading"] == "Gateway > Cranes"
    assert "joined" not in found


def test_the_line_is_the_one_that_matches_best(home: Home, notes: Path) -> None:
    names = ("Tide", "Harbor", "Crane", "Ebb")
    errors = [f'class {name}Error(Exception):\n    """Raised for a {name}."""\n' for name in names]
    (notes / "errors.py").write_text("\n\n".join(errors))
    home.call("add", str(notes))
    for place, name in enumerate(names):
        line = 4 * place + 1
        [found, *_] = home.search(f"class {name}Error")["results"]
        assert (found["file"]["line"], found["file"]["lines"]) == (line, [1, 14])
        printed = home.call("search", f"raised for a {name}").out
        assert f"{notes}/errors.py:{line + 1}\n" in printed


def test_a_file_with_other_lines_than_its_text_is_named_by_the_first(
    home: Home, notes: Path
) -> None:
    (notes / "page.html").write_text("<p>Lighters sail.<p>Lighters<br>carry<br>quokkas.\n")
    home.call("add", str(notes))
    [found] = home.search("quokkas")["results"]
    assert (found["file"]["line"], found["file"]["lines"]) == (1, [1, 1])


def test_neighbouring_parts_are_one_result(home: Home, notes: Path) -> None:
    home.call("add", str(notes))
    response = home.search("what is known of cranes stands here")
    [found] = response["results"]
    assert len(found["joined"]) == 2
    assert found["id"] not in found["joined"]
    assert set(found["joined"]) < set(home.list_ids())
    first = GATEWAY.split("\n").index("## Cranes") + 1
    assert found["file"]["lines"] == [first, first + 2], "Not those of its neighbours."
    assert response["counts"]["dropped"]["neighbour"] == 2


def test_json_says_what_became_of_the_files(home: Home, notes: Path) -> None:
    (notes / "nothing.md").touch()
    (notes / "torn.pdf").write_bytes(b"%PDF-1.7\n" + b"\0" * 100)
    printed = home.json("add", str(notes))
    [named] = [one for one in printed["named"] if one["path"] == "torn.pdf"]
    assert named["reason"]
    assert printed["files"] == {"added": 3}
    assert printed["memories"] == {"added": 5}
    assert sum(printed["left_out"].values()) == 2
    assert printed["waiting"] == 0  # no model, so nothing waits for one


def test_what_changed_is_told(home: Home, notes: Path) -> None:
    home.call("add", str(notes))
    (notes / "tides.md").rename(notes / "ebb.md")
    (notes / "sync.py").unlink()
    (notes / "new.md").write_text("New.")
    (notes / "work/gateway.md").write_text(GATEWAY.replace("ports stands", "harbours is", 1))
    assert home.call("add", str(notes)).out == (
        "Files: 1 added, 1 changed, 1 renamed, 1 gone. Memories: 1 added, 4 updated, 1 forgotten.\n"
    )


def test_bad_files_are_counted_and_named_and_the_rest_goes_in(home: Home, notes: Path) -> None:
    (notes / "torn.pdf").write_bytes(b"%PDF-1.7\n" + b"\0" * 100)
    (notes / "torn.docx").write_bytes(b"PK\3\4 torn")
    (notes / "torn.ipynb").write_text('{"cells": [')
    (notes / "one-line.md").write_bytes(b"x" * 10_000_000)
    (notes / "noise.md").write_bytes(bytes(range(128, 256)) * 50)
    (notes / "foreign.db").write_bytes(b"SQLite format 3\0" + b"\0" * 100)
    (notes / "loop").symlink_to(notes)
    (notes / "two\nlines.md").write_text("The quokka sleeps.")
    Path(bytes(notes).decode() + "/\udcff.md").write_text("No name.")
    done = home.run("add", str(notes))
    assert done.code == 0
    assert "Traceback" not in done.err
    assert done.out.startswith("Files: 4 added.")
    for name in ("torn.pdf", "torn.docx", "torn.ipynb", "one-line.md", "\\xff.md"):
        assert f"  {name}: " in done.err, done.err
    assert "1 link" in done.out
    [found] = home.search("quokka")["results"]
    assert found["file"]["path"] == f"{notes}/two\nlines.md"
    assert "two\nlines" not in home.call("search", "quokka").out  # a name is no second line
    again = home.run("add", str(notes))
    assert again.out.startswith("Files: 4 unchanged. No memories changed.\nSkipped: ")
    assert home.is_sound()


def test_only_the_first_of_many_bad_files_are_named(home: Home, notes: Path) -> None:
    for number in range(15):
        (notes / f"torn-{number:02}.pdf").write_bytes(b"%PDF-1.7\n" + b"\0" * number)
    done = home.call("add", str(notes))
    assert done.code == 0
    assert done.err.count("torn-") == 10
    assert done.err.endswith("  and 5 more; --json lists them\n")


def test_secrets_stay_out_and_are_told(home: Home, notes: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    (notes / "key.md").write_text(f"The key is {secret} there.\n")
    done = home.call("add", str(notes))
    assert done.code == 0
    assert done.err.startswith("recollect: Redacted 1 secret: github token")
    assert secret not in home.call("export").out
    assert secret in (notes / "key.md").read_text()
    done = home.call("add", str(notes), "--no-redact")
    assert done.code == 0


def test_the_project_is_the_folders_name_or_what_is_said(home: Home, notes: Path) -> None:
    home.call("add", str(notes))
    assert {one["project"] for one in home.json("list")} == {"notes"}
    other = notes.with_name("other")
    other.mkdir()
    (other / "a.md").write_text("The quokka sleeps.")
    home.call("add", str(other), "--project", "harbor")
    [found] = home.search("quokka", "--project", "harbor")["results"]
    assert found["file"]["path"] == str(other / "a.md")


def test_a_folder_is_named_from_where_one_stands(home: Home, notes: Path) -> None:
    assert home.run("add", ".", cwd=notes).code == 0
    [folder] = home.json("add", "--list")["folders"]
    assert folder["path"] == str(notes)


def test_an_empty_folder_has_no_files(home: Home, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert home.call("add", str(tmp_path / "empty")).out == "Files: none. No memories changed.\n"


@pytest.mark.parametrize(
    ("what", "holding"),
    [
        ("nowhere", ("There is no folder",)),
        ("notes/tides.md", ("is a file; a folder is needed",)),
        ("notes/work", ("is in", "add one of them")),
        ("", ("is in", "add one of them")),
        ("x\0y", ("not valid UTF-8",)),
        ("mirror", ("is a mirror",)),
    ],
)
def test_what_cannot_be_added_is_refused(
    home: Home, notes: Path, tmp_path: Path, what: str, holding: tuple[str, ...]
) -> None:
    (tmp_path / "mirror").mkdir()
    home.call("add", str(notes))
    home.save("--title", "Saved")
    home.call("mirror", str(tmp_path / "mirror"))
    before = home.call("export").out
    check_error(home.call("add", f"{tmp_path}/{what}"), *holding)
    assert home.call("export").out == before
    assert len(home.json("add", "--list")["folders"]) == 1


# Recollect's own home


@pytest.mark.parametrize(
    "way", ["{home}", "{home}/inner", "{home}/inner/..", "{link}", "{link}/inner"]
)
def test_the_home_becomes_no_memories(home: Home, tmp_path: Path, way: str) -> None:
    """Its `token` would let every reader of the memory do everything."""
    home.save("--title", "Tides")
    (home.folder / "inner").mkdir()
    (home.folder / "inner" / "note.md").write_text("An inner note.\n")
    (home.folder / "token").write_text("not a secret by its form\n")
    (tmp_path / "link").symlink_to(home.folder)
    path = way.format(home=home.folder, link=tmp_path / "link")
    said = "is in the home folder of Recollect"
    check_error(home.call("add", path), said)
    check_error(home.call("import", "--from", "markdown", path), said)
    check_error(home.call("import", "--from", "instructions", path), said)
    check_error(home.call("import", f"{path}/token"), "token")
    check_error(home.call("import", "--from", "markdown", str(tmp_path)), "holds the home folder")
    assert len(home.list_ids()) == 1


def test_a_folder_around_the_home_is_read_without_it(home: Home, tmp_path: Path) -> None:
    home.save("--title", "Tides")
    (home.folder / "token.md").write_text("It stays here.\n")
    (tmp_path / "note.md").write_text("The tables are in the office.\n")
    done = home.call("add", str(tmp_path))
    assert done.out.startswith("Files: 1 added"), done.out
    for folder in (tmp_path, home.folder):
        check_error(
            home.call("mirror", str(folder), "--adopt"), "holds the home folder of Recollect"
        )
    assert not [each for each in home.json("list") if "stays here" in each["text"]]
