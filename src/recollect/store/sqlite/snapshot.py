"""Copies of a vault, made while others write, under the same key, and checked before they count;
and the checks of a vault file that need only a connection to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

import apsw

from recollect.errors import Locked, StoreError
from recollect.files import remove_leftovers, replace_file
from recollect.store.memory_rows import SAME_CONTENT, content_hash
from recollect.store.sqlite.checksums import find_altered
from recollect.store.sqlite.errors import as_store_errors
from recollect.store.sqlite.migration import APPLICATION_ID, checked_version
from recollect.store.sqlite.vault_files import (
    CIPHER,
    MAGIC,
    WRONG_PASSPHRASE,
    KeySource,
    Sealed,
    give_key,
    header_at,
    header_of,
    mark_copy,
)

STEP = 1024  # pages, 4 MB, between two reports of progress
OPEN_MAGIC = b"SQLite format 3\x00"
# https://www.sqlite.org/fileformat2.html, section 1.3; in clear in a locked vault as well.
WRITE_VERSION_AT, WITHOUT_LOG = 18, 1
APPLICATION_ID_AT = 68
CHECKSUMS_SINCE = 5  # the version of the vault
MOST_NAMED = 5  # ids in a message of one line

Progress = Callable[[int], None]  # called with the number of bytes since the last call
Check = Callable[[apsw.Connection], str | None]
ORPHANS = """
SELECT (SELECT count(*) FROM postings WHERE segment NOT IN (SELECT number FROM segments))
     + (SELECT count(*) FROM segment_documents WHERE segment NOT IN (SELECT number FROM segments))
     + (SELECT count(*) FROM large_postings
         WHERE key NOT IN (SELECT large FROM postings WHERE large IS NOT NULL))"""


class VaultSummary(NamedTuple):
    """The content of a vault file in numbers."""

    version: int
    memories: int
    forgotten: int
    locked: bool


class VaultFile(NamedTuple):
    connection: apsw.Connection
    sealed: Sealed | None

    def summary(self) -> VaultSummary:
        [(memories, forgotten)] = self.connection.execute(
            "SELECT count(*) - count(forgotten_at), count(forgotten_at) FROM memories"
        ).fetchall()
        return VaultSummary(
            self.connection.pragma("user_version"),
            memories,  # type: ignore[arg-type]
            forgotten,  # type: ignore[arg-type]
            self.sealed is not None,
        )


@contextmanager
def reading(file: Path, keys: KeySource) -> Iterator[VaultFile]:
    """Open a vault file of any version, with its log, without changing it or its folder."""
    log = file.with_name(f"{file.name}-wal")
    how = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(f"{file.absolute().as_uri()}?{how}", flags)) as connection:
        header, sealed = header_of(connection), None
        if header is not None:
            sealed = Sealed(keys(file, header), header)
            give_key(connection, sealed.key)
        try:
            if not checked_version(connection, file):
                raise StoreError(f"{file} is empty, not a vault.")
        except apsw.NotADBError as error:
            if sealed is None:
                raise
            raise Locked(WRONG_PASSPHRASE.format(path=file)) from error
        yield VaultFile(connection, sealed)


def check_is_vault(file: Path) -> None:
    """Raise StoreError if the file is not a vault. No key is needed for a locked one."""
    with as_store_errors(file):
        if header_at(file) is None:
            with reading(file, _key_of(None)):
                pass


def problem(connection: apsw.Connection) -> str | None:
    """Return the first thing that is wrong with the memories in the file; None if they are all as
    they were saved. Derived data can be rebuilt and is not checked."""
    try:
        return (
            file_problem(connection)
            or references_problem(connection)
            or contents_problem(connection)
        )
    except (apsw.Error, UnicodeDecodeError) as error:
        return " ".join(str(error).split())


def contents_problem(connection: apsw.Connection) -> str | None:
    """Return which memories are altered; old vaults have only a hash of the texts."""
    columns = ", ".join(SAME_CONTENT)
    if connection.pragma("user_version") < CHECKSUMS_SINCE:
        rows = connection.execute(f"SELECT id, content_hash, {columns} FROM memories")
        wrong = [str(id) for id, hash, *texts in rows if content_hash(texts) != hash]
    else:
        wrong = [memory.id for memory in find_altered(connection)]
    more = ", …" if len(wrong) > MOST_NAMED else ""
    return f"altered memories: {', '.join(wrong[:MOST_NAMED])}{more}" if wrong else None


def write_copy(
    source: VaultFile,
    file: Path,
    check: Check = problem,
    *,
    name: str | None = None,
    progress: Progress = lambda copied: None,
) -> VaultSummary:
    """Replace the file by a copy of the vault in one snapshot; others may write meanwhile. Return a
    summary of it.

    StoreError where `check` finds something, or the copy does not have the same rows: the file is
    then as it was. `name`: see `files.replace_file`.
    """
    remove_leftovers(file.with_name(name or file.name))
    with writing(file), replace_file(file, name) as (beside, _):
        with source.connection:  # one snapshot: later writes stay out
            expected = row_counts(source.connection)
            _copy_pages(source, beside, progress)
        with reading(beside, _key_of(source.sealed)) as made:
            same = made.sealed == source.sealed and row_counts(made.connection) == expected
            wrong = check(made.connection) if same else "rows are missing"
            summary = made.summary()
        if wrong:
            raise StoreError(
                f"A copy of the vault would be damaged ({wrong}), so {file} was not written. "
                "`recollect doctor` says more."
            )
    return summary


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """Raise what prevents writing the file as StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{file} cannot be written: {error.strerror}.") from error
    except apsw.FullError as error:
        raise StoreError(f"{file} cannot be written: the disk is full.") from error


