"""A passphrase for a vault that is not locked is an error, since the caller relies on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.errors import UserError

OFF = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}
GIVEN: dict[str, dict[str, Any]] = {
    "argument": {"passphrase": "correct horse battery"},
    "variable": {"environment": OFF | {"RECOLLECT_PASSPHRASE": "correct horse battery"}},
    "file": {"environment": OFF | {"RECOLLECT_VAULT__PASSPHRASE_FILE": "passphrase"}},
}


@pytest.mark.parametrize("given", GIVEN)
def test_a_passphrase_for_an_open_vault_is_refused(tmp_path: Path, given: str) -> None:
    with Recollect(home=tmp_path, environment=OFF) as memory:
        memory.save(id="a", title="A")
    with pytest.raises(UserError, match="is not locked, so a passphrase does not protect it"):
        Recollect(home=tmp_path, **{"environment": OFF} | GIVEN[given])
    assert [file.name for file in tmp_path.iterdir() if "vault" in file.name] == ["vault.db"]


@pytest.mark.parametrize("given", GIVEN)
def test_no_open_vault_is_made_where_a_passphrase_is_given(tmp_path: Path, given: str) -> None:
    with pytest.raises(UserError, match="recollect vault lock"):
        Recollect(home=tmp_path, **{"environment": OFF} | GIVEN[given])
    assert not (tmp_path / "vault.db").exists()


def test_the_homes_passphrase_is_not_meant_for_another_file(tmp_path: Path) -> None:
    with Recollect(tmp_path / "other.db", home=tmp_path, **GIVEN["variable"]) as memory:
        memory.save(id="a", title="A")
