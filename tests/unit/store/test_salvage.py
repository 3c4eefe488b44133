"""Damage costs the rows it hit and no others; what is derived is made anew; nothing is hidden."""

from __future__ import annotations

import random
import shutil
import stat
from pathlib import Path

import apsw
import pytest
from suites.stores.samples import CHANGE, MODEL, memory

from damaged_vaults import (
    FORGOTTEN,
    OFF,
    leaf,
    make,
    memories,
    noise,
    nulled,
    overwrite,
    places,
    replace_bytes,
    text_end,
)
from recollect.engine import Recollect
from recollect.errors import Damaged, Locked, NotAVault, StoreError
from recollect.store.base import KeywordQuery, Stored
from recollect.store.feedback import FeedbackEvent
from recollect.store.rescue.salvage import SIZE, TABLE_LEAF, Pages
from recollect.store.sqlite.checksums import FIELDS, find_altered
from recollect.store.sqlite.errors import NOTE
from recollect.store.sqlite.replacement import change_key
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vault_files import Sealed, header_at
from recollect.types import Filter, Memory
from recollect.vaults.keys import sealed_with

ALL = {one.id: one for one in memories()}
LIVE = [id for id in ALL if id != FORGOTTEN]
SOUND = {id: ALL[id] for id in LIVE}
PASSPHRASE = "a long enough passphrase"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make(folder / "vault.db")
    return folder / "vault.db"


@pytest.fixture
def vault(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(made, tmp_path / "vault.db"))


def open_vault(vault: Path, *, damaged: bool = False) -> Recollect:
    key = None if header_at(vault) is None else PASSPHRASE
    return Recollect(vault, home=vault.parent, settings=OFF, passphrase=key, damaged=damaged)


def damage(vault: Path, *owners: str) -> None:
    """Overwrite the last leaf page of each of these tables or indexes with zeros."""
    for owner in owners:
        overwrite(vault, leaf(vault, owner))


def wrong_checks(engine: Recollect) -> dict[str, str | None]:
    return {one.check: one.problem for one in engine.doctor() if one.problem}


def read_salvage(vault: Path) -> tuple[dict[str, Memory], list[str]]:
    """The memories that `export --salvage` writes, live ones alone, and what it says."""
    with open_vault(vault, damaged=True) as engine:
        items, notes = engine.export_salvaged()
        stored = [item for item in items if isinstance(item, Stored)]
    return {item.memory.id: item.memory for item in stored if not item.forgotten}, notes


def repair_vault(vault: Path) -> tuple[dict[str, Memory], list[str]]:
    """The live memories after `doctor --fix`, and what that says."""
    with open_vault(vault, damaged=True) as engine:
        findings = engine.doctor(fix=True)
        assert [finding for finding in findings if finding.problem] == []
        found = {one.id: one for one in engine.export()}
        anchored = engine.store.keyword.match(
            KeywordQuery("stemmed", '"anchor"', {}, 99, Filter())
        ).matches
        assert {match.memory_id for match in anchored} == {
            id for id, one in found.items() if "nchor" in one.title
        }
        engine.save(title="Saved after the repair")
    return found, [finding.note for finding in findings if finding.note]


@pytest.mark.parametrize(
    "owner",
    ["stemmed_data", "plain_docsize", "parts_data", "vocabulary", "memories_project", "corpus"],
)
def test_whatever_is_derived_is_mended_without_loss(vault: Path, owner: str) -> None:
    damage(vault, owner)
    found, notes = repair_vault(vault)
    assert found == SOUND
    assert [note for note in notes if "memor" in note and "kept" not in note] == []


@pytest.mark.parametrize("owner", ["stemmed_data", "plain_docsize", "memories_project"])
def test_reindex_mends_it_too(vault: Path, owner: str) -> None:
    damage(vault, owner)
    with open_vault(vault, damaged=True) as engine:
        engine.reindex()
        assert wrong_checks(engine) == {}
        assert {one.id for one in engine.export()} == set(LIVE)
        engine.save(title="Saved after the repair")


def test_reindex_costs_no_memory(vault: Path) -> None:
    damage(vault, "memories")
    before = vault.read_bytes()
    with open_vault(vault, damaged=True) as engine, pytest.raises(Damaged, match="doctor --fix"):
        engine.reindex()
    assert vault.read_bytes() == before
    assert not list((vault.parent / "backups").iterdir())


