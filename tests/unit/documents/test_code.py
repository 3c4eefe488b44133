"""Source code: split at definitions, with their names."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest

from recollect.documents import definitions
from recollect.documents.chunking import split_document
from recollect.documents.definitions import GRAMMARS, places
from recollect.documents.document import SectionStart
from recollect.documents.file_types import CODE

SAMPLES = {
    "python": (
        '"""Doc."""\n\nimport a  # b\n\n# why\n@decorated\nclass A(B):\n    """Doc."""\n\n'
        "    def f(self): ...\n\n    # note\n    @property\n    async def g(self): ...\n\nX = 1\n\n"
        "def h(): ...\n",
        [(4, 1, "A"), (9, 2, "f"), (11, 2, "g"), (15, 1, ""), (17, 1, "h")],
    ),
    "javascript": (
        "/** Doc */\nexport default class A {\n  m() {}\n  x = () => 1\n}\nexport function f() {}\n"
        "const g = async () => {}\nconst n = 1\nexports.h = function () {}\n",
        [(0, 1, "A"), (2, 2, "m"), (3, 2, "x"), (5, 1, "f"), (6, 1, "g"), (7, 1, ""),
         (8, 1, "exports.h")],
    ),
    "typescript": (
        "export interface I {\n  a(): void\n}\ntype T = 1\n@Comp({})\nexport class C {\n"
        "  @dec()\n  m(): void {}\n}\nnamespace N {\n  export function f() {}\n}\n",
        [(0, 1, "I"), (3, 1, "T"), (4, 1, "C"), (6, 2, "m"), (9, 1, "N"), (10, 2, "f")],
    ),
    "tsx": ("export const Page = () => <p>hello</p>\n", [(0, 1, "Page")]),
    "go": (
        "package x\n\n// Doc\ntype S struct {\n}\n\nfunc (s *S) M() {}\n\nfunc F() {}\n",
        [(2, 1, "S"), (6, 1, "S > M"), (8, 1, "F")],
    ),
    "java": (
        "package x;\n\n/** Doc */\n@A\npublic class C {\n  int x;\n  C() {}\n  @Override\n"
        "  void m() {}\n}\n",
        [(2, 1, "C"), (6, 2, "C"), (7, 2, "m")],
    ),
    "rust": (
        "use a;\n\n/// Doc\n#[derive(X)]\npub struct S {}\n\nimpl T for S {\n    fn m(&self) {}\n"
        "}\nmod n {\n    fn f() {}\n}\n",
        [(2, 1, "S"), (6, 1, "T for S"), (7, 2, "m"), (9, 1, "n"), (10, 2, "f")],
    ),
    "c": (
        "#ifndef A\n#define A\n/* Doc */\nstatic int *f(int a) {\n  return 0;\n}\nstruct s {\n"
        "  int a;\n};\nint g(void);\n#endif\n",
        [(2, 1, "f"), (6, 1, "s"), (9, 1, "")],
    ),
    "cpp": (
        "namespace n {\ntemplate <class T>\nclass A {\n  void m() {}\n};\n}\nvoid n::A::f() {}\n"
        "std::string &h() {}\n",
        [(0, 1, "n"), (1, 2, "A"), (3, 3, "m"), (6, 1, "n::A::f"), (7, 1, "h")],
    ),
    "csharp": (
        "using A;\nnamespace N {\n  [B]\n  class C {\n    void M() {}\n  }\n}\n",
        [(1, 1, "N"), (2, 2, "C"), (4, 3, "M")],
    ),
    "php": (
        "<?php\n/** Doc */\nclass C {\n  function m() {}\n}\nfunction f() {}\n",
        [(1, 1, "C"), (3, 2, "m"), (5, 1, "f")],
    ),
    "ruby": (
        "module M\n  # Doc\n  class C\n    def m; end\n    def self.s; end\n  end\nend\n",
        [(0, 1, "M"), (1, 2, "C"), (3, 3, "m"), (4, 3, "s")],
    ),
    "bash": ("set -e\n# Doc\nf() {\n  ls\n}\nls\n", [(1, 1, "f"), (5, 1, "")]),
}  # fmt: skip


def test_every_language_with_a_grammar_has_a_sample_and_files() -> None:
    assert set(SAMPLES) == set(GRAMMARS)
    assert set(GRAMMARS) <= CODE


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_begin_with_their_comments_and_have_names(language: str) -> None:
    source, expected = SAMPLES[language]
    assert places(source.encode(), language) == expected


@pytest.mark.parametrize("language", SAMPLES)
def test_the_process_says_the_same(language: str) -> None:
    source, expected = SAMPLES[language]
    assert definitions.document(source, language).sections == tuple(
        SectionStart(*place) for place in expected
    )


@pytest.mark.parametrize("language", SAMPLES)
@pytest.mark.parametrize(
    "source", ["", "\n", "}{", '"', "é漢", "class", "def f(", "<<<<", "\ufeff"]
)
def test_what_does_not_parse_raises_nothing(language: str, source: str) -> None:
    found = places(source.encode(), language)
    assert found is not None
    assert all(line <= source.count("\n") for line, _, _ in found)


def long_class() -> str:
    methods = "\n".join(
        f"    def method_{n}(self):\n" + f"        value = {n}  # and a few more words\n" * 12
        for n in range(6)
    )
    return f"import a\n\n\nclass Long:\n    name = 1\n\n{methods}\n\ndef alone():\n    return 1\n"


def test_a_long_class_is_split_at_its_methods() -> None:
    chunks = split_document(definitions.document(long_class(), "python")).chunks
    expected = ["", "Long", *(f"Long > method_{n}" for n in range(1, 6)), "alone"]
    assert [one.heading for one in chunks] == expected
    assert chunks[2].text.startswith("    def method_1(self):")


def test_a_huge_function_is_split_at_blank_lines_and_keeps_its_name() -> None:
    steps = "\n\n".join("    step(1)  # some words on it\n" * 8 for _ in range(20))
    chunks = split_document(definitions.document(f"def huge():\n{steps}\n", "python")).chunks
    assert len(chunks) > 3
    assert {one.heading for one in chunks} == {"huge"}
    assert all(one.first_line <= before.last_line for before, one in pairwise(chunks))


def test_a_new_function_leaves_the_chunks_of_the_others() -> None:
    text = long_class()
    before = split_document(definitions.document(text, "python")).chunks
    after = split_document(
        definitions.document(
            text.replace("class Long", "def new():\n    pass\n\n\nclass Long"), "python"
        )
    ).chunks
    assert [(one.text, one.heading) for one in after][-5:] == [
        (one.text, one.heading) for one in before
    ][-5:]


def test_without_a_parser_a_part_begins_at_a_line_without_indentation_after_a_blank_one() -> None:
    text = "a\n\nb\n  c\n\n  d\n}\n\n}\n\ne\n"
    assert definitions.document(text, "kotlin").sections == (
        SectionStart(2, 1, ""),
        SectionStart(10, 1, ""),
    )


def test_a_grammar_that_is_not_installed_is_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(definitions.GRAMMARS, "zig", ("tree_sitter_nowhere", "language"))
    assert places(b"fn f() {}", "zig") is None
    assert places(b"x", "unheard of") is None


def test_without_tree_sitter_there_is_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    definitions.grammar_of.cache_clear()
    assert places(b"def f(): ...", "python") is None
    monkeypatch.undo()
    definitions.grammar_of.cache_clear()
    assert places(b"def f(): ...", "python")
