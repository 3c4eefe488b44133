"""HTML, PDF and DOCX: what they say, where, and what becomes of broken and hostile ones."""

from __future__ import annotations

import io
import sys
import zipfile
import zlib

import docx
import pytest

from recollect.documents import binary_formats
from recollect.documents.binary_formats import read_docx, read_pdf
from recollect.documents.chunking import split_document
from recollect.documents.document import Document, LeftOut, SectionStart
from recollect.documents.parser_process import parse_bytes
from recollect.documents.reader import parse
from recollect.documents.text_formats import read_html


def document(found: Document | LeftOut) -> Document:
    assert isinstance(found, Document), found
    return found


def reason(found: Document | LeftOut) -> str:
    assert isinstance(found, LeftOut), found
    return found.reason


PAGE = """<!DOCTYPE html>
<html><head><title>The &amp; title</title>
<style>p { color: red }</style></head>
<body>
<nav><a href="/">Home</a></nav>
<h1>Main <em>heading</em></h1>
<p>First paragraph
over two lines,<br>then a third.</p>
<script>var hidden = 1;</script>
<h2>Part</h2>
<ul>
<li>One</li>
<li>Two <img src="x" alt="a picture"></li>
</ul>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>
<pre>
code  here
  and here
</pre>
loose tail
</body></html>
"""


def test_html_is_its_text_in_reading_order_with_the_lines_of_the_source() -> None:
    found = document(read_html(PAGE))
    lines = found.text.split("\n")
    assert lines == [
        "The & title", "", "Main heading", "", "First paragraph over two lines,", "then a third.",
        "", "Part", "", "One", "Two a picture", "", "A | B", "1 | 2", "", "code  here",
        "  and here", "", "loose tail",
    ]  # fmt: skip
    assert found.sections == (SectionStart(2, 1, "Main heading"), SectionStart(7, 2, "Part"))
    assert found.title == "The & title"
    numbers = dict(zip(lines, found.lines, strict=True))
    assert numbers["Main heading"] == 6
    assert numbers["Part"] == 10
    assert list(found.lines) == sorted(found.lines)
    assert split_document(found).chunks[0].first_line >= 2


def test_html_that_begins_with_its_title_does_not_say_it_twice() -> None:
    found = document(read_html("<title>Same</title><h1>Same</h1><p>Text"))
    assert found.text == "Same\n\nText"


def test_html_declares_no_entities_and_reads_no_files() -> None:
    text = (
        '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">'
        '<!ENTITY f SYSTEM "file:///etc/passwd">]><p>&b; &f;</p>'
    )
    found = document(read_html(text))
    assert "aaaa" not in found.text.replace('"aaaaaaaaaa"', "")
    assert "root:" not in found.text


def test_html_that_is_nested_without_end_is_read_as_far_as_it_goes() -> None:
    found = read_html("<p>before</p>" + "<div>" * 50_000 + "deep")
    assert document(found).text.startswith("before")
    assert document(found).notes == ("It is nested too deeply to be read completely.",)


def test_html_without_text_is_empty() -> None:
    assert read_html("<script>x</script>") == LeftOut("empty", "it has no text")


def test_html_may_name_its_encoding() -> None:
    page = '<meta charset="windows-1251"><p>привет мир</p>'
    found = document(parse(page.encode("cp1251"), "a.html"))
    assert found.text == "привет мир"
    assert found.notes == ("Read as cp1251, as the page says.",)
    odd = page.replace("windows-1251", "utf-7")
    assert "Windows-1252" in document(parse(odd.encode("cp1251"), "a.html")).notes[0]


