"""What a caller asks for, checked before anything is read or written."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from recollect.errors import NotFound, UserError
from recollect.times import in_utc, minute
from recollect.types import ANY_OF, WITHOUT, Filter, Search, Sort, View

# Several pages: a longer text is a document, and every word of a query costs time.
LONGEST_QUERY = 10_000
# More than any vault can answer with; larger limits mean the same and overflow nothing.
LARGEST_LIMIT = 1_000_000_000
# An hour: longer deadlines mean the same, and a thread can wait for it.
LONGEST_DEADLINE_MS = 3_600_000
# What a filter's values are, where they are not texts.
FILTER_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("tags", "holding", "without", "among"), (list, tuple)),
    **dict.fromkeys(WITHOUT, (list, tuple)),
    "archived": (bool,),
    **dict.fromkeys(("since", "until", "made_since", "made_before", "valid_at"), (datetime,)),
    "unchanged_since": (int,),
}


def clean_query(text: str) -> str:
    """A query as UTF-8 text of at most LONGEST_QUERY characters; NUL, which no memory holds,
    separates words. Every query of every interface is checked here."""
    if not isinstance(text, str):
        raise UserError("The query must be a text.")
    if not is_text(text):
        raise UserError("The query is not valid UTF-8 text.")
    if len(text) > LONGEST_QUERY:
        raise UserError(
            f"The query has {len(text):,} characters; at most {LONGEST_QUERY:,} are allowed. "
            "Search for the words that matter."
        )
    return text.replace("\0", " ")


def is_text(value: str) -> bool:
    """Whether it has a UTF-8 form; lone surrogates come from bytes that were not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean_text(text: str) -> str:
    """Text as a memory can hold it: no NUL, no half surrogates, no white space around it."""
    bare = text.replace("\0", "").strip()
    return bare if is_text(bare) else bare.encode(errors="replace").decode()


def named_ids(ids: Sequence[str]) -> Sequence[str]:
    """The ids, checked: NotFound for text that cannot be an id."""
    for id in several(ids, "ids"):
        if not is_text(id):
            raise unknown_memory(id)
    return ids


def split_list(text: str) -> list[str]:
    """Return the values of a list written as one text, `a,b`. `\\,` is a comma within a value."""
    parts = (part.strip().replace("\\,", ",") for part in re.split(r"(?<!\\),", text))
    return [part for part in parts if part] or [text]


def several(values: Sequence[str], what: str) -> tuple[str, ...]:
    """The values as a tuple; one text is refused, which would be a sequence of letters."""
    if isinstance(values, str):
        raise UserError(f"{what} must be a list of texts, not one text.")
    return tuple(values)


def sayable_path(path: Path) -> Path:
    """SQLite takes a path as UTF-8 text without NUL."""
    if "\0" in str(path) or not is_text(str(path)):
        raise UserError(f"The vault's path {str(path)!r} is not valid UTF-8 text.")
    return path


def existing_folder(path: Path) -> Path:
    """The folder's absolute path without links; UserError where there is no such folder."""
    if "\0" in str(path) or not is_text(str(path)):
        raise UserError(f"The folder {str(path)!r} has a name that is not valid UTF-8 text.")
    try:
        folder = (path if path.exists() else path.expanduser()).resolve()
        mode = folder.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"There is no folder {path}; make it first.") from error
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"The folder {path} cannot be read: {reason}.") from error
    if not stat.S_ISDIR(mode):
        raise NotFound(f"{path} is a file; a folder is needed.")
    return folder


def lies_in(path: Path, folder: Path) -> bool:
    """Return whether the path is that folder or in it. The file system compares them, so that
    links, `..` and another case change nothing."""
    real = path.resolve()
    return folder.exists() and any(
        above.exists() and above.samefile(folder) for above in (real, *real.parents)
    )


def outside_home(path: Path, home: Path) -> Path:
    """Return the path; raise UserError if it is in the home folder: the tokens, settings and logs
    there must never become memories."""
    if lies_in(path, home):
        raise UserError(f"{path} is in the home folder of Recollect. Name a place outside of it.")
    return path


def not_around_home(path: Path, home: Path) -> Path:
    """Return the path; raise UserError if it is the home folder or holds it."""
    if lies_in(home, path):
        raise UserError(f"{path} holds the home folder of Recollect. Name another folder.")
    return path


