"""Checking and rebuilding the vault, its indexes and vectors; its models, settings and counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec

from recollect.auth.capabilities import ADMIN, SEARCH
from recollect.engine.browsing import salvage_notes
from recollect.engine.feedback import gold_folder, judgements
from recollect.engine.operations import operation
from recollect.engine.searching import prepare_search, search_vault
from recollect.engine.session import Session
from recollect.errors import ProviderError, RecollectError, StoreError
from recollect.models.active import ActiveModels, measure_models
from recollect.models.base import Tokenwise
from recollect.models.embedding_queue import (
    TextsRefused,
    embed_again,
    embed_queries,
    embed_waiting,
    every_embedded,
)
from recollect.models.english import beginning, readable_part
from recollect.models.folder import MULTILINGUAL, embedding_models
from recollect.present.sentences import counted
from recollect.recipes.related import RELATED
from recollect.settings import CollectionSettings
from recollect.settings_reading import sources, variable_of
from recollect.store.base import Coverage
from recollect.store.vault import Finding
from recollect.types import Filter
from recollect.vaults.keys import derive_key
from recollect.vaults.known import KnownVault, known_vaults

# The checks that find damage; others find derived data that is out of date.
DAMAGE = ("file", "memories")
WARMING_WORDS = "warming up"
PASSWORD = re.compile(r"(?<=://)[^/@\s]*(?=@)|(?<=password=)[^&\s\"]++")
SAMPLE = 200  # newest memories that are read, in milliseconds, to tell the languages of a vault
MUCH = 0.1  # for a smaller share of memories in other languages, keyword search is enough
# nDCG@10 of questions in eleven languages over English passages (docs/how-to/choose-a-model.md).
MEASURED = "Of questions in another language, `multilingual` scores .85, the English model .34."


@operation(ADMIN)
def reindex(
    session: Session,
    *,
    everything: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Rebuild the keyword indexes and make missing vectors, as `switch_model` does; return the
    number of vectors made. `everything`: make all vectors again, instead of only those without
    tokens."""
    session.store.rebuild()
    session.wrote("reindex")
    if not session.models.embeds():
        return 0
    chosen, vectors = session.models.configured_embedder(), session.store.vectors
    done = embed_again(vectors, chosen, everything=everything, progress=progress)
    return done + switch_model(session, session.models, progress=progress)


@operation(ADMIN)
def embed_now(session: Session, progress: Callable[[int], None] = lambda done: None) -> str | None:
    """Make all missing vectors; return the reason if the model failed, or None."""
    if not session.models.embeds():
        return None
    try:
        embed_waiting(session.store.vectors, session.models.embedder(), progress=progress)
        while embed_queries(session.store.feedback, session.models.embedder()):
            pass
    except ProviderError as error:
        return str(error)
    return None


