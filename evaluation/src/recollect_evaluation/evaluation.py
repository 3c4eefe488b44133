"""Evaluate recipes on one data set: ask every question for quality, some again for time; and the
baselines grep, plain BM25, and vectors alone."""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from recollect.engine import Recollect
from recollect.errors import ProviderError, UserError
from recollect.fuse import Rrf
from recollect.ingest.exchange import Line
from recollect.models.active import ActiveModels
from recollect.models.base import Embedder
from recollect.models.embedding_queue import TextsRefused, embed_waiting
from recollect.query.terms import keywords
from recollect.recall.keyword import Keyword
from recollect.recall.vector import Vector
from recollect.recipes.base import Recipe
from recollect.recipes.ranges import Depth
from recollect.settings import Settings
from recollect.stages.ending import Cut, Neighbours
from recollect.types import Filter, Response
from recollect_evaluation.cache import Cache, CachedModels
from recollect_evaluation.datasets import Dataset, Question, load
from recollect_evaluation.gold import is_gold, load_gold
from recollect_evaluation.metrics import DEPTH, PerQuery, measure_run

GREP = "grep"

BM25 = Recipe(
    name="bm25",
    about="Plain BM25 of title and text, any word may match, words stemmed.",
    source="SQLite FTS5",
    view="scan",
    recall=(
        Keyword(
            index="stemmed",
            columns={"title": 1.0, "text": 1.0},
            reading="words",
            depth=Depth(per_result=1),
        ),
    ),
    fuse=Rrf(channels=("keyword",), alone="scores"),
    stages=(Neighbours(), Cut()),
)

DENSE = Recipe(
    name="dense",
    about="The cosine of the vectors alone.",
    source="the embedding model",
    view="scan",
    recall=(Vector(depth=Depth(per_result=1)),),
    fuse=Rrf(channels=("vector",), alone="scores"),
    stages=(Neighbours(), Cut()),
)

BASELINES = {recipe.name: recipe for recipe in (BM25, DENSE)}


def grep(query: str, texts: Iterable[tuple[str, str]], limit: int) -> list[str]:
    """Return the ids of the texts (id, lower-cased text) that contain most of the keywords
    literally; ties by id."""
    wanted = set(keywords(query))
    counted = ((sum(word in text for word in wanted), id) for id, text in texts)
    ranked = sorted((-count, id) for count, id in counted if count)
    return [id for _, id in ranked[:limit]]


# Takes the name of a task and its number of steps; yields a function to call with the steps done.
Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
# A median is stable with a few dozen questions.
TIMED = 50
WARM_UP = 3
# The time of a data set in which no document has one.
UNDATED = datetime(2026, 1, 1, tzinfo=UTC)


class Contestant(NamedTuple):
    """A named recipe or baseline; grep has no recipe."""

    name: str
    recipe: Recipe | None

    @property
    def uses_vectors(self) -> bool:
        """True unless it is known to need no vectors."""
        return self.recipe is not None and self.recipe is not BM25


class Answers(Struct, frozen=True):
    """Results of the quality pass: the ids for each question, and counts of missing parts."""

    returned: dict[str, list[str]]
    degraded: dict[str, int]


class Timing(Struct, frozen=True):
    """Results of the latency pass. `reached` is the share of the candidates that the reranker read
    within its budget; None without a reranker."""

    times_ms: dict[str, float]
    stages_ms: dict[str, float]
    reached: float | None

    def percentile(self, share: float) -> float:
        """Return the percentile by nearest rank, which is a measured time."""
        spent = sorted(self.times_ms.values())
        return spent[math.ceil(share * len(spent)) - 1]


class RecipeOutcome(Struct, frozen=True, kw_only=True):
    """The results of one recipe on one data set."""

    recipe: str
    fingerprint: str
    answers: Answers
    per_query: PerQuery
    timing: Timing


@contextmanager
def open_evaluation(
    source: Path | Dataset, settings: Settings, environment: Mapping[str, str], cache: Cache
) -> Iterator[Evaluation]:
    """Open a gold set over the user's own vault, or a data set (its folder, or loaded) in a
    temporary vault.

    The clock of a data set is fixed at its newest document, so that ages are the same in every run.
    """
    if isinstance(source, Path) and is_gold(source):
        with Recollect(settings=settings, environment=environment) as memory:
            # Vectors of a locked vault must not be in an unencrypted file.
            safe = Cache(None) if memory.store.database.locked else cache
            kept = CachedModels(settings, environment, safe)
            kept.vault_model = memory.models.vault_model
            with _restoring_models(memory, kept) as live:
                yield Evaluation(load_gold(source, memory), memory, live, kept)
        return
    kept = CachedModels(settings, environment, cache)
    dataset = load(source) if isinstance(source, Path) else source
    moment = _newest(dataset)
    with (
        tempfile.TemporaryDirectory(prefix="recollect-eval-") as place,
        Recollect(
            Path(place) / "vault.db",
            settings=settings,
            environment=environment,
            clock=lambda: moment,
        ) as memory,
        _restoring_models(memory, kept) as live,
    ):
        yield Evaluation(dataset, memory, live, kept)


