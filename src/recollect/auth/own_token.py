"""The token that a server keeps for the user it runs as: in `token` of the home, mode 0600.

Whoever can read the file can read the vault beside it, too. Other users of the machine can reach
the server's port, but not the file.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from recollect.auth.capabilities import EVERYTHING, OWNER
from recollect.auth.token_store import TokenStore
from recollect.auth.tokens import Token
from recollect.errors import UserError
from recollect.files import locked_folder, opened_regular, write_whole

NAME = "token"
LONGEST = 200


def own_token(home: Path, stored: TokenStore) -> tuple[str, Token]:
    """The token's secret and what is known of it. A new one is made where there is none, where it
    was revoked, and where others could have read it: that one is revoked then."""
    file = home / NAME
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_folder(home):
            secret, private = _read(file)
            found = stored.known(secret)
            if found is not None and found[1] == "live":
                if private:
                    return secret, found[0]
                stored.revoke(found[0].id)
            secret, token = stored.create(EVERYTHING, name=OWNER.name)
            write_whole(file, f"{secret}\n")
    except OSError as error:
        raise UserError(
            f"The token for this user cannot be kept in {file}: {error.strerror}. Make the folder "
            "writable, or serve with --no-auth."
        ) from error
    return secret, token


def _read(file: Path) -> tuple[str, bool]:
    """What the file holds, and whether only this user could read it; nothing where there is none,
    or where it is a link."""
    try:
        stream = opened_regular(file)
    except OSError:
        return "", False
    if stream is None:
        return "", False
    with stream:
        found = os.fstat(stream.fileno())
        # Windows keeps the rights of files elsewhere; a home there is private by itself.
        others = stat.S_IMODE(found.st_mode) & 0o077 if os.name == "posix" else 0
        mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        return stream.read(LONGEST).decode(errors="replace").strip(), mine and not others
