"""The other distributions fit the core: by their versions, and the extras for them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from recollect.version import __version__

ROOT = Path(__file__).parents[2]
CORE: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = CORE["project"]["optional-dependencies"]
# Distributions that use the core's internals, by their folder and extra.
OURS = {"evaluation": "eval", "postgres": "postgres"}
# `recollect` alone is another project on the index.
ANOTHER_PROJECT = re.compile(r"pip install [^\n`]*(?<![\w/.-])recollect(?![\w-])")


def project_of(folder: str) -> dict[str, Any]:
    text = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


@pytest.mark.parametrize("folder", OURS)
def test_a_distribution_has_the_version_of_the_core(folder: str) -> None:
    project = project_of(folder)
    assert project["version"] == __version__
    assert f"recollect-memory=={__version__}" in project["dependencies"]
    assert EXTRAS[OURS[folder]] == [f"{project['name']}=={__version__}"]


def test_the_extra_for_many_languages_names_its_distribution() -> None:
    assert EXTRAS["multilingual"] == [f"{project_of('multilingual')['name']}>={__version__[:3]}"]


@pytest.mark.parametrize("folder", OURS)
def test_the_lock_has_what_a_distribution_needs(folder: str) -> None:
    """They are on no index, so the lock cannot learn it from them."""
    needed = {each for each in project_of(folder)["dependencies"] if "recollect" not in each}
    assert needed <= set(CORE["dependency-groups"]["dev"])


def test_nobody_is_told_to_install_another_project() -> None:
    texts = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    for pattern in ("src/**/*.py", "*/src/**/*.py", "docs/**/*.md", "man/*", "*/README.md"):
        texts += ROOT.glob(pattern)
    assert len(texts) > 300
    wrong = [str(each) for each in texts if ANOTHER_PROJECT.search(each.read_text("utf-8"))]
    assert not wrong
    assert ANOTHER_PROJECT.search("pip install 'recollect[postgres]'")
