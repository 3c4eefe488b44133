"""Make judged sets of source code: a question in words, and the function that answers it.

    python benchmarks/code_set.py ~/sets
    recollect eval ~/sets/code-held-out --recipe blend --recipe dense --recipe bm25

The question is the first sentence of a function's documentation; the document is the function
without that documentation. The functions come from the packages below, all of them under a
permissive licence by their own metadata, and from Python's standard library. The sets have the
layout of docs/reference/evaluation.md:

    code-tuning      for choosing: Python, JavaScript, Rust, Java
    code-held-out    for judging the choice: Python, JavaScript, TypeScript, Rust, Go
    ...-names        the same functions, asked for by name: "where is parse_qsl defined"

The same seed gives the same sets; those of the standard library follow the version of Python.

Left out: tests and vendored code; functions of fewer than 3 lines or more than 2,000 characters;
the same code a second time; sentences of fewer than 4 or more than 25 words, that stand at two
functions, that only refer to something else, or that hold the function's name as an identifier.
Of the questions some are the sentence as it stands, the others begin as people ask ("how to …").
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import sys
import sysconfig
import tarfile
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin
from urllib.request import urlopen

from tree_sitter import Node, Parser

from recollect.documents.definitions import FUNCTIONS, LEADING, definition_name, grammar_of
from recollect.documents.file_types import type_of
from recollect.query.terms import STOP_WORDS

PYPI = "https://pypi.org/simple/{name}/"
NPM = "https://registry.npmjs.org/{name}/-/{name}-{version}.tgz"
STANDARD_LIBRARY = "standard-library"


class Package(NamedTuple):
    """A package, and the folder or file in it with the sources."""

    registry: str
    name: str
    version: str
    inside: str = ""


SETS = {
    "code-tuning": (
        Package("pypi", "boltons", "26.2.0", "boltons/"),
        Package("pypi", "click", "8.5.1", "src/"),
        Package("pypi", "networkx", "3.7", "networkx/"),
        Package("pypi", "rich", "15.0.0", "rich/"),
        Package("npm", "date-fns", "4.4.0"),
        Package("npm", "lodash", "4.18.1", "lodash.js"),
        Package("pypi", "tokenizers", "0.23.3", "tokenizers/src/"),
        Package("pypi", "jpype1", "1.7.1", "native/"),
    ),
    "code-held-out": (
        Package("", STANDARD_LIBRARY, ""),
        Package("pypi", "nltk", "3.10.4", "nltk/"),
        Package("pypi", "sympy", "1.14.0", "sympy/"),
        Package("pypi", "werkzeug", "3.1.9", "src/"),
        Package("npm", "rxjs", "7.8.2", "src/"),
        Package("npm", "three", "0.187.0", "src/"),
        Package("pypi", "uv", "0.13.7", "crates/"),
        Package("pypi", "wandb", "0.31.0", "core/"),
    ),
}
LANGUAGES = frozenset("python javascript typescript rust go java".split())
PERMISSIVE = re.compile(r"\b(?:MIT|BSD|Apache|PSF|Python Software Foundation|ISC)\b", re.IGNORECASE)
OTHER = re.compile(r"GPL|MPL|Mozilla|Affero|Proprietary|Commons", re.IGNORECASE)
NOT_THE_PACKAGE = re.compile(
    r"(?:^|/)(?:tests?|testing|_?vendor\w*|site-packages|idlelib|lib2to3|turtledemo|benches)/"
    r"|(?:^|/)(?:test_|conftest)|_test\.\w+$|\.d\.ts$|\.min\.js$|_pb2|\.pb\.go$",
    re.IGNORECASE,
)
FUNCTION = frozenset(
    """function_definition function_declaration generator_function_declaration method_definition
    method_declaration function_item""".split()
)
NAMING = frozenset("variable_declarator assignment_expression".split())
AROUND = frozenset(
    "decorated_definition export_statement lexical_declaration variable_declaration "
    "expression_statement".split()
)
HOLDER = frozenset(
    "class_definition class_declaration impl_item trait_item interface_declaration".split()
)
COMMENT_SIGNS = re.compile(r"^[ \t]*(?:/\*+|\*+/|\*(?!/)|//[/!]?|#)?[ \t]?|\*+/[ \t]*$", re.M)
MARKUP = re.compile(r":\w+:`~?([^`]*)`|`+([^`]*)`+|\{@link\s+([^}|]*)[^}]*\}|\[([^\]]*)\]\([^)]*\)")
SENTENCE_END = re.compile(r"\n\s*\n|(?<=[.!?])\s|\n\s*[@:>]")
REFERS = re.compile(
    r"deprecat|^(?:see|same as|todo|test|internal|alias|like|overrid|inherit|@|-|=)", re.IGNORECASE
)
# How people begin a question that a sentence in the imperative answers.
# A word that begins this many sentences is a verb, unless it is a stop word.
COMMON = 5
ASKED = ("how to {}", "where do we {}", "function to {}", "code that can {}")
NAMED = ("{}", "where is {} defined", "what does {} do", "{} implementation")
STRING_SIGNS = re.compile(r"^\w*(?:\"{3}|'{3}|\"|')|(?:\"{3}|'{3}|\"|')$")
THIRD_PERSON = re.compile(r"(?<=sh|ch|ss)es$|(?<=[xz])es$|(?<!s)s$")
# A longer one is embedded in several passages, which takes most of the time of an evaluation.
LONGEST = 2000
MOST_FUNCTIONS = 450
MOST_QUESTIONS = 60
MOST_NAMES = 10


class Function(NamedTuple):
    """A function without its documentation, and the first sentence of its documentation."""

    package: str
    path: str
    name: str
    text: str
    sentence: str


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where the sets are written")
    parser.add_argument("--seed", type=int, default=1, help="draws functions and questions")
    parser.add_argument(
        "--titles",
        choices=("name", "path", "none"),
        default="name",
        help="what a document is called: the function's name, its file, or nothing",
    )
    args = parser.parse_args()
    for name, packages in SETS.items():
        chance = random.Random(f"{args.seed} {name}")
        functions: list[Function] = []
        for package in packages:
            found = list(_different(_functions(package, args.folder / "packages")))
            chance.shuffle(found)
            functions += found[:MOST_FUNCTIONS]
        _write(args.folder / name, functions, _questions(functions, chance), args.titles)
        _write(args.folder / f"{name}-names", functions, _names(functions, chance), args.titles)


# Packages


def _files(package: Package, downloads: Path) -> Iterator[tuple[str, bytes]]:
    """The source files of a package: path and content, in the order of their paths."""
    if package.name == STANDARD_LIBRARY:
        root = Path(sysconfig.get_path("stdlib"))
        found = {file.relative_to(root).as_posix(): file for file in root.rglob("*.py")}
        yield from ((path, found[path].read_bytes()) for path in sorted(found))
        return
    with tarfile.open(fileobj=io.BytesIO(_archive(package, downloads))) as archive:
        members = {member.name.partition("/")[2]: member for member in archive if member.isfile()}
        _check_licence(package, archive, members)
        for path in sorted(members):
            if path.startswith(package.inside):
                content = archive.extractfile(members[path])
                assert content is not None
                yield path, content.read()


def _archive(package: Package, downloads: Path) -> bytes:
    """Return the package's archive from its registry; downloaded once."""
    file = downloads / f"{package.name}-{package.version}.tar.gz"
    if not file.exists():
        print(f"Downloading {file.name}", file=sys.stderr)
        url = NPM.format(name=package.name, version=package.version)
        if package.registry == "pypi":
            url = _source_archive(package)
        with urlopen(url) as answer:
            content = answer.read()
        downloads.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return file.read_bytes()