def bounded(limit: int) -> int:
    """Return a limit that is at least 1 and small enough for SQLite."""
    if not isinstance(limit, int):
        raise UserError(not_whole("limit", limit))
    if limit < 1:
        raise UserError(too_small("limit", limit, 1))
    return min(limit, LARGEST_LIMIT)


# What is wrong with a value, in the same words whichever interface it came through


def not_whole(name: str, value: object) -> str:
    return f"{name} must be a whole number, not {value!r}."


def too_small(name: str, value: object, least: object) -> str:
    return f"{name} must be at least {least}, not {value}."


def not_allowed(name: str, value: object, allowed: Iterable[str]) -> str:
    return f"{name} cannot be {value!r}; allowed are: {', '.join(allowed)}."


def checked_deadline(milliseconds: int | None) -> int | None:
    """A deadline of at least a millisecond, and no longer than a thread can wait."""
    if milliseconds is None:
        return None
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool) or milliseconds < 1:
        raise UserError(
            f"deadline_ms must be a whole number of milliseconds from 1, not {milliseconds!r}."
        )
    return min(milliseconds, LONGEST_DEADLINE_MS)


def checked_search(search: Search | str, /, **fields: Any) -> Search:
    """The search, or one of this query, with these fields of `Search` and of its `Filter` set. What
    cannot be is a UserError."""
    if not isinstance(search, Search):
        search = Search(query=search)
    own = {name: value for name, value in fields.items() if name in Search.__struct_fields__}
    narrow = {name: value for name, value in fields.items() if name not in own}
    search = replace(search, **own)
    return replace(
        search,
        query=clean_query(search.query),
        view=None if search.view is None else one_of(View, search.view, "view"),
        sort=one_of(Sort, search.sort, "sort"),
        filter=checked_filter(narrowed(search.filter, narrow)),
        prefer_tags=several(search.prefer_tags, "prefer_tags"),
        ignored=several(search.ignored, "ignored"),
        vaults=several(search.vaults, "vaults"),
        now=search.now and in_utc(search.now, "now"),
        as_of=search.as_of and in_utc(search.as_of, "as_of"),
        deadline_ms=checked_deadline(search.deadline_ms),
    )


def one_of(allowed: Any, name: str, what: str) -> Any:
    """The name, where it is one of those that a Literal has; else UserError that lists them."""
    if name not in (known := get_args(allowed)):
        raise UserError(not_allowed(what, name, known))
    return name


def narrowed(filter: Filter, narrow: Mapping[str, object]) -> Filter:
    """The filter with these fields set; UserError for a name that is none."""
    for name in narrow:
        if name not in Filter.__struct_fields__:
            known = ", ".join(Filter.__struct_fields__)
            raise UserError(f"{name!r} is not a filter; filters are: {known}.")
    return replace(filter, **narrow)


def checked_filter(filter: Filter) -> Filter:
    """Values of the right types and in UTF-8, or UserError; times without a zone are UTC."""
    sound: dict[str, Any] = {}
    for name in Filter.__struct_fields__:
        value = getattr(filter, name)
        texts = value if isinstance(value, list | tuple) else [value]
        right = value is None or isinstance(value, FILTER_TYPES.get(name, str))
        if name in ANY_OF and value is not None:
            right = all(isinstance(text, str) for text in texts)
        if not right or not all(is_text(text) for text in texts if isinstance(text, str)):
            raise UserError(f"The filter {name} cannot be {value!r}.")
        sound[name] = tuple(value) if isinstance(value, list) else value
        if isinstance(value, datetime):
            sound[name] = in_utc(value, name)
    return Filter(**sound)


def refuse_link(file: Path) -> None:
    """UserError where the file is a link: what is written there would land elsewhere."""
    if file.is_symlink():
        raise UserError(f"{file} is a link, and links are not followed. Name the file itself.")


def unknown_memory(id: str, as_of: datetime | None = None) -> NotFound:
    if as_of is not None:
        return NotFound(f"There was no memory {id!r} as of {minute(as_of)}.", id)
    return NotFound(f"There is no memory {id!r}; `recollect list` shows what there is.", id)
