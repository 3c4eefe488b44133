"""Targets of fuzzing: queries, times, saves, imports, recipes, settings, secrets, patterns, and
each reader of documents and of other tools' memories."""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import apsw
import docx
from crash_harness import Tally
from fuzzing import Target, fuzz, mutate

from recollect import Recollect
from recollect.checks import compile_pattern
from recollect.documents import file_types, reader
from recollect.documents.chunking import MOST_CHUNKS, split_document
from recollect.documents.document import Document
from recollect.documents.parser_process import BINARY_PARSERS, parse_bytes
from recollect.errors import RecollectError, UserError
from recollect.ingest import exchange
from recollect.ingest.exchange import (
    ForeignMemories,
    RawLine,
    as_line,
    list_tools,
    load_importer,
    raw_lines,
)
from recollect.interfaces.requests import read_search
from recollect.memory_json import memory_json
from recollect.present.response import VIEWS, as_json
from recollect.recipes.registry import BUILT_IN
from recollect.recipes.tree import read_recipe
from recollect.secrets import redaction
from recollect.settings import Embedding, Rerank, Settings
from recollect.settings_reading import load_settings
from recollect.types import recompute

FIXTURES = Path(__file__).parents[1] / "plugins" / "importers" / "fixtures"
LINE = 2000  # characters
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))

QUERIES = (
    b"how do we refresh tokens last week", b'"refresh tokens" AND (harbor OR NOT "pier")',
    b"src/retry.py::again v1.4.2 --no-cache", b"since March 2026 before 2026-03-01",
    "更新トークン café İstanbul مفتاح".encode(), b"NEAR(a b, 5) tok* title:x ^y", b"",
)  # fmt: skip
MOMENTS = (b"2026-03-01", b"7d", b"9999-12-31T23:59:59-12:00", b"2026-03-01T09:30:00+01:00")
MEMORIES = (
    b'{"id": "a-1", "title": "Tokens", "text": "They rotate.", "tags": ["auth", "api"]}',
    b'{"title": "Pump", "severity": "warning", "tier": "core", "valid_until": "2030-01-01"}',
    b'{"text": "password=hunter2hunter2 and ghp_0123456789abcdefABCDEF0123456789abcd"}',
    b'{"title": "x", "created_at": "2026-02-20T08:00:00Z", "project": "boat", "kind": "fact"}',
    b'{"feedback": {"query": "tokens", "id": "a-1", "accepted": true, "at": "2026-01-01"}}',
    b'{"id": "gone", "title": "Gone", "forgotten_at": "2026-01-01T00:00:00Z"}',
)
RECIPES = (
    b'extends = "blend"\n[limits]\ndefault = 7\n[fuse.weights]\nvector = 0.5\n',
    b'extends = "vault"\nstages.score.signals.severity.weight = 0.3\n'
    b"recall.keyword.columns.title = 4\n",
    b'extends = "gnosis"\nview = "scan"\n[deep.limits]\ndefault = 3\n',
)
SETTINGS = (
    b'[embedding]\nprovider = "none"\n[search]\nrecipe = "vault"\n'
    b'[secrets.patterns]\nk = "k-[0-9]{4,}"\n',
    b'[[vaults]]\nname = "team"\ntier = "team"\npath = "/srv/team.db"\npriority = 0.6\n',
)
PATTERNS = (
    rb"EMP-[0-9]{6}", rb"(?:[A-Z]{4}-?){3}", rb"(?i)key\s*[:=]\s*(?P<secret>\w{8,})", rb"(a|b)+c",
    rb"(?<!\w)x.*?y", rb"(?>a+)b{2,5}", rb"([\"'])z+\1", rb"[^\s]+@[\w.-]+\.[a-z]{2,}",
)  # fmt: skip
SECRETS = (
    b'API_KEY = "sk-a1B2c3D4e5F6g7H8i9J0k1L2"\ncurl -u ada:hunter22 https://ada:s3cr3t99@host/x\n',
    b"Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF123\n<redact>x</redact>",
    b"-----BEGIN PRIVATE KEY-----\nMIIEabcdefabcdefabcdef\n-----END PRIVATE KEY-----\n"
    b"password: a.b[c]",
)
MARKDOWN = (
    b"---\ntags: [a, b]\ncreated: 2026-01-01\nkind: plan\n---\n# Title\n\nText #tag.\n\n"
    b"- one\n  - two\n\n> quote\n\n```py\n# no\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    b"Setext\n======\n"
)
PAGE = (
    b"<!DOCTYPE html><html><head><title>T &amp; t</title></head><body><h1>Main</h1><p>One<br>two"
    b"<table><tr><th>A<td>1</table><pre>\n a\n</pre><ul><li>x<img alt='y'></ul><h2>Part</h2>"
    b"z</body>"
)
RST = b"Title\n=====\n\nText.\n\n----\nOver\n----\n\nPart\n~~~~\n\nMore.\n"
NOTEBOOK = json.dumps(
    {"cells": [{"cell_type": "markdown", "source": ["# A\n", "b"]},
               {"cell_type": "code", "source": "x = 1", "outputs": []}], "nbformat": 4}
).encode()  # fmt: skip
CODE = {
    "a.py": b"class A:\n    def f(self): ...\n\n\n# why\ndef g(): return 1\n",
    "a.ts": b"export class C<T> { m(): void {} }\nconst f = async () => `x${1}`\n",
    "a.go": b"package x\n\nfunc (s *S) M() {}\ntype T struct{}\n",
    "a.sh": b'f() {\n  echo "$1"\n}\ncat <<E\nx\nE\n',
    "a.kt": b"fun f() {}\n\nclass A\n",
}
WORD_TEXT = (
    b'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>'
    b"<w:p><w:r><w:t>Text</w:t><w:tab/><w:br/></w:r></w:p>"
    b"<w:tbl><w:tr><w:tc><w:p><w:r><w:t>1</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
)
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length 44>>stream\nBT /F 12 Tf 10 10 Td (Hello pump) Tj ET\nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
    b"trailer<</Root 1 0 R/Size 6>>\n%%EOF"
)


