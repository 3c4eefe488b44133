"""The `blend` recipe with the bundled models: what people type is found, past every trap.

Each corpus of `traps` holds one memory with the exact thing and a dozen that sound like it, so that
meaning alone would mislead. Source: docs/reference/recipes.md, blend.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import traps
from planned import ids
from planned_search import OverAt

from recollect import Recollect, Response, Result
from recollect.errors import ProviderError
from recollect.ingest.draft import make_draft
from recollect.models.active import ActiveModels
from recollect.models.base import Embedder, Reranker
from recollect.present.response import as_json, as_lines
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Rerank, Settings
from recollect.stages.rerank import RerankInterpolation
from recollect.types import Term, recompute

pytestmark = pytest.mark.usefixtures("each_store")

NOW = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)  # a Friday
SETTINGS = Settings(rerank=Rerank(budget_ms=60_000))  # the deadline is far away
Corpus = Mapping[str, str | Mapping[str, Any]]
Ask = Callable[..., Response]


@pytest.fixture(scope="module")
def models() -> ActiveModels:
    """The bundled models, loaded once."""
    return ActiveModels(SETTINGS, {})


@pytest.fixture(scope="module")
def ask(models: ActiveModels, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """`ask(corpus, query, …)`: a search in a vault that holds just this corpus."""
    opened: dict[int, Recollect] = {}

    def search(corpus: Corpus, query: str, **options: Any) -> Response:
        if id(corpus) not in opened:
            folder = tmp_path_factory.mktemp("vault")
            opened[id(corpus)] = stack.enter_context(make_vault(folder, corpus, models))
        return opened[id(corpus)].search(query, recipe="blend", **options)

    with ExitStack() as stack:
        yield search


def make_vault(folder: Path, corpus: Corpus, models: Any) -> Recollect:
    """A vault of this corpus, with these models, on one day."""
    memory = Recollect(
        folder / "vault.db", home=folder, settings=SETTINGS, environment={}, clock=lambda: NOW
    )
    memory.models = models
    memory.save_all(
        [
            make_draft({"id": id, **({"text": held} if isinstance(held, str) else held)})
            for id, held in corpus.items()
        ]
    )
    assert memory.embed_now() is None
    return memory


def explain(response: Response, most: int = 3) -> str:
    """The first results with their explanations, for the message of a test that fails."""
    lines = [f"{response.query!r}: {ids(response)}"]
    for result in response.results[:most]:
        lines.append(f"{result.id}: {result.memory.text[:90]}")
        lines += ["   ".join(map(str, line)) for line in as_lines(result.explain)]
    return "\n".join(lines)


def check_first(response: Response, wanted: str, within: int = 1) -> None:
    assert wanted in ids(response)[:within], explain(response)
    for result in response:
        assert recompute(result.explain) == result.score


def parts_named(result: Result, name: str) -> list[Term]:
    return [term for term in result.explain.leaves() if term.name == name]


# Exact things


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ("service", "FileSyncService"),
        ("service", "file_sync_service"),
        ("service", "filesyncservice"),
        ("service", "fileSyncService()"),
        ("service", "file-sync-service"),
        ("service", "where is FileSyncService used?"),
        ("service", "why does the file sync service give up"),
        ("user", "getUserByID"),
        ("user", "get_user_by_id"),
        ("user", "getuserbyid"),
        ("user", "get user by id"),
        ("user", "what does getUserByID return"),
        ("snake", "snake_case_name"),
        ("snake", "snakeCaseName"),
        ("snake", "snakecasename"),
        ("snake", "snake case name"),
        ("snake", "what is snake_case_name"),
    ],
)
def test_an_identifier_is_found_however_it_is_spelt(ask: Ask, wanted: str, query: str) -> None:
    """Not the service that syncs files, nor FileSyncServiceTest: FileSyncService."""
    check_first(ask(traps.IDENTIFIERS, query), wanted)


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ("c++", "C++"),
        ("c++", "why did we choose c++?"),
        ("c#", "C#"),
        ("c#", "which team has decided on C#"),
        ("r&d", "what did we decide about R&D"),
        ("w&b", "W&B"),
        (".net", ".NET"),
        (".net", "is .net in use"),
    ],
)
def test_a_name_is_found_by_its_signs_not_by_its_letters(ask: Ask, wanted: str, query: str) -> None:
    check_first(ask(traps.SIGNED, query), wanted)


def test_words_that_are_the_parts_of_an_identifier_find_it_beside_what_holds_them_all(
    ask: Ask,
) -> None:
    check_first(ask(traps.IDENTIFIERS, "file sync service"), "service", within=2)


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ("1.4", "1.4"),
        ("1.4", "v1.4"),
        ("1.4", "release 1.4"),
        ("1.4", "version 1.4"),
        ("1.4", "which Python did release 1.4 run on?"),
        ("rc1", "v2.3.1-rc1"),
        ("rc1", "2.3.1-RC1"),
        ("rc1", "what happened with v2.3.1-rc1"),
        ("final", "v2.3.1"),
        ("final", "what about v2.3.1?"),
    ],
)
def test_a_version_is_not_the_beginning_of_another(ask: Ask, wanted: str, query: str) -> None:
    """1.4 is neither 1.4.2 nor 11.4 nor 14, and a candidate is not the release."""
    check_first(ask(traps.VERSIONS, query), wanted)


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ("e1234", "E1234"),
        ("e1234", "e1234"),
        ("e1234", "error E1234"),
        ("e1234", "the printer says E1234"),
        ("reset", "ERR_CONNECTION_RESET"),
        ("reset", "err_connection_reset"),
        ("reset", "why do I get ERR_CONNECTION_RESET"),
        ("denied", "0x80070005"),
        ("denied", "0X80070005"),
        ("denied", "windows error 0x80070005"),
        ("teapot", "HTTP 418"),
        ("teapot", "what answers with HTTP 418?"),
    ],
)
def test_an_error_code_is_found_and_not_its_neighbour(ask: Ask, wanted: str, query: str) -> None:
    check_first(ask(traps.ERROR_CODES, query), wanted)


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ("no-cache", "--no-cache"),
        ("no-cache", "docker build --no-cache"),
        ("no-cache", "what does --no-cache do"),
        ("cache", "--cache"),
        ("cache-dir", "--no-cache-dir"),
        ("v", "-v"),
        ("v", "what does -v print"),
    ],
)
def test_a_flag_is_not_a_longer_or_a_shorter_one(ask: Ask, wanted: str, query: str) -> None:
    check_first(ask(traps.FLAGS, query), wanted)


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ("main", "src/app/main.py"),
        ("main", "what is in src/app/main.py"),
        ("hosts", "/etc/hosts"),
        ("hosts", "who wrote to /etc/hosts"),
        ("windows", r"C:\Users\x"),
        ("windows", r"what is in c:\users\x"),
    ],
)
def test_a_path_is_found_and_not_its_words(ask: Ask, wanted: str, query: str) -> None:
    check_first(ask(traps.PATHS, query), wanted)


LONG_HASH = "9fceb02d0ae598e95dc970b74767f19372d61af8"


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ("short", "3f2a9c1"),
        ("short", "commit 3F2A9C1"),
        ("short", "which page did commit 3f2a9c1 break?"),
        ("digits", "1029384"),
        ("long", LONG_HASH),
        ("long", LONG_HASH.upper()),
        ("long", f"was {LONG_HASH} signed"),
    ],
)
def test_a_hash_is_found_to_its_last_digit(ask: Ask, wanted: str, query: str) -> None:
    check_first(ask(traps.HASHES, query), wanted)


@pytest.mark.parametrize(
    "query",
    ["anna.smith@example.com", "Anna.Smith@Example.COM", "who is anna.smith@example.com"],
)
def test_an_address_is_not_joannas(ask: Ask, query: str) -> None:
    check_first(ask(traps.ADDRESSES, query), "anna")


DATES = {
    id: {"text": text, "created_at": "2026-03-01T09:00:00Z"} if id == "that-day" else text
    for id, text in traps.DATES.items()
}


@pytest.mark.parametrize("query", ["2026-03-01", "contract 2026-03-01", "what ends on 2026-03-01"])
def test_a_date_in_a_text_comes_before_a_memory_of_that_day(ask: Ask, query: str) -> None:
    """The date is read as a time too, and what was saved that day is favoured a little."""
    response = ask(DATES, query)
    check_first(response, "ends")
    assert any("2026-03-01" in one for one in response.understood)


@pytest.mark.parametrize(
    "query",
    [
        '"the quick fix"',
        "“the quick fix”",
        "«The Quick Fix»",
        "`the quick fix`",
        "'the quick fix'",
        'who shipped "the quick fix"',
    ],
)
def test_a_quoted_phrase_is_meant_in_order(ask: Ask, query: str) -> None:
    check_first(ask(traps.QUOTES, query), "phrase")


@pytest.mark.parametrize(
    ("wanted", "query", "within"),
    [
        ("zephyr", "zephyr", 1),
        ("zephyr", "where is Zephyr", 1),
        ("okonkwo", "Okonkwo", 1),
        ("okonkwo", "okonkwo printer", 1),
        ("okonkwo", "what did Okonkwo say about the printer", 3),
    ],
)
def test_a_name_is_a_rare_word_and_is_found(ask: Ask, wanted: str, query: str, within: int) -> None:
    """Others say more about the printer, but Okonkwo is still among the first three."""
    check_first(ask(traps.NAMES, query), wanted, within)


# Scripts, accents, slips


def pieces(text: str) -> list[str]:
    """Every piece of two characters or more that does not begin or end with a blank."""
    places = range(len(text) + 1)
    every = [text[start:stop] for start in places for stop in places if stop - start >= 2]
    return [piece for piece in every if piece == piece.strip()]


@pytest.mark.parametrize("language", ["chinese", "japanese", "korean", "thai"])
def test_any_piece_of_a_sentence_without_spaces_finds_it(ask: Ask, language: str) -> None:
    """First of all where no other memory holds the piece; among the results in any case."""
    check_pieces(ask, language, [one for one in pieces(traps.SCRIPTS[language]) if " " not in one])


def test_a_korean_piece_may_hold_a_blank(ask: Ask) -> None:
    check_pieces(ask, "korean", [one for one in pieces(traps.SCRIPTS["korean"]) if " " in one])


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ("chinese", "数据库 回滚"),
        ("japanese", "緑茶 田中"),
        ("korean", "실행 백업"),
        ("thai", "ชาเขียว แอนนา"),
    ],
)
def test_two_words_with_a_blank_between_are_two_exact_things(
    ask: Ask, wanted: str, query: str
) -> None:
    """They need not stand side by side in the memory, nor in this order."""
    response = ask(traps.SCRIPTS, query)
    check_first(response, wanted)
    [exact] = parts_named(response.results[0], "exact")
    assert exact.raw == 1.0, explain(response, 1)


def check_pieces(ask: Ask, wanted: str, some: Sequence[str]) -> None:
    wrong = {}
    for piece in some:
        found = ids(ask(traps.SCRIPTS, piece))
        alone = sum(piece in text for text in traps.SCRIPTS.values()) == 1
        if wanted not in (found[:1] if alone else found):
            wrong[piece] = found[:3]
    assert wrong == {}


@pytest.mark.parametrize(
    ("wanted", "query"),
    [
        ("café", "cafe"),
        ("café", "CAFÉ"),
        ("café", "cafe\u0301"),
        ("naïve", "naive"),
        ("naïve", "Naïve"),
        ("straße", "straße"),
        ("straße", "STRASSE"),
        ("straße", "strasse"),
        ("istanbul", "istanbul"),
        ("istanbul", "İSTANBUL"),
        ("istanbul", "ISTANBUL"),
        ("résumé", "resume"),
        ("jalapeno", "jalapeño"),
        ("zurich", "Zürich"),
    ],
)
def test_case_and_accents_are_folded_both_ways(ask: Ask, wanted: str, query: str) -> None:
    check_first(ask(traps.ACCENTS, query), wanted)


@pytest.mark.parametrize(
    ("wanted", "meant", "slip"),
    [
        ("retention", "retention", "retntion"),  # a letter too few
        ("retention", "retention", "rettention"),  # one too many
        ("retention", "retention", "retension"),  # a wrong one
        ("retention", "retention", "retnetion"),  # two swapped
        ("retention", "retention", "etention"),  # the first letter, in each way
        ("retention", "retention", "rretention"),
        ("retention", "retention", "tetention"),
        ("retention", "retention", "ertention"),
        ("kubernetes", "kubernetes", "kuberntes"),
        ("plumber", "plumber", "plubmer"),
    ],
)
def test_a_slip_of_the_fingers_is_mended_and_said(
    ask: Ask, wanted: str, meant: str, slip: str
) -> None:
    for query in (slip, f"what about {slip} here"):
        response = ask(traps.SLIPS, query)
        check_first(response, wanted)
        [note] = response.notes
        assert note == f"No memory holds {slip!r}: searched for {meant} as well."


def test_a_word_that_stands_somewhere_is_taken_as_typed(ask: Ask) -> None:
    """`anchro` is in the old manual, misspelt; the memory with two anchors cannot outrank it."""
    for query in ("anchro", "the anchro of the boat"):
        response = ask(traps.SLIPS, query)
        check_first(response, "typed")
        assert response.notes == ()


@pytest.mark.parametrize("query", ["wlal", "bal", "walk", "logz"])
def test_a_short_word_is_not_mended(ask: Ask, query: str) -> None:
    response = ask(traps.SLIPS, query)
    assert response.notes == ()
    assert response.counts["keyword"] == 0


# A rare term among many that are near


def near_the_meaning() -> dict[str, str]:
    """A hundred and fifty memories about backups, and a cat with the rare name."""
    which = ("The", "The customer", "The main", "The billing", "The archive")
    does = ("is backed up", "is copied", "is dumped", "is saved", "is mirrored")
    when = ("at night", "after midnight")
    where = ("to the second disk", "to the cloud", "to the tape robot")
    made = {
        f"n{number:03}": f"{a} database {b} {c} {d}."
        for number, (a, b, c, d) in enumerate(product(which, does, when, where))
    }
    assert len(made) == 150
    return made | {"cat": "Quorra is what Lena called her cat."}


NEAR = near_the_meaning()


@pytest.mark.parametrize("query", ["Quorra", "backup quorra", "database quorra"])
def test_a_rare_term_comes_first_among_many_that_are_near(ask: Ask, query: str) -> None:
    check_first(ask(NEAR, query), "cat")


@pytest.mark.parametrize(
    "query",
    [
        "how is the database backed up at night to Quorra",
        "which disk is the billing database copied to after midnight by Quorra",
    ],
)
def test_a_rare_term_in_a_long_question_is_in_the_pool(ask: Ask, query: str) -> None:
    """Only the list of exact terms has the cat; the pool of 50 is full."""
    response = ask(NEAR, query, limit=300)
    assert "cat" in ids(response)
    assert ask(NEAR, query).counts["exact"] == 1


@pytest.mark.parametrize(
    "query",
    [
        "how is the database backed up at night to Quorra",
        "which disk is the billing database copied to after midnight by Quorra",
    ],
)
def test_a_rare_term_in_a_long_question_keeps_a_place_in_the_answer(ask: Ask, query: str) -> None:
    check_first(ask(NEAR, query), "cat", within=10)


def test_the_pool_is_counted_as_what_was_left_to_rank(ask: Ask) -> None:
    response = ask(NEAR, "how is the database backed up at night to Quorra")
    assert response.counts["pool"] == 31  # the best thirty, and the cat


# Time


def on(day: str, text: str) -> dict[str, str]:
    return {"text": text, "created_at": f"{day}T10:00:00Z"}


TIMES = {
    "last-week": on("2026-03-11", "The leak in the roof was mended with tar by two men."),
    "this-week": on("2026-03-18", "Rain came through the roof, and buckets were put on the floor."),
    "february": on("2026-02-10", "A firm measured the roof and sent an offer for slates."),
    "january": on("2026-01-12", "Snow lay on the roof until it slid onto a parked car."),
    "year-before": on("2025-03-09", "The roof got its lightning rod from an electrician."),
    "week": on("2026-01-13", "The week is planned on Mondays."),
    "march": on("2026-01-14", "The march through the town was long."),
    "kitchen": on("2026-03-10", "The kitchen was painted."),
    "car": on("2026-02-12", "A decision about the car is open."),
    "lunch": on("2026-02-20", "Before lunch nobody prints."),
    "last": on("2026-02-21", "The last one to leave locks the door."),
    "scanner": on("2026-03-12", "The scanner was repaired."),
}


@pytest.mark.parametrize(
    ("said", "wanted", "understood"),
    [
        ("last week", {"last-week", "kitchen", "scanner"}, "last week = 2026-03-09 … 2026-03-15"),
        (
            "in March",
            {"last-week", "this-week", "kitchen", "scanner"},
            "in March = 2026-03-01 … 2026-03-31",
        ),
        (
            "before 2026-02-01",
            {"january", "year-before", "week", "march"},
            "before 2026-02-01",
        ),
    ],
)
def test_a_time_in_the_query_favours_memories_of_it(
    ask: Ask, said: str, wanted: set[str], understood: str
) -> None:
    query = f"what happened to the roof {said}"
    response, without = ask(TIMES, query, limit=50), ask(TIMES, query, limit=50, literal=True)
    assert response.understood == (understood,)
    assert {one.id for one in response if parts_named(one, "time_match")[0].value > 0} == wanted
    assert response.results[0].id in wanted, explain(response)
    assert without.understood == ()
    assert not any(parts_named(one, "time_match") for one in without)
    assert set(ids(response)) == set(ids(without)) == set(TIMES), "Nothing is dropped."


DECISIONS = {
    **{id: held for id, held in TIMES.items() if "roof" not in held["text"]},
    "sell": on("2026-01-12", "We decided to sell the printer."),
    "buy": on("2026-02-10", "We decided to buy the printer."),
    "lease": on("2026-03-11", "We decided to lease the printer."),
    "move": on("2026-03-19", "We decided to move the printer."),
    "repair": on("2025-03-09", "We decided to repair the printer."),
}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("last week", {"lease"}),
        ("in January", {"sell"}),
        ("before 2026-02-01", {"sell", "repair"}),
        ("in March 2025", {"repair"}),
    ],
)
def test_what_was_said_later_does_not_replace_what_a_time_was_asked_for(
    ask: Ask, said: str, wanted: set[str]
) -> None:
    """Each decision replaces the one before; who asks for January wants January's."""
    response = ask(DECISIONS, f"what did we decide about the printer {said}")
    assert response.results[0].id in wanted, explain(response)


