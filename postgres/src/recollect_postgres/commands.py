"""`recollect store`, `recollect store copy` and `recollect store migrate`."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces.cli.arguments import add_json, print_help
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import progress, say
from recollect.present.sentences import counted
from recollect.settings import Rerank, Settings, StoreSettings
from recollect.settings_reading import home_folder, load_settings
from recollect.store.sqlite.vault_files import header_at
from recollect_postgres.copying import Copied, copy_vault, take_secret
from recollect_postgres.migration import migrate


@command("  recollect store copy ~/vault.db postgresql://recollect@db/recollect")
def store(args: argparse.Namespace) -> None:
    print_help("store")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help="a vault's file, or postgresql://…")
    parser.add_argument("target", metavar="TO", help="the same; must be empty, or not exist yet")
    parser.add_argument(
        "--vault", metavar="NAME", help="the vault's name in the database (default: store.vault)"
    )
    add_json(parser)


class VaultPlace(NamedTuple):
    """A vault: a file, or a name in the database of a URL."""

    url: str
    vault: str
    file: Path | None

    def open(self, settings: Settings, home: Path) -> Recollect:
        """Open the vault without other vaults, collections or a reranker."""
        place = StoreSettings(url=self.url, vault=self.vault)
        alone = replace(
            settings, store=place, rerank=Rerank(provider="none"), vaults=(), collections=()
        )
        return Recollect(self.file, home=home, settings=alone, interface="command line")


@command(
    "  recollect store copy ~/vault.db postgresql://recollect@db/recollect\n"
    "  recollect store copy postgresql://recollect@db/recollect team.db --vault team",
    arguments,
)
def store_copy(args: argparse.Namespace) -> int:
    home = home_folder(os.environ)
    settings = load_settings(home, os.environ)
    vault = args.vault or settings.store.vault
    source, target = (_read_place(text, vault) for text in (args.source, args.target))
    _check(source, target)
    with source.open(settings, home) as old:
        with target.open(settings, home) as new:
            take_secret(old.session.store, new.session.store)
        with ExitStack() as opened:
            new = opened.enter_context(target.open(settings, home))
            new.models = old.models
            total = old.stats()["memories"] + old.stats()["forgotten"]
            advance = opened.enter_context(progress("Copying", total))
            done = copy_vault(old.session, new.session, advance)
        line = f"{counted(done.memories, 'memory')} copied to {new.store.database.place}"
    say(args.json, f"{line}; {_result(done)}.", target=new.store.database.place, **done._asdict())
    return 0


def _result(done: Copied) -> str:
    return (
        f"the same: {counted(done.forgotten, 'forgotten memory')}, "
        f"{counted(done.versions, 'version')}, {counted(done.vectors, 'vector')}, "
        f"the answers to {counted(done.queries, 'query')}"
    )


def _read_place(text: str, vault: str) -> VaultPlace:
    if text.startswith(("postgresql://", "postgres://")):
        return VaultPlace(text, vault, None)
    if "://" in text:
        raise UserError("FROM and TO are a file or postgresql://user@host/database.")
    return VaultPlace("", vault, Path(text).expanduser().absolute())


def _check(source: VaultPlace, target: VaultPlace) -> None:
    if source == target or (
        source.file and target.file and source.file.resolve() == target.file.resolve()
    ):
        raise UserError("FROM and TO are the same vault.")
    if source.file is not None:
        if target.file is not None:
            raise UserError("Both are files: `recollect backup` copies a vault to another file.")
        if not source.file.is_file():
            raise UserError(f"There is no vault at {source.file}.")
        if header_at(source.file) is not None:
            raise UserError(
                f"{source.file} is locked, and PostgreSQL keeps memories as they are. If the "
                "database's disks are encrypted, unlock the vault first: `recollect vault unlock`."
            )


@command("  recollect store migrate", add_json)
def store_migrate(args: argparse.Namespace) -> int:
    url = load_settings(home_folder(os.environ)).store.url
    if not url:
        raise UserError(
            "`store.url` is empty: the vault is a file, which is brought up to date when it is "
            "opened. For PostgreSQL set it to postgresql://user@host/database."
        )
    done = migrate(url, lambda one: None if args.json else print(f"{one.number:04} {one.name}"))
    sentence = f"{counted(done, 'migration')} applied." if done else "Nothing to do."
    say(args.json, sentence, applied=done)
    return 0
