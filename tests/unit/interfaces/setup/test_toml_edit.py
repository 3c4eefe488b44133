"""One table of a TOML text is changed, and every other sign stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.interfaces.setup.files import Malformed
from recollect.interfaces.setup.toml_edit import parse, with_value, without

many = settings(max_examples=examples(200))
PATH = ("mcp_servers", "recollect")
ENTRY = {"command": "/x/recollect", "args": ["mcp"]}
HEADS = (
    "",
    "# mine\n",
    'model = "o" # why\n',
    "a = '''\n[mcp_servers.recollect]\n''' # not a table\n",
    'b = """\n\\"""\n[mcp_servers.recollect]""""\n',
    'c = [\n  "]", # ]\n  { x = 1 },\n]\n',
    "d = nan\n\n\n",
    "mcp_servers.dotted.command = 'x'\n",
)
TABLES = (
    "[tui]\nnotifications = true\n",
    "[[hooks]]\nname = 'a'\n\n[[hooks]]\nname = 'b'\n",
    "[mcp_servers.other]\ncommand = 'x'\nargs = [\n  'y',\n]\n\n",
    '[mcp_servers."a b".env]\nKEY = "secret" # keep\n',
    "# the end\n",
    "[ spaced . out ]\n  when = 2026-01-02T03:04:05Z\n",
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    heads = draw(st.lists(st.sampled_from(HEADS), unique=True, max_size=4))
    tables = draw(st.lists(st.sampled_from(TABLES), unique=True, max_size=4))
    text = "".join([*heads, *tables])
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return text.rstrip("\r\n") if draw(st.booleans()) else text


@given(text=texts())
@many
def test_every_other_table_is_kept(text: str) -> None:
    data = parse(text)
    found = parse(with_value(text, PATH, ENTRY))
    servers = data.get("mcp_servers", {})
    assert found == data | {"mcp_servers": servers | {"recollect": ENTRY}}


@given(text=texts())
@many
def test_the_text_that_was_there_is_the_beginning_of_the_new_one(text: str) -> None:
    assert with_value(text, PATH, ENTRY).startswith(text)


@given(text=texts())
@many
def test_what_is_added_and_removed_leaves_the_very_same_text(text: str) -> None:
    added = with_value(text, PATH, ENTRY)
    pinned = with_value(added, (*PATH, "env", "RECOLLECT_HOME"), "/v")
    assert without(added, PATH) == text
    assert without(pinned, PATH) == text


@given(text=texts())
@many
def test_a_value_is_changed_in_its_place(text: str) -> None:
    added = with_value(text, PATH, ENTRY)
    assert with_value(added, (*PATH, "command"), "/x/recollect") == added
    other = with_value(added, (*PATH, "command"), "C:\\r\x7f.exe")
    assert parse(other)["mcp_servers"]["recollect"]["command"] == "C:\\r\x7f.exe"
    assert with_value(other, (*PATH, "command"), "/x/recollect") == added


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (
            "[mcp_servers.recollect]\ncommand = 'a' # c\n\n[mcp_servers.recollect.env]\nA = 1\n",
            '[mcp_servers.recollect]\ncommand = "b" # c\n\n[mcp_servers.recollect.env]\nA = 1\n',
        ),
        (
            "[mcp_servers]\nrecollect = { command = 'a', timeout = 5 } # mine\n",
            '[mcp_servers]\nrecollect = { command = "b", timeout = 5 } # mine\n',
        ),
        ("mcp_servers.recollect.command = 'a'\n", 'mcp_servers.recollect.command = "b"\n'),
        (
            "[mcp_servers.recollect]\n  command=[\n'a']#x",
            '[mcp_servers.recollect]\n  command="b"#x',
        ),
    ],
    ids=["tables", "one line", "dotted", "several lines"],
)
def test_a_table_may_be_written_in_many_ways(text: str, after: str) -> None:
    assert with_value(text, (*PATH, "command"), "b") == after
    assert "recollect" not in parse(without(after, PATH)).get("mcp_servers", {})


def test_a_variable_joins_those_that_are_there() -> None:
    text = "[mcp_servers.recollect]\ncommand = 'a'\n\n[mcp_servers.recollect.env]\nA = '1'\n# x\n"
    after = with_value(text, (*PATH, "env", "B"), "2")
    assert after == text.replace("A = '1'\n", "A = '1'\nB = \"2\"\n")


def test_all_in_one_line_can_be_changed_too() -> None:
    text = "mcp_servers = { a = { command = 'x' } }\nmodel = 'm'\n"
    after = with_value(text, PATH, ENTRY)
    assert parse(after)["mcp_servers"] == {"a": {"command": "x"}, "recollect": ENTRY}
    assert parse(without(after, PATH)) == parse(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\n[b\n", 2), ("a = 1\na = 2\n", 2), ("\n\nx", 3), ("a = [\n1,\n", 3), ('a = "', 1)],
)
def test_a_broken_text_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(Malformed) as caught:
        parse(text)
    assert str(caught.value).startswith(f"line {line}: ")
