"""Every curl command in docs/reference/http.md runs, in order, and prints what the page shows."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from http_server import NOW, environment, serving

from recollect.auth.access import HomeAccess
from recollect.auth.capabilities import SEARCH
from recollect.auth.token_store import TokenStore, load_own_token
from recollect.interfaces.http.api import ALWAYS, OPERATIONS, WITH_BODY
from recollect.interfaces.http.logs import Metrics

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "http.md"
# How the pages of docs/ are read, and what counts as the output shown.
DOCS: dict[str, Any] = runpy.run_path(str(ROOT / "tests" / "docs" / "docs_blocks.py"))
TEXT = PAGE.read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:7117"
EXAMPLES = [
    one
    for block in DOCS["blocks"](PAGE)
    if block.language == "console" and "tests/http" in block.value
    for one in DOCS["shown"](block)
]


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_every_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    with serving(tmp_path / "home", RECOLLECT_NOW=NOW) as server:
        while server.get("/readyz").status_code == 503:
            time.sleep(0.05)
        store = TokenStore(HomeAccess(server.home))
        token, _ = store.create([SEARCH])
        load_own_token(server.home, store)  # as a server makes it that asks for tokens
        told = environment(server.home, TOKEN=token)
        for command, expected in EXAMPLES:
            done = subprocess.run(
                ["bash", "-c", command.replace(ADDRESS, server.url)],
                env=told,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (command, done.stderr)
            assert DOCS["matches"](expected, done.stdout), (
                f"$ {command}\nshown:\n{expected}\n\nprinted:\n{done.stdout}"
            )


def test_there_are_examples_of_every_operation_of_the_api() -> None:
    asked = " ".join(command for command, _ in EXAMPLES)
    for operation in OPERATIONS:
        start = re.escape(re.sub(r"{.*", "", operation.path))
        assert re.search(start + (r"\w" if "{" in operation.path else ""), asked), operation.path


def test_every_operation_is_in_the_table() -> None:
    rows = "".join(row for row in TEXT.splitlines(True) if row.startswith("| `"))
    for operation in OPERATIONS:
        path = re.sub(r":\w+}", "}", operation.path).removeprefix("/api/v1")
        assert f" {path}" in rows or f"`{path}" in rows, path
        assert operation.method in rows


def test_every_status_is_explained() -> None:
    table = TEXT.partition("| status | when |")[2].partition("\n\n")[0]
    named = set(re.findall(r"\b\d{3}\b", re.sub(r"\d+,\d{3}", "", table)))
    statuses = {*ALWAYS, *WITH_BODY, 405}.union(*(one.problems for one in OPERATIONS))
    assert named == set(map(str, statuses))


def test_every_metric_is_in_the_table() -> None:
    lines = Metrics().text().decode().splitlines()
    names = [line.split()[2] for line in lines if line.startswith("# TYPE ")]
    assert names
    for name in names:
        assert name.endswith("_created") or f"| `{name}` |" in TEXT
