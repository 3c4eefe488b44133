"""`recollect sessions`."""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from typing import Any

from recollect.auth.audit import Audit
from recollect.auth.capabilities import OWNER
from recollect.auth.credentials import BrowserSession, SessionStore
from recollect.auth.token_store import TokenStore
from recollect.interfaces.cli.arguments import (
    Actions,
    WrongUsage,
    add_action,
    add_json,
    chosen_action,
)
from recollect.interfaces.cli.output import BOLD, DIM, print_rows, say, styled
from recollect.present.visible import visible
from recollect.settings_reading import home_folder, load_settings
from recollect.store.registry import opened_access
from recollect.times import day, iso

EXAMPLE = "  recollect sessions\n  recollect sessions end 3f9a2c01\n  recollect sessions end --all"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_action(parser, ACTIONS, "the sessions to end")
    parser.add_argument("--all", action="store_true", help="with end: every session")
    add_json(parser, rows=True)


def run(args: argparse.Namespace) -> int:
    action, home = chosen_action("sessions", args, ACTIONS), home_folder(os.environ)
    with closing(opened_access(home, load_settings(home).store)) as access:
        return action(SessionStore(TokenStore(access)), args)


def _list(store: SessionStore, args: argparse.Namespace) -> int:
    if args.all:
        raise WrongUsage("--all is for end: recollect sessions end --all")
    every = store.every()
    if args.json:
        print_rows(args, [_facts(session) for session in every])
        return 0
    for session in every:
        name = session.token_name or "the server's token"
        browser = visible(session.browser) or "unknown browser"
        print(f"{styled(session.id, BOLD)}  {visible(name)}  {styled(browser, DIM)}")
        used = session.used_at or session.created_at
        times = f"created {day(session.created_at)}, used {day(used)}, "
        print(styled(f"{'':<10}{times}expires {day(session.expires_at)}", DIM))
    if not every:
        print("No browser is logged in.")
    return 0


def _end(store: SessionStore, args: argparse.Namespace) -> int:
    if bool(args.names) == args.all:
        raise WrongUsage("Name the sessions to end, or say --all.")
    ids = [session.id for session in store.every()] if args.all else args.names
    store.end(ids)
    audit = Audit(store.access)
    for id in ids:
        audit.wrote(OWNER, f"end session {id}", "", 1)
    say(args.json, f"Ended: {', '.join(ids) or 'none; no browser was logged in'}.", ended=ids)
    return 0


def _facts(session: BrowserSession) -> dict[str, Any]:
    return {
        "id": session.id,
        "token": session.token_id,
        "name": session.token_name,
        "browser": session.browser,
        "created_at": iso(session.created_at),
        "expires_at": iso(session.expires_at),
        "used_at": None if session.used_at is None else iso(session.used_at),
    }


ACTIONS: Actions[SessionStore] = {
    "list": (_list, "list"),
    "end": (_end, "end [ID]..."),
}
