"""The process for untrusted files: limits on time and memory, and its restart."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Iterator

import docx
import msgspec
import pytest

from recollect.documents import parser_process, reader
from recollect.documents.document import Document, LeftOut, SectionStart
from recollect.documents.markdown import Structure
from recollect.documents.parser_process import (
    PARSERS,
    STRUCTURE,
    ParserProcess,
    ParserStopped,
    encode,
    serve,
)
from recollect.documents.reader import NOT_FINISHED, SMALL, TOO_MUCH, parse


@pytest.fixture
def process() -> Iterator[ParserProcess]:
    made = ParserProcess()
    yield made
    made.close()


def word_of(body: bytes) -> bytes:
    """A Word document with this XML before its own."""
    made, packed = io.BytesIO(), io.BytesIO()
    docx.Document().save(made)
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        for entry in source.infolist():
            out.writestr(entry, source.read(entry).replace(b"<w:body>", b"<w:body>" + body))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("a.docx", word_of(b"<w:p/>" * 2_000_000), TOO_MUCH),
        ("a.html", b"<p " + b" ".join(b"a%d=1" % n for n in range(60_000)) + b">x", TOO_MUCH),
        ("a.md", b"> " * 19 + b"a\n" + b"b\n" * 300_000, None),
        ("a.ts", b"'" * 300_000 + b"\n" * 3_000 + b"next\n", None),
    ],
    ids=["Word", "HTML", "Markdown", "code"],
)
def test_a_file_that_takes_too_long_is_given_up(
    monkeypatch: pytest.MonkeyPatch, name: str, raw: bytes, expected: LeftOut | None
) -> None:
    """Text whose parser does not finish is split at blank lines."""
    parse(b"def f(): ...", "a.py")  # the process runs
    for limit in ("MOST_SECONDS", "MOST_SECONDS_OF_CODE"):
        monkeypatch.setattr(parser_process, limit, 0.2)
    found = parse(raw, name)
    if expected is not None:
        assert found == expected
    else:
        assert isinstance(found, Document)
        assert (found.text, found.notes) == (raw.decode(), (NOT_FINISHED,))


def test_a_file_that_takes_too_much_memory_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the memory that ends it: there is a minute of time."""
    tight = ParserProcess()
    monkeypatch.setattr(parser_process, "MOST_MEMORY", 200 << 20)
    monkeypatch.setattr(parser_process, "MOST_SECONDS", 60.0)
    monkeypatch.setattr(reader, "PARSERS", tight)
    try:
        assert parse(word_of(b"<w:p/>" * 2_000_000), "a.docx") == TOO_MUCH
        assert isinstance(parse(word_of(b"<w:p><w:r><w:t>x</w:t></w:r></w:p>"), "a.docx"), Document)
    finally:
        tight.close()


def test_a_process_that_ended_is_started_anew(
    process: ParserProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = b"def f(): ..."
    expected = Document(source.decode(), "python", sections=(SectionStart(0, 1, "f"),))
    assert process.parse("python", source) == expected
    running = process._process
    assert running is not None
    running.kill()
    running.wait()
    assert process.parse("python", source) == expected
    process.close()
    process.close()
    monkeypatch.setattr(parser_process, "PROGRAM", "import nowhere")
    with pytest.raises(ParserStopped):
        process.parse("python", source)
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with pytest.raises(ParserStopped):
        process.parse("python", source)


def test_the_program_answers_until_there_are_no_more_questions() -> None:
    questions = io.BytesIO(b"python 5 12\ndef f(): ...structure 30.0 4\n# a\nhtml 5 0\n")
    answers = io.BytesIO()
    serve(questions, answers)
    answers.seek(0)
    said = [msgspec.msgpack.decode(answers.read(int(size))) for size in iter(answers.readline, b"")]
    assert [name for name, _ in said] == ["Document", "Structure", "LeftOut"]
    assert said[1][1] == [[[0, 1, "a"]], []]


def test_a_document_comes_back_as_it_was(process: ParserProcess) -> None:
    text = f"---\ntags: [a, b]\nkind: plan\n---\n# Title\n\n#c {'word ' * SMALL}\n"
    found = process.parse("markdown", text.encode())
    assert found == parse(text.encode(), "a.md")
    assert isinstance(found, Document)
    assert found.fields == {"tags": ("a", "b", "c"), "kind": "plan"}
    assert msgspec.msgpack.decode(encode(found))[0] == "Document"
    assert process.parse(STRUCTURE, b"# a\n#b") == Structure((SectionStart(0, 1, "a"),), ("b",))


def test_small_notes_need_no_process_and_others_need_one(monkeypatch: pytest.MonkeyPatch) -> None:
    parse(b"def f(): ...", "a.py")
    running = PARSERS._process
    parse(b"<p>x", "a.html")
    assert PARSERS._process is running
    monkeypatch.setattr(reader, "PARSERS", None)
    assert isinstance(parse(b"# a\n" * (SMALL // 4), "a.md"), Document)
    assert isinstance(parse(b"fun f() {}", "a.kt"), Document)
    assert reader.structure("# a").sections == (SectionStart(0, 1, "a"),)


def test_many_blanks_in_a_line_of_html_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a tenth of a second; it took 13 when each look was at all of them."""
    monkeypatch.setattr(parser_process, "MOST_SECONDS", 4.0)
    assert isinstance(parse(b"<p>" + b"<b> </b>" * 25_000 + b"x", "a.html"), Document)
