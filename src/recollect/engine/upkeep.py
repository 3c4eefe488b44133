"""Indexes, vectors, recipes and settings: checking, rebuilding, counting what waits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.auth.capabilities import ADMIN, SEARCH
from recollect.engine.browsing import salvage_notes
from recollect.engine.feedback import gold_folder, judgements
from recollect.engine.operations import operation
from recollect.engine.searching import in_vault, prepare_search
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
from recollect.present.words import counted
from recollect.recipes.related import RELATED
from recollect.settings import CollectionSettings
from recollect.settings_reading import sources, variable_of
from recollect.store.base import Coverage
from recollect.store.vault import Finding
from recollect.types import Filter
from recollect.vaults.keys import derive_key
from recollect.vaults.known import KnownVault, known_vaults

if TYPE_CHECKING:
    from recollect.store.rescue.repair import RepairResult

# The checks that find damage, and not only derived data that is out of date.
DAMAGE = ("file", "memories")
WARMING_WORDS = "warming up"
PASSWORD = re.compile(r"(?<=://)[^/@\s]*(?=@)|(?<=password=)[^&\s\"]++")
# So many of the newest memories are looked at: enough to tell, and read in milliseconds.
SAMPLE = 200
# Below this share, what the model cannot read is left to the keyword indexes.
MUCH = 0.1
# nDCG@10 of questions in eleven languages over English passages (docs/how-to/choose-a-model.md).
MEASURED = "Of questions in another language, `multilingual` scores .85, the English model .34."


@operation(ADMIN)
def reindex(
    session: Session,
    *,
    everything: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Rebuild the keyword indexes, then make every missing vector of the settings' model, as
    `switch_model` does. `everything` makes the vectors anew, as it does those without tokens."""
    session.store.rebuild()
    session.wrote("reindex")
    if not session.models.embeds():
        return 0
    chosen, vectors = session.models.configured_embedder(), session.store.vectors
    done = embed_again(vectors, chosen, everything=everything, progress=progress)
    return done + switch_model(session, session.models, progress=progress)


@operation(ADMIN)
def embed_now(session: Session, progress: Callable[[int], None] = lambda done: None) -> str | None:
    """Embed what has no vector yet; returns the reason when the model failed, else None."""
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
    """Make every missing vector of the model that these name, and return how many. Vectors of
    the vault's former model serve until the new ones are all there. Then `switched` is called,
    and the former ones are removed. Interrupted, it goes on where it stopped."""
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
    """Check the memories and everything that is derived from them; `fix` repairs what is wrong,
    and says what that cost in the notes of the findings. `quick` checks a sample, and repairs
    nothing. `progress` is called with the number of memories that were checked since."""
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

        store = session.in_file(
            "`doctor --fix`",
            "`recollect reindex` makes anew what is derived, and a backup brings back the rest",
        )
        mended = mend(store, session.clock())
        session.wrote("mend")
        notes = [Finding("repair", None, note=each) for each in repair_notes(mended)]
        findings = [*session.store.examine(), *notes]
    elif not _note_damage(session, findings):
        session.store.database.note_damage(None)
        notes = [Finding("model", None, note=note) for note in model_notes(session)]
        findings = [*findings, *notes]
    return [*findings, *_token_findings(session, fix=fix)]


def _token_findings(session: Session, *, fix: bool) -> list[Finding]:
    """Check the token vectors, where the vault's model makes any; `fix` makes those anew that are
    missing or damaged."""
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
    """Let nothing be written into a vault that is damaged; return whether it is."""
    damaged = [one.problem for one in findings if one.problem and one.check in DAMAGE]
    if damaged:
        session.store.database.note_damage(damaged[0])
    return bool(damaged)


def repair_notes(mended: RepairResult) -> list[str]:
    """What a repair cost, and where the damaged file is."""
    notes = salvage_notes(mended.report)
    if mended.kept is not None:
        notes.append(f"The damaged vault is kept: {mended.kept}")
    return notes


@operation(ADMIN)
def configuration(session: Session) -> Sequence[Finding]:
    """Load what a search uses by the settings: the recipes, those that are the defaults, and
    the models, which read a word each; a remote one is asked, too."""
    broken = session.recipes.readable()[1]

    def reranked() -> None:
        session.models.reranker().scores(WARMING_WORDS, [WARMING_WORDS])

    checks: dict[str, Callable[[], object]] = {
        "search.recipe": session.recipe,
        "context.recipe": partial(session.recipe, section="context"),
        "embedding": lambda: session.models.embedder().queries([WARMING_WORDS]),
        "rerank": reranked,
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
    """Load the models and the vectors, so that the next search waits for neither. From then on
    a server makes the vectors that are missing, and merges what others left. What
    cannot be loaded is reported by the first search that needs it. A remote model is not asked:
    each question may cost something."""
    with suppress(RecollectError):
        if not session.models.embeds() or not (embedder := session.models.embedder()).local:
            pass
        elif session.store.database.at_rest:
            embedder.queries([WARMING_WORDS])  # the vault stays closed until somebody asks
        else:
            search = prepare_search(session, WARMING_WORDS, limit=1).search
            in_vault(session, RELATED, search)
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
    """What is wrong with each thing that a search needs of the vault; None: nothing. To ask is
    not a use of the vault: one that is locked and idle stays closed."""
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
    """Open a locked vault with its passphrase, which is kept nowhere; Locked where it is wrong.
    The key is held until the idle lock, or until the process ends."""
    store = session.in_file("Unlocking", "the database's own access control guards it")
    store.database.unlock(lambda header: derive_key(passphrase, header))
    session.wrote("unlock")


@operation(SEARCH)
def coverage(session: Session) -> Coverage:
    """How many memories there are, and how many have a vector of the active model."""
    if not session.models.embeds():
        return Coverage(0, session.store.vocabulary.documents())
    return session.store.vectors.coverage(session.models.embedder().identity)


@operation(SEARCH)
def waiting(session: Session, models: ActiveModels | None = None) -> int:
    """How many live memories have no vector of the settings' model, or of the one that `models`
    name; 0 without a model."""
    models = models or session.models
    if not models.embeds():
        return 0
    embedded, memories = session.store.vectors.coverage(models.configured_embedder().identity)
    return memories - embedded


@operation(SEARCH)
def stats(session: Session) -> dict[str, Any]:
    """What the vault holds, which models are active, and how many vectors wait."""
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
    """A setting: its value as JSON, a password in an address left out, and where that comes from:
    `default`, `file`, or the name of the environment variable."""

    key: str
    value: str
    source: str


class KnownPlaces(NamedTuple):
    """The vaults that are searched, and the collections behind one's own."""

    vaults: list[KnownVault]
    collections: tuple[CollectionSettings, ...]


@operation(ADMIN)
def configured(session: Session) -> list[ConfiguredSetting]:
    """Every setting as this process has it."""
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
    """What a user should know of the embedding model and this vault; nothing where all is
    well."""
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
    """What to do where much of a vault is in languages that the English model cannot read; None
    where it can, or where another model was chosen. Questions of one's own decide where there
    are some, unless they were asked (`compared`) and could not."""
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
    """How many milliseconds it takes here to load and use the active models."""
    return measure_models(session.models)


@operation(ADMIN)
def known_places(session: Session) -> KnownPlaces:
    """Where memories are searched for."""
    vaults = known_vaults(session.settings, session.home, session.path, None)
    return KnownPlaces(vaults, session.settings.collections)


@operation(ADMIN)
def mark(session: Session, id: str) -> str:
    """The name of a memory in the audit log: a hash that only this vault can make."""
    return session.mark(id)