def made_pdf(*pages: str, form: bytes = b"", title: str = "") -> bytes:
    """A PDF with a line of text on each page, written by hand; `form` is drawn on all of them."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    objects.append(
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F 4 0 R >> >>"
        b" /Length %d >> stream\n%s\nendstream" % (len(form), form)
    )
    kids = []
    for text in pages:
        content = zlib.compress(f"BT /A 12 Tf 9 99 Td ({text}) Tj ET /F Do".encode())
        objects.append(
            b"<< /Filter /FlateDecode /Length %d >> stream\n%s\nendstream" % (len(content), content)
        )
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents %d 0 R"
            b" /Resources << /Font << /A 3 0 R >> /XObject << /F 4 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    objects.append(b"<< /Title (%s) >>" % title.encode())
    out = b"%PDF-1.4\n"
    places = []
    for number, one in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    info = b"/Size %d /Root 1 0 R /Info %d 0 R" % (len(objects) + 1, len(objects))
    end = b"trailer << %s >>\nstartxref\n%d\n%%%%EOF\n" % (info, len(out))
    return out + head + table + end


def test_pages_of_a_pdf_are_parts() -> None:
    found = document(read_pdf(made_pdf("First page", "", "Third page", title="A report")))
    assert found.text == "First page\n\nThird page\n"
    assert found.sections == (SectionStart(0, 1, "page 1"), SectionStart(2, 1, "page 3"))
    assert (found.title, found.notes) == ("A report", ())


def test_a_pdf_of_pictures_is_empty() -> None:
    found = read_pdf(made_pdf("", ""))
    assert found == LeftOut("empty", "its pages have no text: a scan?")


@pytest.mark.parametrize("length", [0, 5, 60, 300, 700])
def test_a_pdf_that_ends_too_early_raises_nothing(
    length: int, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    found = read_pdf(made_pdf("First page", "Second page")[:length])
    assert isinstance(found, Document) or found.reason in ("corrupt", "empty")
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


def test_a_pdf_with_a_password_is_named() -> None:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(made_pdf("Secret"))))
    writer.encrypt("password", algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    assert reason(read_pdf(stream.getvalue())) == "unreadable"


def test_a_pdf_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = made_pdf("One", "Two", "Three")
    monkeypatch.setattr(binary_formats, "MOST_PAGES", 2)
    found = document(read_pdf(raw))
    assert (found.text, found.notes) == ("One\n\nTwo\n", ("It is read up to page 2 of 3.",))
    monkeypatch.setattr(binary_formats, "MOST_CHARACTERS", 2)
    assert document(read_pdf(raw)).notes == ("It is read up to page 1 of 3.",)
    monkeypatch.setattr(binary_formats, "MOST_OPERATORS", 3)
    found_none = read_pdf(raw)
    assert found_none == LeftOut("corrupt", "none of its pages can be read")


def test_a_form_that_draws_itself_comes_to_an_end() -> None:
    found = document(read_pdf(made_pdf("Text", form=b"/F Do " * 50)))
    assert "Text" in found.text


def made_docx() -> bytes:
    made = docx.Document()
    made.add_heading("The title", 0)
    made.add_paragraph("Intro.")
    made.add_heading("Part", 1)
    made.add_paragraph("First line\nsecond line")
    made.add_paragraph("")
    table = made.add_table(rows=2, cols=2)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {number}"
    made.add_heading("Sub", 2)
    made.add_paragraph("End.")
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def test_a_word_document_is_its_paragraphs_tables_and_headings() -> None:
    found = document(read_docx(made_docx()))
    assert found.text.split("\n") == [
        "The title", "", "Intro.", "", "Part", "", "First line", "second line", "",
        "cell 0 | cell 1", "cell 2 | cell 3", "", "Sub", "", "End.", "",
    ]  # fmt: skip
    assert found.sections == (
        SectionStart(0, 0, "The title"),
        SectionStart(4, 1, "Part"),
        SectionStart(12, 2, "Sub"),
    )
    assert found.title == "The title"


def test_a_word_document_that_unpacks_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary_formats, "MOST_UNPACKED", 1000)
    assert reason(read_docx(made_docx())) == "too large"


def test_a_word_document_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary_formats, "MOST_CHARACTERS", 10)
    found = document(read_docx(made_docx()))
    assert found.text == "The title\n\nIntro."
    assert len(found.notes) == 1


def test_what_is_no_word_document_is_corrupt() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        packed.writestr("[Content_Types].xml", "<a>")
    for raw in (b"text", b"PK\x03\x04", stream.getvalue(), made_docx()[:-100], made_docx()[:2000]):
        assert reason(read_docx(raw)) == "corrupt"


def test_entities_in_a_word_document_are_not_expanded() -> None:
    raw = io.BytesIO(made_docx())
    stream = io.BytesIO()
    with zipfile.ZipFile(raw) as before, zipfile.ZipFile(stream, "w") as after:
        for entry in before.infolist():
            data = before.read(entry)
            if entry.filename == "word/document.xml":
                head, _, body = data.partition(b"?>")
                bomb = b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
                data = head + b"?>" + bomb + body.replace(b"Intro.", b"Intro &e; end.")
            after.writestr(entry.filename, data)
    found = read_docx(stream.getvalue())
    assert isinstance(found, LeftOut) or "root:" not in found.text


@pytest.mark.parametrize(
    ("name", "library"), [("a.html", "lxml"), ("a.pdf", "pypdf"), ("a.docx", "docx")]
)
def test_without_its_library_a_document_names_what_to_install(
    name: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    found = parse_bytes(name.removeprefix("a."), b"<p>text</p>")
    assert isinstance(found, LeftOut)
    assert found.reason == "needs an extra"
    assert "pip install 'recollect-memory[documents]'" in found.detail