# Twins and newer ones

SAID = (
    "The build server in the cellar is restarted on Sundays at six in the morning by the night "
    "shift, after the tapes were changed and the generator was tested"
)
TWINS = {
    "first": on("2026-03-01", f"{SAID}."),
    "shouted": on("2026-03-02", f"{SAID.upper()}!"),
    "newest": on("2026-03-07", SAID.replace("The build server", "The Build-Server")),
    "longer": on("2026-03-04", f"{SAID}, again."),
    "fillers": on("2026-03-05", f"It is that {SAID}."),
    "number": on("2026-03-03", f"{SAID} 2 times."),
    "hour": on("2026-03-03", SAID.replace("six", "seven")),
    "name": on("2026-03-03", SAID.replace("Sundays", "Mondays")),
    "not": on("2026-03-03", SAID.replace("is restarted", "is not restarted")),
    "build": "The build takes an hour.",
    "shift": "The night shift has two people.",
    "cellar": "The cellar has a second door.",
    "sunday": "Sunday is a day of rest.",
}


@pytest.mark.parametrize("query", ["build server", "when is the build server restarted?"])
def test_five_that_say_the_same_take_one_place(ask: Ask, query: str) -> None:
    response = ask(TWINS, query, limit=50)
    found = {result.id: result for result in response}
    family = {"first", "shouted", "newest", "longer", "fillers"}
    assert family & set(found) == {"newest"}, explain(response)
    assert {one.id for one in found["newest"].same} == family - {"newest"}
    assert response.counts["dropped"] == {"near_duplicates": 4}
    [shown] = [one for one in as_json(response)["results"] if one["id"] == "newest"]
    assert shown["updated_at"] == "2026-03-07T10:00:00Z"
    assert {one["id"]: one["updated_at"][:10] for one in shown["same"]} == {
        "first": "2026-03-01",
        "shouted": "2026-03-02",
        "longer": "2026-03-04",
        "fillers": "2026-03-05",
    }


