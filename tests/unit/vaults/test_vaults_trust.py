"""Project vaults: found by walking up, used only once they are trusted, and nothing else read."""

from __future__ import annotations

import os
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from vault_homes import NOW, away, found, settings, vault_file

from recollect import Recollect, Response
from recollect.errors import UserError
from recollect.settings import VaultSettings
from recollect.settings_reading import load_settings
from recollect.store.sqlite.connection import Database
from recollect.vaults.known import (
    Trusted,
    known_vaults,
    project_vault,
    untrusted_vault,
    within_project,
)

THEIRS = [{"id": "theirs", "title": "Harbor token", "text": "What the project knows."}]
OWN = [{"id": "mine", "title": "Harbor token", "text": "What I know."}]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a vault that others wrote."""
    vault_file(tmp_path / "project" / ".recollect" / "vault.db", THEIRS)
    (tmp_path / "project" / "src" / "deep").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def home_folder(tmp_path: Path) -> Path:
    vault_file(tmp_path / "home" / "vault.db", OWN)
    return tmp_path / "home"


def search_in(home: Path, where: Path, *vaults: VaultSettings) -> Response:
    """Search in this working directory."""
    with (
        chdir(where),
        Recollect(
            home=home, settings=settings(*vaults), environment={}, clock=lambda: NOW
        ) as memory,
    ):
        return memory.search("harbor token")


def notes(response: Response) -> list[str]:
    return [note for note in response.notes if "project vault" in note]


def test_an_untrusted_project_vault_is_named_not_used(project: Path, home_folder: Path) -> None:
    response = search_in(home_folder, project / "src" / "deep")
    assert found(response) == [("mine", "agent")]
    [note] = notes(response)
    assert str(project / ".recollect" / "vault.db") in note
    assert "recollect vault trust" in note


def test_before_it_is_trusted_the_file_is_not_even_opened(
    project: Path, home_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    real = Database.__init__

    def watched(self: Database, path: Path, *more: Any, **named: Any) -> None:
        opened.append(path)
        real(self, path, *more, **named)

    monkeypatch.setattr(Database, "__init__", watched)
    search_in(home_folder, project)
    assert opened == [home_folder / "vault.db"]


def test_a_trusted_vault_is_searched_all_over_its_project(project: Path, home_folder: Path) -> None:
    Trusted(home_folder).add(project / ".recollect" / "vault.db")
    for where in (project, project / "src" / "deep"):
        response = search_in(home_folder, where)
        assert found(response) == [("mine", "agent"), ("theirs", "project")]
        [priority] = [
            part for part in response.results[1].explain.leaves() if part.name == "priority"
        ]
        assert priority.value < 0
        assert priority.formula.endswith(" × priority 0.8")
        assert priority.how == "vault project, tier project"
        assert notes(response) == []
    assert found(search_in(home_folder, project.parent)) == [("mine", "agent")]


def test_trust_taken_back_holds_at_once(project: Path, home_folder: Path) -> None:
    vault = project / ".recollect" / "vault.db"
    trusted = Trusted(home_folder)
    trusted.add(vault)
    trusted.add(vault)
    assert trusted.all() == [str(vault.resolve())], "twice is once"
    assert trusted.remove(vault)
    assert not trusted.remove(vault)
    assert found(search_in(home_folder, project)) == [("mine", "agent")]


def test_the_nearest_vault_counts(project: Path, home_folder: Path) -> None:
    """A project within a project: trust in the outer one says nothing about the inner one."""
    Trusted(home_folder).add(project / ".recollect" / "vault.db")
    inner = vault_file(project / "src" / ".recollect" / "vault.db", [{"title": "Harbor token"}])
    assert project_vault(project / "src" / "deep") == inner
    response = search_in(home_folder, project / "src" / "deep")
    assert found(response) == [("mine", "agent")]
    assert str(inner) in notes(response)[0]


def test_a_project_that_was_moved_must_be_trusted_anew(project: Path, home_folder: Path) -> None:
    Trusted(home_folder).add(project / ".recollect" / "vault.db")
    moved = project.rename(project.with_name("elsewhere"))
    response = search_in(home_folder, moved)
    assert found(response) == [("mine", "agent")]
    assert len(notes(response)) == 1


def test_trust_follows_links_to_the_vault(project: Path, home_folder: Path, tmp_path: Path) -> None:
    Trusted(home_folder).add(project / ".recollect" / "vault.db")
    (tmp_path / "shortcut").symlink_to(project)
    assert ("theirs", "project") in found(search_in(home_folder, tmp_path / "shortcut" / "src"))


# Links out of the project


def link_file(project: Path, target: Path) -> None:
    (project / ".recollect").mkdir(parents=True)
    (project / ".recollect" / "vault.db").symlink_to(target)


def link_folder(project: Path, target: Path) -> None:
    project.mkdir()
    (project / ".recollect").symlink_to(target.parent)


@pytest.mark.parametrize("link", [link_file, link_folder])
@pytest.mark.parametrize("relative", [True, False])
def test_a_link_that_leads_out_of_the_project_is_never_trusted(
    home_folder: Path, tmp_path: Path, link: object, relative: bool
) -> None:
    """A hostile repository whose users would search, and so show, another file of theirs."""
    private = vault_file(tmp_path / "private" / "vault.db", [{"title": "Harbor token secret"}])
    project = tmp_path / "hostile"
    target = Path("..") / ".." / "private" / "vault.db" if relative else private
    if relative and link is link_folder:
        target = Path("..") / "private" / "vault.db"
    assert callable(link)
    link(project, target)
    vault = project / ".recollect" / "vault.db"
    assert vault.is_file()
    assert not within_project(vault)
    with pytest.raises(UserError, match=r"leads out of its project.*cannot be trusted"):
        Trusted(home_folder).add(vault)
    # Not even where its real place was trusted for its own sake.
    (home_folder / "trusted.json").write_text(f'["{private.resolve()}", "{vault}"]')
    assert found(search_in(home_folder, project)) == [("mine", "agent")]


def test_a_link_within_the_project_is_like_the_file(home_folder: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    vault_file(project / "data" / "notes.db", THEIRS)
    link_file(project, Path("..") / "data" / "notes.db")
    Trusted(home_folder).add(project / ".recollect" / "vault.db")
    assert ("theirs", "project") in found(search_in(home_folder, project))
    vault_file(project / "data" / "other.db", THEIRS)
    (project / ".recollect" / "vault.db").unlink()
    (project / ".recollect" / "vault.db").symlink_to(Path("..") / "data" / "other.db")
    assert found(search_in(home_folder, project)) == [("mine", "agent")], "it leads elsewhere now"


def test_a_link_out_ends_trust_in_a_vault(project: Path, home_folder: Path, tmp_path: Path) -> None:
    vault = project / ".recollect" / "vault.db"
    Trusted(home_folder).add(vault)
    private = vault_file(tmp_path / "private.db", [{"id": "secret", "title": "Harbor token"}])
    vault.unlink()
    vault.symlink_to(private)
    assert found(search_in(home_folder, project)) == [("mine", "agent")]


def test_a_link_to_itself_is_no_vault(home_folder: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    link_file(project, Path("vault.db"))
    assert project_vault(project) is None
    assert found(search_in(home_folder, project)) == [("mine", "agent")]


# What else lies there


def test_nothing_but_the_vault_is_read_in_a_project(project: Path, home_folder: Path) -> None:
    """A hostile repository brings settings and recipes along; each would break or change every
    search if anybody read it."""
    folder = project / ".recollect"
    Trusted(home_folder).add(folder / "vault.db")
    before = found(search_in(home_folder, project))
    (folder / "config.toml").write_text('[search]\nrecipe = "nonsense"\n[hostile]\n')
    (folder / "recipes").mkdir()
    (folder / "recipes" / "evil.toml").write_text("extends = 'no such recipe'\n")
    (folder / "trusted.json").write_text("not even JSON")
    (project / "config.toml").write_text("[broken\n")
    (project / ".env").write_text("RECOLLECT_EMBEDDING__PROVIDER=openai\n")
    assert found(search_in(home_folder, project)) == before
    with chdir(project), Recollect(home=home_folder, settings=settings(), environment={}) as memory:
        assert "evil" not in memory.recipes.names()
        assert memory.recipe().name == "blend"
        assert load_settings(memory.home, {}).search.recipe == "blend"


def test_a_vault_that_is_deleted_is_simply_not_there(project: Path, home_folder: Path) -> None:
    vault = project / ".recollect" / "vault.db"
    Trusted(home_folder).add(vault)
    vault.unlink()
    response = search_in(home_folder, project)
    assert (found(response), notes(response), away(response)) == ([("mine", "agent")], [], {})


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link"])
def test_what_is_no_file_is_no_vault(home_folder: Path, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "project" / ".recollect" / "vault.db"
    place.parent.mkdir(parents=True)
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("nowhere.db")
    assert project_vault(tmp_path / "project") is None


def test_an_unreadable_folder_is_passed_by(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.is_file

    def refusing(self: Path) -> bool:
        if "deep" in self.parts:
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Path, "is_file", refusing)
    assert project_vault(project / "src" / "deep") == project / ".recollect" / "vault.db"


def test_a_working_directory_that_is_gone_is_no_project(home_folder: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    before = Path.cwd()
    os.chdir(gone)
    try:
        gone.rmdir()
        with Recollect(home=home_folder, settings=settings(), environment={}) as memory:
            assert found(memory.search("harbor token")) == [("mine", "agent")]
    finally:
        os.chdir(before)


def test_a_home_that_is_named_like_a_project_vault_is_not_its_own_project(tmp_path: Path) -> None:
    """`RECOLLECT_HOME=~/.recollect`: the own vault is found by walking up, and is no other."""
    home = tmp_path / ".recollect"
    own = vault_file(home / "vault.db", OWN)
    (tmp_path / "work").mkdir()
    start = tmp_path / "work"
    assert [one.name for one in known_vaults(settings(), home, own, start)] == ["agent"]
    assert untrusted_vault(settings(), home, own, start) is None
    Trusted(home).add(own)
    assert [one.name for one in known_vaults(settings(), home, own, start)] == ["agent"]
    assert found(search_in(home, start)) == [("mine", "agent")]


def test_a_project_vault_in_the_settings_is_searched_once(project: Path, home_folder: Path) -> None:
    vault = project / ".recollect" / "vault.db"
    told = VaultSettings(name="harbor", tier="project", path=str(vault))
    for _ in range(2):
        response = search_in(home_folder, project, told)
        assert found(response) == [("mine", "agent"), ("theirs", "harbor")]
        Trusted(home_folder).add(vault)
    assert untrusted_vault(settings(told), home_folder, home_folder / "vault.db", project) is None


@pytest.mark.parametrize("content", [b"", b"{}", b'["a", 5]', b"\xff", b"[" * 10_000])
def test_a_broken_trust_list_is_named(project: Path, home_folder: Path, content: bytes) -> None:
    (home_folder / "trusted.json").write_bytes(content)
    with pytest.raises(UserError, match=r"trusted\.json cannot be read; correct it, or remove it"):
        Trusted(home_folder).holds(project / ".recollect" / "vault.db")
