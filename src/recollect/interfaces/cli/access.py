"""Commands for access: tokens, browser sessions, the audit log."""

from __future__ import annotations

import argparse
import os
import sys
from collections import deque
from contextlib import closing, suppress
from datetime import datetime
from typing import Any

from recollect.auth.audit import Audit
from recollect.auth.capabilities import CAPABILITIES, OWNER
from recollect.auth.credentials import BrowserSession, SessionStore
from recollect.auth.token_store import Token, TokenStore, real_time
from recollect.checks import check_limit
from recollect.engine import Recollect
from recollect.errors import RecollectError
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import BOLD, DIM, YELLOW, paint, print_json, print_rows, say
from recollect.lifetime import Lifetime
from recollect.present.sentences import visible
from recollect.query.time.moments import read_time
from recollect.settings_reading import has_vault, home_folder, load_settings
from recollect.store.registry import open_access_at
from recollect.times import day, iso, minute, parse_iso, parse_time

LIMIT = 50  # entries of the audit log


@command(
    "  recollect access token create --can search:use --name reader\n"
    "  recollect access audit --since 7d"
)
def access(args: argparse.Namespace) -> None:
    arg.print_help("access")


def _create(stored: TokenStore, args: argparse.Namespace) -> None:
    if not args.can:
        raise WrongUsage(f"Say what the token allows: --can {', '.join(CAPABILITIES)}.")
    secret, token = stored.create(
        args.can,
        name=args.name,
        vaults=args.vault,
        collections=args.collection,
        expires_at=read_time(args.expires, real_time(), "expires") if args.expires else None,
    )
    _log_change(stored, "create token", token)
    if args.json:
        print_json(_token_facts(token, real_time()) | {"token": secret})
        return
    print(secret)
    sys.stdout.flush()
    print(f"Copy the token now: it is not shown again. Its id: {token.id}", file=sys.stderr)


def _list_tokens(stored: TokenStore, args: argparse.Namespace) -> None:
    now = real_time()
    every = stored.list_all()
    if args.json:
        print_rows(args, [_token_facts(token, now) for token in every])
        return
    if not every:
        print("No tokens yet. To create one: recollect access token create --can search:use")
    for token in every:
        where = [*(token.vaults or ()), *(token.collections or ())]
        within = f" in {', '.join(where)}" if where else ""
        name, allowed = visible(token.name), ", ".join(token.capabilities)
        print(f"{paint(token.id, BOLD)}  {token.state(now):<8} {name}: {allowed}{visible(within)}")
        times = (
            ("created", token.created_at),
            ("expires", token.expires_at),
            ("revoked", token.revoked_at),
            ("used", token.used_at),
        )
        shown = ", ".join(f"{what} {day(moment)}" for what, moment in times if moment)
        print(paint(f"{'':<10}{shown}", DIM))


def _revoke(stored: TokenStore, args: argparse.Namespace) -> None:
    revoked = [stored.revoke(id) for id in args.names]
    for token in revoked:
        _log_change(stored, "revoke token", token)
    if args.json:
        print_json({"revoked": [token.id for token in revoked]})
        return
    for token in revoked:
        print(f"Revoked: {token.id} ({visible(token.name)}).")


def _log_change(stored: TokenStore, action: str, token: Token) -> None:
    Audit(stored.access).log_write(OWNER, f"{action} {token.id}", "", 1)


def _token_facts(token: Token, now: datetime) -> dict[str, Any]:
    times = ("created_at", "expires_at", "revoked_at", "used_at")
    return (
        _facts(token, "id", "name")
        | {"state": token.state(now)}
        | _facts(token, "capabilities", "vaults", "collections", *times)
    )


def _facts(record: object, *names: str) -> dict[str, Any]:
    """Return these attributes, times as texts."""
    found = {name: getattr(record, name) for name in names}
    return {name: iso(one) if isinstance(one, datetime) else one for name, one in found.items()}


TOKEN_ACTIONS: arg.Actions[TokenStore] = {
    "create": (_create, "create"),
    "list": (_list_tokens, "list"),
    "revoke": (_revoke, "revoke ID..."),
}


@command(
    "  recollect access token create --can search:use --name reader --expires 90d\n"
    "  recollect access token list\n  recollect access token revoke 3f9a2c01",
    arg.argument("action", "ACTION", "create, list or revoke"),
    arg.argument("names", "ID", "the tokens to revoke", nargs="*"),
    arg.group(
        "for create",
        arg.argument(
            "--can",
            "CAPABILITY",
            f"what the token allows; repeatable: {', '.join(CAPABILITIES)}",
            action="append",
            default=[],
            choices=[*CAPABILITIES],
        ),
        arg.repeatable("--vault", "NAME", "only this vault; your own is `agent` (default: all)"),
        arg.repeatable("--collection", "NAME", "only this shared collection (default: all)"),
        arg.argument("--expires", "TIME", "90d, next month or a date (default: never)"),
        arg.argument("--name", "NAME", "its name in lists and logs", default=""),
    ),
    arg.rows(),
)
def access_token(args: argparse.Namespace) -> int | None:
    args.command, args.actions = "access token", TOKEN_ACTIONS
    action = arg.find_action(args)
    options = ("can", "vault", "collection", "expires", "name")
    if args.action != "create" and any(getattr(args, name) for name in options):
        raise arg.usage_error(f"access token {TOKEN_ACTIONS[args.action][1]}")
    home = home_folder(os.environ)
    with closing(open_access_at(home, load_settings(home).store)) as access:
        return action(TokenStore(access), args)


