"""Tokens of parts of identifiers and of pairs of characters, and queries for them."""

from __future__ import annotations

import re
import sys

import pytest

from recollect.query import subwords as module
from recollect.query.fts5 import MOST_TERMS
from recollect.query.subwords import LONGEST, subwords, subwords_query


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # Where a small letter meets a capital, a word of the identifier begins.
        ("FileSyncService", "file sync service filesyncservice"),
        ("fileSyncService", "file sync service filesyncservice"),
        ("getUserByID", "get user by id getuserbyid"),
        # Initials end before the capital that begins a word.
        ("XMLHttpRequest", "xml http request xmlhttprequest"),
        ("HTTPServer2", "http server 2 httpserver2"),
        # Letters and digits.
        ("utf8", "utf 8 utf8"),
        ("sha256sum", "sha 256 sum sha256sum"),
        ("10km", "10 km 10km"),
        # A letter alone belongs to the next word as well.
        ("OAuth2", "o auth 2 oauth oauth2"),
        ("iPhone", "i phone iphone"),
        # An accented letter is a small one.
        ("CaféService", "café service caféservice"),
        ("ＦｉｌｅＳｙｎｃ", "file sync filesync"),
        # Compounds give their joined form.
        ("file_sync_service", "filesyncservice"),
        ("file-sync-service", "filesyncservice"),
        ("FILE_SYNC_SERVICE", "filesyncservice"),
        ("os.path.join", "ospathjoin"),
        ("e-mail", "email"),
        ("UTF-8", "utf8"),
        ("2026-03-01", "20260301"),
        ("3f2a9c1e-9b8d-4c5a-8f7e-1a2b3c4d5e6f", "3f2a9c1e9b8d4c5a8f7e1a2b3c4d5e6f"),
        # From the inside out, so that each of them can be asked for.
        ("app.file-sync.startAll", "filesync start all startall appfilesyncstartall"),
        ("my_FileSync", "file sync filesync myfilesync"),
        # A version keeps its dots: 142 is another number, and so is 14.2.
        ("1.4.2", "1.4.2"),
        ("v1.4.2", "1.4.2"),
        ("python3.11", "python 3.11 python3.11"),
        ("1.4.2-rc1", "1.4.2 rc 1 rc1 1.4.2rc1"),
        ("192.168.0.1", "192.168.0.1"),
        # Scripts without spaces give pairs of neighbours.
        ("日本語のメモ", "日本 本語 語の のメ メモ"),
        ("東京、大阪", "東京 大阪"),
        ("한국어 검색", "한국 국어 어검 검색"),  # a piece may begin in one word and end in the next
        ("猫", "猫"),
        ("ｶﾀｶﾅ", "カタ タカ カナ"),
        ("ที่นี่", "ที ี่ ่น นี ี่"),  # vowels and tones are characters too
        ("ភាសា", "ភា ាស សា"),
        ("ဘာသာ", "ဘာ ာသ သာ"),
        ("ພາສາ", "ພາ າສ ສາ"),
        ("東京Tower3F", "東京 tower 3 f tower3f"),
        ("ไทย\u200bแลนด์", "ไท ทย ยแ แล ลน นด ด์"),  # with or without the space of no width
        ("𠮷野家", "𠮷野 野家"),
    ],
)
def test_identifiers_give_their_parts_and_all_of_them_as_one(text: str, found: str) -> None:
    assert subwords(text) == found.split()
    assert subwords(f"We use ({text}), mostly.") == found.split()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "They went for a walk along the river. Then Anna, who was tired, went home.",
        "NATO and the USA",
        "APIs, URLs and IDs",
        "the 1990s, the 20th and the 3rd",
        "the U.S. and e.g. this",
        "it ended 2-1 in 1949-50",
        "don't",
        "Café Über “quoted” — naïve",
        "Привет, мир",
        "_ __ -- ... __init__",
        "9f86d081884c7d659a2feaa0c55ad015",  # a hash is one word already
        "0" * 3000 + "a" * 3000,
    ],
)
def test_plain_words_give_no_subwords(text: str) -> None:
    assert subwords(text) == []


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("FileSyncService", '"file sync service" OR "filesyncservice"'),
        (
            "file sync service",
            '"filesync" OR "syncservice" OR "filesyncservice" OR "file sync" OR "sync service"',
        ),
        ("filesync service", '"filesyncservice" OR "filesync" OR "service"'),
        # Stop words may be part of a name, but are no name.
        ("log in", '"login" OR "log"'),
        ("of the", ""),
        ("v1.4.2", '"1.4.2"'),
        ("python3.11", '"python 3.11" OR "python3.11" OR "3.11"'),
        ("日本語", '"日本 本語" OR "日本" OR "本語"'),
        ("猫", '"猫"'),
        ("東京 tower", '"東京" OR "tower"'),
        ("", ""),
        ("?! - _", ""),
        ('say "hi" NOT x*', '"sayhi" OR "hinot" OR "notx" OR "sayhinot" OR "hinotx" OR "sayhinotx" '
         'OR "say hi" OR "hi not" OR "not x"'),
    ],
)  # fmt: skip
def test_a_query_asks_for_whole_things_then_joined_words_then_any(query: str, asked: str) -> None:
    assert subwords_query(query) == asked


@pytest.mark.parametrize("query", ["word " * 900, "日本語の" * 900, "aB " * 900, "日 " * 900])
def test_a_long_query_is_bounded(query: str) -> None:
    asked = subwords_query(query)
    assert 0 < len(asked.replace(" OR ", " ").split()) <= MOST_TERMS


def test_a_long_run_is_asked_for_as_a_phrase_and_in_pairs() -> None:
    run = "".join(chr(0x4E00 + n) for n in range(300))
    first, *others = subwords_query(run).split(" OR ")
    assert first.strip('"').split() == subwords(run)[: MOST_TERMS // 2]
    assert [one.strip('"') for one in others] == subwords(run)[: MOST_TERMS // 2]


def test_a_very_long_word_is_no_identifier() -> None:
    longest = "Word" * (LONGEST // 4)
    assert subwords(longest)[-1] == longest.lower()
    assert subwords(longest + "s") == []
    assert subwords_query(longest + "s") == ""


def test_a_text_is_read_without_unspaced_scripts_only_where_it_holds_none() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    unspaced = re.findall(f"[{module.UNSPACED}]", every)
    assert len(unspaced) > 100_000
    assert all(map(module._may_be_unspaced, unspaced))
    assert not any(map(module._may_be_unspaced, "é—“”→…😀Жλ"))


@pytest.mark.parametrize("text", ["CaféService — “utf8”", "Größe_2 → v1.4.2…", "re-do ½ naïve.py"])
def test_a_text_of_spaced_scripts_gives_the_same_by_the_patterns_of_all(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = subwords(text), subwords_query(text)
    module._tokens_of.cache_clear()
    monkeypatch.setattr(module, "_letters", lambda text: "all")
    assert found == (subwords(text), subwords_query(text))


def test_words_of_a_plain_query_compile_no_pattern_of_all_scripts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_blank", None)
    assert "filesyncservice" in subwords_query("the FileSyncService — later")
