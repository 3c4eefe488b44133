"""The `blend` recipe with the bundled models: what people type is found, past every trap.

Each corpus of `traps` holds one memory with the exact thing and a dozen that sound like it, so that
meaning alone would mislead. Source: docs/reference/recipes.md, blend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import traps
from planned import PlannedServer, ids, part, settings, vault
from planned_search import HangingReranker, OverAt, PlannedReranker

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


def near_the_meaning() -> dict[str, str]:
    """Return a hundred and fifty memories about backups, and a cat with the rare name."""
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


# Exact things

NEAR = near_the_meaning()
LONG_HASH = "9fceb02d0ae598e95dc970b74767f19372d61af8"
# By promise: the corpus, and by the memory that comes first, the queries that find it.
FIRST: dict[str, tuple[Corpus, dict[str, str]]] = {
    # Not the service that syncs files, nor FileSyncServiceTest: FileSyncService.
    "an identifier is found however it is spelt": (traps.IDENTIFIERS, {
        "service": "FileSyncService|file_sync_service|filesyncservice|fileSyncService()"
        "|file-sync-service|where is FileSyncService used?"
        "|why does the file sync service give up",
        "user": "getUserByID|get_user_by_id|getuserbyid|get user by id"
        "|what does getUserByID return",
        "snake": "snake_case_name|snakeCaseName|snakecasename|snake case name"
        "|what is snake_case_name",
    }),
    "a name is found by its signs, not by its letters": (traps.SIGNED, {
        "c++": "C++|why did we choose c++?",
        "c#": "C#|which team has decided on C#",
        "r&d": "what did we decide about R&D",
        "w&b": "W&B",
        ".net": ".NET|is .net in use",
    }),
    # 1.4 is neither 1.4.2 nor 11.4 nor 14, and a candidate is not the release.
    "a version is not the beginning of another": (traps.VERSIONS, {
        "1.4": "1.4|v1.4|release 1.4|version 1.4|which Python did release 1.4 run on?",
        "rc1": "v2.3.1-rc1|2.3.1-RC1|what happened with v2.3.1-rc1",
        "final": "v2.3.1|what about v2.3.1?",
    }),
    "an error code is found and not its neighbour": (traps.ERROR_CODES, {
        "e1234": "E1234|e1234|error E1234|the printer says E1234",
        "reset": "ERR_CONNECTION_RESET|err_connection_reset|why do I get ERR_CONNECTION_RESET",
        "denied": "0x80070005|0X80070005|windows error 0x80070005",
        "teapot": "HTTP 418|what answers with HTTP 418?",
    }),
    "a flag is not a longer or a shorter one": (traps.FLAGS, {
        "no-cache": "--no-cache|docker build --no-cache|what does --no-cache do",
        "cache": "--cache",
        "cache-dir": "--no-cache-dir",
        "v": "-v|what does -v print",
    }),
    "a path is found and not its words": (traps.PATHS, {
        "main": "src/app/main.py|what is in src/app/main.py",
        "hosts": "/etc/hosts|who wrote to /etc/hosts",
        "windows": r"C:\Users\x|what is in c:\users\x",
    }),
    "a hash is found to its last digit": (traps.HASHES, {
        "short": "3f2a9c1|commit 3F2A9C1|which page did commit 3f2a9c1 break?",
        "digits": "1029384",
        "long": f"{LONG_HASH}|{LONG_HASH.upper()}|was {LONG_HASH} signed",
    }),
    "an address is not Joanna's": (traps.ADDRESSES, {
        "anna": "anna.smith@example.com|Anna.Smith@Example.COM|who is anna.smith@example.com",
    }),
    "a quoted phrase is meant in order": (traps.QUOTES, {
        "phrase": "\"the quick fix\"|“the quick fix”|«The Quick Fix»|`the quick fix`"
        "|'the quick fix'|who shipped \"the quick fix\"",
    }),
    "a name is a rare word": (traps.NAMES, {
        "zephyr": "zephyr|where is Zephyr",
        "okonkwo": "Okonkwo|okonkwo printer",
    }),
    "a rare word comes before many that are near": (NEAR, {
        "cat": "Quorra|backup quorra|database quorra",
    }),
    "case and accents are folded both ways": (traps.ACCENTS, {
        "café": "cafe|CAFÉ|cafe\u0301",
        "naïve": "naive|Naïve",
        "straße": "straße|STRASSE|strasse",
        "istanbul": "istanbul|İSTANBUL|ISTANBUL",
        "résumé": "resume",
        "jalapeno": "jalapeño",
        "zurich": "Zürich",
    }),
}  # fmt: skip


@pytest.mark.parametrize(
    ("corpus", "wanted", "query"),
    [
        pytest.param(corpus, wanted, query, id=f"{promise}: {query}")
        for promise, (corpus, answers) in FIRST.items()
        for wanted, queries in answers.items()
        for query in queries.split("|")
    ],
)
def test_the_exact_thing_comes_first(ask: Ask, corpus: Corpus, wanted: str, query: str) -> None:
    check_first(ask(corpus, query), wanted)


@pytest.mark.parametrize(
    ("corpus", "wanted", "query", "within"),
    [
        (traps.IDENTIFIERS, "service", "file sync service", 2),  # another holds them all
        (traps.NAMES, "okonkwo", "what did Okonkwo say about the printer", 3),
    ],
)
def test_words_that_others_hold_too_find_it_among_the_first(
    ask: Ask, corpus: Corpus, wanted: str, query: str, within: int
) -> None:
    check_first(ask(corpus, query), wanted, within)


@pytest.mark.parametrize(
    "query",
    [
        "how is the database backed up at night to Quorra",
        "which disk is the billing database copied to after midnight by Quorra",
    ],
)
def test_a_rare_term_in_a_long_question_keeps_a_place(ask: Ask, query: str) -> None:
    """Only the list of exact terms has the cat; the pool is full."""
    response = ask(NEAR, query)
    check_first(response, "cat", within=10)
    assert response.counts["exact"] == 1
    assert response.counts["pool"] == 31  # the best thirty, and the cat
    assert "cat" in ids(ask(NEAR, query, limit=300))


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


# Scripts and typing errors


@pytest.mark.parametrize("language", ["chinese", "japanese", "korean", "thai"])
def test_any_piece_of_a_sentence_without_spaces_finds_it(ask: Ask, language: str) -> None:
    """First of all where no other memory holds the piece; among the results in any case. A piece
    has two characters or more, and a Korean one may have a blank within."""
    text = traps.SCRIPTS[language]
    places = range(len(text) + 1)
    every = [text[start:stop] for start in places for stop in places if stop - start >= 2]
    wrong = {}
    for piece in every:
        if piece == piece.strip():
            found = ids(ask(traps.SCRIPTS, piece))
            alone = sum(piece in text for text in traps.SCRIPTS.values()) == 1
            if language not in (found[:1] if alone else found):
                wrong[piece] = found[:3]
    assert wrong == {}


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
    """They may be apart in the memory, and in another order."""
    response = ask(traps.SCRIPTS, query)
    check_first(response, wanted)
    [exact] = parts_named(response.results[0], "exact")
    assert exact.raw == 1.0, explain(response, 1)


@pytest.mark.parametrize(
    ("meant", "typed"),
    [
        ("retention", "retntion"),  # a letter too few
        ("retention", "rettention"),  # one too many
        ("retention", "retension"),  # a wrong one
        ("retention", "retnetion"),  # two swapped
        ("retention", "etention"),  # the first letter, in each way
        ("retention", "rretention"),
        ("retention", "tetention"),
        ("retention", "ertention"),
        ("kubernetes", "kuberntes"),
        ("plumber", "plubmer"),
    ],
)
def test_a_typing_error_is_corrected_and_said(ask: Ask, meant: str, typed: str) -> None:
    """The memories have the ids of these words."""
    for query in (typed, f"what about {typed} here"):
        response = ask(traps.SLIPS, query)
        check_first(response, meant)
        [note] = response.notes
        assert note == f"No memory holds {typed!r}: searched for {meant} as well."


def test_a_word_that_a_memory_holds_is_taken_as_typed(ask: Ask) -> None:
    """`anchro` is in the old manual, misspelt; the memory with two anchors cannot outrank it."""
    for query in ("anchro", "the anchro of the boat"):
        response = ask(traps.SLIPS, query)
        check_first(response, "typed")
        assert response.notes == ()


@pytest.mark.parametrize("query", ["wlal", "bal", "walk", "logz"])
def test_a_short_word_is_not_corrected(ask: Ask, query: str) -> None:
    response = ask(traps.SLIPS, query)
    assert response.notes == ()
    assert response.counts["keyword"] == 0


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
def test_a_later_decision_does_not_replace_the_one_of_the_time_in_the_query(
    ask: Ask, said: str, wanted: set[str]
) -> None:
    """Each decision replaces the one before; a question about January wants January's."""
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
def test_five_that_say_the_same_take_one_place_and_other_facts_their_own(
    ask: Ask, query: str
) -> None:
    response = ask(TWINS, query, limit=50)
    found = {result.id: result for result in response}
    family = {"first", "shouted", "newest", "longer", "fillers"}
    others = {"number", "hour", "name", "not"}
    assert (family | others) & set(found) == {"newest", *others}, explain(response)
    assert not any(found[id].same for id in others)
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
    # A memory shown as the same is not shown again as an older one.
    replaced = {one.id for result in response for one in result.seems_to_replace}
    assert replaced <= set(found)


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
def test_a_newer_statement_is_above_the_older(ask: Ask, query: str) -> None:
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


