"""Recollect as a library: five lines, typed, with errors that can be caught and read."""

from __future__ import annotations

import inspect
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from importlib.resources import files
from pathlib import Path

import pytest

import recollect
from recollect import (
    Filter,
    Memory,
    ProviderError,
    Recollect,
    RecollectError,
    Response,
    StoreError,
    UserError,
)
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import recompute

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def open_vault(folder: Path) -> Recollect:
    return Recollect(
        folder / "notes.db", home=folder, settings=OFF, environment={}, clock=lambda: NOW
    )


def test_five_lines_are_enough(tmp_path: Path) -> None:
    """As a program of its own, in a folder of its own, with nothing set up."""
    program = """
from recollect import Recollect

with Recollect("notes.db") as memory:
    memory.save(title="Switched to JWT", text="Sessions became tokens.", tags=["auth"])
    for result in memory.search("jwt tokens", recipe="vault"):
        print(round(result.score, 3), result.memory.title)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"RECOLLECT_HOME": str(tmp_path), "RECOLLECT_EMBEDDING__PROVIDER": "none"},
        check=True,
    )
    score, title = done.stdout.strip().split(" ", 1)
    assert float(score) > 0
    assert title == "Switched to JWT"
    assert (tmp_path / "notes.db").is_file()


def test_everything_promised_can_be_imported() -> None:
    for name in recollect.__all__:
        assert getattr(recollect, name) is not None
    with pytest.raises(AttributeError, match="Nonsense"):
        recollect.Nonsense  # noqa: B018


def test_the_package_says_that_it_is_typed() -> None:
    assert files("recollect").joinpath("py.typed").is_file()
    for name, method in inspect.getmembers(Recollect, inspect.isfunction):
        if not name.startswith("_"):
            signature = inspect.signature(method)
            assert signature.return_annotation is not inspect.Signature.empty, name
            assert inspect.getdoc(method) or name == "now", name


def test_importing_it_loads_nothing_heavy() -> None:
    program = "import recollect, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"numpy", "apsw", "httpx2", "rich", "msgspec"} & set(done.stdout.split())


def test_what_is_saved_is_returned_as_a_value(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        saved = memory.save(title="T", text="X", tags=["b", "a"], valid_until="2027-01-01")
        assert isinstance(saved, Memory)
        assert saved.tags == ("b", "a")
        assert saved.created_at == saved.updated_at == NOW
        assert saved.valid_until == datetime(2027, 1, 1, tzinfo=UTC)
        assert memory.show([saved.id]) == [saved]
        with pytest.raises(AttributeError):
            saved.title = "other"  # type: ignore[misc]


def test_a_response_is_its_results(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        memory.save(title="Rotate tokens", id="a")
        memory.save(title="Tokens expire", id="b")
        response = memory.search("tokens", recipe="vault")
        assert isinstance(response, Response)
        assert len(response) == 2
        assert {result.id for result in response} == {"a", "b"}
        for result in response:
            assert result.score == result.explain.value == recompute(result.explain)


def test_the_filter_may_be_given_by_name_or_as_a_value(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        memory.save(title="token", id="a", project="p", tags=["x"])
        memory.save(title="token", id="b")
        by_name = memory.search("token", recipe="vault", project="p", tags=["x"])
        by_value = memory.search("token", recipe="vault", filter=Filter(project="p", tags=("x",)))
        assert [result.id for result in by_name] == [result.id for result in by_value] == ["a"]
        assert [one.id for one in memory.list(Filter(project="p"))] == ["a"]


@pytest.mark.parametrize(
    ("narrow", "holding"),
    [
        ({"colour": "red"}, "'colour'"),
        ({"tags": 5}, "tags"),
        ({"project": 5}, "project"),
        ({"since": "someday"}, "since"),
        ({"project": "\ud800"}, "project"),
        ({"tags": ["\ud800"]}, "tags"),
    ],
)
def test_a_filter_that_cannot_be_is_refused_by_name(
    tmp_path: Path, narrow: dict[str, object], holding: str
) -> None:
    with open_vault(tmp_path) as memory, pytest.raises(UserError, match=holding):
        memory.search("token", **narrow)


def test_times_without_a_zone_are_utc(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        memory.save(title="token", id="a", updated_at=datetime(2026, 2, 1))
        memory.save(
            title="token",
            id="b",
            updated_at=datetime(2026, 2, 2, 1, tzinfo=timezone(timedelta(hours=2))),
        )
        assert memory.show(["a"])[0].updated_at == datetime(2026, 2, 1, tzinfo=UTC)
        assert memory.show(["b"])[0].updated_at == datetime(2026, 2, 1, 23, tzinfo=UTC)
        since = Filter(since=datetime(2026, 2, 1, 12))
        assert [one.id for one in memory.list(since)] == ["b"]
        assert [one.id for one in memory.context(filter=since).memories] == ["b"]
        found = memory.search("token", recipe="vault", until=datetime(2026, 2, 1))
        assert [one.id for one in found] == ["a"]
        naive = memory.search("token", recipe="vault", now=datetime(2026, 3, 1, 12))
        aware = memory.search("token", recipe="vault", now=NOW)
        assert [one.score for one in naive] == [one.score for one in aware]


@pytest.mark.parametrize("query", ["\0", "a\0b", "\0\0jwt\0", '"\0"', "NEAR(\0 jwt)"])
@pytest.mark.parametrize("recipe", ["vault", "echovault", "router", "covalence"])
def test_a_nul_in_a_query_separates_words(tmp_path: Path, query: str, recipe: str) -> None:
    with open_vault(tmp_path) as memory:
        memory.save(title="Switched to JWT")
        assert "\0" not in memory.search(query, recipe=recipe).query
        if "jwt" in query:
            assert len(memory.search(query, recipe=recipe)) == 1


def test_text_that_is_no_text_is_refused_everywhere(tmp_path: Path) -> None:
    lone = "lone \ud800 surrogate"
    with open_vault(tmp_path) as memory:
        id = memory.save(title="T").id
        for refused in (
            lambda: memory.search(lone),
            lambda: memory.context(lone),
            lambda: memory.feedback(lone, id, accept=True),
            lambda: memory.feedback("q", lone, accept=True),
            lambda: memory.save(title=lone),
            lambda: memory.save(title="nul \0"),
            lambda: memory.save(title="T", tags=[lone]),
            lambda: memory.edit(id, text=lone),
            lambda: memory.edit(lone, text="x"),
            lambda: memory.show([lone]),
            lambda: memory.pin([lone]),
            lambda: memory.forget([lone]),
            lambda: memory.list(after=lone),
        ):
            with pytest.raises(UserError):
                refused()
        assert [one.id for one in memory.export()] == [id]


def test_one_text_is_not_taken_for_a_list_of_letters(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        for id in "abc":
            memory.save(id=id, title="token", tags=["t"])
        for refused in (
            lambda: memory.forget("abc"),
            lambda: memory.pin("abc"),
            lambda: memory.show("abc"),
            lambda: memory.edit("a", add_tags="xyz"),
            lambda: memory.edit("a", remove_tags="t"),
            lambda: memory.search("token", prefer_tags="xyz"),
            lambda: memory.save(title="T", tags="xyz"),
        ):
            with pytest.raises(UserError, match="list of texts"):
                refused()
        assert [one.tags for one in memory.list()] == [("t",)] * 3


def test_every_error_is_a_recollect_error_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("not a database " * 20)
    for path in ("folder", "text", "no/such/folder/vault.db", "text/vault.db"):
        with pytest.raises(StoreError) as caught:
            Recollect(tmp_path / path, home=tmp_path, settings=OFF)
        assert str(caught.value).endswith(".")
    for odd in ("a\0b", "\udcff"):
        with pytest.raises(UserError, match="UTF-8"):
            Recollect(tmp_path / odd, home=tmp_path, settings=OFF)
    for kind in (UserError, StoreError, ProviderError):
        assert issubclass(kind, RecollectError)


def test_a_path_is_made_a_vault_and_no_home_is_needed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Recollect(str(tmp_path / "mine.db"), home=home, settings=OFF) as memory:
        memory.save(title="T")
    assert (tmp_path / "mine.db").is_file()
    assert not home.exists()


def test_without_a_path_it_is_the_vault_of_the_home(tmp_path: Path) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "h"), "RECOLLECT_EMBEDDING__PROVIDER": "none"}
    with Recollect(environment=environment) as memory:
        memory.save(title="T")
        assert memory.path == tmp_path / "h" / "vault.db"
        assert memory.settings.embedding.provider == "none"
    assert (tmp_path / "h" / "vault.db").is_file()


def test_the_clock_is_the_given_one_or_the_variable_s(tmp_path: Path) -> None:
    environment = {"RECOLLECT_NOW": "2020-02-02T02:02:02Z"}
    with Recollect(tmp_path / "v.db", home=tmp_path, settings=OFF, environment=environment) as told:
        assert told.save(title="T").created_at == datetime(2020, 2, 2, 2, 2, 2, tzinfo=UTC)
    with Recollect(tmp_path / "v.db", home=tmp_path, settings=OFF, environment={}) as real:
        assert abs(real.now() - datetime.now(UTC)) < timedelta(seconds=5)
    with pytest.raises(UserError, match="RECOLLECT_NOW"):
        Recollect(tmp_path / "v.db", settings=OFF, environment={"RECOLLECT_NOW": "soon"})


def test_closing_twice_is_fine_and_using_it_afterwards_is_an_error(tmp_path: Path) -> None:
    memory = open_vault(tmp_path)
    memory.save(title="T")
    memory.close()
    memory.close()
    for use in (lambda: memory.search("token"), memory.list, lambda: memory.save(title="U")):
        with pytest.raises(RecollectError):
            use()
    with open_vault(tmp_path) as again:
        assert len(again.list()) == 1


def test_two_open_at_once_see_each_other_s_writes(tmp_path: Path) -> None:
    with open_vault(tmp_path) as one, open_vault(tmp_path) as other:
        id = one.save(title="Rotate tokens").id
        assert [result.id for result in other.search("tokens", recipe="vault")] == [id]
        other.forget([id])
        assert list(one.search("tokens", recipe="vault")) == []


def test_times_and_lists_are_read_as_people_write_them(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        memory.save(id="a", title="Token of the gateway", tags=["api", "auth"], kind="bug")
        memory.save(id="b", title="How a token is signed", tags=["api"], kind="decision")
        memory.save(id="c", title="Where tokens are kept", kind="fact")
        for fields, ids in (
            ({"since": "7d"}, {"a", "b", "c"}),
            ({"until": "last year"}, set()),
            ({"tags": "api"}, {"a", "b"}),
            ({"tags": "api,auth"}, {"a"}),
            ({"kind": "bug,decision"}, {"a", "b"}),
            ({"as_of": "now"}, {"a", "b", "c"}),
        ):
            found = memory.search("token", **fields)
            assert {result.id for result in found} == ids, fields


def test_what_a_query_leaves_out_is_left_out_of_a_context_and_alone(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        memory.save(id="docker", title="Docker caches layers")
        memory.save(id="redis", title="Docker runs redis")
        memory.save(id="other", title="Postgres vacuum")
        assert {one.id for one in memory.context("docker -redis").memories} == {"docker", "other"}
        alone = memory.search("-docker")
        assert [result.id for result in alone] == ["other"]
        assert alone.understood == ("without docker",)
        literal = memory.search("-docker", literal=True)
        assert {result.id for result in literal} == {"docker", "redis"}
        exact = memory.search("-docker", recipe="router")
        assert {result.id for result in exact} == {"docker", "redis"}, "It has no such reading."
