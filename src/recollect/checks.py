"""Checks of callers' values, made before anything is read or written."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from recollect.errors import NotFound, UserError
from recollect.times import in_utc, minute
from recollect.types import ANY_OF, WITHOUT, Filter, Search, Sort, View

LONGEST_QUERY = 10_000  # characters: several pages, since every word of a query costs time
LARGEST_LIMIT = 1_000_000_000  # more than any vault has, and no integer overflow
LONGEST_DEADLINE_MS = 3_600_000  # an hour, which a thread can wait
# The types of a filter's values that are not texts.
FILTER_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("tags", "holding", "without", "among"), (list, tuple)),
    **dict.fromkeys(WITHOUT, (list, tuple)),
    "archived": (bool,),
    **dict.fromkeys(("since", "until", "made_since", "made_before", "valid_at"), (datetime,)),
    "unchanged_since": (int,),
}


def clean_query(text: str) -> str:
    """Return a query of every interface, checked: UTF-8 text of at most LONGEST_QUERY characters.
    NUL, which no memory has, becomes a space."""
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
    """Return whether it can be encoded as UTF-8; lone surrogates come from invalid bytes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean_text(text: str) -> str:
    """Return text that a memory can hold: stripped, without NUL and lone surrogates."""
    bare = text.replace("\0", "").strip()
    return bare if is_text(bare) else bare.encode(errors="replace").decode()


def check_ids(ids: Sequence[str]) -> Sequence[str]:
    """Return the ids; raise NotFound for text that cannot be an id."""
    for id in as_tuple(ids, "ids"):
        if not is_text(id):
            raise unknown_memory(id)
    return ids


def split_list(text: str) -> list[str]:
    """Return the values of a list written as one text, `a,b`. `\\,` is a comma within a value."""
    parts = (part.strip().replace("\\,", ",") for part in re.split(r"(?<!\\),", text))
    return [part for part in parts if part] or [text]


def as_tuple(values: Sequence[str], what: str) -> tuple[str, ...]:
    """Return the values as a tuple; raise UserError for a single text."""
    if isinstance(values, str):
        raise UserError(f"{what} must be a list of texts, not one text.")
    return tuple(values)


def check_path(path: Path) -> Path:
    """Return the vault's path; raise UserError unless it is UTF-8 text without NUL, as SQLite
    needs."""
    if "\0" in str(path) or not is_text(str(path)):
        raise UserError(f"The vault's path {str(path)!r} is not valid UTF-8 text.")
    return path


def existing_folder(path: Path) -> Path:
    """Return the folder's absolute path without links; raise UserError if there is no folder."""
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


def is_inside(path: Path, folder: Path) -> bool:
    """Return whether the path is that folder or inside it, according to the file system: links,
    `..` and case do not matter."""
    real = path.resolve()
    return folder.exists() and any(
        above.exists() and above.samefile(folder) for above in (real, *real.parents)
    )


def outside_home(path: Path, home: Path) -> Path:
    """Return the path; raise UserError if it is in the home folder, whose tokens, settings and logs
    must never become memories."""
    if is_inside(path, home):
        raise UserError(f"{path} is in the home folder of Recollect. Name a place outside of it.")
    return path


def not_around_home(path: Path, home: Path) -> Path:
    """Return the path; raise UserError if it is the home folder or contains it."""
    if is_inside(home, path):
        raise UserError(f"{path} holds the home folder of Recollect. Name another folder.")
    return path


def check_limit(limit: int) -> int:
    """Return a limit, capped for SQLite; raise UserError if it is below 1."""
    if not isinstance(limit, int):
        raise UserError(not_whole("limit", limit))
    if limit < 1:
        raise UserError(too_small("limit", limit, 1))
    return min(limit, LARGEST_LIMIT)


# Error messages, the same in every interface


def not_whole(name: str, value: object) -> str:
    return f"{name} must be a whole number, not {value!r}."


def too_small(name: str, value: object, least: object) -> str:
    return f"{name} must be at least {least}, not {value}."


def not_allowed(name: str, value: object, allowed: Iterable[str]) -> str:
    return f"{name} cannot be {value!r}; allowed are: {', '.join(allowed)}."