# The reranker


class WithReranker:
    """The bundled embedder and a planned reranker."""

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
    """Search the login notes, with changes such as the `weight` of the reranker."""
    changed = {f"stages.rerank.{name}": value for name, value in changes.items()}
    with make_vault(folder, LOGIN, WithReranker(models, reranker, budget)) as memory:
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


def test_the_reranker_moves_results_and_does_not_order_them(
    models: ActiveModels, unread: Response, tmp_path: Path
) -> None:
    """`weight · (clip(logit, floor, bound) − floor)`: 1 has the logit 10, 0 the floor, 0.5 has 0.
    Candidates too far away to be exchanged are not read, and count as the worst that is. The
    reranker puts the best answer last of those it reads; it stays above the others."""
    says = dict.fromkeys(LOGIN.values(), 0.5) | {LOGIN["fair"]: 1.0, LOGIN["best"]: 0.0}
    weight = 0.1
    response = search_with(tmp_path, models, PlannedReranker(says), QUESTION, weight=weight)
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
    reads = PlannedReranker({})
    response = search_with(tmp_path, models, reads, "login page")
    assert reads.read == []
    assert response.degraded == ()
    assert response.counts["reranked"] == 0


@pytest.mark.parametrize(("reads", "budget_ms"), [(0, 1), (4, 300)])
def test_what_the_deadline_leaves_unread_keeps_the_order_of_fusion(
    models: ActiveModels,
    unread: Response,
    tmp_path: Path,
    over_at: OverAt,
    reads: int,
    budget_ms: int,
) -> None:
    """With a weight of 1 the reranker could exchange any two. What was read has 0.5, a logit of 0;
    each of the others counts as the worst that was read."""
    slow = HangingReranker(reads)
    over_at(slow.stopped)
    try:
        response = search_with(tmp_path, models, slow, QUESTION, budget=budget_ms, weight=1.0)
    finally:
        slow.go_on.set()
    assert ids(response) == ids(unread)
    [entry] = response.degraded
    assert (entry.channel, entry.reason) == (
        "rerank",
        f"reranked {reads} of 12 within the deadline",
    )
    assert response.counts["reranked"] == reads
    terms = {one.id: parts_named(one, "rerank") for one in response}
    unreached = [id for id, found in terms.items() if any("not read" in one.how for one in found)]
    assert unreached == (ids(unread)[reads:] if reads else [])


