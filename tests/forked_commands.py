"""`recollect` as a process of its own that starts at once.

Whenever a test starts the installed command, or a Python script of the tests, it gets a fork of one
process that has imported the package already, itself a fork of the one that runs the tests: a real
process, with its own environment, streams, signals and exit code, but without the tenth of a second
that Python and the imports take, or the second of a server. The command itself is started where
anything about the call is unusual (see `_unusual`), on other systems than Linux, and in tests
marked `installed`.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import inspect
import logging
import os
import pickle
import runpy
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ready_vaults

TESTS = Path(__file__).parent
RECOLLECT = str(Path(sys.executable).with_name("recollect"))
SUBREAPER = 36  # of prctl(2): orphans become children of this process
COLLAPSE = 25  # of madvise(2): these pages become large ones now
LARGE_PAGE = 2 << 20
LENGTH = struct.Struct("=I")
# What starts no thread: onnxruntime does.
LIBRARIES = (
    "anyio._backends._asyncio", "httpx2", "numpy", "rich.console", "simsimd", "tokenizers",
    "uvicorn.lifespan.on", "uvicorn.loops.auto",
)  # fmt: skip


class Call(NamedTuple):
    """What a new process is told beside its streams."""

    arguments: list[bytes]
    environment: dict[bytes, bytes]
    folder: bytes
    new_session: bool
    copied_vaults: bool


_STANDARD = subprocess.Popen


class Popen(subprocess.Popen[Any]):
    """The standard library's, but that it forks for the installed command."""

    forking = False
    started: list[subprocess.Popen[Any]] | None = None  # where it is noted what a test starts

    def _execute_child(self, *args: Any) -> None:
        if self.started is not None:
            self.started.append(self)
        parent: Any = super()
        asked = _SIGNATURE.bind(self, *args).arguments
        if not self.forking or _unusual(asked):
            parent._execute_child(*args)
            return
        environment = os.environ if asked["env"] is None else asked["env"]
        call = Call(
            [os.fsencode(argument) for argument in asked["args"]],
            {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
            os.fsencode(asked["cwd"] or Path.cwd()),
            asked["start_new_session"],
            ready_vaults.copied,
        )
        streams = [asked[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        chosen = [own if stream == -1 else stream for own, stream in enumerate(streams)]
        self.pid = _templates[0].fork(call, chosen)
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        this: Any = self
        this._close_pipe_fds(*(asked[name] for name in pipes))


_SIGNATURE = inspect.signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]


def _unusual(asked: dict[str, Any]) -> bool:
    """Whether a fork would not be what was asked for."""
    args, environment = asked["args"], asked["env"] or {}
    return (
        isinstance(args, str | bytes)
        or not (os.fsdecode(args[0]) == RECOLLECT or _is_script(args))
        or any(asked[name] for name in ("executable", "preexec_fn", "pass_fds", "shell"))
        or any(asked[name] not in (None, -1) for name in ("gid", "gids", "uid", "process_group"))
        or asked["umask"] >= 0
        or any(
            str(name).startswith("PYTHON")
            and name != "PYTHONUTF8"  # a fork has that
            and os.environ.get(name) != value
            for name, value in environment.items()
        )
        or not Path(os.fsdecode(asked["cwd"] or ".")).is_dir()
    )


def _is_script(args: Sequence[Any]) -> bool:
    """Whether Python shall run a file of the tests."""
    return len(args) > 1 and args[0] == sys.executable and TESTS in Path(args[1]).parents


class _Template:
    """The process that is forked; it ends with this one."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._channel, there = socket.socketpair()
        with there:
            self._process = os.fork()
            if not self._process:
                try:
                    _forget_tests(there.fileno())
                    _serve(there)
                finally:
                    os._exit(0)
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)

    def fork(self, call: Call, streams: list[int]) -> int:
        """The id of a new process, which is a child of this one."""
        message = pickle.dumps(tuple(call))
        with self._guard:
            socket.send_fds(self._channel, [LENGTH.pack(len(message))], streams)
            self._channel.sendall(message)
            return int(LENGTH.unpack(_read(self._channel, LENGTH.size))[0])

    def close(self) -> None:
        self._channel.close()
        os.waitpid(self._process, 0)


_templates: list[_Template] = []


def set_up() -> None:
    subprocess.Popen = Popen  # type: ignore[misc]


def start() -> None:
    """The template, before any test has changed anything here."""
    if sys.platform == "linux":
        _templates.append(_Template())


def fork(wanted: bool) -> None:
    """Whether the installed command is forked from now on."""
    Popen.forking = wanted and bool(_templates)


def tear_down() -> None:
    while _templates:
        _templates.pop().close()


def _read(channel: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = channel.recv(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def _forget_tests(channel: int) -> None:
    """Nothing is left of what only the tests have: their files, signals, logs and replacements."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the tests, which then end
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in [int(file.name) for file in Path("/proc/self/fd").iterdir()]:
        if number not in (1, 2, channel, nothing):
            # Not closed: what holds the number here must not come to close another file.
            os.dup2(nothing, number, inheritable=False)
    subprocess.Popen = _STANDARD  # type: ignore[misc]
    _templates.clear()
    logging.root.handlers.clear()
    if "forced_segments" in sys.modules:
        sys.modules["forced_segments"].undo()


def _serve(channel: socket.socket) -> None:
    """Fork for each call, until the tests end. The one that asked becomes the parent: it adopts
    what loses its own, as the fork of a fork that ends at once does."""
    ready = False
    while True:
        size, streams, *_ = socket.recv_fds(channel, LENGTH.size, 3)
        if not size:
            return
        if not ready:
            _import_all()
            ready = True
        call = Call(*pickle.loads(_read(channel, LENGTH.unpack(size)[0])))
        told, tell = os.pipe()
        between = os.fork()
        if not between:
            child = os.fork()
            if not child:
                for unneeded in (told, tell, channel.detach()):
                    os.close(unneeded)
                os._exit(_become(call, streams))
            os.write(tell, LENGTH.pack(child))
            os._exit(0)
        os.waitpid(between, 0)
        channel.sendall(os.read(told, LENGTH.size))
        for done in (told, tell, *streams):
            os.close(done)


def _become(call: Call, streams: list[int]) -> int:
    """What Python does when it starts, then the command; the exit code."""
    if call.new_session:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(call.folder)
    os.environ.clear()
    os.environb.update(call.environment)
    ready_vaults.copied = call.copied_vaults
    tempfile.tempdir = None  # look again
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = [os.fsdecode(argument) for argument in call.arguments]
    if sys.argv[0] == RECOLLECT:
        from recollect.interfaces.cli.main import entry

        sys.orig_argv = [sys.executable, *sys.argv]
        entry()
    sys.orig_argv = sys.argv[:]
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    code = 0
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    sys.stdout.flush()
    return code


def _import_all() -> None:
    from recollect.interfaces.cli.commands import command_of, every_command

    for name in every_command():
        command_of(name)
    for library in LIBRARIES:
        importlib.import_module(library)
    gc.collect()
    gc.freeze()
    _take_large_pages()


def _take_large_pages() -> None:
    """A fork copies an entry for each page that the process has: of 2 MB, where the kernel can, not
    of 4 KB. That halves what it costs."""
    libc = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, access, _, _, _, *name = line.split()
        if "w" in access and name in ([], ["[heap]"]):
            start, end = (int(number, 16) for number in place.split("-"))
            start += -start % LARGE_PAGE
            if (size := (end - start) // LARGE_PAGE * LARGE_PAGE) > 0:
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), COLLAPSE)
