"""Several commands that change settings at once: each change that was acknowledged is there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

from recollect.errors import Exists
from recollect.interfaces.cli.config import add_table, remove_table
from recollect.recipes.tree import write_recipe
from recollect.settings_reading import load_settings
from recollect.vaults.known import Trusted

SEVERAL = 8
NAMES = [f"team-{number}" for number in range(SEVERAL)]


def at_once(call: Callable[[str], object]) -> list[object]:
    """Call with each name, all in one moment; the files are locked for other threads as for other
    processes."""
    start = Barrier(SEVERAL)

    def begin(name: str) -> object:
        start.wait(10)
        return call(name)

    with ThreadPoolExecutor(SEVERAL) as pool:
        return [*pool.map(begin, NAMES)]


def test_vaults_added_at_once_are_all_kept(tmp_path: Path) -> None:
    home, check = tmp_path / "home", partial(load_settings, tmp_path / "home", {})
    at_once(
        lambda name: add_table(
            home, "vaults", {"name": name, "tier": "team", "path": f"/srv/{name}.db"}, check
        )
    )
    assert sorted(vault.name for vault in check().vaults) == NAMES
    at_once(lambda name: remove_table(home, "vaults", name, check))
    assert check().vaults == ()


def test_projects_trusted_at_once_are_all_trusted(tmp_path: Path) -> None:
    vaults = {name: tmp_path / name / ".recollect" / "vault.db" for name in NAMES}
    at_once(lambda name: Trusted(tmp_path).add(vaults[name]))
    assert all(map(Trusted(tmp_path).holds, vaults.values()))
    at_once(lambda name: Trusted(tmp_path).remove(vaults[name]))
    assert Trusted(tmp_path).all() == []


def test_of_recipes_saved_at_once_under_one_name_one_is_kept(tmp_path: Path) -> None:
    def save(name: str) -> bool:
        try:
            write_recipe(tmp_path, "mine", name, {}, replace=False)
        except Exists:
            return False
        return True

    assert at_once(save).count(True) == 1