def test_a_damaged_page_of_memories_costs_the_rows_on_it(vault: Path) -> None:
    """They are named by their ids, which the index of ids still has."""
    damage(vault, "memories")
    kept, said = read_salvage(vault)
    found, notes = repair_vault(vault)
    lost = set(LIVE) - set(found)
    assert 0 < len(lost) < 12
    assert kept == found == {id: ALL[id] for id in LIVE if id not in lost}
    [sentence] = said
    assert all(id in sentence for id in lost)
    assert f"{len(lost)} memories could not be read" in sentence
    assert notes[0] == sentence


def test_a_row_whose_id_is_lost_too_is_named_by_its_number(vault: Path) -> None:
    damage(vault, "sqlite_autoindex_memories_1", "memories_recent", "memories")
    _, said = read_salvage(vault)
    assert "row 2" in said[0]


def test_a_page_that_leads_to_others_costs_nothing(vault: Path) -> None:
    """The pages below it are found by what is on them."""
    for owner in ("memories", "sqlite_schema"):
        pages = [place.number for place in places(vault) if place.owner == owner and not place.leaf]
        overwrite(vault, pages[0])
        found, notes = repair_vault(vault)
        assert found.keys() >= set(LIVE)
        assert {id: found[id] for id in LIVE} == SOUND
        assert "kept" in notes[-1]


def test_damaged_tags_are_read_from_their_index_in_the_right_order(vault: Path) -> None:
    damage(vault, "memory_tags")
    assert read_salvage(vault) == (SOUND, [])
    assert repair_vault(vault)[0] == SOUND


def test_tags_that_cannot_be_read_at_all_are_named_and_cost_no_memory(vault: Path) -> None:
    damage(vault, "memory_tags", "memory_tags_tag")
    found, notes = repair_vault(vault)
    assert set(found) == set(LIVE)
    untagged = [id for id in ALL if ALL[id].tags and (id not in found or not found[id].tags)]
    assert f"{len(untagged)} memories lost tags ({', '.join(untagged)})." in notes


def test_the_damaged_file_is_kept_and_only_its_owner_reads_it(vault: Path) -> None:
    damage(vault, "memories")
    vault.chmod(0o600)
    before = vault.read_bytes()
    _, notes = repair_vault(vault)
    [kept] = (vault.parent / "backups").glob("*.db")
    assert kept.read_bytes() == before
    assert str(kept) in notes[-1]
    assert [stat.S_IMODE(file.stat().st_mode) for file in (kept, vault)] == [0o600, 0o600]


def test_saving_is_refused_once_the_damage_is_known(vault: Path) -> None:
    damage(vault, "memories_project")
    with open_vault(vault) as engine:
        assert [*wrong_checks(engine)] == ["file"]
    with open_vault(vault) as other:
        for write in (
            lambda: other.save(title="x"),
            lambda: other.forget(["m01"]),
            lambda: other.feedback("anchor", "m01", accept=True),
        ):
            with pytest.raises(Damaged, match="nothing is written into it"):
                write()
        assert len(other.search("anchor", limit=5)) == 5
    with pytest.raises(Damaged, match="nothing is written into it"):
        change_key(vault, None, Sealed(bytes(32), bytes(16)))
    repair_vault(vault)
    assert not Path(f"{vault}{NOTE}").exists()


def test_a_doctor_who_finds_nothing_allows_writing_again(vault: Path) -> None:
    Path(f"{vault}{NOTE}").write_text("It was damaged.")
    with open_vault(vault) as engine:
        with pytest.raises(Damaged):
            engine.save(title="x")
        engine.doctor()
        engine.save(title="x")


def test_a_damaged_vault_is_not_searched_and_says_what_to_do(vault: Path) -> None:
    damage(vault, "memories")
    with open_vault(vault) as engine:
        for read in (
            lambda: engine.search("anchor", limit=50),
            lambda: engine.show(LIVE),
            lambda: engine.context(limit=50),
            lambda: list(engine.export()),
        ):
            with pytest.raises(Damaged, match=r"doctor --fix.*restore --from.*export --salvage"):
                read()
        with pytest.raises(Damaged, match="nothing is written into it"):
            engine.save(title="x")


def test_a_memory_whose_text_was_lost_is_not_shown(vault: Path) -> None:
    """The last page of a long text is zeros; SQLite reads it without a complaint."""
    overwrite(vault, text_end(vault))
    with open_vault(vault) as engine:
        for read in (
            lambda: engine.show(["m07"]),
            lambda: list(engine.export()),
            lambda: engine.search("number7", recipe="router"),
            lambda: engine.list(limit=50),
        ):
            with pytest.raises(Damaged, match="m07 is not what was saved"):
                read()
        assert engine.show(["m06"]) == [ALL["m06"]]
        with pytest.raises(Damaged, match="nothing is written into it"):
            engine.save(title="x")


