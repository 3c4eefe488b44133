"""`recollect add`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from recollect.errors import NotFound
from recollect.folders.chunk_writing import Synced
from recollect.folders.transcript import transcript_clients, transcript_type
from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.secrets import add_redact
from recollect.interfaces.cli.syncing import add_no_embed, advancing, embed, follow, tell
from recollect.interfaces.setup.clients import Machine

EXAMPLE = (
    "  recollect add ~/notes\n  recollect add . --project harbor --watch\n"
    "  recollect add --transcripts"
)
EVERY = "all"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", help="the folder whose files become memories"
    )
    parser.add_argument(
        "--transcripts",
        metavar="CLIENT",
        nargs="?",
        const=EVERY,
        help="the sessions of a coding agent instead, turn by turn, followed from then on: "
        f"{', '.join(transcript_clients())} (default: all that are found); "
        "FOLDER is where they are, if not in the client's own place",
    )
    parser.add_argument(
        "--watch", action="store_true", help="keep running and follow its changes, until Ctrl+C"
    )
    parser.add_argument(
        "--project", metavar="NAME", help="the memories' project (default: the folder's name)"
    )
    add_no_embed(parser)
    add_redact(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    places = _places(args)
    with opened() as memory:
        done = Synced()
        for client, place in places:
            with advancing("Reading") as advance:
                if client:
                    done.include(
                        memory.add_transcripts(place, client, redact=args.redact, progress=advance)
                    )
                else:
                    done = memory.add_folder(
                        place,
                        project=args.project,
                        follow=True if args.watch else None,
                        redact=args.redact,
                        progress=advance,
                    )
        if not (args.no_embed or args.watch):
            embed(memory)
        tell(done, memory.waiting(), as_json=args.json, watching=args.watch)
        if args.watch:
            return follow(memory)
    return 0


def _places(args: argparse.Namespace) -> list[tuple[str, str]]:
    """The folders to add, each with the client whose transcripts it holds, or none."""
    if args.transcripts is None:
        if args.folder is None:
            raise WrongUsage("Usage: recollect add FOLDER, or add --transcripts [CLIENT].")
        return [("", args.folder)]
    if args.project is not None:
        raise WrongUsage("--project: each session has the project of its working directory.")
    if args.transcripts == EVERY and args.folder is not None:
        raise WrongUsage(f"Name the client: --transcripts {'|'.join(transcript_clients())}.")
    if args.transcripts != EVERY:
        transcript_type(args.transcripts)
        return [(args.transcripts, args.folder or _place(args.transcripts))]
    found = [(client, _place(client)) for client in transcript_clients()]
    there = [(client, place) for client, place in found if Path(place).is_dir()]
    if not there:
        places = ", ".join(place for _, place in found)
        raise NotFound(f"No transcripts are there; looked in: {places}.")
    return there


def _place(client: str) -> str:
    return transcript_type(client).kept_in.format_map(Machine(os.environ).folders())
