"""pgbouncer in transaction mode between Recollect and PostgreSQL: each transaction may have another
connection, so nothing may rely on what was said in the one before."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from patience import until
from postgres_server import FOLDER
from recollect import Recollect
from recollect.auth.token_store import TokenStore
from recollect.ingest.exchange import RawLine
from recollect.settings import Embedding, Rerank, Settings, StoreSettings
from recollect_postgres.access import PostgresAccess

SETTINGS = """\
[databases]
recollect = host={server} user=recollect
[pgbouncer]
listen_port = 6432
listen_addr =
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 3
ignore_startup_parameters = extra_float_digits
logfile = {folder}/log
"""


@pytest.fixture(scope="module")
def bouncer(postgres_url: str) -> Iterator[str]:
    """The URL of a pgbouncer with three connections before the tests' server."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("There is no pgbouncer here.")
    folder = Path(os.environ[FOLDER], f"bouncer-{os.getpid()}")
    folder.mkdir()
    told = SETTINGS.format(server=os.environ[FOLDER], folder=folder)
    (folder / "pgbouncer.ini").write_text(told)
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    running = subprocess.Popen(
        [program, str(folder / "pgbouncer.ini")], user=user, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: _listens(folder / ".s.PGSQL.6432"))
    yield f"postgresql://recollect@/recollect?host={folder}&port=6432"
    running.terminate()
    running.wait()


def _listens(place: Path) -> bool:
    """The file is there a moment before anybody listens."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(place)) == 0


def test_two_engines_share_three_connections_from_transaction_to_transaction(
    bouncer: str, postgres_vault: str, tmp_path: Path
) -> None:
    place = StoreSettings(url=bouncer, vault=postgres_vault)
    off = {"embedding": Embedding(provider="none"), "rerank": Rerank(provider="none")}
    settings = Settings(store=place, **off)  # type: ignore[arg-type]

    def work(engine: Recollect, thread: int) -> None:
        for number in range(4):
            name = f"{thread}-{number}"
            saved = engine.save(id=name, title=f"Deploy {name} needs a ticket")
            assert name in [one.id for one in engine.search(f"deploy {name}").results]
            engine.edit(saved.id, text="It was approved")
            engine.forget([saved.id])
            engine.forget([saved.id], undo=True)

    with (
        Recollect(home=tmp_path / "one", settings=settings, environment={}) as one,
        Recollect(home=tmp_path / "other", settings=settings, environment={}) as other,
        ThreadPoolExecutor(8) as threads,
    ):
        done = [threads.submit(work, (one, other)[thread % 2], thread) for thread in range(8)]
        for each in done:
            each.result()
        lines = [RawLine(n, b'{"title": "Imported %d"}' % n) for n in range(1, 301)]
        assert other.import_lines(lines).added == 300
        one.store.database.merging.run()
        assert one.stats()["memories"] == 332
        assert [found for found in one.doctor() if found.problem] == []
    access = PostgresAccess(place)
    secret, _ = TokenStore(access).create(["search:use"])
    assert TokenStore(access).find(secret) is not None
    access.close()
    assert len([*access.audit.since(0)]) == 8 * 4 * 4 + 1  # each write of both, the import once
    access.close()