def test_a_row_of_nulls_is_named_as_damage_and_repaired(vault: Path) -> None:
    page = leaf(vault, "memories")
    overwrite(vault, page, nulled(vault, page))
    for recipe in ("blend", "covalence", "router", "vault"):
        with open_vault(vault) as engine, pytest.raises(Damaged, match="export --salvage"):
            engine.search("anchor", recipe=recipe, limit=50)
    with open_vault(vault) as engine:
        assert wrong_checks(engine)["memories"] == "1 memory is not what was saved: row 24"
    found, notes = repair_vault(vault)
    lost = set(LIVE) - set(found)
    assert found == {id: SOUND[id] for id in found}
    assert notes[0].startswith(f"1 memory could not be read and is lost ({', '.join(lost)}).")


def test_a_damaged_vector_costs_its_memory_its_vector_alone(vault: Path) -> None:
    damage(vault, "vectors")
    found, notes = repair_vault(vault)
    assert found == SOUND
    assert "Some vectors may be missing; `recollect reindex` computes them." in notes
    with open_vault(vault) as engine:
        embedded, live = engine.store.vectors.coverage(MODEL)
        assert 0 < embedded < 19
        assert live == len(LIVE) + 1


def test_a_flipped_bit_is_named_and_its_memory_set_aside(vault: Path) -> None:
    replace_bytes(vault, b"Ship11 rides at", b"Ship11 ridgs at")
    with open_vault(vault) as engine:
        assert wrong_checks(engine)["memories"] == "1 memory is not what was saved: m11"
        with pytest.raises(Damaged):
            engine.save(title="x")
        with pytest.raises(Damaged, match="doctor --fix"):
            engine.reindex()
        notes = [one.note for one in engine.doctor(fix=True) if one.note]
        assert "1 memory is not what was saved, so is forgotten" in notes[0]
        assert len(engine.search("ridgs", recipe="router")) == 0
        engine.forget(["m11"], undo=True)
        assert engine.show(["m11"])[0].text.startswith("Ship11 ridgs")
        assert wrong_checks(engine) == {}


def test_the_checksum_covers_every_field(vault: Path) -> None:
    columns = [name for name in FIELDS if name not in ("key", "id")]
    with open_vault(vault) as engine:
        connection = engine.store.database.connection()
        connection.execute("DROP TRIGGER memories_update")  # it is about indexes, and they are not
        for column in (*columns, "checksum"):
            other = f"CASE typeof({column}) WHEN 'text' THEN 'x' WHEN 'blob' THEN x'00' "
            other += f"ELSE coalesce({column}, 1) + 1 END"
            connection.execute("BEGIN")
            connection.execute(f"UPDATE memories SET {column} = {other} WHERE id = 'm11'")
            assert [(one.id, one.what) for one in find_altered(connection)] == [("m11", "fields")]
            connection.execute("ROLLBACK")


def test_a_text_that_is_not_utf8_any_more_is_set_aside(vault: Path) -> None:
    with open_vault(vault) as engine:
        engine.store.database.connection().execute(
            "UPDATE memories SET text = CAST(x'41ff42' AS TEXT) WHERE id = 'm11'"
        )
        with pytest.raises(Damaged, match="not valid UTF-8"):
            engine.search("anchor", limit=50)
        assert wrong_checks(engine)["memories"] == "1 memory is not what was saved: m11"
        findings = engine.doctor(fix=True)
        assert [one for one in findings if one.problem] == []
        assert any("(m11)" in one.note for one in findings)
        engine.forget(["m11"], undo=True)
        assert engine.show(["m11"])[0].text == "A\ufffdB"


def test_a_wrong_hash_of_the_content_alone_is_made_again(vault: Path) -> None:
    with open_vault(vault) as engine:
        engine.store.database.connection().execute(
            "UPDATE memories SET content_hash = x'00' WHERE id = 'm11'"
        )
        assert [*wrong_checks(engine)] == ["memories"]
        assert [one for one in engine.doctor(fix=True) if one.problem or one.note] == []
        assert {one.id for one in engine.export()} == set(LIVE)


def test_a_locked_vault_is_salvaged_and_stays_locked(vault: Path, tmp_path: Path) -> None:
    sealed = sealed_with(PASSPHRASE)
    change_key(vault, None, sealed)
    overwrite(vault, leaf(vault, "memories", sealed.key), noise(1))
    with open_vault(vault) as engine, pytest.raises(Damaged):
        engine.search("anchor", limit=50)
    found, notes = repair_vault(vault)
    assert 0 < len(found) < len(LIVE)
    assert "could not be read" in notes[0]
    assert vault.read_bytes()[:16] == sealed.header
    assert b"anchor" not in vault.read_bytes()
    with pytest.raises(Locked):
        Recollect(vault, home=tmp_path, settings=OFF, passphrase="another passphrase")


