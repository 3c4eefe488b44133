"""The documentation is whole: commands, settings, fields, recipes, links, and the picture."""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from typing import Any, get_args

import msgspec
import pytest
from docs_blocks import DOCS, PAGES, ROOT, anchors, links

from recollect.fuse import FeatureSum
from recollect.interfaces.cli.arguments import parser_of
from recollect.interfaces.cli.commands import every_command
from recollect.recipes.base import AnyChannel, AnyFusion, AnyStage
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Settings
from recollect.signals import AnySignal
from recollect.stages.rerank import RerankInterpolation
from recollect.stages.signal_sums import Bonus
from recollect.types import Filter, Memory

HELP: dict[str, Any] = runpy.run_path(str(DOCS / "update_help.py"))
REFERENCE = DOCS / "reference"
COMMANDS_PAGE = (REFERENCE / "commands.md").read_text(encoding="utf-8")
LINKED = [*PAGES, *(ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING"))]
KEYS = [
    (section, key, getattr(held, key))
    for section, held in msgspec.structs.asdict(Settings()).items()
    if isinstance(held, msgspec.Struct)  # others are lists of tables, each with a section
    for key in held.__struct_fields__
]


def collapsed(text: str) -> str:
    """Python's versions break the usage line at different places."""
    return " ".join(text.split())


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", every_command())
def test_every_option_of_a_command_is_in_its_section_or_among_the_shared_ones(name: str) -> None:
    section = COMMANDS_PAGE.partition(f"# `recollect {name}`\n")[2].partition("\n##")[0]
    shared = COMMANDS_PAGE.partition("<!-- help: shared -->")[2].partition("<!-- /help -->")[0]
    lines = [line.strip() for line in [*section.splitlines(), *shared.splitlines()]]
    for action in parser_of(name)._actions:
        names = ", ".join(action.option_strings) or str(action.metavar)
        assert any(line.startswith(names) for line in lines) or names == "ID", names


def test_the_page_the_manual_and_the_table_of_completion_are_what_the_parsers_say() -> None:
    """If not: python docs/update_help.py"""
    made = HELP["files"]()
    stale = [
        file.name
        for file, text in made.items()
        if not file.exists() or collapsed(text) != collapsed(file.read_text(encoding="utf-8"))
    ]
    assert stale == []
    assert {file.name for file in (ROOT / "man").iterdir()} == {
        file.name for file in made if file.suffix == ".1"
    }


def test_every_command_is_documented_and_every_documented_one_exists() -> None:
    assert re.findall(r"^##+ `recollect ([\w ]+)`$", COMMANDS_PAGE, re.MULTILINE) == [
        *every_command()
    ]


@pytest.mark.parametrize(("section", "key", "default"), KEYS)
def test_every_setting_has_a_row_with_its_default(section: str, key: str, default: object) -> None:
    rows = [row for row in page("settings.md").splitlines() if row.startswith("| `")]
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert [f"`{section}.{key}`", f"`{json.dumps(default)}`"] in [row[:2] for row in cells]


def test_no_setting_is_documented_that_does_not_exist() -> None:
    named = re.findall(r"^\| `(\w+)\.(\w+)` \|", page("settings.md"), re.MULTILINE)
    assert named == [(section, key) for section, key, _ in KEYS]


def test_every_field_of_a_memory_has_a_row() -> None:
    named = re.findall(r"^\| `(\w+)` \|", page("memory-format.md"), re.MULTILINE)
    assert named == list(Memory.__struct_fields__)


def test_every_filter_is_in_the_library_page() -> None:
    for name in Filter.__struct_fields__:
        assert f"`{name}`" in page("library.md")


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_recipe_is_described(name: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `{name}` \|", readme, re.MULTILINE)
    assert f"\n### `{name}`\n" in page("recipes.md")


@pytest.mark.parametrize("parts", [AnyChannel, AnyFusion, AnyStage, AnySignal])
def test_every_part_that_a_recipe_can_have_is_described(parts: Any) -> None:
    assert get_args(parts)
    for part in get_args(parts):
        assert f"\n| `{part.__struct_config__.tag}` |" in page("recipes.md")


def test_the_weights_of_blend_are_those_it_has() -> None:
    blend = BUILT_IN["blend"]
    [bonus] = [stage for stage in blend.stages if isinstance(stage, Bonus)]
    [opinion] = [stage for stage in blend.stages if isinstance(stage, RerankInterpolation)]
    told = page("recipes.md").partition("\n### `blend`\n")[2].partition("\n### ")[0]
    for signal in bonus.signals:
        assert f"{signal.weight:g} · {signal.name}" in told
    fuse = blend.fuse
    assert isinstance(fuse, FeatureSum)
    for weights in (fuse.weights, fuse.alone):
        features = " + ".join(f"{weight:g} · {name}" for name, weight in weights.nonzero().items())
        assert f"{weights.base:g} + {features}".replace("-", "−") in told
    floor = -opinion.floor
    moved = f"{opinion.weight:g} · (clip(logit, −{floor:g}, {opinion.bound:g}) + {floor:g})"
    assert moved in told


@pytest.mark.parametrize("file", LINKED, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_link_within_the_documentation_is_dead(file: Any) -> None:
    found = links(file)
    assert found or "](" not in file.read_text("utf-8")
    for target in found:
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        linked = (file.parent / name).resolve() if name else file
        assert linked.exists(), f"{file.name} links to {target}"
        assert linked.is_relative_to(ROOT), f"{file.name} links out of the project: {target}"
        if anchor:
            assert anchor in anchors(linked), f"{file.name}: {linked.name} has no #{anchor}"


def test_every_folder_is_on_the_map_in_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for top in (ROOT / "src" / "recollect", ROOT / "tests"):
        folders = {file.parent for file in top.rglob("*.py")} - {top}
        assert folders, top
        for folder in {top / folder.relative_to(top).parts[0] for folder in folders}:
            assert f"\n| `{folder.name}/" in text, f"{folder.name}/ is not on the map"


def test_every_page_is_in_the_list_that_the_readme_links_to() -> None:
    index = DOCS / "README.md"
    assert "docs/README.md" in links(ROOT / "README.md")
    linked = {(DOCS / target.partition("#")[0]).resolve() for target in links(index)}
    assert {file.resolve() for file in DOCS.rglob("*.md")} - {index.resolve()} <= linked


def test_the_readme_links_to_each_page_once() -> None:
    found = links(ROOT / "README.md")
    assert len(found) == len(set(found)) > 5


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    """A font or a picture from the network would tell somebody who reads the page."""
    svg = (DOCS / "images" / "search.svg").read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s\"')]+", svg))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert "@font-face" not in svg
    assert "@import" not in svg


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_the_picture_shows_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """If not: python docs/make_pictures.py"""
    script = str(DOCS / "make_pictures.py")
    monkeypatch.setattr(sys, "argv", [script, "--check"])
    assert runpy.run_path(script)["main"]() == 0
