"""Whether the embedding model can read the languages of a vault."""

from __future__ import annotations

from recollect.engine.comparison import BEGINNING, whole_text
from recollect.engine.feedback import gold_folder, judgements
from recollect.engine.session import Session
from recollect.models.english import reading
from recollect.types import Filter

# So many of the newest memories are looked at: enough to tell, and read in milliseconds.
SAMPLE = 200
# Below this share, what the model cannot read is left to the keyword indexes.
MUCH = 0.1
# nDCG@10 of questions in eleven languages over English passages (docs/models.md).
MEASURED = (
    "Of questions in another language than the memory, `multilingual` scores .85, this model .34."
)


def model_notes(session: Session) -> list[str]:
    notes = [note] if (note := language_note(session)) else []
    former = session.models.former()
    if former is not None:
        notes.append(
            f"The vault's vectors are of {former.identity}, which serves; `recollect reindex` "
            "makes those of the settings' model."
        )
    return notes


def language_note(session: Session, *, compared: bool = False) -> str | None:
    from recollect.models.folder import (  # noqa: PLC0415  start-up time
        MULTILINGUAL,
        embedding_models,
    )

    embedding = session.settings.embedding
    if embedding.provider != "builtin" or embedding.model == MULTILINGUAL:
        return None
    newest = session.store.memories.newest(Filter(), SAMPLE)
    unread = sum(reading(whole_text(memory)[:BEGINNING]) != "language" for memory in newest)
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