@operation(ADMIN)
def switch_model(
    session: Session,
    models: ActiveModels,
    *,
    switched: Callable[[], object] = lambda: None,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Make every missing vector of a model, and return their number. The former model's vectors
    serve until all new ones are made; then `switched` is called and they are removed. It can be
    interrupted and continued."""
    if not models.embeds():
        return 0
    embedder, vectors = models.configured_embedder(), session.store.vectors
    made = embedder.documents(["dimension"])
    vectors.begin(embedder.identity, made.shape[1])
    done, refused = 0, None
    try:
        while embed_queries(session.store.feedback, embedder):
            pass
        while new := embed_waiting(vectors, embedder, progress=progress):
            done += new
    except TextsRefused as error:
        refused = error
    switched()
    vectors.adopt(embedder.identity)
    if refused:
        raise refused
    return done


@operation(ADMIN)
def doctor(
    session: Session,
    *,
    fix: bool = False,
    quick: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Sequence[Finding]:
    """Check the memories and all derived data. `fix`: repair problems, and add findings about what
    was lost; `quick`: check a sample, without repairs; `progress`: called with the number of
    memories checked since the last call."""
    if quick:
        findings = session.store.glance()
        _note_damage(session, findings)
        return findings
    try:
        findings = session.store.examine(progress)
    except StoreError as error:
        if not fix:
            raise
        findings = [Finding("file", str(error))]
    wrong = [finding for finding in findings if finding.problem]
    if fix and wrong:
        from recollect.store.rescue.repair import mend  # noqa: PLC0415  start-up time

        store = session.sqlite_store(
            "`doctor --fix`",
            "`recollect reindex` rebuilds the indexes and vectors, and a backup restores the rest",
        )
        mended = mend(store, session.clock())
        session.wrote("mend")
        lost = salvage_notes(mended.report)
        if mended.kept is not None:
            lost.append(f"The damaged vault is kept: {mended.kept}")
        notes = [Finding("repair", None, note=each) for each in lost]
        findings = [*session.store.examine(), *notes]
    elif not _note_damage(session, findings):
        session.store.database.note_damage(None)
        notes = [Finding("model", None, note=note) for note in model_notes(session)]
        findings = [*findings, *notes]
    return [*findings, *_token_findings(session, fix=fix)]


def _token_findings(session: Session, *, fix: bool) -> list[Finding]:
    """Check the token vectors, if the vault's model makes any. `fix`: make missing or damaged ones
    again."""
    vectors = session.store.vectors
    try:
        embedder = session.models.embedder() if session.models.embeds() else None
        if not isinstance(embedder, Tokenwise) or vectors.model() != embedder.identity:
            return []
        if fix:
            embed_again(vectors, embedder, everything=False)
        missing = sum(not one.has_tokens for one in every_embedded(vectors, embedder.identity))
    except RecollectError as error:
        return [Finding("token vectors", None, note=str(error))]
    what = "their token vectors are missing or damaged; `recollect reindex` makes them"
    problem = f"{counted(missing, 'memory')}: {what}" if missing else None
    return [Finding("token vectors", problem)]


def _note_damage(session: Session, findings: Sequence[Finding]) -> bool:
    """Make a damaged vault read-only; return whether it is damaged."""
    damaged = [one.problem for one in findings if one.problem and one.check in DAMAGE]
    if damaged:
        session.store.database.note_damage(damaged[0])
    return bool(damaged)


@operation(ADMIN)
def configuration(session: Session) -> Sequence[Finding]:
    """Check the settings of a search by loading all recipes and calling each model, remote ones
    included, with one word."""
    broken = session.recipes.readable()[1]
    checks: dict[str, Callable[[], object]] = {
        "search.recipe": session.recipe,
        "context.recipe": partial(session.recipe, section="context"),
        "embedding": lambda: session.models.embedder().queries([WARMING_WORDS]),
        "rerank": lambda: session.models.reranker().scores(WARMING_WORDS, [WARMING_WORDS]),
    }
    found = [Finding("recipes", " ".join(broken.values()) or None)]
    for name, load in checks.items():
        try:
            if getattr(getattr(session.settings, name, None), "provider", "") != "none":
                load()
        except RecollectError as error:
            found.append(Finding(name, str(error)))
        else:
            found.append(Finding(name, None))
    return found


@operation(ADMIN)
def warm_up(session: Session) -> None:
    """Load the models and the vectors, so that the next search does not wait for them, and start a
    server's background embedding and merging. Errors are left to the first search. Remote models
    are not called: a call may cost money."""
    with suppress(RecollectError):
        if not session.models.embeds() or not (embedder := session.models.embedder()).local:
            pass
        elif session.store.database.at_rest:
            embedder.queries([WARMING_WORDS])  # the vault stays closed
        else:
            search = prepare_search(session, WARMING_WORDS, limit=1).search
            search_vault(session, RELATED, search)
    with suppress(RecollectError):
        if session.settings.rerank.provider != "http":
            session.models.reranker().ready()
    with suppress(RecollectError):
        if session.models.embeds() and not session.store.database.frozen:
            session.background.follow(session.store.vectors)
    with suppress(RecollectError):
        if not session.store.database.frozen and not session.store.database.at_rest:
            session.store.resume_merging()


@operation(ADMIN)
def dependencies(session: Session) -> dict[str, str | None]:
    """Return the problem of each part of the vault that a search needs, or None. A locked and idle
    vault stays closed."""
    found: dict[str, str | None] = {}
    for name, check in session.store.database.probes().items():
        try:
            check()
            found[name] = None
        except RecollectError as error:
            found[name] = str(error)
    return found


@operation(ADMIN)
def unlock(session: Session, passphrase: str) -> None:
    """Open a locked vault with its passphrase, which is not stored; raise Locked if it is wrong.
    The key is held until the idle lock, or until the process ends."""
    store = session.sqlite_store("Unlocking", "the database's own access control guards it")
    store.database.unlock(lambda header: derive_key(passphrase, header))
    session.wrote("unlock")


@operation(SEARCH)
def coverage(session: Session) -> Coverage:
    """Return how many memories there are, and how many have a vector of the active model."""
    if not session.models.embeds():
        return Coverage(0, session.store.vocabulary.documents())
    return session.store.vectors.coverage(session.models.embedder().identity)


@operation(SEARCH)
def waiting(session: Session, models: ActiveModels | None = None) -> int:
    """Return how many live memories have no vector of the configured model, or of `models`; 0
    without a model."""
    models = models or session.models
    if not models.embeds():
        return 0
    embedded, memories = session.store.vectors.coverage(models.configured_embedder().identity)
    return memories - embedded


@operation(SEARCH)
def stats(session: Session) -> dict[str, Any]:
    """Return counts of the vault, its active model, and how many memories wait for a vector."""
    model = session.models.embedder().identity if session.models.embeds() else None
    return {
        "vault": session.store.database.place,
        **session.store.counts(),
        "embedding": model or "none",
        "vectors": coverage(session).embedded,
        "waiting": waiting(session),
        "recipe": session.settings.search.recipe,
        **({"used": session.store.usage.totals()} if session.settings.usage.keep else {}),
    }


class ConfiguredSetting(NamedTuple):
    """A setting and its value as JSON, without passwords in addresses. `source`: `default`, `file`,
    or the name of the environment variable."""

    key: str
    value: str
    source: str


class KnownPlaces(NamedTuple):
    """The vaults that are searched, and the collections of your own vault."""

    vaults: list[KnownVault]
    collections: tuple[CollectionSettings, ...]


@operation(ADMIN)
def list_settings(session: Session) -> list[ConfiguredSetting]:
    """List all settings of this process."""
    found = []
    for key, source in sources(session.home, session.others.environment).items():
        section, name = key.split(".")
        value = getattr(getattr(session.settings, section), name)
        text = PASSWORD.sub("…", msgspec.json.encode(value).decode())
        found.append(
            ConfiguredSetting(key, text, variable_of(key) if source == "environment" else source)
        )
    return found


@operation(SEARCH)
def model_notes(session: Session) -> list[str]:
    """Return sentences about problems of the embedding model with this vault."""
    notes = [note] if (note := language_note(session)) else []
    former = session.models.former_embedder()
    if former is not None:
        notes.append(
            f"The vault's vectors are of {former.identity}, which serves; `recollect reindex` "
            "makes those of the settings' model."
        )
    return notes


@operation(SEARCH)
def language_note(session: Session, *, compared: bool = False) -> str | None:
    """Return what to do if much of the vault is in languages that the English model cannot read;
    None if it can, or if another model was chosen. If there are own questions, suggest comparing
    the models with them, unless `compared` says that this was done without a result."""
    embedding = session.settings.embedding
    if embedding.provider != "builtin" or embedding.model == MULTILINGUAL:
        return None
    newest = session.store.memories.newest(Filter(), SAMPLE)
    unread = sum(readable_part(beginning(memory)) != "language" for memory in newest)
    if unread < max(MUCH * len(newest), 1):
        return None
    if MULTILINGUAL not in embedding_models():
        do = (
            f"pip install 'recollect-memory[{MULTILINGUAL}]', "
            f"then `recollect models use {MULTILINGUAL}`."
        )
    elif not compared and (judgements(session) or gold_folder(session.home).exists()):
        do = "To see which model answers your own questions best: `recollect eval --own --models`."
    else:
        do = f"To switch: `recollect models use {MULTILINGUAL}`."
    return (
        f"{unread} of the {len(newest)} newest memories are in languages that the embedding model "
        f"does not read. {MEASURED} {do}"
    )


@operation(ADMIN)
def measure(session: Session) -> dict[str, float]:
    """Measure how many milliseconds it takes to load and use the active models."""
    return measure_models(session.models)


@operation(ADMIN)
def known_places(session: Session) -> KnownPlaces:
    """List the vaults that are searched, and the collections."""
    vaults = known_vaults(session.settings, session.home, session.path, None)
    return KnownPlaces(vaults, session.settings.collections)


@operation(ADMIN)
def mark(session: Session, id: str) -> str:
    """Return the name of a memory in the audit log: a hash that only this vault can make."""
    return session.mark(id)
