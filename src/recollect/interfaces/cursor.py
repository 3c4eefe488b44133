"""Where a page of a listing ended, as one word for an address."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from typing import get_args

import msgspec

from recollect.checks import is_text
from recollect.errors import UserError
from recollect.times import from_micros, to_micros
from recollect.types import Place, Tier

LONGEST = 2000  # an id of 200 characters of four bytes each, as base64, with room to spare


def encode_place(place: Place) -> str:
    """The place as an opaque text, so that what it holds may change."""
    fields = [place.tier, to_micros(place.updated_at), place.id]
    return urlsafe_b64encode(msgspec.json.encode(fields)).rstrip(b"=").decode()


def decode_place(cursor: str) -> Place:
    """The place of a cursor; UserError for anything that `encode_place` did not make."""
    try:
        if len(cursor) > LONGEST:
            raise ValueError("longer than any that was made")
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        tier, micros, id = msgspec.json.decode(
            b64decode(padded, altchars=b"-_", validate=True), type=tuple[str, int, str]
        )
        if tier not in get_args(Tier) or not is_text(id):
            raise ValueError("no tier, or no id")
        place = Place(tier, from_micros(micros), id)  # type: ignore[arg-type]
    except (ValueError, OverflowError) as error:  # msgspec's and base64's errors are ValueErrors
        raise UserError("This cursor is not valid; use one that a listing returned.") from error
    return place
