"""Another package adds an importer: the one of docs/how-to/write-a-plugin.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import Home, check_error
from docs_blocks import DOCS

from recollect.entry_points import entry_points_of
from recollect.ingest.exchange import GROUP, list_tools

PAGE = (DOCS / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which the package is, as pip would leave it."""
    entry = block("ini").splitlines()[1].replace('"', "")
    information = tmp_path / "packages" / "recollect_todo-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Name: recollect-todo\nVersion: 1\n")
    entries = f"[{GROUP}]\n{entry}\ngone = gone.todo:IMPORTER\n"
    (information / "entry_points.txt").write_text(entries)
    (information.parent / "recollect_todo.py").write_text(block("python"))
    monkeypatch.syspath_prepend(information.parent)
    entry_points_of.cache_clear()
    yield information.parent
    entry_points_of.cache_clear()


@pytest.mark.usefixtures("installed")
def test_an_importer_of_ones_own_is_used_and_listed(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    todo = tmp_path / "todo.txt"
    todo.write_text("Renew the mooring\nx Order two buoys\n\n", encoding="utf-8")
    done = home.call("import", "--from", "todo", str(todo))
    assert "2 added" in done.out
    assert "line 3: It is empty." in done.out + done.err
    assert sorted(memory["tags"] for memory in home.json("list")) == [["done"], ["open"]]
    assert "todo" in check_error(home.call("import", "--from", "abacus", str(todo)))


@pytest.mark.usefixtures("installed")
def test_a_plugin_whose_module_is_gone_is_left_out() -> None:
    assert "todo" in list_tools()
    assert "gone" not in list_tools()