def _key_of(sealed: Sealed | None) -> KeySource:
    return lambda path, header: b"" if sealed is None else sealed.key


def _copy_pages(source: VaultFile, beside: Path, progress: Progress) -> None:
    """Copy with SQLite's backup interface. The copy has no log, so that it is one file."""
    with closing(apsw.Connection(str(beside), apsw.SQLITE_OPEN_READWRITE)) as made:
        if source.sealed is not None:
            made.pragma("cipher", CIPHER)
            made.pragma("key", f"raw:{(source.sealed.key + source.sealed.header).hex()}")
        made.pragma("journal_mode", "OFF")  # removed on failure, and synced as a whole
        made.pragma("synchronous", "OFF")
        with made.backup("main", source.connection, "main") as copying:
            size = source.connection.pragma("page_size")
            copied = 0
            while not copying.done:
                copying.step(STEP)
                done = copying.page_count - copying.remaining
                progress((done - copied) * size)
                copied = done
        mark_copy(made)
        made.pragma("locking_mode", "EXCLUSIVE")  # so that no file of the log's index is made
        made.pragma("journal_mode", "DELETE")


def backup_folder(vault: Path) -> Path:
    """Return the folder of a vault's backups, `backups` next to it; make it if needed."""
    folder = vault.parent / "backups"
    with writing(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def dated_file(folder: Path, vault: Path, what: str, now: datetime) -> Path:
    """Return a new name in the folder with the time, and `-2` and so on if it exists."""
    first = folder / f"{vault.stem}-{what}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.db"
    names = (first.with_stem(f"{first.stem}-{number}") for number in count(2))
    return next(file for file in chain([first], names) if not file.exists())


def path_aside(vault: Path, what: str) -> Path:
    """Return a new name among the backups, for a file that no backup may replace or remove."""
    return dated_file(backup_folder(vault), vault, what, datetime.now(UTC))


def is_backup(file: Path) -> bool:
    """Return True if the file looks like a copy by `write_copy`; a vault in use has a log."""
    # Through SQLite: opening and closing the file in another way would drop this process's locks.
    with closing(apsw.Connection(str(file), apsw.SQLITE_OPEN_READONLY)) as connection:
        _, begin = connection.read("main", 0, 0, 100)
    vault = begin.startswith(MAGIC) or (
        begin.startswith(OPEN_MAGIC)
        and begin[APPLICATION_ID_AT:][:4] == APPLICATION_ID.to_bytes(4, "big")
    )
    return len(begin) == 100 and vault and begin[WRITE_VERSION_AT] == WITHOUT_LOG


def keep_as_it_was(vault: Path, version: int, sealed: Sealed | None) -> None:
    """Copy a vault that is about to be migrated, and log that. The caller holds the write lock."""
    file = path_aside(vault, f"v{version}")
    with reading(vault, _key_of(sealed)) as source:
        # A damaged vault is copied as it is: the copy is no worse.
        write_copy(source, file, lambda connection: None, name=vault.name)
    log = logging.getLogger("recollect.store")
    log.warning("The vault %s is migrated. A copy of it as it was: %s", vault, file)


def file_problem(connection: apsw.Connection) -> str | None:
    """Return the problems that SQLite's own check finds, except in keyword indexes, which have
    checks of their own and can be rebuilt."""
    wrong = [line for line in integrity(connection, "20") if "fts5" not in line.lower()]
    return "; ".join(wrong) or None


def integrity(connection: apsw.Connection, what: str) -> list[str]:
    """Return the lines of `PRAGMA integrity_check`; none if all is well."""
    found = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({what})")]
    return [] if found == ["ok"] else found


def references_problem(connection: apsw.Connection) -> str | None:
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    return f"{len(broken)} rows refer to rows that do not exist" if broken else None


def orphans_problem(connection: apsw.Connection) -> str | None:
    orphans = int(connection.execute(ORPHANS).get)
    return f"{orphans} rows of the keyword index belong to no segment" if orphans else None


def row_counts(connection: apsw.Connection) -> list[tuple[str, int]]:
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name"
    ).fetchall()
    return [
        (str(name), int(str(connection.execute(f'SELECT count(*) FROM "{name}"').get)))
        for (name,) in tables
    ]