@contextmanager
def _restoring_models(memory: Recollect, kept: ActiveModels) -> Iterator[ActiveModels]:
    """Yield the vault's own models, and restore them at the end."""
    live = memory.models
    try:
        yield live
    finally:
        memory.models = live
        kept.close()


def _newest(dataset: Dataset) -> datetime:
    """Return the time of the newest document; documents without a time get it, too."""
    fields = [document.fields for document in dataset.documents.values()]
    times = [field["updated_at"] for field in fields if "updated_at" in field]
    return max(times, default=UNDATED)


class Evaluation:
    """A vault with a data set's documents, with its live models and with cached ones."""

    def __init__(
        self, dataset: Dataset, memory: Recollect, live: ActiveModels, kept: ActiveModels
    ) -> None:
        self.dataset = dataset
        self.memory = memory
        self._live = live
        self._kept = kept
        self._grouped = dataset.grouped
        self._texts = {
            id: f"{document.fields.get('title', '')}\n{document.fields.get('text', '')}".lower()
            for id, document in dataset.documents.items()
        }
        self._groups: dict[str, list[str]] = {}
        for id, document in dataset.documents.items():
            self._groups.setdefault(document.fields.get("space", ""), []).append(id)

    def models(self) -> dict[str, str | None]:
        """Return the identity of each model, None for a missing one."""
        return self._live.identities()

    def contestants(self, names: Sequence[str]) -> tuple[list[Contestant], dict[str, str]]:
        """Return the named contestants in order, by default the settings' recipe and the baselines;
        and the reason for each baseline that is left out."""
        absent = "" if self._live.embeds() else _reason(self._live.embedder)
        if names:
            if DENSE.name in names and absent:
                raise UserError(f"dense needs an embedding model, and none is available: {absent}.")
            return [self._contestant(name) for name in dict.fromkeys(names)], {}
        default = self.memory.recipe()
        baselines = [GREP, *BASELINES]
        if absent:
            baselines.remove(DENSE.name)
        chosen = [Contestant(default.name, default), *map(self._contestant, baselines)]
        return chosen, {DENSE.name: absent} if absent else {}

    def _contestant(self, name: str) -> Contestant:
        if name == GREP:
            return Contestant(GREP, None)
        if name in BASELINES:
            return Contestant(name, BASELINES[name])
        try:
            return Contestant(name, self.memory.recipe(name))
        except UserError as error:
            baselines = ", ".join((GREP, *BASELINES))
            raise UserError(f"{error} The baselines are: {baselines}.") from error

    def questions(self, count: int | None, seed: int) -> list[Question]:
        """Return at most `count` questions with an answer; the same ones for the same seed."""
        return _sample(self.dataset.scored, count, seed)

    def prepare(self, progress: Progress, *, vectors: bool) -> dict[str, int]:
        """Save the documents in order, embed them if `vectors` is set, and return the problems. The
        vault of a gold set is not changed."""
        documents = self.dataset.documents.values()
        if self.dataset.in_vault:
            return {}
        self.memory.models = self._kept
        with progress("Saving", len(documents)) as advance:
            self.memory.import_lines(
                (Line(number, document, "", 1) for number, document in enumerate(documents, 1)),
                progress=advance,
            )
        if not vectors or not self._kept.embeds():
            return {}
        with progress("Embedding", len(documents)) as advance:
            try:
                embed_waiting(self.memory.store.vectors, self._kept.embedder(), progress=advance)
            except TextsRefused as error:
                return {str(error): error.count}
        return {}

    def quality(
        self, contestant: Contestant, asked: Sequence[Question], progress: Progress
    ) -> Answers:
        """Ask every question. The models have no deadline, and their outputs are cached."""
        self.memory.models = self._kept
        returned: dict[str, list[str]] = {}
        degraded: Counter[str] = Counter()
        with progress(contestant.name, len(asked)) as advance:
            for question in asked:
                ids, response, refusal = self._ask(contestant, question)
                returned[question.id] = ids
                if refusal:
                    degraded[f"refused: {refusal}"] += 1
                if response is not None:
                    degraded.update(f"{part.channel}: {part.reason}" for part in response.degraded)
                advance(1)
        return Answers(returned, dict(degraded))

    def response(self, recipe: Recipe, question: Question, filter: Filter) -> Response:
        """Ask one question as in the quality pass, with `filter` instead of the question's own."""
        self.memory.models = self._kept
        return self.memory.run_recipe(
            recipe, question.text, limit=DEPTH, filter=filter, now=question.asked_at
        )

    def latency(
        self, contestant: Contestant, asked: Sequence[Question], seed: int, progress: Progress
    ) -> Timing:
        """Ask a sample of questions with the live models, one after the other, without cache."""
        self.memory.models = self._live
        timed = _sample(asked, TIMED, seed)
        chosen = {question.id for question in timed}
        others = [question for question in asked if question.id not in chosen]
        times: dict[str, float] = {}
        stages: Counter[str] = Counter()
        reached = candidates = 0
        for question in [*others, *timed][:WARM_UP]:
            self._ask(contestant, question)
        with progress(f"{contestant.name}, timed", len(timed)) as advance:
            for question in timed:
                start = time.perf_counter()
                _, response, _ = self._ask(contestant, question)
                times[question.id] = (time.perf_counter() - start) * 1000
                if response is not None:
                    stages.update(response.timings_ms)
                    read, offered = _count_reranked(response)
                    reached, candidates = reached + read, candidates + offered
                advance(1)
        return Timing(
            times,
            {stage: round(spent / len(timed), 3) for stage, spent in stages.items()},
            reached / candidates if candidates else None,
        )

    def measure(
        self, contestants: Sequence[Contestant], asked: Sequence[Question], seed: int,
        progress: Progress,
    ) -> list[RecipeOutcome]:  # fmt: skip
        """Run the quality pass of all contestants, then the latency pass of all."""
        answers = [self.quality(one, asked, progress) for one in contestants]
        timings = [self.latency(one, asked, seed, progress) for one in contestants]
        return [self.outcome(*each) for each in zip(contestants, answers, timings, strict=True)]

    def outcome(self, contestant: Contestant, answers: Answers, timing: Timing) -> RecipeOutcome:
        recipe = contestant.recipe
        return RecipeOutcome(
            recipe=contestant.name,
            fingerprint="" if recipe is None else recipe.fingerprint,
            answers=answers,
            per_query=measure_run(answers.returned, self.dataset.grades),
            timing=timing,
        )

    def _ask(
        self, contestant: Contestant, question: Question
    ) -> tuple[list[str], Response | None, str]:
        """Return the ids, a recipe's whole response, and the reason if it refused."""
        if contestant.recipe is None:
            return self._grep(question), None, ""
        try:
            response = self.memory.run_recipe(
                contestant.recipe,
                question.text,
                limit=DEPTH,
                filter=self.filter(question),
                now=question.asked_at,
            )
        except UserError as error:  # the recipe needs more than this question has
            return [], None, str(error)
        return _ids(response)[:DEPTH], response, ""

    def filter(self, question: Question) -> Filter:
        """Return the filter of a question: its group and its candidates."""
        candidates = self.dataset.candidates
        return Filter(
            space=(question.group or None) if self._grouped else None,
            among=None if candidates is None else candidates[question.id],
        )

    def _grep(self, question: Question) -> list[str]:
        filter = self.filter(question)
        ids: Sequence[str] = list(self._texts) if filter.among is None else filter.among
        if filter.space is not None:
            within = self._groups.get(filter.space, [])
            ids = within if filter.among is None else sorted({*within} & {*ids})
        return grep(question.text, ((id, self._texts[id]) for id in ids), DEPTH)


def _ids(response: Response) -> list[str]:
    """Return the ids, best first; near duplicates follow the result they belong to."""
    return [id for hit in response for id in (hit.id, *(memory.id for memory in hit.same))]


def _sample(questions: Sequence[Question], count: int | None, seed: int) -> list[Question]:
    """Return at most `count` questions, in their order; the same for the same seed."""
    if count is None or count >= len(questions):
        return list(questions)
    places = random.Random(seed).sample(range(len(questions)), count)
    return [questions[place] for place in sorted(places)]


def _count_reranked(response: Response) -> tuple[int, int]:
    """Return the numbers of candidates that the reranker read and was given."""
    for part in response.degraded:
        if part.reach:
            return part.reach.read, part.reach.candidates
    read = response.counts["reranked"]
    assert isinstance(read, int)
    return read, read


def _reason(model: Callable[[], Embedder]) -> str:
    """Return the reason why there is no such model."""
    try:
        model()
    except ProviderError as error:
        return str(error).rstrip(".")
    return ""
