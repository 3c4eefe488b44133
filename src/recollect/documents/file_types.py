"""The type of a file by its name, and names of files that are never read.

The type of source code is its language; without a parser it is split at blank lines.
"""

from __future__ import annotations

import re
from typing import Final

MARKDOWN: Final = "markdown"
RST: Final = "rst"
TEXT: Final = "text"
DATA: Final = "data"
HTML: Final = "html"
PDF: Final = "pdf"
DOCX: Final = "docx"
NOTEBOOK: Final = "notebook"
UNKNOWN: Final = ""

# Types other than code, and the endings of their files.
_DOCUMENTS = {
    MARKDOWN: "md markdown mdown mkd mdx mdc qmd rmd",
    RST: "rst rest",
    TEXT: "txt text log adoc asciidoc org tex bib textile wiki mediawiki srt vtt po diff patch eml",
    HTML: "html htm xhtml",
    PDF: "pdf",
    DOCX: "docx",
    NOTEBOOK: "ipynb",
    # Written by people or by programs; the latter have long lines.
    DATA: "json jsonc json5 jsonl ndjson yaml yml toml ini cfg conf properties csv tsv xml xsd xsl "
    "plist env editorconfig desktop service reg",
}
_LANGUAGES = {
    "bash": "sh bash zsh ksh",
    "c": "c h",
    "csharp": "cs csx",
    "cpp": "cc cpp cxx hh hpp hxx ipp cu cuh ino",
    "go": "go",
    "java": "java",
    "javascript": "js jsx mjs cjs",
    "php": "php phtml",
    "python": "py pyi pyw",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    # The following have no parser.
    "ada": "adb ads",
    "assembler": "s asm",
    "batch": "bat cmd",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "coffeescript": "coffee",
    "crystal": "cr",
    "cython": "pyx pxd pxi",
    "css": "css scss sass less styl",
    "d": "d",
    "dart": "dart",
    "dockerfile": "dockerfile",
    "elixir": "ex exs",
    "elm": "elm",
    "erlang": "erl hrl",
    "fortran": "f f90 f95 f03 for",
    "fsharp": "fs fsi fsx",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs lhs",
    "hcl": "tf tfvars hcl",
    "julia": "jl",
    "kotlin": "kt kts",
    "lisp": "lisp lsp el scm ss rkt",
    "lua": "lua",
    "make": "mk mak",
    "matlab": "m",
    "nim": "nim",
    "nix": "nix",
    "ocaml": "ml mli",
    "pascal": "pas pp",
    "perl": "pl pm",
    "powershell": "ps1 psm1 psd1",
    "prolog": "pro",
    "protobuf": "proto thrift",
    "r": "r",
    "scala": "scala sbt sc",
    "solidity": "sol",
    "sql": "sql ddl",
    "starlark": "bzl bazel star",
    "svelte": "svelte",
    "swift": "swift",
    "tcl": "tcl",
    "templates": "j2 jinja jinja2 erb ejs hbs mustache twig",
    "vala": "vala",
    "verilog": "v sv svh",
    "vhdl": "vhd vhdl",
    "vim": "vim",
    "visualbasic": "vb vbs bas",
    "vue": "vue astro",
    "webassembly": "wat",
    "zig": "zig",
}
# Whole names of files, in lower case.
_NAMES = {
    **dict.fromkeys(("makefile", "gnumakefile", "justfile"), "make"),
    **dict.fromkeys(("dockerfile", "containerfile"), "dockerfile"),
    **dict.fromkeys(("rakefile", "gemfile", "vagrantfile", "podfile", "brewfile"), "ruby"),
    **dict.fromkeys(("jenkinsfile",), "groovy"),
    **dict.fromkeys(("build", "workspace", "tiltfile"), "starlark"),
    **dict.fromkeys(("sconstruct", "sconscript", "wscript"), "python"),
    **dict.fromkeys(("cmakelists.txt",), "cmake"),
    **dict.fromkeys((".cursorrules", ".windsurfrules"), MARKDOWN),
    **dict.fromkeys(
        (
            "license", "licence", "copying", "notice", "readme", "authors", "contributors",
            "maintainers", "changelog", "changes", "history", "news", "install", "todo", "version",
            "codeowners", "procfile", "caddyfile", "go.mod", "go.work",
        ),
        TEXT,
    ),
}  # fmt: skip
# Never opened.
_BINARY = frozenset(
    (
        "png jpg jpeg gif bmp ico icns webp avif heic tif tiff psd eps raw cr2 nef xcf fig sketch "
        "svg svgz "  # a picture, written in markup
        "mp3 wav flac ogg oga opus m4a aac wma mid mp4 m4v mkv mov avi webm wmv flv mpg mpeg 3gp "
        "zip gz tgz bz2 xz zst lz4 7z rar tar jar war ear apk ipa dmg iso img deb rpm msi cab "
        "whl egg exe dll so dylib a o obj lib class pyc pyo pyd wasm beam elc nupkg node "
        "ttf otf woff woff2 eot db sqlite sqlite3 mdb accdb parquet arrow feather avro orc npy npz "
        "pkl pickle joblib h5 hdf5 onnx pt pth safetensors gguf bin dat pack idx swp swo "
        "doc xls xlsx ppt pptx odt ods odp epub mobi azw3 djvu pages numbers key"
    ).split()
)
# Written by programs for programs.
_GENERATED = frozenset(
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml packages.lock.json go.sum go.work.sum "
    "gradle.lockfile bun.lockb project.assets.json".split()
)
_GENERATED_ENDING = re.compile(
    r"\.(?:lock|map|min\.(?:js|mjs|css|html)|bundle\.js|pb\.go|designer\.cs|g\.dart)$"
    r"|_pb2(?:_grpc)?\.pyi?$"
)

_ENDINGS = {
    ending: file_type
    for table in (_DOCUMENTS, _LANGUAGES)
    for file_type, endings in table.items()
    for ending in endings.split()
}
CODE = frozenset(_LANGUAGES)


def type_of(name: str) -> str:
    """Return the type of a file by its name; empty if unknown."""
    low = name.lower()
    if low in _NAMES:
        return _NAMES[low]
    known = _ENDINGS.get(_ending(low), UNKNOWN)
    # `Dockerfile.dev`, `README.old`
    return known or _NAMES.get(low.partition(".")[0], UNKNOWN)


def is_binary_name(name: str) -> bool:
    return _ending(name.lower()) in _BINARY


def is_generated_name(name: str) -> bool:
    """Return True for lock files, source maps, minified files and output of schema compilers."""
    low = name.lower()
    return low in _GENERATED or _GENERATED_ENDING.search(low) is not None


def _ending(low: str) -> str:
    stem, dot, ending = low.rpartition(".")
    return ending if dot and stem else ""
