"""Exact terms in a query, and texts that hold them as a whole."""

from __future__ import annotations

import pytest

from recollect.query.exact import MOST_EXACT, find_exact_terms, fold, holds, is_unspaced


@pytest.mark.parametrize(
    ("text", "things"),
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
def test_exact_terms_of_a_query(text: str, things: list[str]) -> None:
    assert find_exact_terms(text) == things


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


@pytest.mark.parametrize(
    ("text", "thing", "held"),
    [
        ("release 1.4 is out", "1.4", True),
        ("release 1.4.", "1.4", True),
        ("release 1.4.2", "1.4", False),
        ("release 11.4", "1.4", False),
        ("release 2.1.4", "1.4", False),
        ("release 1.40", "1.4", False),
        ("release v1.4", "1.4", True),  # the v says nothing
        ("release rev1.4", "1.4", False),
        ("use --no-cache now", "--no-cache", True),
        ("use --no-cache-dir", "--cache", False),
        ("use --no-cache-dir", "--no-cache", False),
        ("use --no-cache=1", "--no-cache", True),
        ("use --no-cache", "--cache", False),
        ("use no-cache", "--no-cache", False),
        ("cached", "cache", False),
        ("we chose c++.", "C++", True),
        ("vitamin C, C# and C+", "C++", False),
        ("R&D's budget", "R&D", True),
        ("R and D, HR&D, R&D2", "R&D", False),
        ("on .NET 8", ".NET", True),
        ("net income of example.net", ".NET", False),
        ("/etc/hosts", "/etc/hosts", True),
        ("in GETUSERBYID(x)", "getUserByID", True),
        ("snake_case_names", "snake_case_name", False),
        ("the café", "CAFE", True),
        ("die straße", "STRASSE", True),
        ("数据库迁移失败", "迁移", True),
        ("数据库", "迁移", False),
        ("anything", "", False),
        ("", "1.4", False),
    ],
)
def test_a_text_holds_a_term_as_a_whole_or_not_at_all(text: str, thing: str, held: bool) -> None:
    assert holds(fold(text), thing) is held


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
