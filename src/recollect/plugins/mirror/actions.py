"""The actions of a mirror, which make a memory and its file equal and note it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import PurePosixPath

from recollect import Memory
from recollect.plugin.mirrors import (
    BODY,
    ENDING,
    FIELDS,
    LONG_SUFFIX,
    Action,
    Draft,
    MirroredVault,
    MirrorStep,
    NotFound,
    ParsedFile,
    as_markdown,
    as_text,
    complete_draft,
    content_digest,
    make_draft,
    make_id,
    note_fields,
    our_fields,
    parse,
    read_bytes,
    revision,
    with_fields,
)
from recollect.plugins.mirror.folder import (
    MirroredFolder,
    MirrorEntry,
    free_path,
    is_ours,
    safe_name,
    same_place,
)
from recollect.plugins.mirror.scan import MirrorFile, MirrorScan, stated_id, with_text

CONFLICT = "conflict"
LONGEST_START = 150  # of an id, which leaves room for a suffix


class Actions:
    """The actions on one folder and one vault; `steps` and `entries` hold the results."""

    def __init__(
        self,
        vault: MirroredVault,
        folder: MirroredFolder,
        before: Mapping[str, MirrorEntry],
        scan: MirrorScan,
        clean: Callable[[Draft], Draft],
        *,
        dry_run: bool,
    ) -> None:
        """`before`: the entries of the last run."""
        self._vault = vault
        self._folder = folder
        self._before = before
        self._clean = clean
        self._dry = dry_run
        self.files = dict(scan.files)
        self.memories = {
            memory.id: memory
            for memory in vault.export()
            # Memories of a followed folder have their files already.
            if memory.tier != "file" or memory.id in before or memory.id in self.files
        }
        self._placement = Placement(before, scan.taken, self.memories.values())
        self.entries = dict(before)
        self.steps: list[MirrorStep] = []
        self.unchanged = 0
        self.redacted: Counter[str] = Counter()

    def is_same(self, memory: Memory, file: MirrorFile) -> bool:
        """Return True if file and memory have the same content, except secrets and times of
        change."""
        changes = self._changes(file, memory.id)
        if memory.id not in self._before:
            changes.pop("updated_at", None)
        cleaned = self._clean(make_draft(changes, change=True))
        return complete_draft(cleaned, memory.id, memory, memory.updated_at) == memory

    def _changes(self, file: MirrorFile, id: str) -> dict[str, object]:
        """Return the file's fields as changes of its memory, None for those it lacks. A file that
        lost its front matter does not change the fields from there."""
        fields, entry = _fields(file), self._before.get(id)
        if _is_bare(file.parsed):
            return {name: fields[name] for name in BODY if name in fields}
        if entry is not None and _stamp(file.parsed) == entry.stamp:
            fields.pop("updated_at", None)
        kept = ("id", "created_at", "updated_at")
        changes = {name: fields.get(name) for name in FIELDS if name in fields or name not in kept}
        changes.pop("id", None)
        return changes

    def keep(self, memory: Memory, file: MirrorFile) -> None:
        self.unchanged += 1
        before = self._before[memory.id]
        if file.path != before.path:
            self._note_equal(memory, file.path, file.digest, before.stamp)

    def settle(self, memory: Memory, file: MirrorFile) -> None:
        self.unchanged += 1
        if not self._dry:
            digest = self._with_id(memory.id, file)
            self._note_equal(memory, file.path, digest, _stamp(file.parsed))

    def write(self, memory: Memory, file: MirrorFile | None) -> None:
        path = self._place("write", memory, file)
        if self._dry:
            return
        if file is None:
            text = as_markdown(memory)
            digest = self._folder.add(path, text)
        else:
            # Keep lines of its front matter that are not ours.
            now = with_text(file, as_text(read_bytes(self._folder.root, file.path)))
            text = as_markdown(memory, now.parsed.extras)
            self._folder.move(file.path, file.digest, path)
            digest = self._folder.replace(path, file.digest, text)
        self._note_equal(memory, path, digest, _stamp(parse(text)))

    def edit(self, memory: Memory, file: MirrorFile) -> None:
        changes = self._changes(file, memory.id)
        if self._dry:
            self._step("edit", memory.id, file.path)
            return
        [saved] = self._vault.edit_all([memory.id], if_revision=revision(memory), **changes)
        self.redacted += Counter(saved.redacted)
        path = self._place("edit", saved.memory, file)
        stamp = _stamp(file.parsed)
        if _is_bare(file.parsed):
            text = as_markdown(saved.memory)
            digest = self._folder.replace(file.path, file.digest, text)
            stamp = _stamp(parse(text))
        else:
            digest = self._with_id(memory.id, file)
        self._folder.move(file.path, digest, path)
        self._note_equal(saved.memory, path, digest, stamp)

    def conflict(self, memory: Memory, file: MirrorFile) -> None:
        """Write the file's version to another file, then the memory's version into the file. A copy
        that was made before an interruption is not made again."""
        id = f"{memory.id[:LONGEST_START]}-{CONFLICT}-{content_digest(file.text, 3).hex()}"
        there = self.files.get(id)
        copy = there.path if there else self._placement.conflict_path(file.path, self._vault.now())
        note = f"the file's version is now {copy}, and the memory {id}"
        self._step("conflict", memory.id, file.path, note)
        version = make_draft(self._conflict_fields(memory, file) | {"id": id})
        self._clean(version)  # a version that cannot be saved must not be written either
        if self._dry:
            return
        if there is None:
            self._add_copy(version, id, copy, file.parsed.extras)
        text = as_markdown(memory, file.parsed.extras)
        digest = self._folder.replace(file.path, file.digest, text)
        self._note_equal(memory, file.path, digest, _stamp(parse(text)))

    def _conflict_fields(self, memory: Memory, file: MirrorFile) -> dict[str, object]:
        """Return the file's fields for a new memory that names the one it conflicts with."""
        fields = _fields(file)
        before = self._before.get(memory.id)
        if before is None or _stamp(file.parsed) == before.stamp:
            fields["updated_at"] = self._vault.now()
        tags, context = fields.get("tags", []), fields.get("context", "")
        if isinstance(tags, list) and CONFLICT not in tags:
            tags = [*tags, CONFLICT]
        fields["tags"] = tags
        why = f"In conflict with {memory.id}: both were changed, and this is what the file said."
        fields["context"] = f"{context}\n\n{why}" if context else why
        return fields

    def _add_copy(self, version: Draft, id: str, path: str, extras: str) -> None:
        text = as_markdown(complete_draft(version, id, None, self._vault.now()), extras)
        digest = self._folder.add(path, text)
        memory = self._save(version)
        self.entries[id] = _entry(memory, path, digest, _stamp(parse(text)), kept=True)

    def forget(self, memory: Memory, path: str) -> None:
        self._step("forget", memory.id, path)
        if not self._dry:
            self._vault.forget([memory.id], if_revision=revision(memory))
            self.entries.pop(memory.id)

    def trash(self, id: str, file: MirrorFile) -> None:
        self._step("trash", id, file.path)
        if not self._dry:
            self._folder.trash(file.path, file.digest)
            self.entries.pop(id)

    def take_in(self, id: str, file: MirrorFile) -> None:
        """Save a file whose id no live memory has: restore a forgotten one, else add a new one."""
        content = make_draft(_fields(file) | {"id": id})
        self._step("take in", id, file.path)
        if self._dry:
            return
        try:
            self._vault.forget([id], undo=True)
        except NotFound:
            memory = self._save(content)
        else:
            changes = self._changes(file, id)
            [saved] = self._vault.edit_all([id], if_revision=None, **changes)
            self.redacted += Counter(saved.redacted)
            memory = saved.memory
        self._note_equal(memory, file.path, self._with_id(id, file), _stamp(file.parsed))

    def take_note(self, note: MirrorFile) -> None:
        """Save a file without an id. The id is written to the file first, so that after an
        interruption the next run uses the same one."""
        file = with_text(note, as_text(read_bytes(self._folder.root, note.path)))
        fields = note_fields(file.parsed, file.path)
        fields.pop("id", None)
        if "project" not in fields and (project := self._placement.project_of(file.path)):
            fields["project"] = project
        make_draft(fields)  # refuse it before anything is done
        id = self._new_id(fields)
        content = make_draft(fields | {"id": id})
        self._clean(content)
        self.files[id] = file
        self._step("take in", id, file.path)
        if self._dry:
            return
        # Its front matter gets all fields found in the text: from now on it is read as one of ours.
        stated = {"tags": [], **our_fields(file.parsed)}
        added = {name: value for name, value in fields.items() if value != stated.get(name)}
        text = with_fields(file.text, {"id": id} | added)
        digest = self._folder.replace(file.path, file.digest, text)
        memory = self._save(content)
        self.entries[id] = _entry(memory, file.path, digest, _stamp(file.parsed), kept=True)

    def _save(self, content: Draft) -> Memory:
        [saved] = self._vault.save_all([content])
        self.redacted += Counter(saved.redacted)
        return saved.memory

    def _with_id(self, id: str, file: MirrorFile) -> str:
        """Return the file's digest; put the id back if the file has lost it."""
        if stated_id(file.parsed) == id:
            return file.digest
        return self._folder.replace(file.path, file.digest, with_fields(file.text, {"id": id}))

    def _new_id(self, fields: Mapping[str, object]) -> str:
        id, number = make_id(fields), 1
        while id in self.memories or id in self.files or id in self.entries:
            id = make_id(fields, LONG_SUFFIX) + (f"-{number}" if number > 1 else "")
            number += 1
        return id

    def drop(self, id: str) -> None:
        self.entries.pop(id, None)

    def _place(self, action: Action, memory: Memory, file: MirrorFile | None) -> str:
        """Return the path for the memory's file, and note the step."""
        path, before = self._placement.path_of(memory, file)
        self._step(action, memory.id, path, f"it was {before}" if before else "")
        return path

    def _step(self, action: Action, id: str, path: str, note: str = "") -> None:
        self.steps.append(MirrorStep(action, id, path, note))

    def _note_equal(self, memory: Memory, path: str, digest: str, stamp: str) -> None:
        """Note that both are equal now. A name that we would not choose is the user's."""
        file, before = self.files.get(memory.id), self._before.get(memory.id)
        if before is not None:
            kept = self._placement.is_chosen(memory, file.path if file else before.path)
        else:
            kept = file is not None and not is_ours(path, memory)
        self.entries[memory.id] = _entry(memory, path, digest, stamp, kept=kept)


