"""The protocols of models, wherever they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recollect.errors import ProviderError
from recollect.types import Span

if TYPE_CHECKING:  # numpy takes longer to import than a keyword search takes
    import numpy as np
    from numpy.typing import NDArray

    from recollect.models.vectors import QueryTokens

    Matrix = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit-length float32 vectors, one row per text, in the order given.

    Raises ProviderError, and nothing else, when it cannot.
    """

    @property
    def identity(self) -> str:
        """Model, dimensions and prefixes: vectors of different identities never mix."""

    @property
    def local(self) -> bool:
        """Whether it runs in this process, and cannot hang."""

    def warm(self) -> bool:
        """Whether it would answer at once: it is loaded, or a remote service."""

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Vectors of questions."""

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Vectors of memories."""


@runtime_checkable
class Windowed(Protocol):
    """An embedder that knows how much text it can read at once."""

    def windows(self, text: str) -> list[Span]:
        """Passages that each fit the model, in order, overlapping; together they are the text.

        A text that fits is one passage: the whole of it.
        """


@runtime_checkable
class Tokenwise(Protocol):
    """An embedder that gives a vector of each token beside the text's, in one pass."""

    def query(self, text: str) -> tuple[Matrix, QueryTokens]:
        """The vector of a question, and its tokens."""

    def tokenwise(self, texts: Sequence[str]) -> tuple[Matrix, list[bytes]]:
        """Vectors of memories, and the packed tokens of each."""

    def similarities(self, query: QueryTokens, packed: Sequence[bytes]) -> list[Matrix]:
        """For each text, given by its packed tokens, the cosine of each of the question's tokens
        with each of the text's."""

    def spans(self, text: str) -> list[Span]:
        """Where in the text each of its packed tokens stands."""


@runtime_checkable
class Immediate(Protocol):
    """An embedder that may be so quick that a save waits for its own vector."""

    def at_once(self, texts: Sequence[str]) -> bool:
        """Whether these texts are embedded within 50 ms on an ordinary machine: the model is
        loaded, and they are few and short. Decided without embedding or loading anything."""


class Reranker(Protocol):
    """Reads a question and a text together and scores how well the text answers it."""

    @property
    def identity(self) -> str:
        """The model's name, for the explanation."""

    def ready(self) -> None:
        """Load what must be loaded, so that `scores` begins at once. Raises ProviderError alone."""

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        """One score in 0…1 per document, in the order given. Raises ProviderError alone."""


def broken(message: str) -> ProviderError:
    """The error of a model that does not keep its contract; another try would not help."""
    return ProviderError(message, transient=False)