# Functions: a question is answered by what one does, a name by the one that has it

RETRY = "how do we retry a failed request"
DELAY = "where is backoff_delay used again"
# By title: what it does, and how near the model finds it to the question.
FUNCTIONS = {
    "backoff": (
        0.80,
        "def backoff(call, tries=3):\n    for attempt in range(tries):\n        try:\n"
        "            return call()\n        except OSError:\n            sleep(2 ** attempt)",
    ),
    # Its comment has the words. It only writes a line.
    "handler": (
        0.65,
        "def handle(self, request):\n    # log what failed of the request; nobody may retry it\n"
        "    self.log.write(request.path, status=self.status, failed=True)\n    self.log.flush()",
    ),
    "wait": (0.60, "def wait(attempt):\n    return min(backoff_delay(attempt), LIMIT)"),
    **{
        f"getter{number}": (
            0.50 + number / 100,
            f"def get_{number}(self, key):\n    return self.rows[key].cells[{number}]",
        )
        for number in range(9)
    },
}


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    folder: Path = tmp_path_factory.mktemp("functions")
    memories = [
        {"id": title, "title": title, "text": text} for title, (_, text) in FUNCTIONS.items()
    ]
    with PlannedServer() as server:
        server.plan(RETRY, {title: cosine for title, (cosine, _) in FUNCTIONS.items()})
        server.plan(DELAY, {})
        with vault(folder, memories, settings(server)) as opened:
            yield opened


def test_the_function_that_does_it_is_next_to_a_comment_with_all_the_words(
    functions: Recollect,
) -> None:
    response = functions.search(RETRY, recipe="blend")
    assert {*ids(response)[:2]} == {"backoff", "handler"}
    for result in response:
        assert recompute(result.explain) == pytest.approx(result.score)
    found, handler = sorted(response.results[:2], key=lambda result: result.id)
    assert part(handler, "keyword").value > part(found, "keyword").value
    assert part(handler, "vector").value < part(found, "vector").value


def test_a_name_finds_its_function_before_what_is_nearer_in_meaning(functions: Recollect) -> None:
    response = functions.search(DELAY, recipe="blend")
    assert ids(response)[0] == "wait"
