"""A write that adds many memories: their words become a segment at once, and never pass through the
buffer. It is part of the write: what is durable is found, and what is undone leaves nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from recollect.store.prepared import PreparedMemories
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.subwords import SubwordsChange
from recollect.store.sqlite.vault_files import SET
from recollect.store.sqlite.vocabulary import VocabularyChange
from recollect.types import Memory

if TYPE_CHECKING:
    from recollect.store.sqlite.segments.writer import StagedSegment

BULK = "bulk"  # in `meta` while the triggers leave new memories out of the buffer
TRIGGERS = apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER
# What the trigger `memories_insert` does for each memory, for all from a key on.
COUNT = "UPDATE corpus SET documents = documents + ?"
WAIT = "INSERT INTO waiting SELECT o.key, m.key FROM models o JOIN memories m WHERE m.key >= ?"


class AddedMemories:
    """The memories that a write has added and not indexed yet, by key. Without `bulk` each is
    indexed as it comes. With it triggers are off until something else than an addition comes, and
    what they do for each memory is done for all at once; whoever ends the write turns them on."""

    def __init__(
        self,
        connection: apsw.Connection,
        vocabulary: VocabularyChange,
        in_parts: SubwordsChange,
        *,
        bulk: bool,
        staged: StagedSegment | None,
    ) -> None:
        self._connection = connection
        self._vocabulary = vocabulary
        self._subwords = in_parts
        self._bulk = bulk
        self._staged = staged
        self._waiting: dict[int, Memory] = {}
        self.in_segments = False  # whether it has made any
        self._triggers = not bulk
        self._untriggered: list[int] = []  # what was added without them
        if bulk:
            connection.execute(SET, (BULK, ""))
            connection.config(TRIGGERS, 0)

    def add(self, key: int, memory: Memory) -> None:
        if self._bulk:
            self._waiting[key] = memory
            if not self._triggers:
                self._untriggered.append(key)
        else:
            self.now_live(key, memory)

    def turn_triggers_on(self) -> None:
        """From now on: to turn them off again would take longer than they do."""
        if not self._triggers:
            self._triggers = True
            self._connection.config(TRIGGERS, 1)
            self._count()

    def _count(self) -> None:
        """Do what the triggers would have done for what was added without them."""
        if self._untriggered:
            self._connection.execute(COUNT, (len(self._untriggered),))
            self._connection.execute(WAIT, (self._untriggered[0],))
            self._untriggered.clear()

    def now_live(self, key: int, memory: Memory) -> None:
        """Index what is derived in Python; the triggers do the rest."""
        self._vocabulary.add(memory)
        self._subwords.add(key, memory)

    def settle(self, key: int) -> None:
        """Let a memory that is about to be changed no longer wait: that indexes it."""
        self.turn_triggers_on()
        if key in self._waiting:
            self.now_live(key, self._waiting.pop(key))

    def index(self, prepared: PreparedMemories | None = None) -> None:
        """Index all that wait. What was `prepared` is used if it is of these memories."""
        keys, memories = [*self._waiting], [*self._waiting.values()]
        self._waiting.clear()
        # Of what is prepared, more is to come.
        if len(keys) < (buffer.MOST if prepared else buffer.limit(self._connection)):
            buffer.fill_words(self._connection, keys)
            for key, memory in zip(keys, memories, strict=True):
                self.now_live(key, memory)
            return
        from recollect.store.sqlite.segments import packing, writer  # noqa: PLC0415  start-up time

        if prepared is not None and prepared.ids == [memory.id for memory in memories]:
            self._write(prepared, keys)
            return
        for start in range(0, len(keys), writer.AT_ONCE):
            some = slice(start, start + writer.AT_ONCE)
            self._write(packing.prepared(map(packing.fields_of, memories[some])), keys[some])

    def _write(self, prepared: PreparedMemories, keys: Sequence[int]) -> None:
        from recollect.store.sqlite.segments.writer import write  # noqa: PLC0415  start-up time

        write(self._connection, prepared.indexes, keys, self._staged)
        self._vocabulary.add_counts(prepared.vocabulary)
        self.in_segments = True

    def finish(self) -> None:
        """Index all that wait; from now on the triggers do so."""
        if self._bulk:
            self.index()
            self.turn_triggers_on()
            self._connection.execute("DELETE FROM meta WHERE key = ?", (BULK,))
