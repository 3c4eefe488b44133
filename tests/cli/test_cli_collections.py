"""`recollect vault collections` and `recollect vault publish`."""

from __future__ import annotations

from pathlib import Path

from commandline import Home


def test_a_memory_is_published_found_and_taken_back(home: Home, tmp_path: Path) -> None:
    shared = tmp_path / "platform.db"
    home.save("--title", "Signing keys rotate", "--id", "keys")
    assert "Added: platform" in home.run("vault", "collections", "add", "platform", str(shared)).out
    assert home.json("vault", "collections") == [{"name": "platform", "path": str(shared)}]
    printed = home.json("vault", "publish", "keys", "--to", "platform")
    assert printed == {"published": ["keys"], "collection": "platform"}
    assert [one["id"] for one in home.json("search", "signing keys")["results"]] == ["keys"]
    home.run("forget", "keys")
    [found] = home.json("search", "signing keys")["results"]
    assert (found["id"], found["vault"]) == ("platform:keys", "platform")
    assert "vault platform" in home.run("search", "signing keys").out
    printed = home.json("vault", "publish", "keys", "--to", "platform", "--undo")
    assert printed == {"unpublished": ["keys"], "collection": "platform"}
    assert home.json("search", "signing keys")["results"] == []


def test_removing_a_collection_keeps_its_file_and_every_other_setting(
    home: Home, tmp_path: Path
) -> None:
    home.folder.mkdir(exist_ok=True)
    home.config.write_text("# mine\n[search]\nliteral = true\n")
    shared = tmp_path / "platform.db"
    home.save("--title", "Signing keys rotate", "--id", "keys")
    added = home.json("vault", "collections", "add", "platform", str(shared))
    assert added == {"added": {"name": "platform", "path": str(shared)}}
    home.run("vault", "publish", "keys", "--to", "platform")
    assert "are kept" in home.run("vault", "collections", "remove", "platform").out
    assert home.config.read_text() == "# mine\n[search]\nliteral = true\n"
    assert shared.exists()
    home.run("vault", "collections", "add", "guild", str(shared))
    assert home.json("vault", "collections", "remove", "guild") == {"removed": "guild"}


def test_a_name_that_is_taken_is_refused_and_nothing_is_written(home: Home, tmp_path: Path) -> None:
    home.run("vault", "collections", "add", "guild", str(tmp_path / "guild.db"))
    team = Home(tmp_path / "team")
    team.save("--title", "Keys rotate")
    home.run("vault", "add", "team", str(team.vault))
    before = home.config.read_text()
    for name, why in (("guild", "Two collections"), ("agent", "a vault"), ("team", "'team', too")):
        done = home.call("vault", "collections", "add", name, str(tmp_path / "other.db"))
        assert (done.code, done.out) == (1, ""), name
        assert why in done.err
    assert home.config.read_text() == before
    assert home.call("search", "anything").code == 0


def test_what_makes_no_sense_is_refused_in_one_line(home: Home) -> None:
    home.save("--title", "Signing keys rotate", "--id", "keys")
    for args, code, holding in (
        (("vault", "publish", "keys", "--to", "guild"), 1, "'guild'"),
        (("vault", "publish", "keys"), 2, "--to"),
        (("vault", "collections", "remove", "guild"), 1, "'guild'"),
        (("vault", "collections", "add", "guild"), 2, "add NAME FILE"),
        (("vault", "collections", "rename"), 2, "list, add, remove"),
        (("vault", "collections", "add", "Guild!", "x.db"), 1, "small letters"),
    ):
        done = home.call(*args)
        assert (done.code, done.out) == (code, ""), args
        assert holding in done.err, args
