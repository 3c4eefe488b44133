"""Which of two memories seems to replace the other, by their words, dates and cosine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from recollect.query.replacement import Statement, Tokens, replaced_by
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Memory

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokens]:
    store = SqliteStore(tmp_path_factory.mktemp("vault") / "vault.db")
    yield store.keyword.tokens
    store.close()


def said(id: str, title: str, text: str = "", *, days: int = 0, **fields: Any) -> Memory:
    made = datetime(2026, 1, 1, 10, tzinfo=UTC) + timedelta(days=days)
    return Memory(id=id, title=title, text=text, created_at=made, updated_at=made, **fields)


def claimed(tokens: Tokens, *memories: Memory, cosine: float = 0.8) -> dict[str, str]:
    ids = [memory.id for memory in memories]
    cosines = {(one, other): cosine for one in ids for other in ids if one != other}
    return replaced_by(memories, cosines, tokens, NOW)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Logs go to Datadog", "Logs go to Loki"),
        ("The limit is 100 requests", "The limit is now 250 requests"),
        ("Mails are sent by Mailgun", "Postmark replaces Mailgun"),
        ("Parcels go with DHL", "We switched the carrier from DHL to GLS"),
        ("Python projects use Poetry", "Python projects use uv, no longer Poetry"),
        ("The office is in Lindenstrasse 12", "We have moved: the office is at Hafenplatz 4"),
        ("Login with username and password", "We dropped passwords: login by magic link only"),
        ("Das Portal speichert alles in MongoDB", "Umstieg von MongoDB auf PostgreSQL"),
        ("L'application utilise MySQL", "PostgreSQL remplace MySQL dans l'application"),
        ("Usamos Trello para las tareas", "Cambiamos de Trello a Notion"),
        ("Интернет от Ростелекома", "Перешли с Ростелекома на МТС"),
        ("网站部署在阿里云", "网站从阿里云迁移到腾讯云"),
        ("定例会議は月曜日の午前十時", "定例会議は木曜日の午後三時に変更"),
        ("주간 회의는 월요일 오전 열 시", "주간 회의는 수요일 오후 세 시로 변경"),
        ("Il database è PostgreSQL 15", "Il database è PostgreSQL 16"),
        ("Nuestro servidor corre en Debian 11", "Nuestro servidor corre en Debian 12"),
        ("数据库是MySQL", "数据库是PostgreSQL"),
        ("データベースはMySQLです", "データベースはPostgreSQLです"),
    ],
)
def test_a_changed_statement_replaces_the_one_before(tokens: Tokens, old: str, new: str) -> None:
    assert claimed(tokens, said("old", old), said("new", new, days=90)) == {"old": "new"}


def test_a_change_whose_text_tells_what_there_was_before_replaces_it(tokens: Tokens) -> None:
    both = said("old", "I use Neovim"), said("new", "Switched to Zed", "Neovim broke.", days=90)
    assert claimed(tokens, *both, cosine=0.75) == {"old": "new"}
    assert claimed(tokens, *both, cosine=0.6) == {}, "too little alike without a common tag"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Redis listens on port 6390", "Postgres listens on port 5433"),
        ("Il server gira su Debian", "Il backup gira su Debian"),
        ("O servidor fica em Lisboa", "O escritório fica em Lisboa"),
        ("Het kantoor is in Utrecht", "Het magazijn is in Utrecht"),
        ("Meine Mutter wohnt in Köln", "Meine Schwester wohnt in Köln"),
        ("Notre serveur tourne sur Debian", "Notre imprimante tourne sur Debian"),
        ("Mi madre vive en Sevilla", "Mi hermana vive en Sevilla"),
        ("Min mamma bor i Malmö", "Min syster bor i Malmö"),
        ("Моя мама живёт в Казани", "Моя сестра живёт в Казани"),
        ("Ο διακομιστής τρέχει σε Debian", "Ο εκτυπωτής τρέχει σε Debian"),
        ("会議は月曜日です", "会議室は三階です"),
        ("会议在周一", "会议室在三楼"),
        ("회의는 월요일입니다", "회의실은 3층입니다"),
        ("การประชุมคือวันจันทร์", "การบ้านคือวันจันทร์"),
        ("The basic plan costs 9 euros", "The team plan costs 29 euros"),
        ("Webpack builds the front end", "Idea: moved from Webpack to Vite"),
        ("The warehouse is Redshift", "We decided against Snowflake as warehouse"),
        ("Python projects use uv", "CI switched from pip caching to a volume for uv"),
        ("RabbitMQ is the message broker", "Moved the dashboards of RabbitMQ to Grafana"),
        ("RabbitMQ dashboards are in Grafana", "NATS replaces RabbitMQ"),
        ("Retrospective, week 14", "Retrospective, week 15"),
        ("Anna, session 3, 4 May 2025", "Anna, session 9, 7 July 2025"),
        ("Version 2.4 released", "Version 2.5 released"),
        ("Is Slack our chat?", "Mattermost replaces Slack"),
        ("Tom uses Neovim", "Mia uses Zed"),
    ],
)
def test_what_only_looks_alike_replaces_nothing(tokens: Tokens, old: str, new: str) -> None:
    assert claimed(tokens, said("old", old), said("new", new, days=90)) == {}


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("user, March-28-2026", "We moved the film night from March 6 to April 9."),
        ("user, 2026/03/28 (Sat) 17:50", "I no longer cook in March; any ideas for you and me?"),
        ("", "I run again since the flu is gone. Do you have any tips on how to start?"),
        (
            "",
            "I try to find a series for the evenings, and I have extended my hours of reading about"
            " the flu and other things to ninety minutes on weekdays so that I finish it soon",
        ),
    ],
)
def test_talk_replaces_nothing_though_its_titles_tell_who_spoke_and_when(
    tokens: Tokens, title: str, text: str
) -> None:
    old = said("old", "user, March-12-2026", "I have the flu and read a series in the evenings.")
    new = said("new", title, text, days=90)
    assert claimed(tokens, old, new) == {}
    assert claimed(tokens, replace(old, title=""), new) == {}


@pytest.mark.parametrize("title", ["Python 3.12", "Rate limit in May: 3", "Monday standup room"])
def test_a_title_with_a_number_or_a_day_may_still_name_a_subject(
    tokens: Tokens, title: str
) -> None:
    assert Statement(said("one", title, "Below."), tokens).head == title


def test_what_was_used_before_may_stand_in_the_text_below_a_change(tokens: Tokens) -> None:
    old = said("old", "I use Neovim as my editor", tags=("editor",))
    text = "Neovim plugins broke once too often."
    new = said("new", "Switched to Zed", text, tags=("editor",), days=90)
    other = said("other", "Switched to Zed", "It starts faster.", days=90)
    assert claimed(tokens, old, new) == {"old": "new"}
    assert claimed(tokens, old, other) == {}


@pytest.mark.parametrize(
    ("title", "tags", "so"),
    [
        ("Switched to Zed as my editor", (), True),
        ("We moved to Zed as our editor", (), True),
        ("Switched to Zed", ("editor",), True),
        ("Switched to Zed", (), False),  # nothing tells what it is
        ("Switched to Zed", ("tools",), False),
        ("Switched to decaf", ("coffee",), False),
        ("Switched to Affinity as my photo editor", (), False),  # another one
        ("Switched to Fastmail as my mail program", ("mail",), False),
        ("Thinking about Zed as my editor", (), False),
    ],
)
def test_another_thing_in_the_same_role_replaces_the_first(
    tokens: Tokens, title: str, tags: tuple[str, ...], so: bool
) -> None:
    old = said("old", "I use Neovim as my editor")
    new = said("new", title, tags=tags, days=90)
    assert claimed(tokens, old, new) == ({"old": "new"} if so else {})


@pytest.mark.parametrize(
    "differently",
    [{"project": "tower"}, {"space": "home"}, {"tier": "file"}, {"kind": "incident"}, {"days": 0}],
)
def test_only_statements_that_stand_side_by_side_are_compared(
    tokens: Tokens, differently: dict[str, Any]
) -> None:
    old = said("old", "Logs go to Datadog")
    assert (
        claimed(tokens, old, said("new", "Logs go to Loki", **({"days": 90} | differently))) == {}
    )


def test_of_a_day_only_what_names_the_other_replaces_it(tokens: Tokens) -> None:
    """Two notes of one day are more often two facts than a fact and its end."""
    old = said("old", "Logs go to Datadog")
    later = old.updated_at + timedelta(hours=1)
    other = replace(said("new", "Logs go to Loki"), updated_at=later)
    naming = replace(said("new", "Loki replaces Datadog"), updated_at=later)
    assert claimed(tokens, old, other) == {}
    assert claimed(tokens, old, naming) == {"old": "new"}


def test_the_last_of_several_replaces_all_and_those_between_none(tokens: Tokens) -> None:
    versions = [said(str(node), f"It runs on Node {node}", days=node) for node in (20, 22, 24)]
    assert claimed(tokens, *versions) == {"20": "24", "22": "24"}


def test_what_says_the_same_as_something_replaced_is_replaced_as_well(tokens: Tokens) -> None:
    text = "The stand-up is at 9:30 in the small room."
    first = said("first", "Stand-up", text)
    again = said("again", "When we meet", text.upper())
    new = said("new", "Stand-up, new time", text.replace("9:30", "10:15"), days=90)
    assert claimed(tokens, first, again, new) == {"first": "new", "again": "new"}


def test_what_does_not_hold_or_is_not_known_yet_replaces_nothing(tokens: Tokens) -> None:
    old = said("old", "Logs go to Datadog")
    expired = said("new", "Logs go to Loki", days=90, valid_until=NOW - timedelta(days=1))
    later = said("new", "Logs go to Loki", days=900)
    assert claimed(tokens, old, expired) == claimed(tokens, old, later) == {}


def test_other_meanings_are_not_compared(tokens: Tokens) -> None:
    pair = said("old", "Logs go to Datadog"), said("new", "Loki replaces Datadog", days=90)
    assert claimed(tokens, *pair, cosine=0.4) == {}
