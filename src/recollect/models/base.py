"""The protocols of models, and the folder of the bundled ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from recollect.errors import ProviderError
from recollect.types import Span

if TYPE_CHECKING:  # numpy takes longer to import than a keyword search takes
    import numpy as np
    from numpy.typing import NDArray

    from recollect.models.vectors import QueryTokens

    Matrix = NDArray[np.float32]

WEIGHTS = Path(__file__).parent / "weights"
TOKENIZER = "tokenizer.json"


class Embedder(Protocol):
    """Turns texts into unit-length float32 vectors, one row per text, in the order given.

    Raises only ProviderError.
    """

    @property
    def identity(self) -> str:
        """Model, dimensions and prefixes: vectors of different identities never mix."""

    @property
    def local(self) -> bool:
        """True if it runs in this process, and cannot hang."""

    def warm(self) -> bool:
        """Return True if it would answer at once: it is loaded, or a remote service."""

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Embed questions."""

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Embed memories."""


@runtime_checkable
class Windowed(Protocol):
    """An embedder with a limited window."""

    def windows(self, text: str) -> list[Span]:
        """Split a text into overlapping passages that each fit the model, in order.

        A text that fits is one passage.
        """


@runtime_checkable
class Tokenwise(Protocol):
    """An embedder that gives a vector of the text and one of each token, in one pass."""

    def query(self, text: str) -> tuple[Matrix, QueryTokens]:
        """Return the vector of a question, and its tokens."""

    def tokenwise(self, texts: Sequence[str]) -> tuple[Matrix, list[bytes]]:
        """Return the vectors of memories, and the packed tokens of each."""

    def similarities(self, query: QueryTokens, packed: Sequence[bytes]) -> list[Matrix]:
        """Return for each text (its packed tokens) the cosines of all pairs of tokens."""

    def spans(self, text: str) -> list[Span]:
        """Return the span of each packed token in the text."""


@runtime_checkable
class Immediate(Protocol):
    """An embedder that may be quick enough for a save to wait for it."""

    def at_once(self, texts: Sequence[str]) -> bool:
        """Return True if these texts take at most 50 ms on an ordinary machine: the model is
        loaded, and they are few and short. Embeds and loads nothing."""


class Reranker(Protocol):
    """Reads a question and a text together and scores how well the text answers it."""

    @property
    def identity(self) -> str:
        """The model's name, for the explanation."""

    def ready(self) -> None:
        """Load the model, so that `scores` begins at once. Raises only ProviderError."""

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return a score in 0…1 per document, in the order given. Raises only ProviderError."""


def model_error(message: str) -> ProviderError:
    """Return the error of a model that breaks its contract; a retry would not help."""
    return ProviderError(message, transient=False)
