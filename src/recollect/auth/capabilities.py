"""Who may do what: the capabilities, the caller, and how a method declares what it needs.

No capability contains another. A token that may only repair the vault reads no memories, nor does
one that may only save. A token that may do several things has several capabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from msgspec import Struct

SEARCH = "search:use"
WRITE = "memory:write"
DELETE = "memory:delete"
ADMIN = "admin"
# Each with what it allows, for the help and the documentation.
CAPABILITIES = {
    SEARCH: "search, read, list and export memories; read recipes and counts",
    WRITE: "save, import, change and pin memories; give feedback",
    DELETE: "forget memories, bring them back, purge them",
    ADMIN: "save recipes, check and repair the vault, rebuild indexes and vectors",
}
EVERYTHING = frozenset(CAPABILITIES)


class Caller(Struct, frozen=True, kw_only=True):
    """Who calls, and what they may do where. None means every vault, or every collection that a
    search in the home's own vault includes."""

    name: str
    capabilities: frozenset[str]
    vaults: frozenset[str] | None = None
    collections: frozenset[str] | None = None
    token: str = ""  # the short id of the token that was shown, if one was

    def may(self, *capabilities: str) -> bool:
        return self.capabilities.issuperset(capabilities)

    def sees(self, vault: str) -> bool:
        return self.vaults is None or vault in self.vaults

    def shares(self, collection: str) -> bool:
        return self.collections is None or collection in self.collections

    def refusal(self, capabilities: tuple[str, ...], vault: str) -> str | None:
        """Why the call is refused, in a sentence that reveals nothing; None where it is not."""
        if not self.sees(vault):
            return f"This caller may not use the vault {vault!r}."
        for capability in capabilities:
            if capability not in self.capabilities:
                return f"This needs {capability}, which this caller may not do."
        return None

    def within(self, other: Caller) -> Caller:
        """This caller with only what the other may do as well: acting for another adds nothing."""
        return Caller(
            name=self.name,
            capabilities=self.capabilities & other.capabilities,
            vaults=_both(self.vaults, other.vaults),
            collections=_both(self.collections, other.collections),
            token=self.token or other.token,
        )


OWNER = Caller(name="owner", capabilities=EVERYTHING)
NOBODY = Caller(name="nobody", capabilities=frozenset(), vaults=frozenset())


def _both(some: frozenset[str] | None, others: frozenset[str] | None) -> frozenset[str] | None:
    if some is None or others is None:
        return others if some is None else some
    return some & others


class Guarded(Protocol):
    """An object that knows its caller and refuses what the caller may not do."""

    def require(self, *capabilities: str, action: str, anywhere: bool = False) -> None: ...


Owner = TypeVar("Owner", bound=Guarded)
Return = TypeVar("Return")
Method = TypeVar("Method", bound=Callable[..., Any])
P = ParamSpec("P")


def needs(
    *capabilities: str,
    anywhere: bool = False,
) -> Callable[[Callable[Concatenate[Owner, P], Return]], Callable[Concatenate[Owner, P], Return]]:
    """Declare which capabilities a method needs; they are checked before it runs. The caller must
    also be allowed to use the vault. With `anywhere`, one of the vaults that a search spans is
    enough, and the method itself uses no other."""

    def declared(
        method: Callable[Concatenate[Owner, P], Return],
    ) -> Callable[Concatenate[Owner, P], Return]:
        @wraps(method)
        def checked(self: Owner, /, *args: P.args, **named: P.kwargs) -> Return:
            self.require(*capabilities, action=method.__name__, anywhere=anywhere)
            return method(self, *args, **named)

        checked.needs = frozenset(capabilities)  # type: ignore[attr-defined]
        return checked

    return declared


def free(method: Method) -> Method:
    """Declare that a method needs no capability, since it does not touch the vault."""
    method.needs = frozenset()  # type: ignore[attr-defined]
    return method
