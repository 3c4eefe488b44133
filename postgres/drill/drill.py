"""Fail-over drill: three PostgreSQL nodes, two Recollect servers, and everything that goes wrong.

python postgres/drill/drill.py [--only kill-node …] [--replicas] [--workers 2] [--keep]

While eight writers and eight readers run, each event happens once; then the cluster must become
whole again. At the end every acknowledged write is read back. The exit code is 1 if one is lost or
stored twice, or if a refused one is stored.

Network namespaces and disks need root, or user namespaces; everything is inside one namespace
(network, mounts, processes), which ends with the drill. Without them, the events that need them are
left out, and the report says so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

from cluster import Cluster, Node, until
from traffic import API, READERS, WRITERS, Ledger, Traffic, Write

RECOLLECT = str(Path(sys.executable).with_name("recollect"))
PORTS = (7301, 7302)
REPLICAS = "prefer-standby&load_balance_hosts=random"
AWAY_S = 10.0  # how long a node stays away after another has taken over
FULL_S = 30.0
NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


class RecollectServer:
    """`recollect serve` with its own home."""

    def __init__(self, folder: Path, number: int, args: argparse.Namespace, url: str) -> None:
        self.workers = args.workers
        self.home = folder / f"server{number}"
        self.home.mkdir()
        self.port = PORTS[number]
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = (folder / f"server{number}.log").open("ab")
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "RECOLLECT_HOME": str(self.home),
            "RECOLLECT_STORE__URL": url, "RECOLLECT_EMBEDDING__PROVIDER": "none",
            "RECOLLECT_RERANK__PROVIDER": "none",
        }  # fmt: skip
        if args.replicas:
            self._environment["RECOLLECT_STORE__READ_URL"] = url.replace("read-write", REPLICAS)
        self.process: subprocess.Popen[bytes] | None = None

    def command(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [RECOLLECT, *words], env=self._environment, stdin=subprocess.DEVNULL,
            stdout=self._log, stderr=self._log,
        )  # fmt: skip

    def start(self) -> None:
        workers = ["--workers", str(self.workers)] if self.workers > 1 else []
        self.process = self.command("serve", "--port", str(self.port), "--no-auth", *workers)
        until(self.ready, f"the server at {self.url}")

    def ready(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except httpx2.HTTPError:
            return False

    def end(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait()


class Drill:
    """The events, each a method, in order."""

    def __init__(self, cluster: Cluster, servers: list[RecollectServer], seconds: float) -> None:
        self.cluster, self.servers, self.seconds = cluster, servers, seconds

    def quiet(self) -> None:
        """Nothing happens"""
        time.sleep(self.seconds)

    def kill_postgres(self) -> None:
        """kill -9 of the primary's PostgreSQL; its Patroni lives"""
        old = self.cluster.primary()
        old.kill_postgres()
        time.sleep(1)
        self.cluster.primary()

    def kill_node(self) -> None:
        """kill -9 of all of the primary, Patroni too"""
        old = self.cluster.primary()
        old.kill()
        self._away(old)
        self.cluster.start_patroni(old)

    def cut_network(self) -> None:
        """The primary's network is cut: no packet arrives, none is refused"""
        old = self.cluster.primary()
        self.cluster.cut(old, joined=False)
        self._away(old)
        self.cluster.cut(old, joined=True)

    def fill_disk(self) -> None:
        """The primary's disk is full: it refuses writes, and moves once its log needs room"""
        old = self.cluster.primary()
        old.fill()
        time.sleep(FULL_S)
        old.make_room()

    def kill_server(self) -> None:
        """kill -9 of a Recollect server"""
        self.servers[0].end(signal.SIGKILL)
        time.sleep(AWAY_S)
        self.servers[0].start()

    def roll_servers(self) -> None:
        """Both Recollect servers are restarted, one after the other"""
        for server in self.servers:
            server.end(signal.SIGTERM)
            server.start()

    def _away(self, old: Node) -> None:
        self.cluster.primary(but=old)
        time.sleep(AWAY_S)


EVENTS: list[Callable[[Drill], None]] = [
    Drill.quiet, Drill.kill_postgres, Drill.kill_node, Drill.cut_network, Drill.fill_disk,
    Drill.kill_server, Drill.roll_servers,
]  # fmt: skip
NEED_NAMESPACES = (Drill.cut_network, Drill.fill_disk)