def test_another_process_with_the_vault_open_is_waited_for_and_then_named(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.store.sqlite.replacement.ALONE_SECONDS", 0.0)
    damage(vault, "memories_project")
    before = vault.read_bytes()
    with (
        open_vault(vault),
        open_vault(vault) as engine,
        pytest.raises(StoreError, match="Another process is using the vault"),
    ):
        engine.doctor(fix=True)
    assert vault.read_bytes() == before
    assert not list((vault.parent / "backups").iterdir())
    assert repair_vault(vault)[0] == SOUND


def test_a_file_that_never_was_a_vault_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "vault.db"
    file.write_bytes(random.Random(1).randbytes(9 * SIZE))
    before = file.read_bytes()
    with open_vault(file, damaged=True) as engine:
        with pytest.raises(NotAVault):
            engine.doctor(fix=True)
        with pytest.raises(NotAVault):
            engine.export_salvaged()
    assert file.read_bytes() == before


def test_a_vault_of_an_older_version_is_salvaged(tmp_path: Path) -> None:
    old = Path(__file__).parents[2] / "migrations" / "vault-v4.db"
    vault = Path(shutil.copyfile(old, tmp_path / "vault.db"))
    damage(vault, "memories_kind")
    found, _ = repair_vault(vault)
    assert {"jwt", "roadmap"} <= set(found)
    assert found["jwt"].tags == ("auth", "tokens")


def test_what_the_log_beside_the_vault_holds_is_salvaged(vault: Path) -> None:
    """A killed process leaves a log, which alone has the newest memories."""
    store = SqliteStore(vault)
    with store.writing(CHANGE) as write:
        write.add(memory("newest", title="Anchor in the log"))
    damaged = vault.parent / "copy" / "vault.db"
    damaged.parent.mkdir()
    for ending in ("", "-wal"):
        shutil.copyfile(f"{vault}{ending}", f"{damaged}{ending}")
    store.close()
    overwrite(damaged, leaf(vault, "vocabulary"))
    assert read_salvage(damaged)[0].keys() == {*LIVE, "newest"}
    assert repair_vault(damaged)[0].keys() == {*LIVE, "newest"}


def test_a_kill_during_the_repair_leaves_the_old_vault_or_the_new(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(vault, "memories_project")
    before = vault.read_bytes()

    def fail(*of: object, **more: object) -> None:
        raise KeyboardInterrupt

    for name in ("rescue.repair.write_vault", "sqlite.replacement.install"):
        with monkeypatch.context() as patch, open_vault(vault, damaged=True) as engine:
            patch.setattr(f"recollect.store.{name}", fail)
            with pytest.raises(KeyboardInterrupt):
                engine.doctor(fix=True)
        if name == "rescue.repair.write_vault":
            assert vault.read_bytes() == before
    with open_vault(vault) as engine:
        assert wrong_checks(engine) == {}
        assert {one.id for one in engine.export()} == set(LIVE)


def test_an_export_carries_forgotten_memories_and_feedback(vault: Path) -> None:
    damage(vault, "stemmed_data")
    with open_vault(vault, damaged=True) as engine:
        items, notes = engine.export_salvaged()
        every = list(items)
    assert notes == []
    forgotten = [one.memory.id for one in every if isinstance(one, Stored) and one.forgotten]
    assert forgotten == [FORGOTTEN]
    assert [one.query for one in every if isinstance(one, FeedbackEvent)] == ["anchor?"]


@pytest.mark.parametrize(
    ("place", "cell", "read"),
    [
        (100, b"\x02\x07\x02\x09", (7, (1,))),  # rowid 7: one value, the number 1
        (SIZE - 1, b"\xff", (0, None)),  # its size continues after the page
        (100, b"\xff\x7f\x07\x02\x09", (7, None)),  # longer than the whole file
        (SIZE - 3, b"\x03\x07\x02", (7, None)),  # cut short by the end of the page
        (100, b"\x03\x07\x02\x09\x09", (7, None)),  # more bytes than values
    ],
)
def test_a_row_that_is_none_is_not_read_from_a_damaged_page(
    tmp_path: Path, place: int, cell: bytes, read: object
) -> None:
    page = bytearray(SIZE)
    page[0], page[3:5], page[8:10] = TABLE_LEAF, (1).to_bytes(2), place.to_bytes(2)
    page[place : place + len(cell)] = cell
    file = tmp_path / "pages.db"
    file.write_bytes(bytes(SIZE) + page)
    connection = apsw.Connection(str(file))
    assert [*Pages(connection).records(2)] == [read]
    connection.close()
