"""Indexed folders, and the mirror: a folder of Markdown files kept equal to the vault."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from recollect.auth.capabilities import ADMIN, CAPABILITIES, DELETE, SEARCH
from recollect.checks import existing_folder, not_around_home, outside_home
from recollect.engine.operations import operation
from recollect.engine.session import Command, Session
from recollect.errors import NotFound, RecollectError, UserError
from recollect.store.folders import TRANSCRIPTS, Folder
from recollect.store.history import WriteOperation
from recollect.store.sqlite.vault_files import LEASE, SPOOLS

if TYPE_CHECKING:
    from recollect.folders.chunk_writing import Synced
    from recollect.folders.mirroring import Mirrored
    from recollect.folders.scan import Scan


@operation(*CAPABILITIES)
def add_folder(
    session: Session,
    path: str | os.PathLike[str],
    *,
    project: str | None = None,
    follow: bool | None = None,
    redact: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Synced:
    """Index a folder's files, or bring the index up to date. `follow`: whether to follow its
    changes from now on; None keeps the current choice."""
    from recollect.folders.mirroring import STATE  # noqa: PLC0415  start-up time

    real = str(outside_home(existing_folder(Path(path)), session.home))
    if (Path(real) / STATE).exists():
        raise UserError(f"{path} is a mirror; its memories are in a vault already.")
    known = {folder.path: folder for folder in session.store.folders.all()}
    _check_apart(real, known)
    before = known.get(real)
    if project is not None and (project.startswith(TRANSCRIPTS) or (before and before.client)):
        raise UserError(f"{path}: the sessions of transcripts have their own projects.")
    folder = session.store.folders.add(
        real,
        project if project is not None else before.project if before else Path(real).name,
        redact=redact,
        followed=follow if follow is not None else before is not None and before.followed,
        at=session.clock(),
    )
    return sync_folder(session, folder, progress=progress)


@operation(*CAPABILITIES)
def add_instructions(
    session: Session,
    path: str | os.PathLike[str],
    *,
    project: str | None = None,
    redact: bool = True,
    dry_run: bool = False,
) -> tuple[list[Path], Synced]:
    """Index a project's files of instructions (CLAUDE.md, AGENTS.md, rules of Cursor and others) as
    core memories, and follow them. Return the files and folders, and what was done."""
    from recollect.folders import FILES, FOLDERS, instruction_places  # noqa: PLC0415  start-up time
    from recollect.folders.chunk_writing import Synced  # noqa: PLC0415  start-up time

    root = outside_home(Path(os.path.realpath(Path(path).expanduser())), session.home)
    places, done = instruction_places(root), Synced()
    if not places or not all(place.exists() for place in places):
        known = ", ".join((*FILES, *FOLDERS))
        raise NotFound(f"{path} has no files of instructions; known are: {known}.")
    for place in places if not dry_run else ():
        folder = session.store.folders.add(
            str(place),
            (root if root.is_dir() else root.parent).name if project is None else project,
            redact=redact,
            followed=True,
            at=session.clock(),
        )
        done.include(sync_folder(session, folder))
    return places, done


@operation(*CAPABILITIES)
def add_transcripts(
    session: Session,
    path: str | os.PathLike[str],
    client: str,
    *,
    redact: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Synced:
    """Index the sessions that a coding agent keeps in a folder, one memory per turn, and follow
    them. Each session gets the project of its working directory."""
    from recollect.folders.transcript import transcript_type  # noqa: PLC0415  start-up time

    transcript_type(client)
    real = str(outside_home(existing_folder(Path(path)), session.home))
    known = {folder.path: folder for folder in session.store.folders.all()}
    _check_apart(real, known)
    if real in known and known[real].client != client:
        raise UserError(
            f"{path} was added as another folder; `recollect add --remove {path}` first."
        )
    folder = session.store.folders.add(
        real, TRANSCRIPTS + client, redact=redact, followed=True, at=session.clock()
    )
    done = sync_folder(session, folder, progress=progress)
    if not done.files and not done.left_out:
        done.note(real, f"it has no transcripts of {client} yet")
    return done


def _check_apart(path: str, known: Mapping[str, Folder]) -> None:
    """Raise UserError if one folder is inside another, so that no file is indexed twice. Files of
    instructions are exempt: the folder around them skips them."""
    from recollect.folders import is_instructions  # noqa: PLC0415  start-up time

    for other in known:
        if is_instructions(path) or is_instructions(other):
            continue
        if other != path and (Path(path).is_relative_to(other) or Path(other).is_relative_to(path)):
            inner, outer = sorted((path, other), key=len, reverse=True)
            raise UserError(
                f"{inner} is in {outer}; add one of them, and `recollect add --remove` the other."
            )


@operation(*CAPABILITIES)
def sync_folder(
    session: Session,
    folder: Folder,
    scan: Scan | None = None,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Synced:
    """Update the memories of a folder from its files, or from those of a `scan`."""
    from recollect.folders.sync import Sync  # noqa: PLC0415  start-up time

    outside_home(Path(folder.path), session.home)
    redact = folder.redact and session.settings.secrets.redact
    redaction = session.redaction if redact else None
    command = Command("sync", WriteOperation(), "folder", automatic=True)
    mine = replace(session, command=command)
    own = [*_own_files(session), *_instruction_files(session, folder)]
    sync = Sync(
        session.store, mine.writing, mine.writing_many, folder, redaction, session.clock,
        own=own, home=session.home,
    )  # fmt: skip
    done = sync.run(scan, progress=progress)
    if done.changed:
        session.wrote("sync folder", count=done.changed)
    return done


def _own_files(session: Session) -> Sequence[str]:
    """Return the files of a vault outside the home, which no folder may index."""
    ends = ("", "-wal", "-shm", "-journal", LEASE, *SPOOLS)
    return [os.path.realpath(session.path) + end for end in ends]


def _instruction_files(session: Session, folder: Folder) -> Iterator[str]:
    """Yield the files of instructions, which are indexed separately from the folder."""
    from recollect.folders import is_instruction_file, is_instructions  # noqa: PLC0415  start-up time

    for other in session.store.folders.all():
        if other.path != folder.path and is_instructions(other.path):
            above = Path(other.path)
            above = above.parent if is_instruction_file(other.path) else above
            yield from (str(above / path) for path in session.store.folders.files(other))


@operation(DELETE, ADMIN)
def remove_folder(session: Session, path: str | os.PathLike[str], *, dry_run: bool = False) -> int:
    """Forget a folder and the memories of its files, and return their number. The files are not
    touched."""
    wanted = {str(path), os.path.realpath(path)}
    for folder in session.store.folders.all():
        if folder.path in wanted:
            with session.writing("forget", reason="Its folder was removed.") as write:
                stored = write.find(write.files.memories(folder))
                if dry_run:
                    return len(stored)
                for memory in stored.values():
                    write.forget(memory, session.clock())
                write.files.remove(folder)
            session.wrote("remove folder", count=len(stored) or 1)
            return len(stored)
    raise NotFound(f"{path} was never added; `recollect add --list` shows those that were.")


@operation(*CAPABILITIES)
def follow_folders(
    session: Session,
    stop: threading.Event,
    tell: Callable[[str], None] = lambda sentence: None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Index changes of the followed folders until stopped. Vectors are made in the background."""
    from recollect.folders.watch import Follower  # noqa: PLC0415  start-up time

    followed: list[Folder] = []

    def current() -> list[Folder]:
        # Polling would keep a locked vault from becoming idle and locking again.
        if not followed or not session.store.database.locked:
            followed[:] = [folder for folder in session.store.folders.all() if folder.followed]
        return followed

    def sync(folder: Folder, scan: Scan | None) -> Synced:
        done = sync_folder(session, folder, scan)
        if done.changed and session.models.embeds():
            session.background.wake(session.store.vectors)
        return done

    if session.models.embeds():  # files indexed earlier may still need vectors
        session.background.wake(session.store.vectors)
    Follower(current, sync, tell, stop).run(ready)


