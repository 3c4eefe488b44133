"""Capabilities, and the caller that has them.

No capability contains another: a token that may only repair the vault, or only save, reads no
memories.
"""

from __future__ import annotations

from msgspec import Struct

SEARCH = "search:use"
WRITE = "memory:write"
DELETE = "memory:delete"
ADMIN = "admin"
# Capability → what it allows, for the help and the documentation.
CAPABILITIES = {
    SEARCH: "search, read, list and export memories; read recipes and counts",
    WRITE: "save, import, change and pin memories; give feedback",
    DELETE: "forget memories, bring them back, purge them",
    ADMIN: "save recipes, check and repair the vault, rebuild indexes and vectors",
}
EVERYTHING = frozenset(CAPABILITIES)


class Caller(Struct, frozen=True, kw_only=True):
    """A caller's capabilities, and the vaults and collections they hold for; None means all."""

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
        """Return why the call is refused, without revealing anything, or None if it is allowed."""
        if not self.sees(vault):
            return f"This caller may not use the vault {vault!r}."
        for capability in capabilities:
            if capability not in self.capabilities:
                return f"This needs {capability}, which this caller may not do."
        return None

    def within(self, other: Caller) -> Caller:
        """Return this caller with only the rights that the other has, too."""
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
