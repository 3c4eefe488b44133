"""One data set's evaluation: every question is asked for quality, some again for time."""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from recollect.engine import Recollect
from recollect.errors import ProviderError, UserError
from recollect.ingest.exchange import Line
from recollect.models.active import ActiveModels
from recollect.models.base import Embedder
from recollect.models.embedding_queue import TextsRefused, embed_waiting
from recollect.recipes.base import Recipe
from recollect.settings import Settings
from recollect.types import Filter, Response
from recollect_evaluation.baselines import BASELINES, BM25, DENSE, GREP, grep
from recollect_evaluation.cache import Cache, CachedModels
from recollect_evaluation.datasets import Dataset, Question, load
from recollect_evaluation.gold import is_gold, load_gold
from recollect_evaluation.metrics import DEPTH, PerQuery, measured

# Takes the name of a task and its number of steps; gives a function to call with the steps done.
Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
# A median settles with a few dozen questions; more would only take time.
TIMED = 50
WARM_UP = 3
# The time of a data set in which no document has one.
UNDATED = datetime(2026, 1, 1, tzinfo=UTC)


class Contestant(NamedTuple):
    """The name and the recipe of what is evaluated; grep has no recipe."""

    name: str
    recipe: Recipe | None

    @property
    def uses_vectors(self) -> bool:
        """True unless it is known to need none."""
        return self.recipe is not None and self.recipe is not BM25


class Answers(Struct, frozen=True):
    """The quality pass: the ids for each question, and how often which part was missing."""

    returned: dict[str, list[str]]
    degraded: dict[str, int]


class Timing(Struct, frozen=True):
    """The latency pass. `reached` is the share of the candidates that the reranker read within its
    budget; None without a reranker."""

    times_ms: dict[str, float]
    stages_ms: dict[str, float]
    reached: float | None

    def percentile(self, share: float) -> float:
        """The percentile by nearest rank: a time that was measured."""
        spent = sorted(self.times_ms.values())
        return spent[math.ceil(share * len(spent)) - 1]


class RecipeOutcome(Struct, frozen=True, kw_only=True):
    """One recipe on one data set."""

    recipe: str
    fingerprint: str
    answers: Answers
    per_query: PerQuery
    timing: Timing


@contextmanager
def opened(
    source: Path | Dataset, settings: Settings, environment: Mapping[str, str], cache: Cache
) -> Iterator[Evaluation]:
    """Open a gold set over the user's own vault, or a data set in a temporary vault, by its folder
    or as it was loaded.

    The clock of a data set stands still at its newest document, so that ages are the same in every
    run.
    """
    if isinstance(source, Path) and is_gold(source):
        with Recollect(settings=settings, environment=environment) as memory:
            # Vectors of a locked vault must not be in an unencrypted file.
            safe = Cache(None) if memory.store.database.locked else cache
            kept = CachedModels(settings, environment, safe)
            kept.vault_model = memory.models.vault_model
            with _swapped(memory, kept) as live:
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
        _swapped(memory, kept) as live,
    ):
        yield Evaluation(dataset, memory, live, kept)


@contextmanager
def _swapped(memory: Recollect, kept: ActiveModels) -> Iterator[ActiveModels]:
    """The vault's own models; at the end the vault gets them back."""
    live = memory.models
    try:
        yield live
    finally:
        memory.models = live
        kept.close()


