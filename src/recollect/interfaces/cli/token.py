"""`recollect token`."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import closing
from datetime import datetime
from typing import Any

from recollect.auth.audit import Audit
from recollect.auth.capabilities import CAPABILITIES, OWNER
from recollect.auth.token_store import Token, TokenStore, real_time
from recollect.interfaces.cli.arguments import (
    Actions,
    WrongUsage,
    add_json,
    add_repeatable,
    chosen_action,
    wrong_call,
)
from recollect.interfaces.cli.output import BOLD, DIM, print_json, print_rows, styled
from recollect.present.visible import visible
from recollect.settings_reading import home_folder, load_settings
from recollect.store.registry import opened_access
from recollect.times import day, iso, parse_expiry

EXAMPLE = (
    "  recollect token create --can search:use --name reader --expires 90d\n"
    "  recollect token list\n  recollect token revoke 3f9a2c01"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", help="create, list or revoke")
    parser.add_argument("names", metavar="ID", nargs="*", help="the tokens to revoke")
    group = parser.add_argument_group("for create")
    group.add_argument(
        "--can", action="append", default=[], metavar="CAPABILITY", choices=[*CAPABILITIES],
        help=f"what the token allows; repeatable: {', '.join(CAPABILITIES)}",
    )  # fmt: skip
    where = "only in this vault, the home's own being `agent` (default: every vault)"
    add_repeatable(group, "--vault", "NAME", where)
    where = "only this shared collection (default: every collection)"
    add_repeatable(group, "--collection", "NAME", where)
    group.add_argument("--expires", metavar="TIME", help="90d, 12h, 2w or a date (default: never)")
    group.add_argument("--name", default="", metavar="NAME", help="its name in lists and logs")
    add_json(parser, rows=True)


def run(args: argparse.Namespace) -> int:
    action = chosen_action("token", args, ACTIONS)
    options = ("can", "vault", "collection", "expires", "name")
    if args.action != "create" and any(getattr(args, name) for name in options):
        raise wrong_call(f"token {ACTIONS[args.action][1]}")
    home = home_folder(os.environ)
    with closing(opened_access(home, load_settings(home).store)) as access:
        return action(TokenStore(access), args)


def _create(stored: TokenStore, args: argparse.Namespace) -> int:
    if not args.can:
        raise WrongUsage(f"Say what the token allows: --can {', '.join(CAPABILITIES)}.")
    secret, token = stored.create(
        args.can,
        name=args.name,
        vaults=args.vault,
        collections=args.collection,
        expires_at=parse_expiry(args.expires, real_time(), "--expires") if args.expires else None,
    )
    _noted(stored, "create token", token)
    if args.json:
        print_json(_facts(token, real_time()) | {"token": secret})
        return 0
    print(secret)
    sys.stdout.flush()
    print(f"Copy the token now: it is not shown again. Its id: {token.id}", file=sys.stderr)
    return 0


def _list(stored: TokenStore, args: argparse.Namespace) -> int:
    now = real_time()
    every = stored.every()
    if args.json:
        print_rows(args, [_facts(token, now) for token in every])
        return 0
    if not every:
        print("No tokens yet. To create one: recollect token create --can search:use")
    for token in every:
        where = [*(token.vaults or ()), *(token.collections or ())]
        within = f" in {', '.join(where)}" if where else ""
        name, allowed = visible(token.name), ", ".join(token.capabilities)
        print(f"{styled(token.id, BOLD)}  {token.state(now):<8} {name}: {allowed}{visible(within)}")
        times = (
            ("created", token.created_at),
            ("expires", token.expires_at),
            ("revoked", token.revoked_at),
            ("used", token.used_at),
        )
        shown = ", ".join(f"{what} {day(moment)}" for what, moment in times if moment)
        print(styled(f"{'':<10}{shown}", DIM))
    return 0


def _revoke(stored: TokenStore, args: argparse.Namespace) -> int:
    revoked = [stored.revoke(id) for id in args.names]
    for token in revoked:
        _noted(stored, "revoke token", token)
    if args.json:
        print_json({"revoked": [token.id for token in revoked]})
        return 0
    for token in revoked:
        print(f"Revoked: {token.id} ({visible(token.name)}).")
    return 0


def _noted(stored: TokenStore, action: str, token: Token) -> None:
    Audit(stored.access).wrote(OWNER, f"{action} {token.id}", "", 1)


def _facts(token: Token, now: datetime) -> dict[str, Any]:
    times = {
        name: None if (moment := getattr(token, name)) is None else iso(moment)
        for name in ("created_at", "expires_at", "revoked_at", "used_at")
    }
    return {
        "id": token.id,
        "name": token.name,
        "state": token.state(now),
        "capabilities": token.capabilities,
        "vaults": token.vaults,
        "collections": token.collections,
        **times,
    }


ACTIONS: Actions[TokenStore] = {
    "create": (_create, "create"),
    "list": (_list, "list"),
    "revoke": (_revoke, "revoke ID..."),
}
