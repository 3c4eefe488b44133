"""Imports point one way: interfaces → engine → pipeline → recipes → stages → store → types.

A name that is not in LAYERS yet fails here: put it where its imports allow, and only there.
The distributions beside the core may import all of it, and it none of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
# Each package with its folder: the core, then the distributions of their own.
PACKAGES = {
    "recollect": ROOT / "src" / "recollect",
    "recollect_evaluation": ROOT / "evaluation" / "src" / "recollect_evaluation",
    "recollect_postgres": ROOT / "postgres" / "src" / "recollect_postgres",
}

# From top to bottom: a module imports only from lines below its own. A dotted name has a layer of
# its own, apart from its folder.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("interfaces", "interfaces.cli"),
    ("interfaces.app",),
    ("interfaces.web",),
    ("interfaces.http", "interfaces.mcp", "interfaces.setup"),
    ("interfaces.hooks", "interfaces.operations"),
    ("interfaces.signatures",),
    (
        "interfaces.thread_pools",
        "interfaces.sockets",
        "interfaces.requests",
        "interfaces.server_processes",
    ),
    ("demo",),
    ("engine",),
    ("plugin",),
    ("vaults",),
    ("folders",),
    ("pipeline",),
    ("recipes",),
    ("stages", "present"),
    ("signals", "recall"),
    ("fuse",),
    ("context",),
    ("query.understanding", "verdicts"),
    ("query.corrections",),
    ("documents", "secrets", "models"),
    ("ingest",),
    ("store",),
    ("index",),
    ("query",),
    ("settings_reading",),
    ("settings", "memory_json", "checks", "auth"),
    ("times", "lifetime"),
    (
        "errors",
        "types",
        "deadline",
        "entry_points",
        "auth.capabilities",
        "hashing",
        "home",
        "maths",
        "recipes.ranges",
        "files",
        "version",
        "worker_processes",
    ),
)
# Libraries that belong to one part alone.
HOMES = {
    "apsw": ("store", "auth", "plugins"),
    "httpx2": ("models",),
    "prompt_toolkit": ("plugins",),
    "psycopg": (),
    "rich": ("interfaces.cli",),
}

LAZY = re.compile(r"#\s*noqa: PLC0415\s+\S")


class Import(NamedTuple):
    """One import: who imports what, in which line, and whether only when a function runs."""

    importer: str
    imported: str
    line: int
    lazy: bool
    text: str


def module_name(package: str, file: Path) -> str:
    parts = (package, *file.relative_to(PACKAGES[package]).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    module_name(package, file): file
    for package, folder in PACKAGES.items()
    for file in sorted(folder.rglob("*.py"))
}
CORE = [module for module in FILES if module.partition(".")[0] == "recollect"]


def imports_of(module: str) -> Iterator[Import]:
    text = FILES[module].read_text(encoding="utf-8")
    yield from _walk(module, ast.parse(text), text.splitlines(), lazy=False)


def _walk(module: str, node: ast.AST, lines: list[str], *, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and _is_type_checking(child.test):
            continue
        for name in _imported(child):
            text = lines[child.lineno - 1]  # type: ignore[attr-defined]
            yield Import(module, name, child.lineno, lazy, text)  # type: ignore[attr-defined]
        inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _walk(module, child, lines, lazy=inside)


def _is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "Imports are absolute."
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            yield whole if whole in FILES else str(node.module)


@cache
def every() -> list[Import]:
    return [one for module in FILES for one in imports_of(module)]


def local() -> list[Import]:
    """The imports of the project's packages."""
    return [one for one in every() if one.imported.partition(".")[0] in PACKAGES]


def of_core() -> list[Import]:
    """The imports by the core."""
    return [one for one in every() if one.importer in CORE]


PLACES = {name: height for height, names in enumerate(LAYERS) for name in names}


