"""Every example in README.md and docs/ runs and prints what the page shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from docs_blocks import PAGES, ROOT, Block, Reader, blocks, matches, with_models
from msgspec.structs import replace

from model_server import ModelServer
from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.models.active import open_embedder, open_reranker
from recollect.models.folder import builtin
from recollect.recipes.registry import Recipes
from recollect.settings_reading import load_settings

LANGUAGES = {"console", "ini", "python", "toml", "json", "jsonl", "text"}
EVERY = [block for page in PAGES for block in blocks(page)]


def of(language: str) -> list[Block]:
    return [block for block in EVERY if block.language == language]


def place(block: Block) -> str:
    return block.place


@pytest.mark.usefixtures("costly_keys")  # some commands are run by a shell
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_can_be_worked_through_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    """One home, one working directory, one Python namespace; block after block."""
    reader = Reader(tmp_path, models=with_models(page))
    printed: str | None = None
    found = blocks(page)
    assert 2 * len(found) == len(re.findall("^```", page.read_text("utf-8"), re.MULTILINE))
    for block in found:
        if block.mark == "file":
            reader.write(block)
        if block.language == "console" and block.runs:
            reader.console(block)
        if block.language == "text" and printed is not None:
            assert matches(block.text, printed, reader.near), f"{block.place}\nprinted:\n{printed}"
        printed = reader.python(block) if block.language == "python" and block.runs else None


@pytest.fixture
def model_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~/models/my-embedder`, which an example names, is there: the bundled model."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "my-embedder").symlink_to(builtin("embed", "").path)


@pytest.mark.usefixtures("model_folder")
@pytest.mark.parametrize("block", of("toml"), ids=place)
def test_toml_is_a_recipe_or_a_config_that_loads(block: Block, tmp_path: Path) -> None:
    """A recipe has the key `extends`; anything else is a config.toml, whose models open."""
    if block.text.startswith("extends"):
        file = tmp_path / "example.toml"
        file.write_text(block.text, encoding="utf-8")
        Recipes().read(file)
    else:
        (tmp_path / "config.toml").write_text(block.text, encoding="utf-8")
        settings = load_settings(tmp_path, {})
        open_embedder(settings.embedding, {})
        open_reranker(settings.rerank, {})


CONNECTED = [block for block in of("toml") if re.search("^model = ", block.text, re.MULTILINE)]


@pytest.mark.usefixtures("model_folder")
@pytest.mark.parametrize("block", CONNECTED, ids=place)
def test_a_provider_example_works_once_a_server_answers(block: Block, tmp_path: Path) -> None:
    """The same settings, with the address of a server that is there."""
    (tmp_path / "config.toml").write_text(block.text, encoding="utf-8")
    told = load_settings(tmp_path, {})
    with ModelServer() as server:
        urls = {"openai": server.openai_url, "ollama": server.url}
        embedding = replace(told.embedding, base_url=urls.get(told.embedding.provider, ""))
        settings = replace(
            told, embedding=embedding, rerank=replace(told.rerank, base_url=server.url)
        )
        with Recollect(home=tmp_path, settings=settings, environment={}) as memory:
            memory.save_all(
                [make_draft({"title": f"Note {n}", "tags": ["auth"]}) for n in range(6)]
            )
            assert memory.embed_now() is None
            counts = memory.search("auth", recipe="gnosis").counts
    assert counts["vector" if "[embedding]" in block.text else "reranked"] == 6


@pytest.mark.parametrize("block", of("json"), ids=place)
def test_json_is_a_memory(block: Block) -> None:
    make_draft(json.loads(block.text))


def test_only_blocks_of_known_languages_and_marks_are_used() -> None:
    """So that no block escapes its check by a misspelled word."""
    assert {block.language for block in EVERY} <= LANGUAGES
    assert {block.mark for block in EVERY} <= {"", "not run", "file", "help"}
    assert all(block.value for block in EVERY if not block.runs), "a reason why it is not run"