@operation(*CAPABILITIES)
def mirror(
    session: Session,
    folder: str | os.PathLike[str] | None = None,
    *,
    dry_run: bool = False,
    automatic: bool = False,
) -> Mirrored:
    """Synchronise the vault and a folder of Markdown files once, as one operation of the history.

    folder: by default the one in the settings.
    dry_run: only report.
    automatic: a change was noticed; nobody asked for it.
    """
    from recollect.folders.mirroring import installed_mirror  # noqa: PLC0415  start-up time

    interface = "folder" if automatic else session.interface
    command = Command("mirror", WriteOperation(), interface, automatic)
    redaction = session.redaction
    return installed_mirror().mirror(
        session.recollect(replace(session, command=command)),
        _mirror_folder(session, folder),
        identity=session.store.topics.hash_word("recollect mirror").hex()[:32],
        clean=lambda draft: redaction.redact_draft(draft)[0],
        private=session.store.database.locked,
        dry_run=dry_run,
    )


def _mirror_folder(session: Session, folder: str | os.PathLike[str] | None) -> Path:
    """Return the folder to mirror: relative to the working directory, or a setting relative to the
    home."""
    if not folder and not session.settings.mirror.folder:
        raise UserError("Name a folder, here or as `folder` in [mirror] of config.toml.")
    chosen = Path(folder or session.home / Path(session.settings.mirror.folder).expanduser())
    return not_around_home(chosen, session.home)


@operation(*CAPABILITIES)
def follow_mirror(
    session: Session,
    folder: str | os.PathLike[str] | None,
    stop: threading.Event,
    tell: Callable[[Mirrored | RecollectError], None],
) -> None:
    """Mirror whenever the folder or the vault changes, until stopped. `tell` gets each result, and
    a repeated error only once."""
    from recollect.folders.watch import folder_changes  # noqa: PLC0415  start-up time

    seen: int | None = None
    failed = ""
    for changed in folder_changes(_mirror_folder(session, folder), stop):
        # Polling would keep a locked vault from becoming idle and locking again.
        may_poll = seen is None or not session.store.database.locked
        if not changed and not failed and not (may_poll and session.store.changes() != seen):
            continue
        seen = session.store.changes()
        try:
            done = mirror(session, folder, automatic=True)
        except RecollectError as error:
            if str(error) != failed:
                tell(error)
            failed = str(error)
            continue
        failed = ""
        if done.steps or done.problems:
            tell(done)


@operation(SEARCH, retry=True)
def folders(session: Session) -> Sequence[Folder]:
    """List the indexed folders."""
    return session.store.folders.all()
