"""The bodies of requests and replies as types, which check requests and make OpenAPI."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field
from msgspec.structs import fields

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.saving import SimilarReason
from recollect.interfaces.http.parameters import (
    AsOf,
    Constants,
    FilterParameters,
    PastFilterParameters,
)
from recollect.interfaces.requests import FieldText, LongText, Query
from recollect.interfaces.signatures import MOST_NAMES, Text, json_struct, parameters_of
from recollect.recipes.show import WeightJson
from recollect.store.base import WriteOutcome
from recollect.types import Memory

MOST_SAVED = 1000
More = Annotated[int, Meta(description="How many there are beyond the limit.")]
MOST_CHANGED = 10_000

Id = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^\S+$")]
Tags = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(max_length=MOST_NAMES)]
Time = Annotated[str, Meta(description="ISO 8601; without a zone it is UTC.")]


NEW_MEMORY: Any = json_struct(
    "NEW_MEMORY",
    (each._replace(default=None) for name, each in parameters_of(Memory).items()
     if name not in ("id", "tags", "kind")),
    text=FieldText,
)  # fmt: skip


class NewMemory(NEW_MEMORY):  # type: ignore[misc]
    """A memory to keep. Only `title` or `text` is required; null counts as not given."""

    id: Id | None = None
    tags: Tags | None = None
    kind: Annotated[FieldText, Meta(min_length=1)] | None = None
    supersedes: (
        Annotated[tuple[Id, ...], Meta(max_length=MOST_NAMES, description="Whose place it takes.")]
        | None
    ) = None


MADE = ("created_at", "updated_at")
NewMemories = Annotated[list[NewMemory], Meta(min_length=1, max_length=MOST_SAVED)]


_CHANGES: Any = defstruct(
    "_CHANGES",
    [
        # When it was made and changed has no default to go back to.
        (each.name, (Time if each.name in MADE else each.type) | UnsetType, UNSET)
        for each in fields(NewMemory)
        if each.name not in ("id", "supersedes")
    ],
    forbid_unknown_fields=True,
    omit_defaults=True,
)


class MemoryChange(_CHANGES):  # type: ignore[misc]
    """What is to change; null puts a field back to its default, what is not named stays. `append`
    adds a paragraph to the text. `section`: the heading below which `text` is put."""

    add_tags: Tags | UnsetType = UNSET
    remove_tags: Tags | UnsetType = UNSET
    append: LongText | UnsetType = UNSET
    section: FieldText | UnsetType = UNSET


def fields_of(body: Struct) -> dict[str, Any]:
    """The fields that were given."""
    pairs = ((name, getattr(body, name)) for name in body.__struct_fields__)
    return {name: value for name, value in pairs if value is not UNSET}


class SimilarJson(Struct):
    """A memory that was there before, and in what the saved one is similar to it."""

    id: str
    title: str
    why: SimilarReason


class SaveOutcome(Struct):
    """What became of one memory. `repeated`: a memory of its project says the same; that one was
    updated. `redacted`: how many secrets of each kind were replaced, if any. `similar`: what it is
    similar to, if anything, where one memory is saved. `superseded`: the ids of those whose place
    it took, if any."""

    id: str
    outcome: WriteOutcome
    repeated: bool
    redacted: dict[str, int] | UnsetType = UNSET
    similar: list[SimilarJson] | UnsetType = UNSET
    superseded: list[str] | UnsetType = UNSET


class BrowseParameters(PastFilterParameters):
    """What to browse."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    cursor: Annotated[str, Meta(max_length=2000)] | None = None


class MemoryPage(Struct):
    """One page. `next` is the cursor of the next page, null on the last. `notes`: where there is
    nothing, which of the filters' values no memory has, and which may be meant."""

    memories: list[Memory]
    next: str | None
    notes: list[str]


class ShowParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to look."""

    federate: Annotated[bool, Meta(description="Also in the other vaults that are known.")] = True
    as_of: AsOf | None = None


class ForgetParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to forget."""

    purge: Annotated[bool, Meta(description="For good: it cannot be brought back.")] = False


class Selected(FilterParameters):
    """Which memories: these ids, or all that pass the filters and hold every word of `query`. With
    `dry_run` they are only named."""

    ids: Annotated[tuple[Id, ...], Meta(max_length=MOST_CHANGED)] = ()
    query: Query = ""
    dry_run: bool = False

    def chosen(self, engine: Recollect, *, forgotten: bool = False) -> list[str]:
        """The ids of the memories that are meant, each once; `forgotten`: in the trash."""
        filter = self.filter(engine)
        if not self.ids:
            select = engine.selected_in_trash if forgotten else engine.selected
            return select(query=self.query, filter=filter)
        if self.query or filter.narrows():
            raise UserError("Give ids, or filters and a query; not both.")
        return list(dict.fromkeys(engine.completed_ids(self.ids, forgotten=forgotten)))


class SelectedChange(Selected, kw_only=True):  # type: ignore[call-arg]
    """What is to change in which memories. `keep_age`: `updated_at` stays as it is, for a change of
    where they belong."""

    change: MemoryChange
    keep_age: bool = False


class SelectedIds(Struct):
    """The memories that were meant; with `dry_run` they are as before."""

    ids: list[str]
    dry_run: bool


class TrashParameters(FilterParameters):
    """What to list of the trash, or to look for in it."""

    query: Query = ""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50


class TrashedJson(Struct):
    """A forgotten memory: when, why, and who did it, through which interface and program."""

    memory: Memory
    forgotten_at: Time
    why: str
    user: str
    interface: str
    client: str


class TrashJson(Struct):
    """What was forgotten."""

    trash: list[TrashedJson]
    more: More


class FeedbackBody(Struct, forbid_unknown_fields=True):
    """Whether a result was right for a query; with `undo`, what was said is taken back. `recipe`:
    the one whose weights are answered."""

    query: Annotated[Query, Meta(min_length=1)]
    id: Id
    accepted: bool | None = None
    undo: bool = False
    recipe: Text | None = None


class FeedbackCounts(Struct):
    """All feedback so far, and the weights of a recipe that learns from it."""

    accepted: int
    dismissed: int
    weights: dict[str, WeightJson]


class NewRecipe(Struct, forbid_unknown_fields=True):
    """A recipe of your own: another recipe with some constants changed."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    extends: Text
    set: Constants = field(default_factory=dict)
    replace: bool = False


class Health(Struct):
    """How the server is. `dependencies`: what it needs, and "ok" or what is wrong with it."""

    status: str
    version: str
    reason: str | UnsetType = UNSET
    dependencies: dict[str, str] | UnsetType = UNSET