def _source_archive(package: Package) -> str:
    index = PYPI.format(name=package.name)
    with urlopen(index) as answer:
        page = answer.read().decode()
    file = re.escape(f"{package.name.replace('-', '_')}-{package.version}.tar.gz")
    found = re.search(rf'href="([^"]*)"[^>]*>\s*{file}', page)
    if found is None:
        raise SystemExit(f"{index} has no {package.name} {package.version} as sources.")
    return urljoin(index, str(found[1]))


def _check_licence(
    package: Package, archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo]
) -> None:
    content = archive.extractfile(
        members["PKG-INFO" if package.registry == "pypi" else "package.json"]
    )
    assert content is not None
    text = content.read().decode()
    if package.registry == "npm":
        licence = str(json.loads(text)["license"])
    else:
        head = text.partition("\n\n")[0].split("\n")
        licence = " ".join(
            line
            for line in head
            if line.startswith(("License:", "License-Expression:", "Classifier: License"))
        )
    if not PERMISSIVE.search(licence) or OTHER.search(licence):
        raise SystemExit(f"{package.name}: the licence {licence!r} is not known to be permissive.")


# Functions


def _functions(package: Package, downloads: Path) -> Iterator[Function]:
    for path, source in _files(package, downloads):
        language = type_of(path.rpartition("/")[2])
        if language not in LANGUAGES or NOT_THE_PACKAGE.search(path) or len(source) > 1_000_000:
            continue
        grammar = grammar_of(language)
        assert grammar is not None
        root = Parser(grammar).parse(source).root_node
        for name, text, doc in _defined(source, root):
            lines = text.count("\n") + 1
            if 3 <= lines <= 120 and len(text) <= 5000:
                yield Function(package.name, path, name, text, _sentence(doc))


