"""Exact terms in a query, and texts that hold them as a whole."""

from __future__ import annotations

import pytest

from recollect.query.exact import MOST_EXACT, find_exact_terms, fold, holds, is_unspaced


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("where is FileSyncService used?", ["FileSyncService"]),
        ("getUserByID, snake_case_name and _private", ["getUserByID", "snake_case_name",
                                                       "_private"]),
        ("HTTPServer but not PDFs or URLs", ["HTTPServer"]),
        ("1.4 and (v2.3.1-rc1).", ["1.4", "v2.3.1-rc1"]),
        ("E1234: ERR_CONNECTION_RESET, 0x80070005!", ["E1234", "ERR_CONNECTION_RESET",
                                                      "0x80070005"]),
        ("HTTP 418 on port 80", ["418"]),
        ("--no-cache or -v", ["--no-cache", "-v"]),
        ("src/app/main.py, /etc/hosts and ~/notes", ["src/app/main.py", "/etc/hosts", "~/notes"]),
        (r"look into C:\Users\x", [r"C:\Users\x"]),
        ("3f2a9c1's author", ["3f2a9c1"]),
        ("mail anna.smith@example.com.", ["anna.smith@example.com"]),
        ("due 2026-03-01 at 10:30", ["2026-03-01", "10:30"]),
        ("std::vector #42 $HOME config.toml", ["std::vector", "#42", "$HOME", "config.toml"]),
        ("C++, R&D (W&B) or C#?", ["C++", "R&D", "W&B", "C#"]),
        ("is .NET on g++ in .gitignore...", [".NET", "g++", ".gitignore"]),
        ("a kebab-case-name, not a well-known one", ["kebab-case-name"]),
        ("数据库 and 東京 but not 東", ["数据库", "東京"]),
    ],
)  # fmt: skip
def test_exact_terms_of_a_query(text: str, terms: list[str]) -> None:
    assert find_exact_terms(text) == terms


@pytest.mark.parametrize(
    "text",
    ["", " ", "?!", "plain words only", "the 1st of May, the 1990s", "I e.g. like tea", "a-b", "42",
     "it's Anna's", "A B C", "Well-known. Facts.", "a & b", "# one", "1 + 1", "so ...then"],
)  # fmt: skip
def test_prose_has_no_exact_terms(text: str) -> None:
    assert find_exact_terms(text) == []


def test_quoted_phrases_come_first_and_are_not_read_twice() -> None:
    assert find_exact_terms('v2 of "the quick fix" and `a_b` or “c d”, «e f»') == [
        "the quick fix", "a_b", "c d", "e f", "v2",
    ]  # fmt: skip
    assert find_exact_terms("'the quick fix' isn't it's") == ["the quick fix"]
    assert find_exact_terms('one " alone') == []


def test_exact_terms_are_distinct_and_a_pasted_log_is_bounded() -> None:
    assert find_exact_terms("v1 v2 v1") == ["v1", "v2"]
    pasted = " ".join(f"line{number}" for number in range(100))
    assert find_exact_terms(pasted) == [f"line{number}" for number in range(MOST_EXACT)]


# A term: the texts that hold it, and texts that do not.
HELD: dict[str, tuple[list[str], list[str]]] = {
    "1.4": (
        ["release 1.4 is out", "release 1.4.", "release v1.4"],  # the v says nothing
        ["release 1.4.2", "release 11.4", "release 2.1.4", "release 1.40", "release rev1.4", ""],
    ),
    "--no-cache": (
        ["use --no-cache now", "use --no-cache=1"], ["use --no-cache-dir", "use no-cache"],
    ),
    "--cache": ([], ["use --no-cache-dir", "use --no-cache"]),
    "cache": ([], ["cached"]),
    "C++": (["we chose c++."], ["vitamin C, C# and C+"]),
    "R&D": (["R&D's budget"], ["R and D, HR&D, R&D2"]),
    ".NET": (["on .NET 8"], ["net income of example.net"]),
    "/etc/hosts": (["/etc/hosts"], []),
    "getUserByID": (["in GETUSERBYID(x)"], []),
    "snake_case_name": ([], ["snake_case_names"]),
    "CAFE": (["the café"], []),
    "STRASSE": (["die straße"], []),
    "迁移": (["数据库迁移失败"], ["数据库"]),
    "": ([], ["anything"]),
}  # fmt: skip


@pytest.mark.parametrize("term", HELD)
def test_a_text_holds_a_term_as_a_whole_or_not_at_all(term: str) -> None:
    held, others = HELD[term]
    assert [text for text in held if not holds(fold(text), term)] == []
    assert [text for text in others if holds(fold(text), term)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("Café", "cafe"), ("cafe\u0301", "CAFÉ"), ("Straße", "STRASSE"), ("naïve", "NAIVE"),
     ("İstanbul", "istanbul"), ("ＦＵＬＬ", "full"), ("Ünïcödé", "unicode"), ("plain", "PLAIN")],
)  # fmt: skip
def test_case_and_accents_are_folded(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_a_script_without_spaces_is_known_by_either_end() -> None:
    assert is_unspaced("数据")
    assert is_unspaced("v2版")
    assert is_unspaced("ログfile")
    assert not is_unspaced("file")
    assert not is_unspaced("é")
    assert not is_unspaced("")
