"""Recollect: memory search for AI agents and the people they work for.

from recollect import Recollect

with Recollect("notes.db") as memory:
    memory.save(title="Switched to JWT", text="Sessions became tokens.", tags=["auth"])
    for result in memory.search("how do we authenticate"):
        print(result.score, result.memory.title)
"""

from importlib import import_module

from recollect.version import __version__

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without the time to import typing
if TYPE_CHECKING:
    from recollect.engine import Recollect
    from recollect.errors import Forbidden, ProviderError, RecollectError, StoreError, UserError
    from recollect.types import Filter, Memory, Response, Result, Term

__all__ = [
    "Filter",
    "Forbidden",
    "Memory",
    "ProviderError",
    "Recollect",
    "RecollectError",
    "Response",
    "Result",
    "StoreError",
    "Term",
    "UserError",
    "__version__",
]

_HOMES = {
    "Recollect": "engine",
    **dict.fromkeys(
        ("Forbidden", "ProviderError", "RecollectError", "StoreError", "UserError"), "errors"
    ),
    **dict.fromkeys(("Filter", "Memory", "Response", "Result", "Term"), "types"),
}


def __getattr__(name: str) -> object:
    """Names are imported when first used, so that `recollect --version` imports none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    return getattr(import_module(f"recollect.{_HOMES[name]}"), name)
