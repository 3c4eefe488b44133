"""What is wrong with a value is told in the same words whichever interface it came through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import QueryParams

from recollect import Recollect
from recollect.errors import UserError
from recollect.interfaces.http.schemas import SearchParameters, from_parameters
from recollect.interfaces.mcp.tools import BY_NAME, check_arguments
from recollect.settings import Embedding, Rerank, Settings

WORDS_ONLY = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
BAD = [
    ("limit", 0, "limit must be at least 1, not 0."),
    ("limit", -3, "limit must be at least 1, not -3."),
    ("limit", "many", "limit must be a whole number, not 'many'."),
    ("view", "wide", "view cannot be 'wide'; allowed are: scan, full, pointer, preview, snippet."),
    ("sort", "oldest", "sort cannot be 'oldest'; allowed are: best, newest."),
    ("since", "someday", None),
]


def said(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(("name", "value", "sentence"), BAD)
def test_a_bad_value_is_told_in_the_same_words(
    tmp_path: Path, name: str, value: Any, sentence: str | None
) -> None:
    with Recollect(home=tmp_path, settings=WORDS_ONLY) as memory:

        def over_http() -> object:
            asked = from_parameters(SearchParameters, QueryParams({"q": "x", name: str(value)}))
            return asked.search(memory)

        def over_mcp() -> object:
            tool = BY_NAME["memory_search"]
            given = check_arguments(tool.name, tool.arguments, {"query": "x", name: value}).given()
            return memory.search(given.pop("query"), **given)

        told = {
            said(lambda: memory.search("x", **{name: value})), said(over_http), said(over_mcp),
        }  # fmt: skip
    assert len(told) == 1, told
    assert sentence is None or told == {sentence}
