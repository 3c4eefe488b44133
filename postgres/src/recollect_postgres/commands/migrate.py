"""`recollect store migrate`."""

from __future__ import annotations

import argparse
import os

from recollect.errors import UserError
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import say
from recollect.present.words import counted
from recollect.settings_reading import home_folder, load_settings
from recollect_postgres.migration import migrate


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
