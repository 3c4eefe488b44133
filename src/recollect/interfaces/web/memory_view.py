"""A memory as a page or a preview shows it: its texts as HTML, its place in a file, its links."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

from recollect.engine import Recollect
from recollect.engine.reading import FilePassages
from recollect.interfaces.web import editing
from recollect.interfaces.web.memory_text import Texts, heading
from recollect.settings import EDITORS, Editor
from recollect.types import NO_CHAIN, Chain, FilePlace, Memory
from recollect.vaults.known import HOME, FoundMemory

FOLDED = 600  # characters of details that are shown without unfolding


class MemoryView(NamedTuple):
    """`vault`: the other vault that holds it; empty for one's own. `fields`: the label and name of
    each text besides the main one. `file`: its surroundings, where it is a passage of a file.
    `editor`: the link that opens the file in an editor."""

    memory: Memory
    vault: str
    title: str
    texts: Texts
    fields: Sequence[tuple[str, str]]
    folded: bool
    chain: Chain
    file: FilePassages | None
    editor: str


def view_of(engine: Recollect, found: FoundMemory, *, past: bool = False) -> MemoryView:
    """Everything that is shown of a memory; of one from the past, nothing around it."""
    memory, own = found.memory, found.vault == HOME
    file = engine.in_file(memory) if own and not past else None
    fields = [
        (editing.FIELDS[name].label, name)
        for name in ("context", "why", "impact")
        if getattr(memory, name).strip() and not (file and name == "context")
    ]
    return MemoryView(
        memory,
        "" if own else found.vault,
        heading(memory),
        Texts(memory, partial(engine.mentioned, beside=memory.path)),
        fields,
        len(memory.details) > FOLDED,
        NO_CHAIN if past else found.chain,
        file,
        editor_link(engine.settings.serve.editor, file.place) if file else "",
    )


def editor_link(editor: Editor, place: FilePlace) -> str:
    """The address by which the editor opens that line; empty where none is chosen."""
    form = EDITORS[editor]
    return form.format(path=quote(place.path), line=place.first_line) if form else ""