def _newest(dataset: Dataset) -> datetime:
    """The time of the newest document; documents without a time are saved with it."""
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
        """The identity of each model; None where there is none."""
        return self._live.identities()

    def contestants(self, names: Sequence[str]) -> tuple[list[Contestant], dict[str, str]]:
        """The named contestants in order, or the default recipe and the baselines; and for each
        baseline that is left out the reason."""
        absent = "" if self._live.embeds() else _reason(self._live.embedder)
        if names:
            if DENSE.name in names and absent:
                raise UserError(f"dense needs an embedding model, and there is none: {absent}.")
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
        """The questions that have an answer, at most `count`; the same ones for the same seed."""
        return _sample(self.dataset.scored, count, seed)

    def prepare(self, progress: Progress, *, vectors: bool) -> dict[str, int]:
        """Save the documents in order, embed them where vectors are asked for, and return the
        problems. The vault of a gold set is used as it is."""
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
        """Ask every question. The models have no deadline, and their output is cached."""
        self.memory.models = self._kept
        returned: dict[str, list[str]] = {}
        degraded: Counter[str] = Counter()
        with progress(contestant.name, len(asked)) as advance:
            for question in asked:
                ids, response, refusal = self._asked(contestant, question)
                returned[question.id] = ids
                if refusal:
                    degraded[f"refused: {refusal}"] += 1
                if response is not None:
                    degraded.update(f"{part.channel}: {part.reason}" for part in response.degraded)
                advance(1)
        return Answers(returned, dict(degraded))

    def response(self, recipe: Recipe, question: Question, filter: Filter) -> Response:
        """One response as in the quality pass, with `filter` instead of the question's own."""
        self.memory.models = self._kept
        return self.memory.run_recipe(
            recipe, question.text, limit=DEPTH, filter=filter, now=question.asked_at
        )

    def latency(
        self, contestant: Contestant, asked: Sequence[Question], seed: int, progress: Progress
    ) -> Timing:
        """Ask some of the questions with the live models, one after the other, without cache."""
        self.memory.models = self._live
        timed = _sample(asked, TIMED, seed)
        chosen = {question.id for question in timed}
        others = [question for question in asked if question.id not in chosen]
        times: dict[str, float] = {}
        stages: Counter[str] = Counter()
        reached = candidates = 0
        for question in [*others, *timed][:WARM_UP]:
            self._asked(contestant, question)
        with progress(f"{contestant.name}, timed", len(timed)) as advance:
            for question in timed:
                start = time.perf_counter()
                _, response, _ = self._asked(contestant, question)
                times[question.id] = (time.perf_counter() - start) * 1000
                if response is not None:
                    stages.update(response.timings_ms)
                    read, offered = _reached(response)
                    reached, candidates = reached + read, candidates + offered
                advance(1)
        return Timing(
            times,
            {stage: round(spent / len(timed), 3) for stage, spent in stages.items()},
            reached / candidates if candidates else None,
        )

    def outcome(self, contestant: Contestant, answers: Answers, timing: Timing) -> RecipeOutcome:
        recipe = contestant.recipe
        return RecipeOutcome(
            recipe=contestant.name,
            fingerprint="" if recipe is None else recipe.fingerprint,
            answers=answers,
            per_query=measured(answers.returned, self.dataset.grades),
            timing=timing,
        )

    def _asked(
        self, contestant: Contestant, question: Question
    ) -> tuple[list[str], Response | None, str]:
        """The returned ids, a recipe's whole response, and the reason where it refused."""
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
        except UserError as error:  # it asks for more than this question has
            return [], None, str(error)
        return _ids(response)[:DEPTH], response, ""

    def filter(self, question: Question) -> Filter:
        """The filter of a question: its group and its candidates."""
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
    """The returned ids, best first; near duplicates stand behind the result they belong to."""
    return [id for hit in response for id in (hit.id, *(memory.id for memory in hit.same))]


def _sample(questions: Sequence[Question], count: int | None, seed: int) -> list[Question]:
    """At most `count` questions, in their order; the same for the same seed."""
    if count is None or count >= len(questions):
        return list(questions)
    places = random.Random(seed).sample(range(len(questions)), count)
    return [questions[place] for place in sorted(places)]


def _reached(response: Response) -> tuple[int, int]:
    """How many candidates the reranker read, and how many there were."""
    for part in response.degraded:
        if part.reach:
            return part.reach.read, part.reach.candidates
    read = response.counts["reranked"]
    assert isinstance(read, int)
    return read, read


def _reason(model: Callable[[], Embedder]) -> str:
    """The reason why there is no such model."""
    try:
        model()
    except ProviderError as error:
        return str(error).rstrip(".")
    return ""
