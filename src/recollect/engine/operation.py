"""How a method of `Recollect` declares what its caller must be allowed to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from recollect.engine.session import Session

P = ParamSpec("P")
Answer = TypeVar("Answer")
Method = Callable[Concatenate[Any, P], Answer]


def operation(
    *needs: str, anywhere: bool = False, retry: bool = False
) -> Callable[[Method[P, Answer]], Method[P, Answer]]:
    """Declare an operation of `Recollect`: check that its caller has these capabilities before
    anything of it runs.

    `anywhere`: it is enough to be allowed to use one of the vaults that a search spans; the method
    uses no other. `retry`: it only reads, or writes once and at its end, so it is repeated when the
    connection to a database is lost.
    """

    def declared(method: Method[P, Answer]) -> Method[P, Answer]:
        @wraps(method)
        def call(self: Any, /, *args: P.args, **named: P.kwargs) -> Answer:
            session: Session = self.session
            session.require(*needs, action=method.__name__, anywhere=anywhere)
            if retry:
                return session.store.database.retrying(partial(method, self, *args, **named))
            return method(self, *args, **named)

        call.needs = frozenset(needs)  # type: ignore[attr-defined]
        return call

    return declared