def _list_sessions(store: SessionStore, args: argparse.Namespace) -> None:
    if args.all:
        raise WrongUsage("--all is for end: recollect access sessions end --all")
    every = store.list_all()
    if args.json:
        print_rows(args, [_session_facts(session) for session in every])
        return
    for session in every:
        name = session.token_name or "the server's token"
        browser = visible(session.browser) or "unknown browser"
        print(f"{paint(session.id, BOLD)}  {visible(name)}  {paint(browser, DIM)}")
        used = session.used_at or session.created_at
        times = f"created {day(session.created_at)}, used {day(used)}, "
        print(paint(f"{'':<10}{times}expires {day(session.expires_at)}", DIM))
    if not every:
        print("No browser is logged in.")


def _end(store: SessionStore, args: argparse.Namespace) -> None:
    if bool(args.names) == args.all:
        raise WrongUsage("Name the sessions to end, or say --all.")
    ids = [session.id for session in store.list_all()] if args.all else args.names
    store.end(ids)
    audit = Audit(store.access)
    for id in ids:
        audit.log_write(OWNER, f"end session {id}", "", 1)
    say(args.json, f"Ended: {', '.join(ids) or 'none; no browser was logged in'}.", ended=ids)


def _session_facts(session: BrowserSession) -> dict[str, Any]:
    named = {"token": session.token_id, "name": session.token_name}
    times = ("created_at", "expires_at", "used_at")
    return _facts(session, "id") | named | _facts(session, "browser", *times)


SESSION_ACTIONS: arg.Actions[SessionStore] = {
    "list": (_list_sessions, "list"),
    "end": (_end, "end [ID]..."),
}


@command(
    "  recollect access sessions\n  recollect access sessions end 3f9a2c01\n"
    "  recollect access sessions end --all",
    arg.action(SESSION_ACTIONS, "the sessions to end"),
    arg.flag("--all", "with end: every session"),
    arg.rows(),
)
def access_sessions(args: argparse.Namespace) -> int | None:
    run, home = arg.find_action(args), home_folder(os.environ)
    with closing(open_access_at(home, load_settings(home).store)) as access:
        return run(SessionStore(TokenStore(access)), args)


@command(
    "  recollect access audit --since 7d\n  recollect access audit --refused --json",
    arg.argument("--since", "TIME", "entries since: 2026-03-01, 7d, last week"),
    arg.flag("--refused", "only requests that were refused"),
    arg.limit(f"the latest {LIMIT}", whole=True),
    arg.rows(),
)
def access_audit(args: argparse.Namespace) -> None:
    since = read_time(args.since, real_time(), "since") if args.since else None
    most = check_limit(arg.limit_of(args, LIMIT))
    home = home_folder(os.environ)
    with closing(Audit(open_access_at(home, load_settings(home).store))) as audit:
        found, every = deque[dict[str, Any]](maxlen=most), 0
        for one in audit.entries():
            if _is_wanted(one, since, refused=args.refused):
                every += 1
                found.append(one)
    named = _find_ids({mark for entry in found for mark in entry.get("ids", ())})
    if args.json:
        print_rows(args, [entry | _memories(entry, named) for entry in found])
        return
    for entry in found:
        print(_entry_line(entry, _memories(entry, named).get("memories", [])))
    if more := arg.more_line("access audit", every - len(found), args):
        print(paint(more, DIM))


def _find_ids(marks: set[str]) -> dict[str, str]:
    """Return the ids of the memories whose hashes are in the log; {} if the vault cannot be
    opened."""
    home = home_folder(os.environ)
    if not marks or not has_vault(home, load_settings(home)):
        return {}
    with suppress(RecollectError), Recollect(lifetime=Lifetime.ONCE, at_rest=True) as memory:
        return memory.ids_by_mark(marks)
    return {}


def _memories(entry: dict[str, Any], named: dict[str, str]) -> dict[str, list[str]]:
    ids = [named[mark] for mark in entry.get("ids", ()) if mark in named]
    return {"memories": ids} if ids else {}


def _is_wanted(entry: dict[str, Any], since: datetime | None, *, refused: bool) -> bool:
    if refused and entry.get("outcome") != "refused":
        return False
    return since is None or parse_time(str(entry.get("time", "")), "time") >= since


def _entry_line(entry: dict[str, Any], ids: list[str]) -> str:
    """Return a line such as `2026-03-01 12:00 UTC  owner  save  auth-jwt-001`."""
    fields = {name: visible(str(value)) for name, value in entry.items()}
    who = fields.get("caller", "") + (f" ({fields['token']})" if fields.get("token") else "")
    at = parse_iso(fields.get("time", ""), "time")
    parts = [paint(minute(at) if at else "", DIM), f"{who:<24}", fields.get("action", "")]
    if fields.get("outcome") == "refused":
        parts.append(paint(f"refused: {fields.get('why', '')}", YELLOW))
    if fields.get("count", "1") != "1":
        parts.append(f"× {fields['count']}")
    parts += [visible(id) for id in ids]
    return "  ".join(parts)
