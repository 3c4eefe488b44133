"""Finding what words alone do not find: the keyword index `subwords`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.query.subwords import subwords_query
from recollect.store.base import COLUMNS, Store
from recollect.types import Filter
from suites.stores.helpers import (
    Contract,
    change,
    forget,
    match,
    purge_everything,
    save,
)
from suites.stores.samples import CHANGE, EVERYTHING, FILTERS, NOON, memory

# Texts that look alike, and for each the queries that must find it before all others.
TRAPS: Mapping[str, tuple[str, ...]] = {
    "FileSyncService starts the watchers": (
        "FileSyncService", "file sync service", "filesync service", "file_sync_service",
        "file-sync-service", "filesyncservice", "FILE_SYNC_SERVICE",
    ),
    "FileService reads, SyncService writes": ("FileService", "sync-service", "syncservice"),
    "call get_user_by_id first": ("getUserByID", "getUserById", "get user by id", "get-user-by-id"),
    "the userGetter is by another team": ("user_getter", "UserGetter"),
    "XMLHttpRequest fails over HTTPServer2": ("xml http request", "HTTPServer2", "http server"),
    "encode as UTF-8 with OAuth2": ("utf8", "oauth", "OAuth 2", "oauth2"),
    "pinned to 1.4.2 since May": ("1.4.2", "v1.4.2"),
    "pinned to 14.2 since June": ("14.2",),
    "python3.11 is required": ("Python 3.11", "python3.11"),
    "東京都の天気は晴れです。": ("東京都", "天気", "晴れです"),
    "京都の紅葉は十一月です。": ("京都の", "紅葉", "十一月"),
    "データベースの接続が切れた": ("データベース", "接続", "ｾﾂｿﾞｸが切れた"),
    "数据库连接池的大小是十": ("数据库", "连接池", "大小"),
    "한국어검색기능을 개선했다": ("검색", "검색기능", "개선"),
    "회의는 월요일에 있다": ("회의", "월요일"),
    "ภาษาไทยไม่มีช่องว่าง": ("ภาษาไทย", "ช่องว่าง", "ไม่มี"),
    "ประชุมวันจันทร์ที่กรุงเทพ": ("วันจันทร์", "กรุงเทพ", "ประชุม"),
    "ភាសាខ្មែរពិរោះ": ("ខ្មែរ", "ភាសា"),
}  # fmt: skip


def found(store: Store, query: str, limit: int = 50, filter: Filter = EVERYTHING) -> list[str]:
    matches = match(store, subwords_query(query), "subwords", limit=limit, filter=filter)
    return [one.memory_id for one in matches]


class SubwordsContract(Contract):
    def test_exact_things_are_found_before_what_looks_like_them(self) -> None:
        store = self.store()
        texts = dict(enumerate(TRAPS))
        save(store, *(memory(f"t{n}", title="", text=text) for n, text in texts.items()))
        for n, text in texts.items():
            for query in TRAPS[text]:
                assert found(store, query)[:1] == [f"t{n}"], f"{query} in {text}"

    def test_each_field_has_its_column(self) -> None:
        store = self.store()
        fields = ("id", "title", "text", "context", "tags", "why", "impact", "source")
        for name in fields:
            word = f"{name.title()}FieldName"
            field: dict[str, Any] = {name: (word,) if name == "tags" else word}
            stored = memory(**{"id": f"has-{name}", "title": "t"} | field)
            save(store, stored)
            column = name if name in COLUMNS["subwords"] else "other"
            asked = f"{column} : {subwords_query(word)}"
            matches = match(store, asked, "subwords", weights={column: 1.0})
            assert [one.memory_id for one in matches] == [stored.id], name

    def test_weights_of_title_and_text_decide(self) -> None:
        store = self.store()
        save(store, memory("in-text", title="x", text="FileSync"))
        save(store, memory("in-title", title="FileSync", text="x"))
        for best, worst in (("title", "text"), ("text", "title")):
            weights = {best: 10.0, worst: 1.0}
            matches = match(store, subwords_query("FileSync"), "subwords", weights=weights)
            assert [one.memory_id for one in matches] == [f"in-{best}", f"in-{worst}"]

    def test_subwords_follow_every_write(self) -> None:
        store = self.store()
        save(store, memory("a", text="FileSync"), memory("b", text="prose"))
        assert found(store, "filesync") == ["a"]
        change(store, "a", text="prose", tags=("deepSea", "会議"))
        assert (found(store, "filesync"), found(store, "deep sea")) == ([], ["a"])
        change(store, "a", tags=("会議",))
        assert (found(store, "deep sea"), found(store, "会議")) == ([], ["a"])
        change(store, "b", title="会議室")
        assert found(store, "会議") == ["a", "b"]
        forget(store, "a")
        assert found(store, "会議") == ["b"]
        with store.writing(CHANGE) as write:
            write.restore(write.find(["a"])["a"])
            write.purge(write.find(["b"])["b"])
        assert found(store, "会議") == ["a"]
        forget(store, "a")
        with store.writing(CHANGE) as write:
            write.replace(write.find(["a"])["a"], memory("a", text="FileSync"))
        assert (found(store, "会議"), found(store, "filesync")) == ([], ["a"])

    def test_one_write_may_change_the_subwords_many_times(self) -> None:
        store = self.store()
        with store.writing(CHANGE) as write:
            stored = write.add(memory("a", text="FileSync"))
            stored = write.replace(stored, memory("a", text="UserGetter"))
            write.forget(stored, NOON)
            write.restore(write.find(["a"])["a"])
            write.purge(write.add(memory("b", text="UserGetter")))
        assert (found(store, "FileSync"), found(store, "UserGetter")) == ([], ["a"])

    def test_subwords_filters_hold_before_the_limit(self) -> None:
        for filter, passing, failing in FILTERS:
            store = self.store()
            outside = [memory(f"outside-{n}", title="FileSync " * 9, **failing) for n in range(20)]
            inside = [memory(f"inside-{n}", text="a FileSync", **passing) for n in range(3)]
            save(store, *outside, *inside)
            assert sorted(found(store, "FileSync", 3, filter)) == [
                "inside-0", "inside-1", "inside-2",
            ], filter  # fmt: skip
            purge_everything(store)