def text_of(raw: bytes) -> str:
    """The bytes as text, with lone surrogates for what is not UTF-8."""
    return raw.decode("utf-8", errors="surrogateescape")


def ask(memory: Recollect, raw: bytes, chance: random.Random) -> None:
    query, recipe = text_of(raw), chance.choice([*BUILT_IN])
    deep = recipe == "gnosis" and chance.random() < 0.3
    found = memory.search(
        query, recipe=recipe, view=chance.choice([*VIEWS]), deep=deep, facets=True, mark=True
    )
    check_response(memory, found)
    memory.context(query, semantic="never")


def check_response(memory: Recollect, found: object) -> None:
    told = as_json(found, explain=True)  # type: ignore[arg-type]
    json.dumps(told).encode()
    results = list(found)  # type: ignore[call-overload]
    assert len({result.id for result in results}) == len(results)
    for result in results:
        assert abs(recompute(result.explain) - result.score) < 1e-9


def ask_when(memory: Recollect, raw: bytes, chance: random.Random) -> None:
    fields = {name: text_of(raw) for name in ("now", "since", "until") if chance.random() < 0.6}
    memory.search(read_search({"query": "pump last week", **fields}, memory.now()), facets=True)


def save(memory: Recollect, raw: bytes, chance: random.Random) -> None:
    """Lines are imported; what is kept is shown and found again, and exported as it was."""
    counts = memory.import_lines(list(raw_lines(raw.splitlines(keepends=True))))
    assert all(isinstance(reason, str) and reason for _, reason in counts.bad)
    fields = {"title": text_of(raw[: len(raw) // 2]), "text": text_of(raw[len(raw) // 2 :])}
    saved = memory.save(**fields)
    [shown] = memory.show([saved.id])
    line = exchange.parse_line(RawLine(1, as_line(shown)))
    assert line.draft is not None
    assert line.draft.fields["text"] == shown.text
    json.dumps(memory_json(shown)).encode()
    memory.forget([saved.id], purge=True)


def read_toml_recipe(memory: Recollect, folder: Path, raw: bytes, chance: random.Random) -> None:
    file = folder / "mine.toml"
    file.write_bytes(raw)
    recipe = read_recipe(file, memory.recipe)
    check_response(memory, memory.run_recipe(recipe, "the pump tokens"))


def read_settings(folder: Path, raw: bytes, chance: random.Random) -> None:
    (folder / "config.toml").write_bytes(raw)
    load_settings(folder, {})


def match_pattern(raw: bytes, chance: random.Random) -> None:
    """An accepted pattern reads the worst lines in time."""
    pattern = text_of(raw)[:100]
    try:
        compiled = compile_pattern(pattern)
    except UserError:
        return
    units = [*re.findall(r"\w|\s|[^\w\s]", pattern), "a", "1", "aA1-", " "]
    for unit in chance.sample(units, min(4, len(units))):
        for _ in compiled.finditer((unit * LINE)[: LINE - 1] + "\n"):
            pass


def redact(raw: bytes, chance: random.Random) -> None:
    text = text_of(raw)
    clean, counts = redaction.redact(text, keep_lines=chance.random() < 0.5)
    assert redaction.redact(clean)[0] == clean
    if not counts:
        assert clean == text


def read_document(name: str, raw: bytes, chance: random.Random) -> None:
    """Through the reader and, where a process of its own would hide an error, in this one."""
    file_type = file_types.type_of(name)
    if file_type in BINARY_PARSERS:
        found = parse_bytes(file_type, raw)
    else:
        # Grammars of code stay in theirs: they are C, and may take all the time there is.
        own = reader.__dict__["PARSERS"] if name in CODE else SimpleNamespace(parse=parse_bytes)
        with mock.patch.object(reader, "PARSERS", own):
            found = reader.parse(raw, name)
    if not isinstance(found, Document):
        assert found.reason  # type: ignore[union-attr]
        return
    found.text.encode()
    assert all(one.line < two.line for one, two in pairwise(found.sections)), "sections in order"
    chunks = split_document(found).chunks
    assert len(chunks) <= MOST_CHUNKS
    for chunk in chunks:
        assert chunk.text.strip()
        assert 1 <= chunk.first_line <= chunk.last_line
    redaction.redact(found.text, keep_lines=True)


def read_word(raw: bytes, chance: random.Random) -> None:
    """The text mutated inside a sound package, or the package itself."""
    package = pack_text(raw) if chance.random() < 0.7 else mutate([pack_text(WORD_TEXT)], chance)
    read_document("a.docx", package, chance)


def pack_text(text: bytes) -> bytes:
    """A Word document that begins with this XML."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name, body in empty_word():
            target.writestr(name, body.replace(b"<w:body>", b"<w:body>" + text))
    return out.getvalue()


@cache
def empty_word() -> list[tuple[str, bytes]]:
    made = io.BytesIO()
    docx.Document().save(made)
    with zipfile.ZipFile(made) as source:
        return [(entry.filename, source.read(entry)) for entry in source.infolist()]


def read_foreign(
    tool: str, files: dict[str, bytes], folder: Path, raw: bytes, chance: random.Random
) -> None:
    """The tool's own files, one of them replaced by the input."""
    shutil.rmtree(folder, ignore_errors=True)
    replaced = chance.choice([*files])
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw if name == replaced else content)
    for path in (folder, folder / replaced):
        try:
            for line in ForeignMemories(load_importer(tool), path):
                assert (line.draft is None) == bool(line.reason)
        except UserError:
            continue


def foreign_files(tool: str) -> dict[str, bytes]:
    """The files of a tool's fixture by path; tables in SQL become a database."""
    found: dict[str, bytes] = {}
    root = FIXTURES / tool
    for file in sorted(root.rglob("*")):
        if file.is_file() and file.suffix == ".sql":
            found[file.with_suffix(".db").name] = _database(file)
        elif file.is_file():
            found[str(file.relative_to(root))] = file.read_bytes()
    return found or {"a.md": MARKDOWN}


def _database(file: Path) -> bytes:
    connection = apsw.Connection(":memory:")
    schema = file.with_name("schema.sql")
    for script in dict.fromkeys((schema, file)):
        if script.exists():
            try:
                connection.execute(script.read_text(encoding="utf-8"))
            except apsw.SQLError:  # tables of an extension
                continue
    return connection.serialize("main")


def targets(folder: Path, memory: Recollect) -> dict[str, Target]:
    """Every target by name; they work in the folder, and on the vault."""
    (folder / "scratch").mkdir(exist_ok=True)
    scratch, refused = folder / "scratch", (RecollectError,)
    readers: dict[str, tuple[bytes, Callable[[bytes, random.Random], None]]] = {
        "Markdown": (MARKDOWN, partial(read_document, "a.md")),
        "reStructuredText": (RST, partial(read_document, "a.rst")),
        "HTML": (PAGE, partial(read_document, "a.html")),
        "notebook": (NOTEBOOK, partial(read_document, "a.ipynb")),
        "text": (MARKDOWN + PAGE, partial(read_document, "a.txt")),
        "PDF": (PDF, partial(read_document, "a.pdf")),
        "Word": (WORD_TEXT, read_word),
        **{f"code {name}": (source, partial(read_document, name)) for name, source in CODE.items()},
    }
    made = {
        "queries": Target(QUERIES, partial(ask, memory), refused),
        "times": Target(MOMENTS, partial(ask_when, memory), refused),
        "saves": Target(MEMORIES, partial(save, memory), refused),
        "recipes": Target(RECIPES, partial(read_toml_recipe, memory, scratch), refused),
        "settings": Target(SETTINGS, partial(read_settings, scratch), refused),
        "patterns": Target(PATTERNS, match_pattern, ()),
        "secrets": Target(SECRETS, redact, ()),
        **{f"reader of {name}": Target((raw,), read, ()) for name, (raw, read) in readers.items()},
    }  # fmt: skip
    for tool in list_tools():
        files = foreign_files(tool)
        attempt = partial(read_foreign, tool, files, folder / tool)
        made[f"importer of {tool}"] = Target(tuple(files.values()), attempt, ())
    return made


@contextmanager
def all_targets(folder: Path) -> Iterator[dict[str, Target]]:
    """The targets, with a vault of a few memories."""
    with Recollect(home=folder / "home", settings=OFF, environment={}) as memory:
        memory.import_lines(raw_lines(MEMORIES))
        memory.save(
            title="The pump", text="refresh tokens in harbor, v1.4.2 更新トークン", tags=["a"]
        )
        yield targets(folder, memory)


def fuzz_round(seed: int, folder: Path, seconds: float = 1.0) -> Tally:
    """Fuzz each target for that many seconds."""
    tally = Tally()
    with all_targets(folder) as every:
        for name, target in every.items():
            tally.add(fuzz(name, target, seed, seconds=seconds))
    return tally