def name_of(event: Callable[[Drill], None]) -> str:
    return event.__name__.replace("_", "-")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [name_of(event) for event in EVENTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--seconds", type=float, default=15, help="of traffic after each event")
    parser.add_argument("--replicas", action="store_true", help="let replicas answer searches")
    parser.add_argument("--workers", type=int, default=1, help="processes of each server")
    parser.add_argument("--keep", action="store_true", help="keep the logs, and say where")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--plain", action="store_true", help="use no namespaces")
    args = parser.parse_args()
    if args.inside:
        for place in () if args.plain else ("/run", "/dev/shm"):  # what is killed leaves files
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
        return run_inside(args)
    folder = Path(tempfile.mkdtemp(prefix="recollect-drill-"))
    folder.chmod(0o755)
    unshared = None if args.plain else _unshare()
    more = [] if unshared else ["--plain"]
    command = [sys.executable, __file__, *sys.argv[1:], "--inside", str(folder), *more]
    try:
        # The first process of a namespace must wait for orphans, or they would seem to live on.
        first = [*unshared, "sh", "-c", '"$@"; exit $?', "drill"] if unshared else []
        return subprocess.run([*first, *command], check=False).returncode
    finally:
        if args.keep:
            print(f"The logs are in {folder}.")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _unshare() -> list[str] | None:
    """Return the prefix of a command that runs in new namespaces; None if that is forbidden."""
    for user in ([], ["--user", "--map-root-user"]):
        command = ["unshare", *user, *NAMESPACES]
        tried = [*command, "sh", "-c", "mount -t tmpfs tmpfs /run && ip netns add tried"]
        found = shutil.which("unshare") and shutil.which("ip")
        if found and subprocess.run(tried, capture_output=True, check=False).returncode == 0:
            return command
    print("No namespaces here (they need root or user namespaces, unshare and ip).")
    return None


def run_inside(args: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cluster = Cluster(args.inside, plain=args.plain)
    servers: list[RecollectServer] = []
    try:
        start = time.monotonic()
        cluster.start()
        servers += [RecollectServer(args.inside, number, args, cluster.url) for number in (0, 1)]
        assert servers[0].command("migrate").wait() == 0, "recollect store migrate failed"
        for server in servers:
            server.start()
        print(f"Three nodes and two servers are up after {time.monotonic() - start:.0f} s.")
        return run(Drill(cluster, servers, args.seconds), args)
    finally:
        for server in servers:
            if server.process is not None and server.process.poll() is None:
                server.end(signal.SIGKILL)
        cluster.stop()


def run(drill: Drill, args: argparse.Namespace) -> int:
    ledger = Ledger()
    traffic = Traffic([server.url for server in drill.servers], ledger)
    traffic.start()
    print(f"{WRITERS} writers and {READERS} readers; gaps are the longest time without an answer.")
    print(f"{'event':<16}{'acknowledged':>14}{'refused':>9}{'unknown':>9}{'write gap':>11}{'reads':>7}{'read gap':>10}{'whole after':>13}")  # fmt: skip  # noqa: E501
    for event in EVENTS:
        name = name_of(event)
        if name not in args.only:
            continue
        if drill.cluster.plain and event in NEED_NAMESPACES:
            print(f"{name:<16}left out: it needs namespaces")
            continue
        before, start = ledger.counts(), time.monotonic()
        event(drill)
        until(drill.cluster.is_whole, f"a whole cluster after {name}", 180)
        healed = time.monotonic() - start
        time.sleep(drill.seconds)
        after, end = ledger.counts() - before, time.monotonic()
        gaps = [ledger.gap(kind, start, end) for kind in ("write", "read")]
        print(
            f"{name:<16}{after['acknowledged']:>14}{after['refused']:>9}{after['unknown']:>9}"
            f"{gaps[0]:>9.1f} s{after['reads']:>7}{gaps[1]:>8.1f} s{healed:>11.0f} s",
            flush=True,
        )
    traffic.stop()
    with httpx2.Client(base_url=drill.servers[1].url, timeout=60, trust_env=False) as client:
        return report(ledger, read_all(client))


def read_all(client: httpx2.Client) -> list[dict[str, Any]]:
    """Return all memories of the vault, each with the number of its versions."""
    found: list[dict[str, Any]] = []
    after: dict[str, str] = {}
    while True:
        answer = client.get(f"{API}/memories", params={"limit": "100", **after})
        page = answer.raise_for_status().json()
        for memory in page["memories"]:
            history = client.get(f"{API}/history/{memory['id']}").raise_for_status().json()
            found.append({**memory, "versions": len(history["versions"])})
        if not page.get("next"):
            return found
        after = {"cursor": page["next"]}


def report(ledger: Ledger, memories: list[dict[str, Any]]) -> int:
    """Print the outcome of the writes; return 1 if one is not what its writer was told."""
    by_mark: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for memory in memories:
        by_mark[memory["title"].split()[-1]].append(memory)
    of_mark: dict[str, list[Write]] = defaultdict(list)
    for write in ledger.writes:
        of_mark[write.mark].append(write)
    lost, twice, refused_but_there = [], [], []
    outcomes = Counter(write.outcome for write in ledger.writes)
    there = Counter[str]()
    for mark, writes in of_mark.items():
        found = by_mark.pop(mark, [])
        versions = sum(memory["versions"] for memory in found)
        if not found:
            lost += [one.mark for one in writes if one.outcome == "acknowledged"]
            continue
        text = found[0]["text"]
        last = max(n for n, one in enumerate(writes) if one.outcome == "acknowledged" or n == 0)
        if text not in [one.text for one in writes[last:]]:
            lost.append(mark)
        if len(found) > 1 or versions > sum(one.outcome != "refused" for one in writes):
            twice.append(mark)
        refused_but_there += [o.mark for o in writes if o.outcome == "refused" and o.text == text]
        there["unknown"] += sum(o.outcome == "unknown" and o.text == text for o in writes)
    print(
        f"\nacknowledged {outcomes['acknowledged']}, lost {len(lost)}, twice {len(twice)}, "
        f"refused {outcomes['refused']} (of these there {len(refused_but_there)}), "
        f"unknown {outcomes['unknown']} (of these there {there['unknown']}), "
        f"written by nobody {len(by_mark)}, reads that missed one {len(ledger.misses)}"
    )
    for sentence, times in ledger.problems.most_common():
        print(f"  {times} × {sentence}")
    for what, marks in (("lost", lost), ("twice", twice), ("refused but there", refused_but_there)):
        if marks:
            print(f"  {what}: {', '.join(marks[:20])}")
    return int(bool(lost or twice or refused_but_there or by_mark or ledger.misses))


if __name__ == "__main__":
    sys.exit(main())
