"""Every error a caller can meet. Messages are whole sentences that say what to do next."""


class RecollectError(Exception):
    """Anything Recollect raises on purpose; its text is written for the person who meets it."""


class UserError(RecollectError):
    """The request cannot be served as asked: a bad value, an unknown name, a missing memory."""


class NotFound(UserError):
    """What the request names does not exist: a memory, a recipe. `id`: of a memory; `forgotten`: it
    was looked for in the trash."""

    def __init__(self, message: str, id: str = "", *, forgotten: bool = False) -> None:
        super().__init__(message)
        self.id = id
        self.forgotten = forgotten


class Exists(UserError):
    """What should be created exists already and stays as it is."""


class Changed(UserError):
    """The memory has changed since the caller last read it, so nothing was written."""


class Forbidden(RecollectError):
    """The caller lacks a capability; raised before the database is touched."""


class Cancelled(RecollectError):
    """The caller wants no answer any more. Raised between steps of work that only reads."""


class StoreError(RecollectError):
    """The vault cannot be read or written: not a database, too new, read-only, disk full."""


class Interrupted(StoreError):
    """The connection to a shared database was lost; nothing of this write was kept. The same may
    succeed when it is tried again."""


class Locked(StoreError):
    """The vault is encrypted, and the key is missing or wrong."""


class Damaged(StoreError):
    """Something in the vault cannot be read, or is not what was written."""


class NotAVault(StoreError):
    """The file is not a database, or its beginning is damaged."""


class ProviderError(RecollectError):
    """A model provider did not deliver.

    `transient` failures (time-outs, refused connections, overload) are worth another try; the
    others break the provider's contract (wrong count, wrong dimension, NaN) and are not.
    """

    def __init__(self, message: str, *, transient: bool) -> None:
        super().__init__(message)
        self.transient = transient


class DimensionMismatch(ProviderError):
    """A vector's dimension differs from the one the vault was built with."""

    def __init__(self, stored: int, offered: int) -> None:
        super().__init__(
            f"The vault holds vectors of {stored} dimensions but the embedding model gave "
            f"{offered}; run `recollect reindex` to rebuild the vectors with this model.",
            transient=False,
        )
        self.stored = stored
        self.offered = offered
