"""Source code: its definitions as sections, named `Class > method`, found by tree-sitter.

Comments and decorators before a definition belong to it. Without a parser for the language, a
section begins at each unindented line after a blank line and has no name.

Grammars are C code, and some files make them run for minutes or use all memory. So untrusted files
are read in another process, see `parser_process.py`.

Lines are computed from bytes: reading the points of a node corrupts memory in tree-sitter 0.26.0
(github.com/tree-sitter/py-tree-sitter, 466 and 472).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING

from recollect.documents.document import Document, SectionStart

if TYPE_CHECKING:
    from tree_sitter import Language, Node

Place = tuple[int, int, str]

# Language → the package with its grammar, and the function that returns it.
GRAMMARS = {
    "bash": ("tree_sitter_bash", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "python": ("tree_sitter_python", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
# The nodes of all grammars together: a name means the same in all of them.
HOLDING = frozenset(
    """class_definition class_declaration abstract_class_declaration interface_declaration
    enum_declaration record_declaration struct_declaration trait_declaration class_specifier
    struct_specifier union_specifier namespace_definition namespace_declaration internal_module
    impl_item trait_item mod_item class module""".split()
)
DEFINING = HOLDING | frozenset(
    """function_definition function_declaration generator_function_declaration method_definition
    method_declaration constructor_declaration property_declaration delegate_declaration
    annotation_type_declaration type_alias_declaration function_item struct_item enum_item
    union_item type_item macro_definition function_signature_item enum_specifier type_definition
    type_spec type_alias method singleton_method""".split()
)
# Definitions only if they have a body; without one, they refer to a definition elsewhere.
WITH_BODY = frozenset(
    "class_specifier struct_specifier union_specifier enum_specifier namespace_definition".split()
)
# Nodes that may contain a definition.
WRAPPING = frozenset(
    """decorated_definition export_statement template_declaration expression_statement
    ambient_declaration lexical_declaration variable_declaration type_declaration""".split()
)
# Nodes that give a name to a function.
NAMING = frozenset(
    "variable_declarator assignment_expression field_definition public_field_definition".split()
)
FUNCTIONS = frozenset(
    "arrow_function function_expression generator_function class function".split()
)
# Nodes that are ignored, but not their content.
TRANSPARENT = frozenset(
    """preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification
    declaration_list""".split()
)
# Nodes that belong to the definition after them.
LEADING = frozenset(
    """comment line_comment block_comment decorator attribute_item attribute_list
    inner_attribute_item""".split()
)
DEEPEST = 5  # enough for a class in a class in a class in a namespace
LONGEST_NAME = 100
# A line that starts like this ends a block and does not begin one.
ENDS = ("}", ")", "]", "end", "fi", "done", "esac", "*/", "-->", "</")


def places(source: bytes, language: str) -> list[Place] | None:
    """Return the beginnings of definitions: line (from 0), level (from 1) and name, which is empty
    for code after a definition. Return None if there is no parser."""
    grammar = grammar_of(language)
    if grammar is None:
        return None
    from tree_sitter import Parser  # noqa: PLC0415  start-up time

    tree = Parser(grammar).parse(source)
    ends = [place.start() for place in re.finditer(b"\n", source)]
    found: list[Place] = []
    for byte, level, name in _places(source, tree.root_node.named_children, 1):
        line = bisect_left(ends, byte)
        if not found or line > found[-1][0]:  # only the first of several in one line
            found.append((line, level, name))
    return found


@cache
def grammar_of(language: str) -> Language | None:
    if language not in GRAMMARS:
        return None
    package, function = GRAMMARS[language]
    try:
        from tree_sitter import Language  # noqa: PLC0415  start-up time

        return Language(getattr(import_module(package), function)())
    except (ImportError, AttributeError, TypeError, ValueError):
        return None  # not installed, or for another version


def _places(source: bytes, nodes: list[Node], level: int, *, loose: bool = True) -> Iterator[Place]:
    """Yield the definitions among these nodes with their first bytes. `loose`: the code before them
    is in no definition."""
    lead, after = -1, 0
    for node in nodes:
        if node.type in LEADING:
            # A comment at the end of a line of code belongs to that code.
            if lead < 0 and (not after or source.find(b"\n", after - 1, node.start_byte) >= 0):
                lead = node.start_byte
            continue
        begin, lead = node.start_byte if lead < 0 else lead, -1
        after = node.end_byte
        definition = _find_definition(node)
        if definition is not None:
            yield begin, level, definition_name(definition)
            loose = False
            if definition.type in HOLDING and level < DEEPEST:
                yield from _places(source, _inside(definition), level + 1)
        elif node.type in TRANSPARENT:
            yield from _places(source, _inside(node), level, loose=loose)
            loose = False
        elif not loose:
            yield begin, level, ""
            loose = True


def _inside(node: Node) -> list[Node]:
    """Return the nodes of the body, and the comments before it."""
    body = node.child_by_field_name("body")
    if body is None:
        return node.named_children
    before = [child for child in node.named_children if child.type.endswith("comment")]
    return [*(child for child in before if child.end_byte <= body.start_byte), *body.named_children]


def _find_definition(node: Node, depth: int = 0) -> Node | None:
    """Return the definition: this node, or one in it, or None."""
    if node.type in DEFINING:
        has_body = node.child_by_field_name("body") is not None
        return node if has_body or node.type not in WITH_BODY else None
    if node.type in NAMING:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        return node if value is not None and value.type in FUNCTIONS else None
    if node.type in WRAPPING and depth < DEEPEST:
        inside = (_find_definition(child, depth + 1) for child in node.named_children)
        return next((found for found in inside if found is not None), None)
    return None


def definition_name(node: Node) -> str:
    """Return the name of a definition; for Go methods and Rust implementations with their type."""
    receiver = node.child_by_field_name("receiver")
    if node.type == "impl_item":
        parts = [_text(node, "trait"), _text(node, "type")]
        return _short(" for ".join(filter(None, parts)))
    name = _text(node, "name") or _text(node, "property") or _text(node, "left")
    if not name:
        name = _source(_declarator(node))
    if receiver is not None:
        owner = _source(receiver).strip("()").split("[")[0].replace("*", " ").split()
        name = f"{owner[-1]} > {name}" if owner else name
    return _short(name) or "…"


def _declarator(node: Node) -> Node | None:
    """Return the name in nested C declarators, such as `f` in `*f(int a)`."""
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type.endswith("_declarator"):
        deeper = inner.child_by_field_name("declarator")
        inner = deeper if deeper is not None else next(iter(inner.named_children), None)
    return inner


def _text(node: Node, field: str) -> str:
    return _source(node.child_by_field_name(field))


def _source(node: Node | None) -> str:
    if node is None or node.text is None:
        return ""
    return node.text[: LONGEST_NAME * 8].decode("utf-8", errors="ignore")


def _short(name: str) -> str:
    return " ".join(name.split())[:LONGEST_NAME]


def document(text: str, language: str) -> Document:
    found = places(text.encode(), language)
    if found is None:
        return Document(text, language, sections=blocks(text))
    return Document(text, language, sections=tuple(SectionStart(*place) for place in found))


def blocks(text: str) -> tuple[SectionStart, ...]:
    """Return the starts of blocks, by blank lines and indentation."""
    lines = enumerate(text.split("\n"))
    return tuple(
        SectionStart(number, 1, "")
        for (_, before), (number, line) in pairwise(lines)
        if line[:1].strip() and not before.strip() and not line.startswith(ENDS)
    )
