"""The views of a result, and reasons for scores."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from recollect import Recollect
from recollect.interfaces.cli.results import response_text as printed
from recollect.interfaces.mcp.texts import response_text
from recollect.interfaces.web.charts import scale_of, waterfall
from recollect.present.response import as_json, compact, in_words
from recollect.present.sentences import title_of
from recollect.present.snippet import is_code, join_lines
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Memory, Term, View, combine, leaf, weighted

NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
HAY = "There is plain hay and more of it. " * 20
LONG = f"{HAY}The needle is under the mattress. {HAY}"
CODE = "import re\n\n\ndef needle(text):\n    if not text:\n        return None\n    return text\n"
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=NO_MODELS) as opened:
        opened.save(id="text", title="Hay", text=LONG, project="farm", kind="fact", tags=["hay"])
        opened.save(
            id="details", title="Straw", text="A roof.", details=LONG.replace("needle", "pin")
        )
        opened.save(id="code", title="Lines", text=CODE.replace("needle", "thread"), kind="code")
        yield opened


@pytest.mark.parametrize("view", [view for view in get_args(View) if view != "full"])
@pytest.mark.parametrize(("query", "id"), [("needle", "text"), ("pin", "details")])
def test_every_view_shows_the_passage_that_matched(
    memory: Recollect, view: View, query: str, id: str
) -> None:
    response = memory.search(query, view=view)
    shown = as_json(response)["results"][0]
    assert shown["id"] == id
    for text in (shown["snippet"], response_text(response, explain=False)):
        unmarked = text.replace("<mark>", "").replace("</mark>", "")
        assert f"The {query} is under the mattress." in unmarked
    assert len(shown["snippet"]) < 200


def test_a_terminal_and_the_page_mark_the_match(memory: Recollect) -> None:
    found = memory.search("pins", mark=True).results[0]
    assert "The <mark>pin</mark> is under the mattress." in found.marked
    shown = printed(memory.search("pins", mark=True), NOW)
    assert "    details  …The pin is under the mattress." in shown


def test_what_was_read_as_a_filter_is_not_marked(memory: Recollect) -> None:
    memory.save(id="bug", text="Fixed since: two bugs of the farm.", project="farm", kind="bug")
    response = memory.search("bugs in farm since 2020", mark=True)
    assert [result.marked for result in response] == ["Fixed since: two bugs of the farm."]


def test_code_keeps_its_line_breaks(memory: Recollect) -> None:
    response = memory.search("thread", mark=True)
    assert "    def thread(text):\n        if not text:\n" in printed(response, NOW)
    assert "> def thread(text):\n>     if not text:" in response_text(response, explain=False)
    assert is_code(response.results[0].marked)


def test_prose_flows() -> None:
    assert join_lines("One line,\nand the next.") == "One line, and the next."
    assert not is_code("One line,\nand the next.")
    for code in ("if x:\n    y()", "a;\nb;", "```\nls\n```"):
        assert is_code(code)
        assert join_lines(code) == code


@pytest.mark.parametrize("recipe", BUILT_IN)
@pytest.mark.parametrize("view", get_args(View))
def test_every_result_carries_kind_project_and_times(
    memory: Recollect, recipe: str, view: View
) -> None:
    response = memory.search("hay", recipe=recipe, view=view)
    stored = memory.show(["text"])[0]
    wanted = {
        "kind": "fact",
        "project": "farm",
        "created_at": stored.created_at.isoformat().replace("+00:00", "Z"),
        "updated_at": stored.updated_at.isoformat().replace("+00:00", "Z"),
    }
    for results in (as_json(response)["results"], compact(response)[0]):
        [shown] = [one for one in results if one["id"] == "text"]
        assert {name: shown[name] for name in wanted} == wanted


def test_the_documented_recipes_show_what_they_document(memory: Recollect) -> None:
    scan = as_json(memory.search("needle", recipe="vault", view="scan"))["results"][0]
    assert scan["snippet"] == LONG[:120]
    pointer = as_json(memory.search("needle", recipe="echovault"))["results"][0]
    assert "snippet" not in pointer
    snippet = as_json(memory.search("needle", recipe="router"))["results"][0]
    assert "<mark>needle</mark>" in snippet["snippet"]


def test_a_part_of_a_file_is_called_by_its_headings() -> None:
    def title(**fields: str) -> str:
        return title_of(Memory(id="m", created_at=NOW, updated_at=NOW, **fields))  # type: ignore[arg-type]

    assert title(title="docs/recipes.md", context="Recipes > blend", tier="file") == (
        "Recipes › blend"
    )
    assert title(title="docs/recipes.md", tier="file") == "docs/recipes.md"
    assert title(title="A note", context="While testing > all") == "A note"


def test_results_of_one_file_have_different_titles(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    about = {"blend": "otters", "gap": "nothing", "vault": "otters"}
    parts = [f"## {name}\n\n{f'It ranks {what}. ' * 120}\n" for name, what in about.items()]
    (folder / "recipes.md").write_text("# Recipes\n\n" + "\n".join(parts), encoding="utf-8")
    with Recollect(tmp_path / "vault.db", home=tmp_path / "home", settings=NO_MODELS) as opened:
        opened.add_folder(folder)
        response = opened.search("otters", limit=10)
        text = response_text(response, explain=False)
        titles = {result.fields["title"] for result in response}
        assert titles == {"Recipes › blend", "Recipes › vault"}
        assert all(f"> {title}" in text for title in titles)
        documented = opened.search("otters", recipe="vault", view="scan")
        assert {result.fields["title"] for result in documented} == {"recipes.md"}


def score(share: float) -> Term:
    """`−3 + 5 · share`."""
    return combine("blend", "sum", (leaf("base", -3.0, "start"), weighted("keyword", 5.0, share)))


def test_what_every_memory_begins_with_is_no_reason() -> None:
    [(share, reason)] = in_words(score(0.2), lambda name: name)
    assert (share, reason) == (1.0, "keyword")


def test_bars_begin_at_the_base_and_end_at_the_score() -> None:
    picture = waterfall(score(0.8), scale_of([score(0.8), score(0.2)]))
    base, words = picture.bars
    assert (base.x, base.width) == (0.0, 75.0)  # from 0 down to −3, on a scale from −3 to 1
    assert (words.x, words.width) == (0.0, 100.0)
    assert picture.total.value == pytest.approx(1.0)


def test_a_part_worth_nothing_is_not_described_as_if_it_were_true() -> None:
    term = combine("blend", "sum", (weighted("exact", 1.0, 1.0), weighted("person", 1.0, 0.0)))
    assert [bar.means for bar in waterfall(term).bars] == ["holds an exact term", ""]
