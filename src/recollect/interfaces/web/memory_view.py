"""A memory as a page or a preview shows it: its texts as HTML, its place in a file, its links."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

from recollect.engine import Recollect
from recollect.engine.file_places import FilePassages
from recollect.errors import NotFound
from recollect.interfaces.web import editing
from recollect.interfaces.web.memory_text import Texts, heading
from recollect.settings import EDITORS, Editor
from recollect.types import NO_CHAIN, Chain, FilePlace, Memory

FOLDED = 600  # characters of details that are shown without unfolding


class MemoryView(NamedTuple):
    """`fields`: the label and name of each text besides the main one. `file`: its surroundings,
    where it is a passage of a file. `editor`: the link that opens the file in an editor."""

    memory: Memory
    title: str
    texts: Texts
    fields: Sequence[tuple[str, str]]
    folded: bool
    chain: Chain
    file: FilePassages | None
    editor: str


def view_of(engine: Recollect, memory: Memory, *, past: bool = False) -> MemoryView:
    """Everything that is shown of a memory; of one from the past, nothing around it."""
    chain, file = NO_CHAIN, None
    if not past:
        file = engine.in_file(memory)
        try:
            chain = engine.chain(memory.id)
        except NotFound:  # it is in another vault
            file = None
    fields = [
        (editing.FIELDS[name].label, name)
        for name in ("context", "why", "impact")
        if getattr(memory, name).strip() and not (file and name == "context")
    ]
    return MemoryView(
        memory,
        heading(memory),
        Texts(memory, partial(engine.mentioned, beside=memory.path)),
        fields,
        len(memory.details) > FOLDED,
        chain,
        file,
        editor_link(engine.settings.serve.editor, file.place) if file else "",
    )


def editor_link(editor: Editor, place: FilePlace) -> str:
    """The address by which the editor opens that line; empty where none is chosen."""
    form = EDITORS[editor]
    return form.format(path=quote(place.path), line=place.first_line) if form else ""
