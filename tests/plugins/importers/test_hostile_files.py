"""Files of other tools that are damaged, or made to take long."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from recollect.errors import UserError
from recollect.ingest.exchange import ForeignMemories, load_importer
from recollect.plugins.importers.records import without_title


@pytest.mark.parametrize("tool", ["claude-mem", "soleri"])
def test_a_column_whose_name_is_no_text_makes_a_database_unreadable(
    tmp_path: Path, tool: str
) -> None:
    file = tmp_path / "damaged.db"
    connection = apsw.Connection(str(file))
    for table in ("observations", "brain_vault", "entries", "intelligence_vault"):
        connection.execute(f"CREATE TABLE {table} (id INTEGER, columnname TEXT)")
    connection.close()
    file.write_bytes(file.read_bytes().replace(b"columnname", b"column\xe2ame"))
    with pytest.raises(UserError, match=r"damaged\.db"):
        list(ForeignMemories(load_importer(tool), file))


@pytest.mark.parametrize(
    ("first", "repeats"),
    [("# Title", True), ("#\tTitle  ##  ", True), ("# title #", True), ("#Title", False),
     ("## Title", False), ("# Title a", False), ("# #", False), ("Title", False)],
)  # fmt: skip
def test_a_heading_that_repeats_the_title_is_left_out(first: str, repeats: bool) -> None:
    body = f"{first}\n\nText"
    assert without_title(body, "Title") == ("Text" if repeats else body)


def test_a_long_first_line_is_read_once() -> None:
    """It took the cube of its length: this one would take hours."""
    line = "# " + " " * 30_000 + "x" + " " * 30_000
    assert without_title(f"{line}y", "Title") == f"{line}y"
