"""A server of a locked vault: it starts with the passphrase, and closes an idle vault."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from pathlib import Path
from unittest import mock

import httpx2
import pytest
from http_server import API, RECOLLECT, environment, serving
from http_thread import threaded_server
from process_memory import occurrences, wait_until_fresh

from patience import until
from recollect.auth.credentials import PER_ADDRESS
from recollect.engine import Recollect
from recollect.engine.opening import IdleLock
from recollect.errors import Locked
from recollect.lifetime import Lifetime
from recollect.settings import Embedding, LockSettings, Rerank, Settings
from recollect.store.sqlite.store import SqliteStore
from recollect.vaults.keys import Keys, lock_vault, rekey_vault, sealed_with

PASSPHRASE = "correct horse battery"
IDLE = "0.01"  # minutes
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def lock_home(home: Path) -> Path:
    home.mkdir(exist_ok=True)
    with Recollect(home / "vault.db", home=home, settings=OFF) as memory:
        memory.save(id="jwt", title="Switched to JWT")
    lock_vault(home / "vault.db", Keys(LockSettings(), {}), lambda: sealed_with(PASSPHRASE))
    return home


def wait_until_closed(path: Path) -> None:
    """Wait until no process has the vault open, so that it can be rekeyed."""
    keys = Keys(LockSettings(), {}, PASSPHRASE)
    rekey_vault(path, keys, lambda: sealed_with(PASSPHRASE))


@pytest.mark.installed  # it starts itself anew
def test_after_the_idle_lock_no_memory_is_left_in_the_process(tmp_path: Path) -> None:
    """With the passphrase in the environment, the next request opens the vault again."""
    home = lock_home(tmp_path / "home")
    told = {"RECOLLECT_PASSPHRASE": PASSPHRASE, "RECOLLECT_VAULT__IDLE_MINUTES": "0.05"}
    with serving(home, **told) as server:
        pid = server.process.pid
        notes = [{"id": f"n{n}", "text": f"zymurgical {n} " * 20} for n in range(20)]
        assert server.post(f"{API}/memories", notes).status_code == 200

        def holds_all() -> bool:
            assert len(server.found("zymurgical", limit=20)) == 20
            return occurrences(pid, "zymurgical") >= 400

        def holds_one() -> bool:
            assert server.show("n7").status_code == 200
            return occurrences(pid, "zymurgical") > 0

        until(holds_all)  # again, where the lock came before the look
        wait_until_fresh(pid)
        assert server.get("/healthz").status_code == 200
        until(lambda: occurrences(pid, "zymurgical") == 0)
        until(holds_one)
        assert PASSPHRASE not in server.log_text()
        assert "error" not in {line["level"] for line in server.log()}
        assert server.stop() == 0


def test_neither_files_nor_log_of_a_server_hold_a_word_of_a_memory(tmp_path: Path) -> None:
    home = lock_home(tmp_path / "home")
    with serving(home, RECOLLECT_PASSPHRASE=PASSPHRASE) as server:
        id = server.save(title="Quizzacious title", text="brobdingnagian text", tags=["zymurgical"])
        server.post(f"{API}/search", {"query": "brobdingnagian"})
        server.get(f"{API}/memories/quizzacious-unknown")
        assert server.show(id).json()["title"] == "Quizzacious title"
        files = [*home.rglob("*"), tmp_path / "home.log"]
        held = b"".join(file.read_bytes() for file in files if file.is_file()).lower()
        assert (home / "vault.db-wal").exists()
    for word in (b"quizzacious title", b"brobdingnagian", b"zymurgical", PASSPHRASE.encode()):
        assert word not in held
        assert word.decode().encode("utf-16-le") not in held


def patient_get(client: httpx2.Client, path: str) -> httpx2.Response:
    """Asks again where the connection ended unanswered, as HTTP lets clients do with GET: one that
    was made just before the fresh process came has nobody behind it."""
    while True:
        try:
            return client.get(path)
        except httpx2.RemoteProtocolError:
            continue


@pytest.mark.installed  # it starts itself anew
def test_with_a_passphrase_that_was_typed_it_stays_locked(tmp_path: Path) -> None:
    home = lock_home(tmp_path / "home")
    here, there = pty.openpty()
    process = subprocess.Popen(
        [RECOLLECT, "serve", "--port", "0", "--no-auth"], stdin=there, stdout=subprocess.PIPE,
        stderr=there, text=True, start_new_session=True,
        env=environment(home, RECOLLECT_VAULT__IDLE_MINUTES=IDLE),
    )  # fmt: skip
    try:
        os.close(there)
        asked = ""
        while "Passphrase of" not in asked:
            asked += os.read(here, 4096).decode()
        os.write(here, f"{PASSPHRASE}\n".encode())
        assert process.stdout is not None
        url = next(word for word in process.stdout.readline().split() if "http://" in word)
        with httpx2.Client(
            base_url=url.rstrip("/"), trust_env=False, verify=False, timeout=30
        ) as client:
            wait_until_closed(home / "vault.db")
            answer = patient_get(client, f"{API}/memories/jwt")
            assert answer.status_code == 423, answer.text
            assert answer.headers["content-type"] == "application/problem+json"
            assert "is locked again, since nothing was asked of it for 0.01 minutes" in answer.text
            assert patient_get(client, "/healthz").status_code == 200
            # The fresh process may come at any time, and knows it from its first refusal on.
            asked_for = (f"{API}/memories/jwt", "/readyz")
            until(
                lambda: [patient_get(client, path).status_code for path in asked_for] == [423, 503]
            )
    finally:
        process.terminate()
        process.wait(30)
        os.close(here)
        if process.stdout is not None:
            process.stdout.close()


def test_an_idle_process_holds_nothing_of_the_vault(tmp_path: Path) -> None:
    home = lock_home(tmp_path / "home")
    settings = Settings(
        embedding=OFF.embedding, rerank=OFF.rerank, vault=LockSettings(idle_minutes=float(IDLE))
    )
    told = {"RECOLLECT_PASSPHRASE": PASSPHRASE}
    path = home / "vault.db"
    with Recollect(
        path, home=home, settings=settings, environment=told, lifetime=Lifetime.SERVER
    ) as memory:
        deadline = time.monotonic() + 30
        while memory.store.database.locked and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not memory.store.database.locked
        assert [one.id for one in memory.show(["jwt"])] == ["jwt"]
        told.clear()
        while memory.store.database.locked and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(Locked, match="give its passphrase"):
            memory.show(["jwt"])


def test_a_locked_vault_is_unlocked_on_the_page(tmp_path: Path) -> None:
    """Wrong passphrases delay the next try, and appear neither in a response nor in the log."""
    home = lock_home(tmp_path / "home")
    with threaded_server(home, at_rest=True) as server:
        page = {"Accept": "text/html"}
        asked = server.client.get("/", headers=page)
        assert asked.status_code == 423
        assert 'action="/unlock"' in asked.text
        for _ in range(PER_ADDRESS):
            wrong = server.client.post("/unlock", data={"passphrase": "wrong " * 3}, headers=page)
            assert wrong.status_code == 423
        form = {"passphrase": PASSPHRASE}
        assert server.client.post("/unlock", data=form, headers=page).status_code == 429
        with mock.patch("recollect.auth.credentials.Attempts.wait_s", return_value=0):
            opened = server.client.post("/unlock", data=form, headers=page)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        assert server.client.get("/memory/jwt", headers=page).status_code == 200
        assert server.client.get("/healthz").status_code == 200
        said = server.log.getvalue() + (home / "audit.jsonl").read_text()
        assert PASSPHRASE not in said
        assert "unlock" in said


def test_an_open_vault_is_not_watched(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "vault.db").close()
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=OFF, lifetime=Lifetime.SERVER
    ) as memory:
        assert not any(isinstance(part, IdleLock) for part in memory.session.closing)


def test_whoever_only_watches_neither_opens_a_locked_vault_nor_keeps_it_open(
    tmp_path: Path,
) -> None:
    home = lock_home(tmp_path / "home")
    told = {"RECOLLECT_PASSPHRASE": PASSPHRASE}
    path = home / "vault.db"
    with Recollect(path, home=home, settings=OFF, environment=told) as memory:
        database = memory.store.database
        memory.show(["jwt"])
        used_at = time.monotonic()
        while time.monotonic() == used_at:
            pass
        assert memory.dependencies() == {"database": None}
        assert memory.store.seal(time.monotonic() - used_at)
        assert memory.dependencies() == {"database": None}
        assert (database.at_rest, database.locked) == (True, False)
        told.clear()
        with pytest.raises(Locked):
            memory.show(["jwt"])
        # for whoever watches, too, until it opens again
        assert memory.dependencies()["database"]
        told["RECOLLECT_PASSPHRASE"] = PASSPHRASE
        assert memory.dependencies() == {"database": None}
        assert database.locked


def test_a_vault_at_rest_opens_with_the_first_call(tmp_path: Path) -> None:
    home = lock_home(tmp_path / "home")
    told = {"RECOLLECT_PASSPHRASE": PASSPHRASE}
    path = home / "vault.db"
    with Recollect(path, home=home, settings=OFF, environment=told, at_rest=True) as memory:
        memory.warm_up()
        assert memory.dependencies() == {"database": None}
        assert memory.store.database.at_rest
        assert [one.id for one in memory.show(["jwt"])] == ["jwt"]
        assert not memory.store.database.at_rest