def test_facts_that_differ_in_a_number_a_name_or_a_not_stay_apart(ask: Ask) -> None:
    response = ask(TWINS, "when is the build server restarted?", limit=50)
    found = {result.id: result for result in response}
    assert {"number", "hour", "name", "not"} <= set(found)
    assert not any(found[id].same for id in ("number", "hour", "name", "not"))


def test_twins_are_not_said_to_be_replaced(ask: Ask) -> None:
    """A memory shown as the same is not shown again as an older one."""
    response = ask(TWINS, "when is the build server restarted?", limit=50)
    [newest] = [one for one in response if one.id == "newest"]
    same = {one.id for one in newest.same}
    assert not same & {one.id for one in newest.seems_to_replace}
    for result in response:
        hidden = {one.id for one in result.seems_to_replace} - set(ids(response))
        assert hidden == set(), f"{result.id} replaces memories that are not shown: {hidden}"


NEWER = {
    "old": on("2025-11-03", "The API allows 100 requests per minute for each key."),
    "new": on("2026-02-03", "The API now allows 250 requests per minute for each key."),
    "unrelated": on("2026-03-19", "The API is written in Go, and requests are logged for a month."),
    "team": on("2026-03-19", "The team of the API has a key to the roof."),
    "project": on("2026-03-19", "Per minute, the API costs a cent."),
    "kettle": on("2026-03-18", "The kettle takes a minute."),
    "door": on("2026-03-18", "The key of the door is with Anna."),
    "requests": on("2026-03-17", "Requests for leave go to the desk."),
    "limits": on("2026-03-17", "Speed limits hold in the yard too."),
    "lunch": on("2026-03-17", "Lunch is at noon."),
    "night": on("2026-03-17", "At night nobody answers the phone."),
    "mail": on("2026-03-17", "Mail is read twice a day."),
}