def _entry(memory: Memory, path: str, digest: str, stamp: str, *, kept: bool) -> MirrorEntry:
    return MirrorEntry(path, digest, revision(memory), stamp, kept)


def _fields(file: MirrorFile) -> dict[str, object]:
    """Return the fields of the file; a missing title is that of a note."""
    fields = our_fields(file.parsed)
    if "title" not in fields:
        fields["title"] = note_fields(file.parsed, file.path)["title"]
    return fields


def _is_bare(file: ParsedFile) -> bool:
    """Return True if the file has no front matter."""
    return not file.extras and not file.fields.keys() - set(BODY)


def _stamp(file: ParsedFile) -> str:
    return str(file.fields.get("updated_at", ""))


class Placement:
    """Finds free paths for files. `before`: the entries of the last run."""

    def __init__(
        self,
        before: Mapping[str, MirrorEntry],
        taken: Iterable[str],
        memories: Collection[Memory],
    ) -> None:
        self._before = before
        self._taken = set(taken)
        self._memories = memories

    def path_of(self, memory: Memory, file: MirrorFile | None) -> tuple[str, str]:
        """Return the path for the memory's file, and its former path if that was another one."""
        before = self._before.get(memory.id)
        now = file.path if file else before.path if before else ""
        free = file is not None or same_place(now) not in self._taken
        if now and free and (self.is_chosen(memory, now) or is_ours(now, memory)):
            return now, ""
        path = free_path(memory, self._taken)
        self._taken.add(same_place(path))
        return path, now if file else ""

    def is_chosen(self, memory: Memory, path: str) -> bool:
        """Return True if the user chose this name: noted before, or renamed since to a name that is
        not ours."""
        before = self._before.get(memory.id)
        if before is None:
            return False
        moved = same_place(before.path) != same_place(path)
        return before.kept or (moved and not is_ours(path, memory))

    def conflict_path(self, path: str, now: datetime) -> str:
        """Return a free path in the file's folder, with the time in its name."""
        pure = PurePosixPath(path)
        start = f"{safe_name(pure.stem) or CONFLICT} ({CONFLICT} {now:%Y-%m-%d %H.%M}"
        number, found = 2, str(pure.with_name(f"{start}){ENDING}"))
        while same_place(found) in self._taken:
            found, number = str(pure.with_name(f"{start}, {number}){ENDING}")), number + 1
        self._taken.add(same_place(found))
        return found

    def project_of(self, path: str) -> str:
        """Return the project of the file's folder, or an empty text."""
        top, _, rest = path.partition("/")
        return self._projects.get(same_place(top), "") if rest else ""

    @cached_property
    def _projects(self) -> dict[str, str]:
        """Projects by folder."""
        projects = dict.fromkeys(memory.project for memory in self._memories)
        return {same_place(safe_name(name)): name for name in projects if safe_name(name)}
