"""Repairing a vault: in place where only what is derived is wrong, and by a new file, made of what
can be read, where the file itself is damaged. The damaged file is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import Damaged, Locked, NotAVault, StoreError
from recollect.files import remove_database
from recollect.store.rescue.checks import examine
from recollect.store.rescue.derived import TopicHash, rebuild, repair_history
from recollect.store.rescue.new_vault import HISTORY, SalvageReport, report, write_vault
from recollect.store.rescue.salvage import Salvage
from recollect.store.sqlite.checksums import accept, differing
from recollect.store.sqlite.cipher import WRONG_PASSPHRASE
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.integrity import file_problem, references_problem
from recollect.store.sqlite.replacement import replace_vault
from recollect.store.sqlite.schema import VERSION
from recollect.store.sqlite.snapshot import kept_aside
from recollect.times import EPOCH, to_micros

if TYPE_CHECKING:
    from recollect.store.sqlite.store import SqliteStore


class Mended(NamedTuple):
    """What the damage cost, and where the damaged file is kept; None where it was repaired in
    place."""

    report: SalvageReport
    kept: Path | None = None


def mend(store: SqliteStore, now: datetime | None) -> Mended:
    """Make everything anew that is derived, and check it; a memory that is not what was written is
    forgotten from `now` on. Where the file itself is damaged, make a new one. Without `now`,
    Damaged where this would cost anything that was saved."""
    mended = _mended(store.database, store.topics.hashed, now)
    store.forget()
    return mended


def _mended(database: Database, hashed: TopicHash, now: datetime | None) -> Mended:
    with suppress(Damaged, NotAVault, Locked):  # what looks like a wrong key may be damage
        mended = _in_place(database, hashed, now)
        with database.translated():
            wrong = any(finding.problem for finding in examine(database.connection(), hashed))
        if mended is not None and not wrong:
            database.note_damage(None)
            return mended
    return _rewritten(database, now)


def _in_place(database: Database, hashed: TopicHash, now: datetime | None) -> Mended | None:
    with database.repairing() as connection:
        if file_problem(connection) or references_problem(connection):
            return None
        found = [*differing(connection)]
        altered = [memory.id for memory in found if memory.what == "fields"]
        untagged = [memory.id for memory in found if memory.what == "tags"]
        costs = SalvageReport([], altered, untagged, [])
        _check_costs(database, costs, now)
        accept(connection, found, to_micros(now or EPOCH))
        if repair_history(connection, [memory.key for memory in found if memory.what == "fields"]):
            costs.others.append(HISTORY)
        rebuild(connection, hashed)
    database.rewrite()
    return Mended(costs)


def _rewritten(database: Database, now: datetime | None) -> Mended:
    """Replace the vault by a new one, made of what can be read of it."""
    aside = kept_aside(database.path, "damaged")
    costs: list[SalvageReport] = []

    def write(copy: Path) -> None:
        with salvaging(database, aside) as salvage:
            costs.append(report(salvage))
            _check_costs(database, costs[0], now)
            write_vault(salvage, copy, database.sealed, now or EPOCH)

    database.release()
    try:
        kept = replace_vault(database.path, aside, write)
    except BaseException:
        remove_database(aside)
        raise
    aside.with_name(f"{aside.name}-shm").unlink(missing_ok=True)
    database.note_damage(None)
    return Mended(costs[0], kept)


def _check_costs(database: Database, costs: SalvageReport, now: datetime | None) -> None:
    if now is None and (costs.memories() or costs.others):
        raise Damaged(
            f"The vault {database.path} is damaged; `recollect doctor --fix` keeps what can be "
            "read and says what is lost."
        )


@contextmanager
def salvaging(database: Database, file: Path) -> Iterator[Salvage]:
    """What can be read of the file, which is the vault or a copy of it."""
    with closing(database.reader(file)) as connection:
        salvage = Salvage(connection)
        if salvage.version > VERSION:
            raise StoreError(
                f"The vault {file} is of a newer Recollect; install that to repair it."
            )
        if database.sealed is not None and not salvage.readable:
            raise Locked(WRONG_PASSPHRASE.format(path=database.path))
        if not salvage.found and not salvage.memories:
            raise NotAVault(
                f"{database.path} is not a SQLite database, and nothing in it can be read as a "
                "vault; `recollect restore --from FILE` puts a backup in its place."
            )
        yield salvage
