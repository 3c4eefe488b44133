"""A network that gives a text's vector and its token vectors from one pass, for MaxSim.

The first token's state is the text's vector, as before. A matrix makes 96 numbers of each token's
state, and a gate says how much a query's token counts. A text's score for a query is the weighted
mean, over the query's tokens, of the best similarity among the text's tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from network import (
    DEVICE,
    END,
    START,
    VOCABULARY,
    WIDTH,
    Network,
    Rounding,
    Row,
    rounded_embedding,
    rounded_matrix,
)
from weights import read, write

DIMENSIONS = 96
HEADS = ("project", "gate", "sigma", "log_scale")
# Levels of two bits for numbers of deviation 1 (Lloyd-Max), and where the inner ones end.
CUT, INNER_LEVEL, OUTER_LEVEL = 0.9816, 0.4528, 1.510
WORD, PUNCTUATION, STOP = 0, 1, 2
STOP_WORDS = frozenset(
    "a an the of to in on for and or is are was were be been am do does did with by from at as it "
    "its this that these those i you we they he she my your our their me us him her so if but not "
    "no yes have has had will would can could should just about there here then than too very s t "
    "d ll re ve m don".split()
)


class Late(Network):
    """BERT with token vectors. `sigma` holds the deviation of each of their numbers."""

    def __init__(self, rounding: Rounding, dimensions: int = DIMENSIONS) -> None:
        super().__init__(12, scores=False, rounding=rounding)
        self.dimensions = dimensions
        self.project = nn.Linear(WIDTH, dimensions, bias=False)
        self.gate = nn.Linear(WIDTH, 1)
        nn.init.zeros_(self.gate.weight)
        nn.init.constant_(self.gate.bias, 0.5413)  # softplus of it is 1
        self.register_buffer("sigma", torch.full((dimensions,), dimensions**-0.5))
        self.log_scale = nn.Parameter(torch.tensor(3.9))

    def heads(self, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the text vectors, the token vectors and the tokens' weights, in 32 bits."""
        with torch.autocast(DEVICE, enabled=False):
            state = state.float()
            first = functional.normalize(state[:, 0], dim=-1)
            tokens = functional.normalize(self.project(state), dim=-1)
            return first, tokens, functional.softplus(self.gate(state))[..., 0]

    def forward(self, tokens: Tensor, second: Tensor, real: Tensor) -> tuple[Tensor, ...]:
        return self.heads(self.states(tokens, second, real))

    def fill(self, weights: dict[str, Tensor], chosen: Sequence[int] | None = None) -> Network:
        """Take the weights of a file; heads that it lacks stay as they are."""
        heads = {name: one for name, one in self.named().items() if name.startswith(HEADS)}
        return super().fill(heads | weights, chosen)

    def head_parameters(self) -> list[nn.Parameter]:
        return [one for name, one in self.named_parameters() if name.startswith(HEADS)]


def load_late(file: Path, rounding: Rounding) -> Late:
    """Load a network. Weights in training, which have a `log_scale`, are rounded as the file of 8
    bits will hold them."""
    weights = {name: one.float() for name, one in read(file).items()}
    if "log_scale" in weights:
        weights = as_stored(weights)
    network = Late(rounding, len(weights["project.weight"]))
    network.fill(weights)
    return network.eval()


