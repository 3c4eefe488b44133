"""`recollect stats`, `doctor` and `reindex`: what there is, is it in step, and mending it."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from commandline import NOW, Home, check_error

from damaged_vaults import leaf, make, nulled, overwrite, text_end

STATS = (
    "vault memories forgotten kinds tiers projects tags feedback bytes embedding vectors waiting "
    "recipe"
).split()
CHECKS = [
    "file",
    "references",
    "memories",
    "stemmed index",
    "plain index",
    "subwords index",
    "memory count",
    "vocabulary",
    "vectors",
    "waiting vectors",
    "topic hashes",
]
DAMAGE = {
    "stemmed index": "INSERT INTO stemmed (stemmed) VALUES ('delete-all')",
    "plain index": "DELETE FROM plain WHERE rowid = 1",
    "memory count": "UPDATE corpus SET documents = 99",
    "vocabulary": "DELETE FROM vocabulary",
    "topic hashes": "UPDATE tags SET topic = x'00'",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home", RECOLLECT_NOW=NOW)
    made.import_memories(
        {"id": "a", "title": "Rotate tokens", "tags": ["auth"], "kind": "decision", "tier": "core"},
        {"id": "b", "title": "Deploy on Fridays", "project": "harbor"},
        {"id": "c", "title": "Gone"},
    )
    made.call("forget", "c")
    return made


def damage(home: Home, sql: str) -> None:
    file = apsw.Connection(str(home.vault))
    file.execute(sql)
    file.close()


@pytest.fixture
def anchors(tmp_path: Path) -> Home:
    """A home whose vault has pages to damage."""
    made = Home(tmp_path / "home")
    made.folder.mkdir()
    make(made.vault)
    return made


def test_stats_count_what_there_is(home: Home) -> None:
    stats = home.run("stats", "--json").json()
    assert set(STATS) <= set(stats)
    assert stats["vault"] == str(home.vault)
    assert (stats["memories"], stats["forgotten"], stats["tags"]) == (2, 1, 1)
    assert stats["kinds"] == {"decision": 1, "fact": 1}
    assert stats["tiers"] == {"core": 1, "capture": 1}
    assert stats["projects"] == {"": 1, "harbor": 1}
    assert (stats["embedding"], stats["vectors"], stats["waiting"]) == ("none", 0, 0)
    assert stats["bytes"] > 0
    printed = home.call("stats").out
    assert "memories     2\n" in printed
    assert "(none) 1" in printed


def test_stats_of_a_new_home(tmp_path: Path) -> None:
    assert Home(tmp_path / "new").json("stats")["memories"] == 0


def test_a_sound_vault_passes_every_check(home: Home) -> None:
    done = home.run("doctor")
    assert (done.code, done.err) == (0, "")
    checked = [line.rsplit(maxsplit=1)[0].strip() for line in done.out.splitlines()]
    assert set(CHECKS) <= set(checked)
    assert home.json("doctor") == [{"check": check, "problem": None} for check in checked]


@pytest.mark.parametrize("mending", [("doctor", "--fix"), ("reindex",)], ids=" ".join)
@pytest.mark.parametrize(("check", "sql"), DAMAGE.items())
def test_what_is_out_of_step_is_found_and_mended(
    home: Home, check: str, sql: str, mending: tuple[str, ...]
) -> None:
    before = home.call("export").out
    damage(home, sql)
    found = home.call("doctor")
    assert found.code == 1
    assert "recollect doctor --fix" in found.out
    [problem] = [line for line in found.out.splitlines() if line.startswith(check)]
    assert not problem.endswith(" OK")
    mended = home.call(*mending)
    assert mended.code == 0, mended.out
    assert home.is_sound()
    assert home.call("export").out == before
    assert home.search_ids("tokens", "--recipe", "vault") == ["a"]
    assert home.search_ids("auth", "--recipe", "gnosis") == ["a"]


def test_a_damaged_vault_is_told_salvaged_and_repaired(anchors: Home, tmp_path: Path) -> None:
    rescued = tmp_path / "rescued.jsonl"
    overwrite(anchors.vault, leaf(anchors.vault, "memories"))
    for command in (("search", "anchor", "--limit", "50"), ("save", "--title", "x")):
        check_error(anchors.call(*command), "is damaged", "`recollect doctor --fix` repairs")
    salvaged = anchors.call("export", "--salvage", str(rescued))
    assert salvaged.code == 0
    [lost, written] = salvaged.err.splitlines()
    assert "memories could not be read and are lost (m" in lost
    assert "To get them back: `recollect restore --from BACKUP`" in lost
    assert written.endswith(f"1 forgotten memory, 1 feedback entry written to {rescued}.")
    repaired = anchors.call("doctor", "--fix")
    assert (repaired.code, repaired.err) == (0, "")
    assert f"repair           {lost}" in repaired.out.splitlines()
    assert "repair           The damaged vault is kept: " in repaired.out
    assert anchors.is_sound()
    live = [line for line in rescued.read_text().splitlines() if '"title"' in line]
    assert len(anchors.list_ids()) == len(live) - 1
    anchors.save("--title", "x")


def test_a_text_whose_end_was_lost_is_one_sentence_and_no_output(anchors: Home) -> None:
    overwrite(anchors.vault, text_end(anchors.vault))
    for command in (("show", "m07"), ("export",), ("list", "--all"), ("search", "number7")):
        check_error(anchors.call(*command), "m07 is not what was saved", "`recollect doctor --fix`")
    check_error(anchors.call("save", "--title", "x"), "nothing is written into it")
    assert "m07" in anchors.call("doctor").out
    assert anchors.call("doctor", "--fix").code == 0
    anchors.save("--title", "x")


def test_the_doctor_goes_on_after_a_row_of_nulls(anchors: Home) -> None:
    page = leaf(anchors.vault, "memories")
    overwrite(anchors.vault, page, nulled(anchors.vault, page))
    found = anchors.call("doctor")
    assert (found.code, found.err) == (1, "")
    assert "1 memory is not what was saved: row 24" in found.out
    repaired = anchors.call("doctor", "--fix")
    assert (repaired.code, repaired.err) == (0, "")
    assert "1 memory could not be read and is lost (m23)." in repaired.out
    assert anchors.is_sound()


def test_reindex_without_a_model_rebuilds_the_keyword_indexes(home: Home) -> None:
    done = home.run("reindex")
    assert (done.code, done.err) == (0, "")
    assert done.out == "Indexes rebuilt; 0 vectors computed.\n"
    assert home.json("reindex") == {"vectors": 0, "waiting": 0}
    assert home.json("reindex", "--all") == {"vectors": 0, "waiting": 0}
    assert home.list_ids() == ["a", "b"]
