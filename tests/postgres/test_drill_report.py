"""The fail-over drill notices what it is there to notice (see postgres/drill)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

DRILL = str(Path(__file__).parents[2] / "postgres" / "drill")


@pytest.fixture
def drill(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DRILL)
    import drill

    yield drill
    for name in ("drill", "cluster", "traffic"):
        sys.modules.pop(name, None)


def memory(mark: str, text: str, versions: int = 1) -> dict[str, Any]:
    return {"id": f"id-{mark}", "title": f"Harbour {mark}", "text": text, "versions": versions}


SAVED = ("a", "id-a", "first", False, "acknowledged")
EDITED = ("a", "id-a", "second", True, "acknowledged")
REFUSED = ("b", "", "other", False, "refused")
UNKNOWN = ("c", "", "third", False, "unknown")


@pytest.mark.parametrize(
    ("writes", "there", "wrong"),
    [
        ([SAVED], [memory("a", "first")], ""),
        ([SAVED], [], "lost 1"),
        ([SAVED, EDITED], [memory("a", "second", 2)], ""),
        ([SAVED, EDITED], [memory("a", "first", 1)], "lost 1"),
        ([SAVED], [memory("a", "first"), memory("a", "first")], "twice 1"),
        ([SAVED], [memory("a", "first", 2)], "twice 1"),
        ([REFUSED], [], ""),
        ([REFUSED], [memory("b", "other")], "of these there 1"),
        ([UNKNOWN], [], ""),
        ([UNKNOWN], [memory("c", "third")], ""),
        ([UNKNOWN], [memory("c", "third"), memory("c", "third")], "twice 1"),
        ([], [memory("z", "stray")], "written by nobody 1"),
    ],
)
def test_what_became_of_each_write_is_told(
    drill: Any,
    capsys: pytest.CaptureFixture[str],
    writes: list[tuple[Any, ...]],
    there: list[dict[str, Any]],
    wrong: str,
) -> None:
    ledger = drill.Ledger()
    for each in writes:
        ledger.wrote(drill.Write(*each))
    assert drill.report(ledger, there) == int(bool(wrong))
    assert wrong in capsys.readouterr().out