@torch.no_grad()
def as_stored(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights as the file of 8 bits will hold them."""
    found = {}
    for name, one in weights.items():
        if one.ndim == 2 and name.startswith("embeddings."):
            one = rounded_embedding(one)
        elif one.ndim == 2 and name.startswith("encoder."):
            one = rounded_matrix(one)
        found[name] = one
    return found


def mixture(parts: Sequence[dict[str, Tensor]], shares: Sequence[float]) -> dict[str, Tensor]:
    """Return the weighted mean of several networks' weights, by the names that all of them have."""
    return {
        name: sum(share * part[name].float() for part, share in zip(parts, shares, strict=True))
        for name in parts[0]
        if all(name in part for part in parts)
    }  # type: ignore[return-value]


def token_kinds(tokenizer_file: Path) -> np.ndarray:
    """Return by token number whether it is a WORD, PUNCTUATION or a STOP word."""
    kinds = np.zeros(VOCABULARY, np.uint8)
    for word, number in Tokenizer.from_file(str(tokenizer_file)).get_vocab().items():
        if not re.search(r"\w", word):
            kinds[number] = PUNCTUATION
        elif word in STOP_WORDS:
            kinds[number] = STOP
    kinds[[0, START, END, 103]] = PUNCTUATION
    return kinds


def row_with_own(before: np.ndarray, tokens: np.ndarray, longest: int) -> tuple[Row, slice]:
    """Return a row of `before` (a prefix, maybe empty) and tokens, and where the tokens stand."""
    own = tokens[: longest - 2 - len(before)]
    first = 1 + len(before)
    row = Row(np.concatenate([[START], before, own, [END]]), 10**6)
    return row, slice(first, first + len(own))


def counted(row: Row, own: slice, left_out: np.ndarray) -> np.ndarray:
    """Mark the tokens that MaxSim looks at; `left_out` says by token number which it does not."""
    mask = np.zeros(len(row.tokens), bool)
    mask[own] = ~left_out[row.tokens[own]]
    if not mask.any():
        mask[own] = True
    if not mask.any():
        mask[0] = True
    return mask


def two_bits(vectors: Tensor, sigma: Tensor) -> Tensor:
    """Return the vectors as two bits a number would hold them, without normalising."""
    scaled = vectors / sigma
    return scaled.sign() * torch.where(scaled.abs() > CUT, OUTER_LEVEL, INNER_LEVEL) * sigma


def own_scores(asked: Tensor, weights: Tensor, texts: Tensor, mask: Tensor) -> Tensor:
    """Score [queries, texts] of queries [Q, L, D] for texts of their own [Q, T, M, D]."""
    alike = torch.einsum("qld,qtmd->qtlm", asked, texts).masked_fill(~mask[:, :, None], -1.0)
    return (alike.max(-1).values.float() * weights[:, None]).sum(-1)


def all_scores(asked: Tensor, weights: Tensor, texts: Tensor, mask: Tensor) -> Tensor:
    """Score [queries, texts] of queries [Q, L, D] for the same texts [T, M, D] each."""
    count, length, size = asked.shape
    flat = texts.reshape(-1, size).T
    found = []
    for first in range(0, count, 32):
        alike = (asked[first : first + 32].reshape(-1, size) @ flat).view(-1, length, *mask.shape)
        best = alike.masked_fill(~mask, -1.0).max(-1).values.float()
        found.append((best * weights[first : first + 32, :, None]).sum(1))
    return torch.cat(found)


def write_late(weights: dict[str, Tensor], began_as: Path, file: Path) -> None:
    """Write one ONNX file of 8 bits: a copy of `began_as` with outputs for tokens."""
    own = {name: one for name, one in weights.items() if not name.startswith(HEADS)}
    write(own, began_as, file, 12)
    model = onnx.load(str(file))
    graph = model.graph
    stored = {
        "late.project": weights["project.weight"].T,
        "late.gate": weights["gate.weight"].T,
        "late.gate_bias": weights["gate.bias"].reshape(1),
        "late.small": torch.tensor([1e-12]),
    }
    graph.initializer.extend(
        numpy_helper.from_array(np.ascontiguousarray(one.float().numpy()), name)
        for name, one in stored.items()
    )
    node = helper.make_node
    graph.node.extend([
        node("MatMul", ["last_hidden_state", "late.project"], ["late.t"]),
        node("ReduceL2", ["late.t"], ["late.n"], axes=[-1], keepdims=1),
        node("Max", ["late.n", "late.small"], ["late.n2"]),
        node("Div", ["late.t", "late.n2"], ["token_vectors"]),
        node("MatMul", ["last_hidden_state", "late.gate"], ["late.g"]),
        node("Add", ["late.g", "late.gate_bias"], ["late.g2"]),
        node("Softplus", ["late.g2"], ["late.g3"]),
        node("Squeeze", ["late.g3"], ["token_weights"], axes=[2]),
    ])  # fmt: skip
    shape = ["batch_size", "sequence_length"]
    size = len(weights["project.weight"])
    info = helper.make_tensor_value_info
    graph.output.extend([
        info("token_vectors", TensorProto.FLOAT, [*shape, size]),
        info("token_weights", TensorProto.FLOAT, shape),
    ])  # fmt: skip
    onnx.save(model, str(file))
