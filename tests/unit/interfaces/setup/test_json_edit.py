"""One value of a JSON text is changed, and every other sign stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.interfaces.setup.files import Malformed
from recollect.interfaces.setup.json_edit import parse, with_value, without

many = settings(max_examples=examples(120))
PATH = ("mcpServers", "recollect")
ENTRY = {"command": "/x/recollect", "args": ["mcp"]}
GAPS = ("", " ", "\n", "\n  ", "\n\t", "\r\n    ", " // a, b }\n", "/* { */", "\n/* x\n y */\n  ")
KEYS = st.sampled_from(["a", "b", "mcpServers", "recollect", 'é"\\', "// no", ""])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0.5, -1e9, "x", "/* */", "\u2028"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
SERVERS = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3)


def laid_out(value: Any, draw: st.DrawFn) -> str:
    """Write the value as people do: blanks, comments and trailing commas anywhere."""

    def gap() -> str:
        return draw(st.sampled_from(GAPS))

    if not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    marks = "{}" if isinstance(value, dict) else "[]"
    parts = [
        f"{json.dumps(key)}{gap()}:{gap()}{laid_out(one, draw)}" for key, one in value.items()
    ] if isinstance(value, dict) else [laid_out(one, draw) for one in value]  # fmt: skip
    last = "," if draw(st.booleans()) else ""
    return marks[0] + gap() + f"{gap()},{gap()}".join(parts) + gap() + last + gap() + marks[1]


@st.composite
def texts(draw: st.DrawFn, *, with_container: bool = True) -> tuple[str, dict[str, Any]]:
    data: dict[str, Any] = draw(st.dictionaries(KEYS, VALUES, max_size=3))
    if with_container:
        data["mcpServers"] = draw(SERVERS)
    else:
        data.pop("mcpServers", None)
    before, after = (draw(st.sampled_from(GAPS)) for _ in range(2))
    return before + laid_out(data, draw) + after, data


@given(made=texts(), items=st.lists(VALUES, max_size=3), item=st.sampled_from([ENTRY, {}, "x"]))
@many
def test_an_item_is_added_to_an_array_and_taken_out_again(
    made: tuple[str, dict[str, Any]], items: list[Any], item: Any
) -> None:
    text = with_value(made[0], PATH, items)
    place = (*PATH, str(len(items)))
    added = with_value(text, place, item)
    assert parse(added)["mcpServers"]["recollect"] == [*items, item]
    assert parse(without(added, place)) == parse(text)
    for number in range(len(items)):
        left = parse(without(text, (*PATH, str(number))))["mcpServers"]["recollect"]
        assert left == items[:number] + items[number + 1 :]


@given(made=texts())
@many
def test_comments_and_last_commas_are_read_over(made: tuple[str, dict[str, Any]]) -> None:
    text, data = made
    assert parse(text) == data


@given(made=texts() | texts(with_container=False))
@many
def test_every_other_key_is_kept_and_in_its_order(made: tuple[str, dict[str, Any]]) -> None:
    text, data = made
    found = parse(with_value(text, PATH, ENTRY))
    servers = data.get("mcpServers", {})
    assert found == data | {"mcpServers": servers | {"recollect": ENTRY}}
    assert list(found)[: len(data)] == list(data)


@given(made=texts())
@many
def test_what_is_added_and_removed_leaves_the_very_same_text(
    made: tuple[str, dict[str, Any]],
) -> None:
    text, _ = made
    assert without(with_value(text, PATH, ENTRY), PATH) == text


@given(made=texts())
@many
def test_the_same_value_again_changes_nothing(made: tuple[str, dict[str, Any]]) -> None:
    text = with_value(made[0], PATH, ENTRY)
    assert with_value(text, PATH, ENTRY) == text
    assert with_value(text, (*PATH, "command"), ENTRY["command"]) == text


@given(made=texts())
@many
def test_any_key_can_be_taken_out(made: tuple[str, dict[str, Any]]) -> None:
    text, data = made
    for name in data["mcpServers"]:
        left = {key: one for key, one in data["mcpServers"].items() if key != name}
        found = parse(without(text, ("mcpServers", name)))
        assert found == data | {"mcpServers": left}


@given(text=st.text(max_size=60) | st.text(alphabet='{}[]":,/* \n1a\\', max_size=30))
@many
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        data = parse(text)
    except Malformed:
        return
    if isinstance(data.get("mcpServers", {}), dict):
        assert parse(with_value(text, PATH, ENTRY))["mcpServers"]["recollect"] == ENTRY


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "s": {\n    "r": 1\n  }\n}'),
        ('{"a":1}', '{"a":1,"s":{"r":1}}'),
        ('{"a": 1}', '{"a": 1, "s": {"r": 1}}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"s": {\n\t\t"r": 1\n\t}\n}\n'),
        ('{\n    "s": {}\n}', '{\n    "s": {\n        "r": 1\n    }\n}'),
        ('{\n  "s": {\n    "a": 2,\n  },\n}', '{\n  "s": {\n    "a": 2,\n    "r": 1,\n  },\n}'),
        ('{\n  "s": {"a": 2}\n}', '{\n  "s": {"a": 2, "r": 1}\n}'),
        (
            '{\n  "s": {\n    "a": 2 // two\n    // end\n  }\n}',
            '{\n  "s": {\n    "a": 2, // two\n    // end\n    "r": 1\n  }\n}',
        ),
        ("", '{\n  "s": {\n    "r": 1\n  }\n}\n'),
        ("// mine", '// mine\n{\n  "s": {\n    "r": 1\n  }\n}\n'),
        ('{\r\n  "a": 1\r\n}', '{\r\n  "a": 1,\r\n  "s": {\r\n    "r": 1\r\n  }\r\n}'),
    ],
)
def test_what_is_added_looks_like_the_rest(before: str, after: str) -> None:
    assert with_value(before, ("s", "r"), 1) == after


def test_only_the_last_of_two_equal_keys_counts_and_both_are_taken_out() -> None:
    text = '{"s": {"r": 1, "a": 0, "r": 2}}'
    assert parse(with_value(text, ("s", "r"), 3)) == {"s": {"r": 3, "a": 0}}
    assert without(text, ("s", "r")) == '{"s": { "a": 0}}'


def test_a_comment_before_the_comma_outlives_what_it_was_about() -> None:
    assert without('{"r": 1 /* one */, "a": 2}', ("r",)) == '{ /* one */ "a": 2}'


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', 3, "a comma or a closing brace"),
        ("{\n\n  a: 1}", 3, "double quotes"),
        ('{"a": "x\n"}', 1, "closed in its line"),
        ('{"a" 1}', 1, "a colon"),
        ('{"a": 01}', 1, "a value"),
        ('{"a": [1 2]}', 1, "a closing bracket"),
        ('{\n"a": 1', 2, "a comma or a closing brace"),
        ("{\n/* never", 2, "a comment is not closed"),
        ("{}\n{}", 2, "after the end"),
        ("[1]", 1, "no object"),
        ('{"a": ' + "[" * 3000 + "]" * 3000 + "}", 1, "nested"),
        ('{"a": nul}', 1, "a value"),
    ],
)
def test_a_broken_text_is_refused_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(Malformed, match=reason) as caught:
        parse(text)
    assert str(caught.value).startswith(f"line {line}: ")


def test_a_value_on_the_way_that_is_no_object_is_refused() -> None:
    with pytest.raises(Malformed, match="`s` is not an object"):
        with_value('{"s": []}', ("s", "r"), 1)