def _defined(source: bytes, root: Node) -> Iterator[tuple[str, str, str]]:
    """Yield each function: its name, its code and its documentation."""
    stack = [root]
    while stack:
        node = stack.pop()
        inner = _function_of(node)
        if inner is None:
            stack += reversed(node.named_children)
            continue
        outer = node
        while outer.parent is not None and outer.parent.type in AROUND:
            outer = outer.parent
        name = definition_name(node)
        holder = node.parent
        while holder is not None and holder.type not in HOLDER:
            holder = holder.parent
        if holder is not None:
            name = f"{definition_name(holder)} > {name}"
        code, doc = _parted(source, outer, inner)
        yield name, code, doc


def _function_of(node: Node) -> Node | None:
    if node.type in FUNCTION:
        return node if node.child_by_field_name("body") is not None else None
    if node.type in NAMING:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        return value if value is not None and value.type in FUNCTIONS - {"class"} else None
    return None


def _parted(source: bytes, outer: Node, function: Node) -> tuple[str, str]:
    """Return the code without its documentation, and the documentation: the comment before it, or
    the text that its body begins with."""
    start = source.rfind(b"\n", 0, outer.start_byte) + 1
    body = function.child_by_field_name("body")
    first = body.named_children[0] if body is not None and body.named_children else None
    if first is not None and first.type == "expression_statement" and first.named_children:
        first = first.named_children[0]
    if first is not None and first.type == "string":
        after = source.find(b"\n", first.end_byte) + 1 or first.end_byte
        before = source[start : source.rfind(b"\n", 0, first.start_byte) + 1]
        code = before + source[after : outer.end_byte]
        doc = STRING_SIGNS.sub("", _written(source[first.start_byte : first.end_byte]))
        return textwrap.dedent(_written(code)).strip("\n"), doc
    comments: list[bytes] = []
    above = outer.prev_named_sibling
    below = outer.start_byte
    while above is not None and above.type in LEADING:
        if source[above.end_byte : below].count(b"\n") > 1:
            break
        if above.type.endswith("comment"):
            comments.append(source[above.start_byte : above.end_byte].strip())
        below, above = above.start_byte, above.prev_named_sibling
    doc = COMMENT_SIGNS.sub("", _written(b"\n".join(reversed(comments))))
    return textwrap.dedent(_written(source[start : outer.end_byte])).strip("\n"), doc