def check_deadline(milliseconds: int | None) -> int | None:
    """Return a deadline, capped; raise UserError if it is below 1."""
    if milliseconds is None:
        return None
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool) or milliseconds < 1:
        raise UserError(
            f"deadline_ms must be a whole number of milliseconds from 1, not {milliseconds!r}."
        )
    return min(milliseconds, LONGEST_DEADLINE_MS)


def check_search(search: Search | str, /, **fields: Any) -> Search:
    """Return the search, or one for a query, with these fields of `Search` and of its `Filter` set;
    raise UserError for wrong values."""
    if not isinstance(search, Search):
        search = Search(query=search)
    own = {name: value for name, value in fields.items() if name in Search.__struct_fields__}
    narrow = {name: value for name, value in fields.items() if name not in own}
    search = replace(search, **own)
    for name in narrow:
        if name not in Filter.__struct_fields__:
            known = ", ".join(Filter.__struct_fields__)
            raise UserError(f"{name!r} is not a filter; filters are: {known}.")
    return replace(
        search,
        query=clean_query(search.query),
        view=None if search.view is None else one_of(View, search.view, "view"),
        sort=one_of(Sort, search.sort, "sort"),
        filter=check_filter(replace(search.filter, **narrow)),
        prefer_tags=as_tuple(search.prefer_tags, "prefer_tags"),
        ignored=as_tuple(search.ignored, "ignored"),
        vaults=as_tuple(search.vaults, "vaults"),
        now=search.now and in_utc(search.now, "now"),
        as_of=search.as_of and in_utc(search.as_of, "as_of"),
        deadline_ms=check_deadline(search.deadline_ms),
    )


def one_of(allowed: Any, name: str, what: str) -> Any:
    """Return the name if the Literal `allowed` has it; else raise UserError with those it has."""
    if name not in (known := get_args(allowed)):
        raise UserError(not_allowed(what, name, known))
    return name


def check_filter(filter: Filter) -> Filter:
    """Return the filter with times in UTC; raise UserError for values of wrong types or not in
    UTF-8."""
    checked: dict[str, Any] = {}
    for name in Filter.__struct_fields__:
        value = getattr(filter, name)
        texts = value if isinstance(value, list | tuple) else [value]
        right = value is None or isinstance(value, FILTER_TYPES.get(name, str))
        if name in ANY_OF and value is not None:
            right = all(isinstance(text, str) for text in texts)
        if not right or not all(is_text(text) for text in texts if isinstance(text, str)):
            raise UserError(f"The filter {name} cannot be {value!r}.")
        checked[name] = tuple(value) if isinstance(value, list) else value
        if isinstance(value, datetime):
            checked[name] = in_utc(value, name)
    return Filter(**checked)


def refuse_link(file: Path) -> None:
    """Raise UserError if the file is a link, through which a write would go elsewhere."""
    if file.is_symlink():
        raise UserError(f"{file} is a link, and links are not followed. Name the file itself.")


def unknown_memory(id: str, as_of: datetime | None = None, *, in_trash: bool = False) -> NotFound:
    if in_trash:
        message = f"{id!r} is in the trash. `recollect forget --undo {id}` brings it back."
        return NotFound(message, id)
    if as_of is not None:
        return NotFound(f"There was no memory {id!r} as of {minute(as_of)}.", id)
    return NotFound(f"There is no memory {id!r}.", id)


LONGEST_PATTERN = 2_000  # characters; longer ones are lists of words, which need no pattern


@cache
def compile_pattern(pattern: str) -> Any:
    """Return the pattern as `re.compile` would; raise UserError that says why it cannot be used."""
    import re2  # noqa: PLC0415  start-up time: few users have patterns

    if len(pattern) > LONGEST_PATTERN:
        length = f"it has {len(pattern):,} characters"
        raise UserError(f"{length}; at most {LONGEST_PATTERN:,} are allowed")
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0]
        raise UserError(reason.decode() if isinstance(reason, bytes) else str(reason)) from error
    if compiled.match(""):
        raise UserError("it matches the empty text")
    return compiled