def part(module: str) -> str:
    """`store` for `recollect.store.sqlite.keyword`, `recipes.ranges` for itself: the longest name
    in LAYERS that holds the module; empty for the package itself."""
    names = module.split(".")[1:]
    known = (".".join(names[:size]) for size in range(len(names), 0, -1))
    return next((name for name in known if name in PLACES), names[0] if names else "")


def told(one: Import) -> str:
    return f"{one.importer}, line {one.line}: imports {one.imported}"


def test_every_part_has_its_layer() -> None:
    parts = {part(module) for module in CORE} - {"", "plugins"}
    missing = parts - PLACES.keys()
    assert not missing, f"Put these into LAYERS: {', '.join(sorted(missing))}."


def test_imports_point_downwards() -> None:
    wrong = [
        told(one)
        for one in of_core()
        if one.imported.partition(".")[0] == "recollect"
        and part(one.importer) in PLACES
        and part(one.importer) != part(one.imported)
        and PLACES[part(one.importer)] >= PLACES.get(part(one.imported), -1)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_core_imports_no_other_distribution() -> None:
    others = {*PACKAGES, "recollect_multilingual"} - {"recollect"}
    wrong = [told(one) for one in of_core() if one.imported.partition(".")[0] in others]
    assert not wrong, "\n".join(wrong)


def test_plugins_use_what_any_plugin_may() -> None:
    """`recollect`, `recollect.plugin`, and what is in their own folder."""
    plugins = [one for one in local() if one.importer.startswith("recollect.plugins.")]
    assert plugins
    wrong = [
        told(one)
        for one in plugins
        if one.imported != "recollect"
        and not one.imported.startswith("recollect.plugin.")
        and one.imported.split(".")[:3] != one.importer.split(".")[:3]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_core_imports_no_plugin() -> None:
    """Entry points name them; what a plugin may use is there for plugins alone."""
    core = [module for module in CORE if not module.startswith("recollect.plugin")]
    wrong = [
        told(one)
        for one in of_core()
        if one.importer in core and one.imported.startswith("recollect.plugin")
    ]
    assert not wrong, "\n".join(wrong)
    named = [module for module in core if "recollect.plugins" in FILES[module].read_text("utf-8")]
    assert not named


def test_the_package_itself_imports_nothing_but_its_version() -> None:
    """`import recollect` must cost nothing: names are imported when they are first used."""
    assert [one.imported for one in local() if one.importer == "recollect"] == ["recollect.version"]


def test_types_import_nothing_local() -> None:
    assert [told(one) for one in local() if one.importer == "recollect.types"] == []


def test_no_module_imports_itself_in_a_circle() -> None:
    """Imports inside functions count: they are there for start-up time, not to dodge a circle."""
    graph: dict[str, set[str]] = {module: set() for module in FILES}
    for one in local():
        if one.imported != one.importer:
            graph[one.importer].add(one.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_imports_inside_functions_give_a_reason() -> None:
    """`# noqa: PLC0415  start-up time`, and like it."""
    wrong = [told(one) for one in every() if one.lazy and not LAZY.search(one.text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("library", HOMES)
def test_a_library_stays_in_its_part(library: str) -> None:
    wrong = [
        told(one)
        for one in of_core()
        if one.imported.partition(".")[0] == library and part(one.importer) not in HOMES[library]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_class_name_stands_for_two_things() -> None:
    homes: dict[str, list[str]] = {}
    for module, file in FILES.items():
        for name in re.findall(r"^ *class (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
            homes.setdefault(name, []).append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


def test_the_graph_is_the_real_one() -> None:
    """The reading above would prove nothing if it read nothing."""
    seen = {(one.importer, one.imported) for one in local()}
    assert ("recollect.pipeline", "recollect.recipes.base") in seen
    assert ("recollect.engine.opening", "recollect.store.sqlite.store") in seen
    assert ("recollect_postgres.store", "recollect_postgres.database") in seen
    assert any(one.lazy for one in local())
    assert len(CORE) > 50
