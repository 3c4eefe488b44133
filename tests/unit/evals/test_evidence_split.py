"""The questions that the evidence rules are measured on are none of those they are fitted on."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def evidence(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import evidence

    return evidence


def held_out(evidence: ModuleType, set: str, own_set: str, id: str) -> bool:
    return evidence.Asked(set, "answerable", own_set, id, 1, []).held_out is True


def test_a_question_is_in_one_half_wherever_and_in_whatever_language_it_is_asked(
    evidence: ModuleType,
) -> None:
    halves: list[bool] = []
    for number in range(40):
        asked = {
            held_out(evidence, set, "xquad", f"{language}/{number}")
            for set in ("xquad", "xquad, other scripts", "qed-nq")
            for language in ("en", "de", "zh")
        }
        assert len(asked) == 1
        halves += asked
    assert 10 < sum(halves) < 30


def test_nothing_is_fitted_on_a_set_that_is_held_out(evidence: ModuleType) -> None:
    for name in evidence.HELD_OUT:
        for number in range(20):
            assert held_out(evidence, name, "qed-nq", str(number))
            assert held_out(evidence, "qed-nq", name, str(number))
