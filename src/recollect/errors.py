"""The errors of Recollect. Messages are sentences that say what to do next."""


class RecollectError(Exception):
    """Base of all errors that Recollect raises on purpose; the message is for people."""


class UserError(RecollectError):
    """The request cannot be served as asked: a bad value, an unknown name, a missing memory."""


class NotFound(UserError):
    """Something that the request names does not exist, such as a memory or a recipe. `id`: of the
    memory; `forgotten`: it was looked up in the trash."""

    def __init__(self, message: str, id: str = "", *, forgotten: bool = False) -> None:
        super().__init__(message)
        self.id = id
        self.forgotten = forgotten


class Exists(UserError):
    """Something to create exists already; it was not changed."""


class Changed(UserError):
    """The memory has changed since the caller last read it, so nothing was written."""


class Forbidden(RecollectError):
    """The caller lacks a capability; raised before the database is touched."""


class Cancelled(RecollectError):
    """The caller no longer wants an answer. Raised between steps of reading work."""


class StoreError(RecollectError):
    """The vault cannot be read or written: not a database, too new, read-only, disk full."""


class Interrupted(StoreError):
    """The connection to a shared database was lost and the write rolled back. A retry may
    succeed."""


class Locked(StoreError):
    """The vault is encrypted, and the key is missing or wrong."""


class Damaged(StoreError):
    """Data in the vault is unreadable, or differs from what was written."""


class NotAVault(StoreError):
    """The file is not a database, or its beginning is damaged."""


class ProviderError(RecollectError):
    """A model provider failed.

    `transient` failures (time-outs, refused connections, overload) may be retried; the others break
    the provider's contract (wrong count, wrong dimension, NaN).
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