@pytest.mark.parametrize(
    "query",
    ["API requests", "API key limit", "how many requests per minute does the API allow"],
)
def test_what_was_said_later_stands_above_what_was_said_before(ask: Ask, query: str) -> None:
    response = ask(NEWER, query)
    order = ids(response)
    assert order.index("new") < order.index("old"), explain(response)
    shown = {one["id"]: one for one in as_json(response)["results"]}
    assert shown["new"]["updated_at"] == "2026-02-03T10:00:00Z"
    assert shown["new"]["seems_to_replace"] == [{"id": "old", "updated_at": "2025-11-03T10:00:00Z"}]
    assert [one.id for one in response if one.seems_to_replace] == ["new"]


def test_what_is_newer_and_unrelated_is_not_lifted(ask: Ask) -> None:
    response = ask(NEWER, "how many requests per minute does the API allow")
    assert ids(response)[:2] == ["new", "old"], explain(response)
    assert not any(parts_named(one, "supersede") for one in response if one.id != "new")


# The second opinion


class Reads:
    """A reranker that says what is planned, by the memory's text."""

    identity = "toy:reads"

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.planned = scores
        self.read: list[str] = []

    def ready(self) -> None:
        """It is."""

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        self.read += documents
        return [self.planned.get(document, 0.5) for document in documents]


