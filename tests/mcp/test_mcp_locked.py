"""`recollect mcp` on a locked vault: after the idle lock the process holds nothing, and goes on."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp_sessions import open_engine
from process_memory import occurrences, wait_until_fresh
from test_mcp_process import Running, running

from patience import until
from recollect.settings import LockSettings
from recollect.vaults.keys import Keys, lock_vault, rekey_vault, sealed_with

PASSPHRASE = "correct horse battery"
LOCKED = {"RECOLLECT_PASSPHRASE": PASSPHRASE, "RECOLLECT_VAULT__IDLE_MINUTES": "0.03"}


def saving(id: int, n: int) -> dict[str, Any]:
    arguments = {"title": f"Note {n}", "text": "zymurgical " * 20}
    params = {"name": "memory_save", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def is_saved(process: Running, id: int) -> bool:
    answer = process.answer()
    return bool(answer["id"] == id and not answer["result"]["isError"])


@pytest.mark.installed  # it starts itself anew
def test_after_the_idle_lock_no_memory_is_left_and_the_client_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    open_engine(tmp_path).close()
    lock_vault(path, Keys(LockSettings(), {}), lambda: sealed_with(PASSPHRASE))
    with running(tmp_path, **LOCKED) as process:
        pid, stdin = process.process.pid, process.process.stdin
        assert stdin is not None
        ids = count(10)

        def holds_it() -> bool:
            id = next(ids)
            stdin.write(json.dumps(saving(id, id)).encode() + b"\n")
            stdin.flush()
            assert is_saved(process, id)
            return occurrences(pid, "zymurgical") >= 20

        until(holds_it)  # again, where the lock came before the look
        line = json.dumps(saving(2, 2)).encode() + b"\n"
        stdin.write(line[:100])  # while half a message is there, it is not lost
        stdin.flush()
        keys = Keys(LockSettings(), {}, PASSPHRASE)
        rekey_vault(path, keys, lambda: sealed_with(PASSPHRASE))  # waits for the idle lock
        stdin.write(line[100:])
        stdin.flush()
        assert is_saved(process, 2)
        wait_until_fresh(pid)
        until(lambda: occurrences(pid, "zymurgical") == 0)
        process.search("zymurgical", 3)  # with no other handshake
        answer = process.answer()
        assert answer["id"] == 3
        assert answer["result"]["structuredContent"]["results"]
        process.close_stdin()
        assert process.wait_for_end()[:2] == (0, b"")
