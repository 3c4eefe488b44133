"""`recollect token`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

from recollect.auth.audit import NAME as AUDIT
from recollect.auth.audit import Audit
from recollect.auth.capabilities import CAPABILITIES, OWNER
from recollect.auth.tokens import Token, TokenStore, expiry, real_time
from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.output import BOLD, DIM, print_json, styled, visible
from recollect.settings import home_folder
from recollect.times import iso

EXAMPLE = (
    "  recollect token create --can search:use --name reader --expires 90d\n"
    "  recollect token list\n  recollect token revoke 3f9a2c01"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="ACTION", help="create, list or revoke")
    parser.add_argument("ids", metavar="ID", nargs="*", help="which token, to revoke it")
    group = parser.add_argument_group("a new token")
    group.add_argument(
        "--can", action="append", default=[], metavar="C", choices=[*CAPABILITIES],
        help=f"what it allows, may be repeated: {', '.join(CAPABILITIES)}",
    )  # fmt: skip
    group.add_argument(
        "--vault", action="append", default=[], metavar="V",
        help="only in this vault, may be repeated; the home's own is agent (default: every vault)",
    )  # fmt: skip
    group.add_argument(
        "--collection", action="append", default=[], metavar="C",
        help="of the shared collections only this one, may be repeated (default: every one)",
    )  # fmt: skip
    group.add_argument(
        "--expires", metavar="T", help="90d, 12h, 2w or a date (default: when it is revoked)"
    )
    group.add_argument("--name", default="", metavar="N", help="what to call it in lists and logs")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.action not in ACTIONS:
        raise WrongUsage(f"{args.action!r} is not an action; there are: {', '.join(ACTIONS)}.")
    action, usage = ACTIONS[args.action]
    if (args.action == "revoke") != bool(args.ids):
        raise WrongUsage(f"It is called as `recollect token {usage}`.")
    options = ("can", "vault", "collection", "expires", "name")
    if args.action != "create" and any(getattr(args, name) for name in options):
        raise WrongUsage(f"It is called as `recollect token {usage}`.")
    action(TokenStore(home_folder(os.environ)), args)
    return 0


def _create(access: TokenStore, args: argparse.Namespace) -> None:
    if not args.can:
        raise WrongUsage(f"--can says what the token allows: {', '.join(CAPABILITIES)}.")
    secret, token = access.create(
        args.can,
        name=args.name,
        vaults=args.vault,
        collections=args.collection,
        expires_at=expiry(args.expires, real_time()) if args.expires else None,
    )
    _noted("create token", token)
    if args.json:
        print_json(_facts(token, real_time()) | {"token": secret})
        return
    print(secret)
    sys.stdout.flush()
    print(f"Keep it now: it is not shown again. Its id is {token.id}.", file=sys.stderr)


def _list(access: TokenStore, args: argparse.Namespace) -> None:
    now = real_time()
    every = access.every()
    if args.json:
        print_json([_facts(token, now) for token in every])
        return
    for token in every:
        where = [*(token.vaults or ()), *(token.collections or ())]
        within = f" in {', '.join(where)}" if where else ""
        name, allowed = visible(token.name), ", ".join(token.capabilities)
        print(f"{styled(token.id, BOLD)}  {token.state(now):<8} {name}: {allowed}{visible(within)}")
        times = (
            ("made", token.created_at),
            ("expires", token.expires_at),
            ("revoked", token.revoked_at),
            ("used", token.used_at),
        )
        shown = ", ".join(f"{what} {moment:%Y-%m-%d}" for what, moment in times if moment)
        print(styled(f"{'':<10}{shown}", DIM))


def _revoke(access: TokenStore, args: argparse.Namespace) -> None:
    revoked = [access.revoke(id) for id in args.ids]
    for token in revoked:
        _noted("revoke token", token)
    if args.json:
        print_json({"revoked": [token.id for token in revoked]})
        return
    for token in revoked:
        print(f"Revoked: {token.id} ({visible(token.name)}).")


def _noted(action: str, token: Token) -> None:
    audit = Audit(home_folder(os.environ) / AUDIT)
    audit.wrote(OWNER, f"{action} {token.id}", "", 1)


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


ACTIONS: dict[str, tuple[Callable[[TokenStore, argparse.Namespace], None], str]] = {
    "create": (_create, "create --can CAPABILITY"),
    "list": (_list, "list"),
    "revoke": (_revoke, "revoke ID"),
}