class Slow(Reads):
    """Reads this many at once, then waits until the test is over."""

    def __init__(self, reads: int = 0) -> None:
        super().__init__({})
        self.stops_after = reads
        self.go_on = threading.Event()
        self.stopped = threading.Event()

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        if len(self.read) >= self.stops_after:
            self.stopped.set()
            self.go_on.wait()
        return super().scores(query, documents)


class WithReader:
    """The real embedder, and a reranker of one's own."""

    serves_former = False

    def __init__(self, models: ActiveModels, reranker: Reranker | None, budget_ms: int) -> None:
        self._models = models
        self._reranker = reranker
        self.budget_ms = budget_ms

    def embeds(self) -> bool:
        return True

    def embedder(self) -> Embedder:
        return self._models.embedder()

    def reranker(self) -> Reranker:
        if self._reranker is None:
            raise ProviderError('rerank.provider is "none"', transient=False)
        return self._reranker

    def close(self) -> None:
        """Nothing is open."""


QUESTION = "which release broke the login page"
LOGIN = {
    "best": "The release of May broke the login page.",
    "good": "The login page broke after a release.",
    "fair": "A release changed the login page.",
    "page": "The login page is blue.",
    "weak": "Every release is announced.",
    "other-1": "The car broke down.",
    "other-2": "The coffee is cold.",
    "other-3": "The roof leaks.",
    "other-4": "The cat sleeps.",
    "other-5": "The meeting is at ten.",
    "other-6": "The printer is out of paper.",
    "other-7": "The lamp flickers.",
}