def _written(source: bytes) -> str:
    return source.decode("utf-8", errors="replace").replace("\r\n", "\n")


def _sentence(doc: str) -> str:
    """Return the first sentence, without markup; empty if it cannot be asked as a question."""
    first = SENTENCE_END.split(f"{doc.strip()} ", maxsplit=1)[0]
    plain = MARKUP.sub(lambda found: next(filter(None, found.groups()), ""), first)
    plain = " ".join(plain.split()).strip(" .:")
    few = 4 <= len(plain.split()) <= 25
    return plain if few and plain.isascii() and not REFERS.search(plain) else ""


def _different(functions: Iterable[Function]) -> Iterator[Function]:
    seen: set[str] = set()
    for function in functions:
        same = "".join(function.text.split())
        if same not in seen:
            seen.add(same)
            yield function


# Questions


def _short_name(function: Function) -> str:
    return re.split(r" > |\.", function.name)[-1]


def _questions(functions: list[Function], chance: random.Random) -> list[tuple[str, int]]:
    """Return questions in words, each with the place of the function that answers it."""
    count = Counter(function.sentence.lower() for function in functions)
    asked: Counter[str] = Counter()
    openings = Counter(_opening(function.sentence) for function in functions)
    found: list[tuple[str, int]] = []
    for place, function in enumerate(functions):
        sentence, name = function.sentence, _short_name(function)
        if not sentence or count[sentence.lower()] > 1 or asked[function.package] >= MOST_QUESTIONS:
            continue
        if not name.islower() and name in sentence:  # the name itself: the other sets ask for it
            continue
        asked[function.package] += 1
        verb = _opening(sentence)
        if chance.random() < 0.5 and openings[verb] >= COMMON and verb not in STOP_WORDS:
            asking = f"{verb} {sentence.partition(' ')[2]}"
            sentence = chance.choice(ASKED).format(asking)
        found.append((sentence, place))
    return found


def _opening(sentence: str) -> str:
    """Return the first word as an imperative."""
    return THIRD_PERSON.sub("", sentence.partition(" ")[0].lower())


def _names(functions: list[Function], chance: random.Random) -> list[tuple[str, int]]:
    """Return names as questions, of functions with a unique name; those that others call come
    first."""
    count = Counter(map(_short_name, functions))
    words = Counter(
        word for function in functions for word in set(re.findall(r"\w+", function.text))
    )
    found: list[tuple[str, int]] = []
    asked: Counter[str] = Counter()
    order = sorted(
        range(len(functions)), key=lambda place: -min(5, words[_short_name(functions[place])])
    )
    for place in order:
        name, package = _short_name(functions[place]), functions[place].package
        compound = "_" in name.strip("_") or re.search("[a-z][A-Z]", name)
        if count[name] == 1 and compound and asked[package] < MOST_NAMES:
            asked[package] += 1
            found.append((chance.choice(NAMED).format(name), place))
    return found


def _title(function: Function, titles: str) -> str:
    if titles == "path":
        return f"{function.package}/{function.path}"
    return function.name if titles == "name" else ""


def _write(
    folder: Path, functions: list[Function], questions: list[tuple[str, int]], titles: str
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    corpus = [
        {"_id": f"f{place}", "title": _title(function, titles), "text": function.text}
        for place, function in enumerate(functions)
        if len(function.text) <= LONGEST
    ]
    short = [(text, place) for text, place in questions if len(functions[place].text) <= LONGEST]
    queries = [{"_id": f"q{number}", "text": text} for number, (text, _) in enumerate(short)]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    judged = "".join(f"q{number}\tf{place}\t1\n" for number, (_, place) in enumerate(short))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged, encoding="utf-8")
    print(f"{folder}: {len(corpus):,} functions, {len(queries):,} questions")


if __name__ == "__main__":
    main()
