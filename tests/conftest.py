"""What every test can ask for, and where its files are.

The fixtures of a folder are a module of their own name there: mypy checks all files in one run only
where no two have the same name.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

import bundled_models
import cheap_keys
import forked_commands
import patience
import ready_pages
import ready_vaults
from examples import ALL, examples
from recollect.models.onnx import OnnxModel

pytest_plugins = (
    "browser_fixtures", "cli_fixtures", "forced_segments", "leftovers", "mcp_fixtures",
    "planned_search", "postgres_server", "store_fixtures", "workers",
)  # fmt: skip

# A new vault costs 40 ms on a disk, which must say each time that it is written, and 4 ms here.
MEMORY = Path("/dev/shm")
ROOM = 2 << 30  # bytes, several times what a run needs; containers often have 64 MB there

# The same examples in each run, however slow the machine is; an example found anew fails nobody
# else's change. `make test EXAMPLES=all` looks for new ones.
hypothesis.settings.register_profile(
    "same",
    max_examples=examples(100),
    deadline=None,
    derandomize=not ALL,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("same")
# Its own search for constants in our modules would make them depend on what is imported by then.
providers._get_local_constants = lambda: providers._local_constants


def pytest_configure(config: pytest.Config) -> None:
    """Temporary files in memory where there is enough, one thread for arithmetic, and SIGINT for
    what the tests start."""
    if "TMPDIR" not in os.environ and in_memory():
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # look again
    # Each request to an application in this process looks for it again, where it is not installed.
    if importlib.util.find_spec("sniffio") is None:
        sys.modules["sniffio"] = None  # type: ignore[assignment]
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # each worker has a core; threads beyond that only spin
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell started the run in the background. What ignores a signal hands that on to the
        # processes it starts; what handles it does not.
        signal.signal(signal.SIGINT, lambda number, frame: None)
    assert config.cache is not None
    if bundled_models.make_folder(config.cache):
        config.add_cleanup(bundled_models.forget_folder)
    bundled_models.share()
    ready_pages.set_up(bundled_models.folder)
    cheap_keys.set_up()
    patience.be_patient()
    if sys.platform == "linux":
        ready_vaults.set_up()
    forked_commands.set_up()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    bundled_models.remember_for(item.path)
    ready_vaults.copy_for(item.path)
    cheap_keys.cheap = item.get_closest_marker("installed") is None
    forked_commands.fork(cheap_keys.cheap)


def pytest_unconfigure() -> None:
    forked_commands.tear_down()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests and their modules stay: Python looks for none to remove among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def in_memory() -> bool:
    if not os.access(MEMORY, os.W_OK) or os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(MEMORY).free >= ROOM


@pytest.fixture
def unshared_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models as they are: each object loads its own, and reads whatever it is given."""
    for name, method in bundled_models.UNSHARED.items():
        monkeypatch.setattr(OnnxModel, name, method)


@pytest.fixture
def costly_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of passphrases cost in this process what they cost in the product."""
    monkeypatch.setattr(cheap_keys, "cheap", False)


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """A temporary folder on a disk, for what is about writing slowly or not at all."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="recollect-") as folder:
        yield Path(folder)
