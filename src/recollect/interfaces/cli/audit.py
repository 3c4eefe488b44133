"""`recollect audit`."""

from __future__ import annotations

import argparse
import os
from collections import deque
from contextlib import closing, suppress
from datetime import datetime
from typing import Any

from recollect.auth.audit import Audit
from recollect.auth.token_store import real_time
from recollect.engine import Recollect
from recollect.errors import RecollectError, UserError
from recollect.interfaces.cli.arguments import add_json, add_limit, limit_of
from recollect.interfaces.cli.output import DIM, YELLOW, print_rows, styled
from recollect.interfaces.requests import moment
from recollect.lifetime import Lifetime
from recollect.present.visible import visible
from recollect.settings_reading import has_vault, home_folder, load_settings
from recollect.store.registry import opened_access
from recollect.times import parse_time

EXAMPLE = "  recollect audit --since 7d\n  recollect audit --refused --json"
LIMIT = 50


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--since", metavar="TIME", help="only since: 2026-03-01, 7d, last week")
    parser.add_argument("--refused", action="store_true", help="only requests that were refused")
    add_limit(parser, f"the latest {LIMIT}", whole=True)
    add_json(parser, rows=True)


def run(args: argparse.Namespace) -> int:
    since = moment(args.since, real_time(), "--since") if args.since else None
    limit = limit_of(args, LIMIT)
    if limit < 1:
        raise UserError(f"--limit must be at least 1, not {limit}.")
    home = home_folder(os.environ)
    with closing(Audit(opened_access(home, load_settings(home).store))) as audit:
        wanted = (one for one in audit.entries() if _wanted(one, since, refused=args.refused))
        found = deque(wanted, maxlen=limit)
    named = _named({mark for entry in found for mark in entry.get("ids", ())})
    if args.json:
        print_rows(args, [entry | _memories(entry, named) for entry in found])
        return 0
    for entry in found:
        print(_line(entry, _memories(entry, named).get("memories", [])))
    if args.limit is None and len(found) == limit:
        print(styled(f"These are the latest {limit}. For all: recollect audit --all", DIM))
    return 0


def _named(marks: set[str]) -> dict[str, str]:
    """The ids of the memories that the log has as hashes; none where the vault is not there, or
    locked and its key not at hand."""
    home = home_folder(os.environ)
    if not marks or not has_vault(home, load_settings(home)):
        return {}
    with suppress(RecollectError), Recollect(lifetime=Lifetime.ONCE, at_rest=True) as memory:
        return memory.marked(marks)
    return {}


def _memories(entry: dict[str, Any], named: dict[str, str]) -> dict[str, list[str]]:
    ids = [named[mark] for mark in entry.get("ids", ()) if mark in named]
    return {"memories": ids} if ids else {}


def _wanted(entry: dict[str, Any], since: datetime | None, *, refused: bool) -> bool:
    if refused and entry.get("outcome") != "refused":
        return False
    return since is None or parse_time(str(entry.get("time", "")), "time") >= since


def _line(entry: dict[str, Any], ids: list[str]) -> str:
    """`2026-03-01T12:00:00Z  owner  save  auth-jwt-001`."""
    fields = {name: visible(str(value)) for name, value in entry.items()}
    who = fields.get("caller", "") + (f" ({fields['token']})" if fields.get("token") else "")
    parts = [styled(fields.get("time", ""), DIM), f"{who:<24}", fields.get("action", "")]
    if fields.get("outcome") == "refused":
        parts.append(styled(f"refused: {fields.get('why', '')}", YELLOW))
    if fields.get("count", "1") != "1":
        parts.append(f"× {fields['count']}")
    parts += [visible(id) for id in ids]
    return "  ".join(parts)
