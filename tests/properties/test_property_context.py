"""The limit of a context holds for the whole answer as delivered, whatever the vault holds."""

from __future__ import annotations

import re
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect import Recollect, UserError
from recollect.interfaces.mcp import calls
from recollect.interfaces.mcp.arguments import ContextArguments
from recollect.present.agent_context import context_json, context_line, context_text
from recollect.settings import Embedding, Rerank, Settings

NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
words = st.lists(st.sampled_from("tide token \u202e harbor\n".split(" ")), max_size=120).map(
    " ".join
)
memories = st.lists(
    st.fixed_dictionaries(
        {"title": texts.map(lambda text: f"tide {text}"), "text": st.one_of(texts, words)},
        optional={
            "why": texts,
            "details": words,
            "project": st.sampled_from(["", "harbor"]),
            "tier": st.sampled_from(["core", "capture", "file"]),
            "tags": st.lists(st.sampled_from(["a", "b"]), max_size=2),
        },
    ),
    max_size=6,
)


@given(memories=memories, max_tokens=st.integers(1, 400), query=st.sampled_from(["", "tide token"]))
@settings(max_examples=examples(30))
def test_no_answer_is_longer_than_asked_for(
    memories: list[dict[str, object]], max_tokens: int, query: str
) -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        with Recollect(home / "vault.db", home=home, settings=NO_MODELS) as memory:
            for number, fields in enumerate(memories):
                memory.save(id=f"m{number}", **fields)
            check(memory, max_tokens, query)


def check(memory: Recollect, max_tokens: int, query: str) -> None:
    said, found = "", None
    try:
        found = memory.context(query, max_tokens=max_tokens)
    except UserError as error:
        said = str(error)
    if found is None:
        assert works(memory, query, said)
        return
    tool = calls.context(calls.Served(memory), ContextArguments(query=query, max_tokens=max_tokens))
    delivered = [
        context_text(found) + "\n",
        context_line(found) + "\n",
        msgspec.json.encode(context_json(found)).decode(),
        tool.text,
        msgspec.json.encode(tool.structured).decode(),
    ]
    assert max(ceil(len(text) / 4) for text in delivered) <= max_tokens
    alone = memory.context(query, max_tokens=max_tokens, forms=(context_text,))
    assert len(context_text(alone)) + 1 <= 4 * max_tokens
    assert not found.note or works(memory, query, found.note)


def works(memory: Recollect, query: str, said: str) -> bool:
    """Whether so many tokens as it says are needed are enough."""
    [needed] = re.findall(r"([\d,]+) are needed", said)
    found = memory.context(query, max_tokens=int(needed.replace(",", "")))
    return bool(found.memories) or not memory.context(query).memories