def search_with(
    folder: Path,
    models: ActiveModels,
    reranker: Reranker | None,
    query: str,
    budget: int = 60_000,
    **changes: float,
) -> Response:
    """The answer. `weight`: of the reranker."""
    changed = {f"stages.rerank.{name}": value for name, value in changes.items()}
    with make_vault(folder, LOGIN, WithReader(models, reranker, budget)) as memory:
        return memory.search(query, recipe="blend", limit=50, changes=changed)


@pytest.fixture(scope="module")
def unread(models: ActiveModels, tmp_path_factory: pytest.TempPathFactory) -> Response:
    """The answer where there is no reranker: the order of fusion and its bonuses."""
    return search_with(tmp_path_factory.mktemp("vault"), models, None, QUESTION)


def test_without_a_reranker_the_order_of_fusion_stays_and_is_said(unread: Response) -> None:
    assert set(ids(unread)[:2]) == {"best", "good"}, explain(unread)
    assert [(one.channel, one.reason) for one in unread.degraded] == [
        ("rerank", 'rerank.provider is "none"')
    ]
    assert unread.counts["reranked"] == 0
    assert not any(parts_named(one, "rerank") for one in unread)


def test_the_second_opinion_moves_and_does_not_order(
    models: ActiveModels, unread: Response, tmp_path: Path
) -> None:
    """`weight · (clip(logit, floor, bound) − floor)`: 1 has the logit 10, 0 the floor, 0.5 has 0.
    Candidates too far away to be exchanged are not read, and count as the worst that is. The
    reranker puts the best answer last of those it reads; it stays above the others."""
    says = dict.fromkeys(LOGIN.values(), 0.5) | {LOGIN["fair"]: 1.0, LOGIN["best"]: 0.0}
    weight = 0.1
    response = search_with(tmp_path, models, Reads(says), QUESTION, weight=weight)
    [stage] = [one for one in BUILT_IN["blend"].stages if isinstance(one, RerankInterpolation)]
    logits = dict.fromkeys(LOGIN, stage.floor) | {"fair": stage.bound, "good": 0.0}
    expected = {id: weight * (logit - stage.floor) for id, logit in logits.items()}
    before = {one.id: one.score for one in unread}
    assert {one.id: one.score - before[one.id] for one in response} == pytest.approx(expected)
    assert response.counts["reranked"] == 3
    assert ids(response)[:3] == ["fair", "good", "best"], explain(response)
    assert ids(response)[3:] == ids(unread)[3:]
    assert response.degraded == ()


