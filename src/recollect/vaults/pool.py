"""Several vaults searched as one: each is asked in a thread of its own, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

import msgspec

from recollect.errors import StoreError
from recollect.store.base import Store
from recollect.types import Response
from recollect.vaults.fan_out import Answer, Member
from recollect.vaults.fanned_store import FannedStore
from recollect.vaults.known import HOME, KnownVault

# Asks a vault in a thread of its own.
Begin = Callable[[KnownVault, Callable[[], Any]], "Future[Any]"]


class VaultPool(FannedStore):
    """The vaults that a search spans, by priority; the home's own is asked in this thread. Each has
    `deadline_s` seconds for everything that this search waits for."""

    def __init__(
        self,
        vaults: Sequence[KnownVault],
        stores: Mapping[str, Callable[[], Store]],
        first: Store,
        begin: Begin,
        deadline_s: float,
    ) -> None:
        members = [Member(vault.name, stores[vault.name]) for vault in vaults]
        super().__init__(members, first, copies=False)
        self._vaults = {vault.name: vault for vault in vaults}
        self._highest = max(vault.priority for vault in vaults)
        self._begin = begin
        self._left_s = dict.fromkeys(self._vaults, deadline_s)
        self._spent_ms = dict.fromkeys(self._vaults, 0.0)

    def begun(self, member: Member, question: Callable[[Member], Answer]) -> Callable[[], Answer]:
        asking = partial(self._timed, member, question)
        if member.name == HOME:
            return asking
        future = self._begin(self._vaults[member.name], asking)
        return partial(self._awaited, member.name, future, time.perf_counter())

    def _timed(self, member: Member, question: Callable[[Member], Answer]) -> Answer:
        start = time.perf_counter()
        try:
            return question(member)
        finally:
            self._spent_ms[member.name] += (time.perf_counter() - start) * 1000

    def _awaited(self, name: str, future: Future[Answer], start: float) -> Answer:
        """The answer; StoreError once the vault's time is over."""
        if not future.done():
            awaited(future, self._left_s[name] - (time.perf_counter() - start))
            self._left_s[name] -= time.perf_counter() - start
        return future.result()

    def preference(self, id: str) -> tuple[float, str]:
        """The priority of a memory's vault, as a share of the highest one here, and what it is."""
        vault = self._vaults[self.owners[id].name]
        share = vault.priority / self._highest if self._highest else 1.0
        return share, f"vault {vault.name}, tier {vault.tier}, priority {vault.priority:g}"

    def labelled(self, found: Response) -> Response:
        """As of any stores; StoreError where no vault could answer."""
        if len(self.away) == len(self.members):
            raise no_answer(self.away)
        spent = {
            f"vaults.{name}": round(spent, 3)
            for name, spent in self._spent_ms.items()
            if name not in self.away
        }
        counts: dict[str, Any] = dict(found.counts)
        if self.repeated:
            counts["dropped"] = counts["dropped"] | {"repeated": len(self.repeated)}
        timings = found.timings_ms | spent
        return super().labelled(msgspec.structs.replace(found, counts=counts, timings_ms=timings))


def awaited(future: Future[Answer], left_s: float) -> Answer:
    """The answer, or StoreError once so many seconds have passed. What a thread has not begun by
    then it need not begin."""
    try:
        return future.result(max(0.0, left_s))
    except (TimeoutError, CancelledError) as error:
        future.cancel()
        raise StoreError(
            "It did not answer in time; search.vault_deadline_ms sets the time, and deadline_ms."
        ) from error


def no_answer(away: Mapping[str, str]) -> StoreError:
    why = "; ".join(f"{name}: {reason}" for name, reason in away.items())
    return StoreError(f"No vault could answer: {why}")
