"""A vault as a folder of Markdown files, kept equal in both directions.

`mirror.state` decides; here both sides are looked at, and what was decided is done. Wherever it
is interrupted, the two sides say the same or differ as before, so that the next run finds no
conflict that was none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol, TypeVar

from recollect.errors import NotFound, RecollectError
from recollect.hashing import content_digest
from recollect.ingest.draft import Draft, complete, draft
from recollect.ingest.ids import LONG_SUFFIX, made_id
from recollect.ingest.saving import Saved
from recollect.memory_json import revision
from recollect.mirror.file_names import ENDING, folder_of, free_path, is_ours, safe_name, same_place
from recollect.mirror.files import as_text, checked_folder, read_bytes
from recollect.mirror.folder import MirroredFolder
from recollect.mirror.memory_markdown import (
    BODY,
    FIELDS,
    Form,
    as_markdown,
    parsed,
    with_fields,
)
from recollect.mirror.notes import note_fields, our_fields
from recollect.mirror.scan import File, claimed, look, with_text
from recollect.mirror.state import VERSION, Action, Entry, State, Step, decide, side
from recollect.types import Memory

TAG = "conflict"
LONGEST_START = 150  # of an id: what is put behind it must fit as well

Held = TypeVar("Held")


class Keeper(Protocol):
    """The engine, as far as a mirror needs it."""

    def now(self) -> datetime: ...

    def export(self) -> Iterator[Memory]: ...

    def edited(self, id: str, /, *, if_revision: str | None = ..., **changes: Any) -> Saved: ...

    def save_all(self, drafts: Sequence[Draft]) -> list[Saved]: ...

    def forget(
        self, ids: Sequence[str], *, undo: bool = ..., if_revision: str | None = ...
    ) -> None: ...


class Mirrored(NamedTuple):
    """What a run did, or would do: step by step, what could not be done and why, by path, and how
    many memories and files were equal already. `redacted`: how many secrets of each kind were
    replaced in the vault; a file keeps what somebody wrote there."""

    folder: Path
    steps: tuple[Step, ...]
    problems: tuple[tuple[str, str], ...]
    unchanged: int
    redacted: Mapping[str, int]


def mirror(
    keeper: Keeper,
    told: Path,
    *,
    vault: str,
    clean: Callable[[Draft], Draft],
    dry_run: bool = False,
) -> Mirrored:
    """Bring folder and vault together, once. `vault` tells vaults apart; `clean` takes secrets out
    of a draft, as saving does."""
    folder = MirroredFolder(checked_folder(told))
    state = folder.state(vault)
    run = _Run(keeper, folder, state, clean, dry_run=dry_run)
    run.pair_up()
    after = State(VERSION, vault, run.entries)
    if not dry_run and after != state:
        folder.keep_state(after)
    problems = tuple(sorted(run.problems.items()))
    return Mirrored(folder.root, tuple(run.steps), problems, run.unchanged, run.redacted)


class _Run:
    """One run over one folder."""

    def __init__(
        self,
        keeper: Keeper,
        folder: MirroredFolder,
        state: State,
        clean: Callable[[Draft], Draft],
        *,
        dry_run: bool,
    ) -> None:
        self._keeper = keeper
        self._folder = folder
        self._clean = clean
        self._dry = dry_run
        self._before = state.entries
        self.entries = dict(state.entries)
        self.steps: list[Step] = []
        self.unchanged = 0
        self.redacted: Counter[str] = Counter()
        self._looked = look(folder.root, state.entries)
        self.problems = dict(self._looked.problems)
        self._files = dict(self._looked.files)
        self._taken = set(self._looked.taken)
        self._memories = {
            memory.id: memory
            for memory in keeper.export()
            # What came from files has its files already.
            if memory.tier != "file" or memory.id in state.entries or memory.id in self._files
        }

    # Deciding

    def pair_up(self) -> None:
        """Decide for each memory and its file, then for the files that are no memory yet."""
        for id in sorted({*self._before, *self._memories, *self._files}):
            entry, file = self._before.get(id), self._files.get(id)
            if id in self._looked.blocked:
                continue
            path = file.path if file else entry.path if entry else id
            self._trying(path, partial(self._pair, id))
        for note in self._looked.notes:
            self._trying(note.path, partial(self._take_note, note))

    def _trying(self, path: str, act: Callable[[], None]) -> None:
        """What goes wrong is named, and the rest goes on; what is noted of it stays as it was."""
        done = len(self.steps)
        try:
            act()
        except RecollectError as error:
            self.problems[path] = str(error)
            del self.steps[done:]
        except OSError as error:
            self.problems[path] = f"It cannot be written: {error.strerror}."
            del self.steps[done:]

    def _pair(self, id: str) -> None:
        entry, file, memory = self._before.get(id), self._files.get(id), self._memories.get(id)
        noted = entry or Entry("", "", "")
        of_memory = side(noted.revision, revision(memory) if memory else None)
        of_file = side(noted.digest, file.digest if file else None)
        same = bool(memory and file and of_file == "changed" and self._same(memory, file, entry))
        match decide(of_memory, of_file, same=same):
            case "keep":
                self._keep(_there(memory), _there(file))
            case "settle":
                self._settle(_there(memory), _there(file))
            case "write":
                self._write(_there(memory), file)
            case "edit":
                self._edit(_there(memory), _there(file))
            case "conflict":
                self._conflict(_there(memory), _there(file))
            case "forget":
                self._forget(_there(memory), noted.path)
            case "trash":
                self._trash(id, _there(file))
            case "take in":
                self._take_in(id, _there(file))
            case "drop":
                self.entries.pop(id, None)

    def _same(self, memory: Memory, file: File, entry: Entry | None) -> bool:
        """Whether the file says what the memory says, but for secrets and when it was changed."""
        changes = self._changes(file, entry)
        if entry is None:
            changes.pop("updated_at", None)
        given = self._clean(draft(changes, change=True))
        return complete(given, memory.id, memory, memory.updated_at) == memory

    def _changes(self, file: File, entry: Entry | None) -> dict[str, object]:
        """What the file says, as changes of its memory; None for what it does not give. A file that
        lost its front matter says nothing of what stood there."""
        given = _fields(file)
        if _bare(file.form):
            return {name: given[name] for name in BODY if name in given}
        if entry is not None and _stamp(file.form) == entry.stamp:
            given.pop("updated_at", None)
        kept = ("id", "created_at", "updated_at")
        told = {name: given.get(name) for name in FIELDS if name in given or name not in kept}
        told.pop("id", None)
        return told

    # Doing

    def _keep(self, memory: Memory, file: File) -> None:
        self.unchanged += 1
        before = self._before[memory.id]
        if file.path != before.path:
            self._note(memory, file.path, file.digest, before.stamp)

    def _settle(self, memory: Memory, file: File) -> None:
        self.unchanged += 1
        if not self._dry:
            digest = self._with_id(memory.id, file)
            self._note(memory, file.path, digest, _stamp(file.form))

    def _write(self, memory: Memory, file: File | None) -> None:
        path, told = self._place(memory, file)
        self._step("write", memory.id, path, told)
        if self._dry:
            return
        if file is None:
            text = as_markdown(memory)
            digest = self._folder.add(path, text)
        else:
            # Lines of its front matter that are not ours stay in it.
            held = with_text(file, as_text(read_bytes(self._folder.root, file.path)))
            text = as_markdown(memory, held.form.extras)
            self._folder.move(file.path, file.digest, path)
            digest = self._folder.replace(path, file.digest, text)
        self._note(memory, path, digest, _stamp(parsed(text)))

    def _edit(self, memory: Memory, file: File) -> None:
        changes = self._changes(file, self._before.get(memory.id))
        if self._dry:
            self._step("edit", memory.id, file.path)
            return
        saved = self._keeper.edited(memory.id, if_revision=revision(memory), **changes)
        self.redacted += Counter(saved.redacted)
        path, told = self._place(saved.memory, file)
        self._step("edit", memory.id, path, told)
        stamp = _stamp(file.form)
        if _bare(file.form):
            text = as_markdown(saved.memory)
            digest = self._folder.replace(file.path, file.digest, text)
            stamp = _stamp(parsed(text))
        else:
            digest = self._with_id(memory.id, file)
        self._folder.move(file.path, digest, path)
        self._note(saved.memory, path, digest, stamp)

    def _conflict(self, memory: Memory, file: File) -> None:
        """The file's version gets a place of its own first; then the memory's goes into the file.
        One that had its place already, before an interruption, gets no second one."""
        id = f"{memory.id[:LONGEST_START]}-{TAG}-{content_digest(file.text, 3).hex()}"
        there = self._files.get(id)
        beside = there.path if there else self._beside(file.path)
        told = f"the file's version is now {beside}, and the memory {id}"
        self._step("conflict", memory.id, file.path, told)
        given = draft(self._conflicting(memory, file) | {"id": id})
        self._clean(given)  # what cannot be saved shall not be written either
        if self._dry:
            return
        if there is None:
            self._take_beside(given, id, beside, file.form.extras)
        text = as_markdown(memory, file.form.extras)
        digest = self._folder.replace(file.path, file.digest, text)
        self._note(memory, file.path, digest, _stamp(parsed(text)))

    def _conflicting(self, memory: Memory, file: File) -> dict[str, object]:
        """What the file says, as a memory that says what it is in conflict with."""
        fields = _fields(file)
        before = self._before.get(memory.id)
        if before is None or _stamp(file.form) == before.stamp:
            fields["updated_at"] = self._keeper.now()
        tags, context = fields.get("tags", []), fields.get("context", "")
        fields["tags"] = [*tags, TAG] if isinstance(tags, list) and TAG not in tags else tags
        why = f"In conflict with {memory.id}: both were changed, and this is what the file said."
        fields["context"] = f"{context}\n\n{why}" if context else why
        return fields

    def _take_beside(self, given: Draft, id: str, path: str, extras: str) -> None:
        text = as_markdown(complete(given, id, None, self._keeper.now()), extras)
        digest = self._folder.add(path, text)
        saved = self._saved(given)
        self.entries[id] = _entry(saved, path, digest, _stamp(parsed(text)), kept=True)

    def _forget(self, memory: Memory, path: str) -> None:
        self._step("forget", memory.id, path)
        if not self._dry:
            self._keeper.forget([memory.id], if_revision=revision(memory))
            self.entries.pop(memory.id)

    def _trash(self, id: str, file: File) -> None:
        self._step("trash", id, file.path)
        if not self._dry:
            self._folder.trash(file.path, file.digest)
            self.entries.pop(id)

    def _take_in(self, id: str, file: File) -> None:
        """The file's id is of no live memory: a forgotten one comes back, else it is a new one."""
        given = draft(_fields(file) | {"id": id})
        self._step("take in", id, file.path)
        if self._dry:
            return
        try:
            self._keeper.forget([id], undo=True)
        except NotFound:
            memory = self._saved(given)
        else:
            changes = self._changes(file, self._before.get(id))
            saved = self._keeper.edited(id, if_revision=None, **changes)
            self.redacted += Counter(saved.redacted)
            memory = saved.memory
        self._note(memory, file.path, self._with_id(id, file), _stamp(file.form))

    def _take_note(self, note: File) -> None:
        """A file that somebody wrote. It is given its id first: should it end there, the next run
        takes it in under that one."""
        file = with_text(note, as_text(read_bytes(self._folder.root, note.path)))
        fields = note_fields(file.form, file.path)
        fields.pop("id", None)
        if "project" not in fields and (project := self._project_of(file.path)):
            fields["project"] = project
        draft(fields)  # what is wrong with it is said before anything is made from it
        id = self._new_id(fields)
        given = draft(fields | {"id": id})
        self._clean(given)
        self._files[id] = file
        self._step("take in", id, file.path)
        if self._dry:
            return
        # From now on the file says itself what was found in it: then it is read as one of ours.
        said = {"tags": [], **our_fields(file.form)}
        added = {name: value for name, value in fields.items() if value != said.get(name)}
        text = with_fields(file.text, {"id": id} | added)
        digest = self._folder.replace(file.path, file.digest, text)
        self.entries[id] = _entry(
            self._saved(given), file.path, digest, _stamp(file.form), kept=True
        )

    def _saved(self, given: Draft) -> Memory:
        [saved] = self._keeper.save_all([given])
        self.redacted += Counter(saved.redacted)
        return saved.memory

    def _with_id(self, id: str, file: File) -> str:
        """The file's digest, once it has its id, should it have lost it."""
        if claimed(file.form) == id:
            return file.digest
        return self._folder.replace(file.path, file.digest, with_fields(file.text, {"id": id}))

    # Names

    def _place(self, memory: Memory, file: File | None) -> tuple[str, str]:
        """Where the memory's file belongs, and what to say if it was elsewhere."""
        before = self._before.get(memory.id)
        now = file.path if file else before.path if before else ""
        free = file is not None or same_place(now) not in self._taken
        if now and free and (self._is_kept(memory, now) or is_ours(now, memory)):
            return now, ""
        path = free_path(memory, self._taken)
        self._taken.add(same_place(path))
        return path, f"it was {now}" if file else ""

    def _is_kept(self, memory: Memory, path: str) -> bool:
        """Whether somebody chose that name: known before, or renamed since to none of ours."""
        before = self._before.get(memory.id)
        if before is None:
            return False
        moved = same_place(before.path) != same_place(path)
        return before.kept or (moved and not is_ours(path, memory))

    def _beside(self, path: str) -> str:
        """A free name beside the file's, with the time."""
        pure = PurePosixPath(path)
        start = f"{safe_name(pure.stem) or TAG} ({TAG} {self._keeper.now():%Y-%m-%d %H.%M}"
        number, found = 2, str(pure.with_name(f"{start}){ENDING}"))
        while same_place(found) in self._taken:
            found, number = str(pure.with_name(f"{start}, {number}){ENDING}")), number + 1
        self._taken.add(same_place(found))
        return found

    def _project_of(self, path: str) -> str:
        """The project in whose folder a file lies; empty where there is none of that name."""
        top, _, rest = path.partition("/")
        return self._projects.get(same_place(top), "") if rest else ""

    @cached_property
    def _projects(self) -> dict[str, str]:
        """Each project by its folder."""
        projects = dict.fromkeys(memory.project for memory in self._memories.values())
        return {same_place(folder_of(one)): one for one in projects if folder_of(one)}

    def _new_id(self, fields: Mapping[str, object]) -> str:
        id, number = made_id(fields), 1
        while id in self._memories or id in self._files or id in self.entries:
            id = made_id(fields, LONG_SUFFIX) + (f"-{number}" if number > 1 else "")
            number += 1
        return id

    # Noting

    def _step(self, action: Action, id: str, path: str, told: str = "") -> None:
        self.steps.append(Step(action, id, path, told))

    def _note(self, memory: Memory, path: str, digest: str, stamp: str) -> None:
        """Both are the same now. A name that we would not choose was somebody's choice."""
        file, before = self._files.get(memory.id), self._before.get(memory.id)
        if before is not None:
            kept = self._is_kept(memory, file.path if file else before.path)
        else:
            kept = file is not None and not is_ours(path, memory)
        self.entries[memory.id] = _entry(memory, path, digest, stamp, kept=kept)


def _entry(memory: Memory, path: str, digest: str, stamp: str, *, kept: bool) -> Entry:
    return Entry(path, digest, revision(memory), stamp, kept)


def _fields(file: File) -> dict[str, object]:
    """What the file gives; without a title it is called as a note is."""
    fields = our_fields(file.form)
    if "title" not in fields:
        fields["title"] = note_fields(file.form, file.path)["title"]
    return fields


def _bare(form: Form) -> bool:
    """Whether it has no front matter at all."""
    return not form.extras and not form.fields.keys() - set(BODY)


def _stamp(form: Form) -> str:
    return str(form.fields.get("updated_at", ""))


def _there(value: Held | None) -> Held:
    """What is there, because what is done was decided by it."""
    assert value is not None
    return value
