"""Tests in several processes are all run, and one that takes its process along is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
FILES = {
    "test_ends.py": "import os\ndef test_ends(): os._exit(0)\ndef test_after(): pass\n",
    "test_fails.py": "def test_fails(): print('harbour'); assert 1 == 2\n",
    "test_passes.py": "def test_one(tmp_path): pass\ndef test_two(tmp_path): pass\n",
}


def test_every_file_is_run_and_a_process_that_ended_fails_the_run(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "workers", "--processes", "2", "-rA"]
    done = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", tmp_path, "-p", "no:cacheprovider", tmp_path],
        env=os.environ | {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "2 failed, 2 passed" in done.stdout
    assert "The process that ran test_ends.py::test_ends has ended." in done.stdout
    assert "harbour" in done.stdout
