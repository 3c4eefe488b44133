"""`recollect serve --watch`: the server follows folders and the mirror while it serves."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from http_server import Server, serving

from patience import until
from recollect import Recollect
from recollect.folders.watch import alone
from recollect.settings import Embedding, Rerank, Settings

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def finds(server: Server, query: str, *files: Path) -> None:
    wanted = sorted(map(str, files))
    until(lambda: sorted(one["file"]["path"] for one in server.search(query)["results"]) == wanted)


def test_folders_and_the_mirror_are_followed_beside_the_server(tmp_path: Path) -> None:
    home, notes, mirror = (tmp_path / name for name in ("home", "notes", "mirror"))
    for folder in (home, notes, mirror):
        folder.mkdir()
    (notes / "tides.md").write_text("The tables are here.")
    with Recollect(home=home, settings=OFF, environment={}) as memory:
        memory.add_folder(notes, follow=True)
    with serving(home, "--watch", RECOLLECT_MIRROR__FOLDER=str(mirror)) as server:
        finds(server, "tables", notes / "tides.md")
        (notes / "new.md").write_text("The quokka sleeps.")
        finds(server, "quokka", notes / "new.md")
        (notes / "new.md").unlink()
        finds(server, "quokka")
        server.save(id="jwt", title="Switched to JWT")
        until((mirror / "Switched to JWT.md").exists)
        assert server.stop() == 0
        told = server.log_text()
        assert "Traceback" not in told
        assert '"notes: 1 added"' in told
        assert "quokka" not in told  # a log holds nothing of memories


def test_a_server_follows_once_no_other_process_does(tmp_path: Path) -> None:
    home, notes = tmp_path / "home", tmp_path / "notes"
    for folder in (home, notes):
        folder.mkdir()
    (notes / "tides.md").write_text("The tables are here.")
    with Recollect(home=home, settings=OFF, environment={}) as memory:
        memory.add_folder(notes, follow=True)
    with ExitStack() as stack:
        assert stack.enter_context(alone(home))
        with serving(home, "--watch") as server:
            (notes / "new.md").write_text("The quokka sleeps.")
            finds(server, "tables", notes / "tides.md")
            stack.close()
            finds(server, "quokka", notes / "new.md")
