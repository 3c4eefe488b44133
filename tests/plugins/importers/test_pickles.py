"""Pickles are taken apart and never run."""

from __future__ import annotations

import os
import pickle
from datetime import UTC, datetime

import pytest

from recollect.plugins.importers.pickles import LARGEST, Made, NotData, read_pickle

SAMPLE = {
    "text": "Ada", "long": "é" * 300, "numbers": [0, 1, 255, 65536, -1, 2**40, 0.5],
    "flags": [True, False, None], "pairs": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "bytes": b"\xff", "empty": [{}, []], 3: "three",
}  # fmt: skip


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_data_comes_back_as_it_was(protocol: int) -> None:
    plain = {name: value for name, value in SAMPLE.items() if name != "bytes" or protocol > 2}
    shared = [plain, plain]
    assert read_pickle(pickle.dumps(shared, protocol)) == shared


def test_sets_come_back_as_lists() -> None:
    assert read_pickle(pickle.dumps({"a"})) == ["a"]
    assert read_pickle(pickle.dumps(frozenset({"a"}))) == ["a"]


def test_an_instance_is_only_what_it_was_given() -> None:
    made = read_pickle(pickle.dumps(datetime(2026, 3, 1, tzinfo=UTC)))
    assert isinstance(made, Made)


def test_a_call_is_not_made() -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (os._exit, (1,))

    assert isinstance(read_pickle(pickle.dumps(Trap())), Made)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b".", b"junk", b"\x80\x04", b"\x80\x04N", b"a.", b"e.", b"(e.", b"s.",
        b"\x80\x04K\x01h\x00.", b"Pid\n.", b"\x80\x02\x82\x01.", b"ios\nsystem\n(S'ls'\no.", b"2.",
        b"\x85.", b"\x80\x04}]]s.", b"\x80\x04})Ns.", b"N(K\x01u.", b"(K\x01d.",
        b"\x8b\xff\xff\xff\x7f.", b"L" + b"9" * 5000 + b"L\n.", pickle.dumps(2**65),
        b"X\x01\x00\x00\x00\xff.", b"N" * (LARGEST + 1),
    ],
)  # fmt: skip
def test_broken_and_foreign_pickles_are_refused(raw: bytes) -> None:
    with pytest.raises(NotData):
        read_pickle(raw)