def test_a_query_of_two_words_is_not_read(models: ActiveModels, tmp_path: Path) -> None:
    reads = Reads({})
    response = search_with(tmp_path, models, reads, "login page")
    assert reads.read == []
    assert response.degraded == ()
    assert response.counts["reranked"] == 0


def test_what_the_deadline_leaves_unread_keeps_the_order_of_fusion(
    models: ActiveModels, unread: Response, tmp_path: Path, over_at: OverAt
) -> None:
    """No time at all: the search waits for nothing, and says so. With a weight of 1 the reranker
    could exchange any two."""
    slow = Slow()
    over_at(slow.stopped)
    try:
        response = search_with(tmp_path, models, slow, QUESTION, budget=1, weight=1.0)
    finally:
        slow.go_on.set()
    assert ids(response) == ids(unread)
    [entry] = response.degraded
    assert (entry.channel, entry.reason) == ("rerank", "reranked 0 of 12 within the deadline")
    assert response.counts["reranked"] == 0


def test_what_was_read_by_the_deadline_counts_and_the_rest_is_held_to_be_no_better(
    models: ActiveModels, unread: Response, tmp_path: Path, over_at: OverAt
) -> None:
    """Four were read, each 0.5, a logit of 0: the order stays, and each of the others is said to be
    as good as the worst that was read."""
    slow = Slow(reads=4)
    over_at(slow.stopped)
    try:
        response = search_with(tmp_path, models, slow, QUESTION, budget=300, weight=1.0)
    finally:
        slow.go_on.set()
    assert ids(response) == ids(unread)
    [entry] = response.degraded
    assert (entry.channel, entry.reason) == ("rerank", "reranked 4 of 12 within the deadline")
    assert response.counts["reranked"] == 4
    unreached = [one for one in response if "not read" in parts_named(one, "rerank")[0].how]
    assert [one.id for one in unreached] == ids(unread)[4:]
