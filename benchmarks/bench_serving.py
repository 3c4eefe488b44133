"""Measure the servers: one search over HTTP and over MCP (stdio) against the same search through
the library; sixteen HTTP clients against two library processes at the same time; `/healthz` under
that load; the size of the page."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from bench_blend import fill
from data import data_argument, median, questions
from embeddings import cache_argument
from recollect import Recollect
from recollect.settings import Rerank, Settings

WARM_UP = 20
CLIENTS = 16
LIMIT = 10
RECOLLECT = str(Path(sys.executable).with_name("recollect"))
ASK_FOREVER = """
import json, sys, time
from recollect import Recollect
from recollect.settings import Rerank, Settings
home, provider, seconds, asked = json.loads(sys.argv[1])
with Recollect(home=home, settings=Settings(rerank=Rerank(provider=provider))) as memory:
    for text in asked[:20]:
        memory.search(text, limit=10)
    print("ready", flush=True)
    sys.stdin.readline()
    done, read, end = 0, 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        response = memory.search(asked[done % len(asked)], limit=10)
        read += response.counts["reranked"]
        done += 1
    print(done, read, flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=15.0, help="of load, for each side")
    parser.add_argument("--home", type=Path, help="a home that is filled already")
    args = parser.parse_args()
    asked = questions(args.data, args.queries + WARM_UP)
    with tempfile.TemporaryDirectory() as made:
        home = args.home or Path(made)
        if args.home is None:
            fill(home, args.data, args.cache, args.passages)
        for provider in ("none", "builtin"):
            report(home, provider, asked if provider == "none" else asked[: WARM_UP + 50], args)


def report(home: Path, provider: str, asked: list[str], args: argparse.Namespace) -> None:
    print(f"\n{'without rerank' if provider == 'none' else 'with rerank, budget 300 ms'}")
    environment = os.environ | {
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_RERANK__PROVIDER": provider,
    }
    with serving(environment) as port:
        anyio.run(one_client, home, provider, environment, port, asked)
        many_clients(home, provider, port, asked, args.seconds)
        if provider == "none":
            page_weight(port, asked[0])


async def one_client(
    home: Path, provider: str, environment: dict[str, str], port: int, asked: list[str]
) -> None:
    """Ask all three each question in turn, so that other load of the machine affects them alike."""
    spent: dict[str, list[float]] = {"library": [], "HTTP": [], "MCP": []}
    settings = Settings(rerank=Rerank(provider=provider))  # type: ignore[arg-type]
    started = StdioServerParameters(command=RECOLLECT, args=["mcp"], env=environment)
    connection = http.client.HTTPConnection("127.0.0.1", port)
    with Recollect(home=home, settings=settings) as memory:
        async with Client(stdio_client(started)) as client:
            for text in asked:
                start = time.perf_counter()
                memory.search(text, limit=LIMIT)
                spent["library"].append((time.perf_counter() - start) * 1000)
                start = time.perf_counter()
                search(connection, text)
                spent["HTTP"].append((time.perf_counter() - start) * 1000)
                start = time.perf_counter()
                await client.call_tool("memory_search", {"query": text, "limit": LIMIT})
                spent["MCP"].append((time.perf_counter() - start) * 1000)
    p50 = {name: median(times[WARM_UP:]) for name, times in spent.items()}
    for name, value in p50.items():
        most = {"HTTP": "  (at most 1.5)", "MCP": "  (at most 2)"}.get(name, "")
        ratio = value / p50["library"]
        print(f"{name + ', one client, p50':<34}{value:>9.2f} ms  {ratio:>6.2f}{most}")


def search(connection: http.client.HTTPConnection, text: str) -> dict[str, Any]:
    body = json.dumps({"query": text, "limit": LIMIT})
    connection.request("POST", "/api/v1/search", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    found: dict[str, Any] = json.loads(answer.read())
    assert answer.status == 200, found
    return found


def many_clients(home: Path, provider: str, port: int, asked: list[str], seconds: float) -> None:
    together, read_there = two_libraries(home, provider, asked, seconds)
    done, read = [0] * CLIENTS, [0] * CLIENTS
    pings: list[float] = []
    end = time.perf_counter() + seconds
    threads = [
        threading.Thread(target=asking, args=(port, asked[n:] + asked[:n], end, done, read, n))
        for n in range(CLIENTS)
    ]
    threads.append(threading.Thread(target=_pings, args=(port, end, pings)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    served = sum(done) / seconds
    print(f"{'two library processes':<34}{together:>9.1f} searches a second")
    print(
        f"{f'HTTP, {CLIENTS} clients':<34}{served:>9.1f} searches a second  "
        f"{served / together:>6.2f}  (at least 0.8)"
    )
    if provider != "none":
        # A server that is asked the same again remembers the rerank scores, and under load a
        # search is cut off at its budget: the two numbers above are not for the same work.
        here, there = sum(read) / sum(done), read_there
        print(f"{'candidates read, library and HTTP':<34}{there:>9.1f}  and {here:.1f} of 20")
    pings.sort()
    p99 = pings[int(0.99 * len(pings))]
    print(f"{'/healthz meanwhile, p50 and p99':<34}{median(pings):>9.2f} ms, {p99:.2f} ms")


def two_libraries(
    home: Path, provider: str, asked: list[str], seconds: float
) -> tuple[float, float]:
    """Return searches per second, and the number of candidates that the reranker read for each."""
    task = json.dumps([str(home), provider, seconds, asked])
    both = [
        subprocess.Popen(
            [sys.executable, "-c", ASK_FOREVER, task],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in both:
        assert process.stdout is not None
        process.stdout.readline()
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    counts = [list(map(int, process.communicate()[0].split())) for process in both]
    done = sum(searches for searches, _ in counts)
    return done / seconds, sum(read for _, read in counts) / done


def asking(
    port: int, asked: list[str], end: float, done: list[int], read: list[int], number: int
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while time.perf_counter() < end:
        found = search(connection, asked[done[number] % len(asked)])
        read[number] += found["counts"]["reranked"]
        done[number] += 1


def _pings(port: int, end: float, pings: list[float]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    while time.perf_counter() < end:
        start = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        pings.append((time.perf_counter() - start) * 1000)
        time.sleep(0.01)


def page_weight(port: int, text: str) -> None:
    """Return the size of the page with ten results, its styles and scripts, as transferred."""
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def fetched(path: str) -> str:
        connection.request("GET", path, headers={"Accept": "text/html"})
        return connection.getresponse().read().decode()

    html = fetched("/?" + "q=" + text.replace(" ", "+"))
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js)[^"]*)"', html))
    rest = sum(len(fetched(file).encode()) for file in files)
    print(f"{'page: HTML with ten results':<34}{len(html.encode()) / 1000:>9.1f} kB")
    print(f"{'page: styles and scripts':<34}{rest / 1000:>9.1f} kB")
    whole = (len(html.encode()) + rest) / 1000
    print(f"{'page':<34}{whole:>9.1f} kB  (at most 150)")


@contextmanager
def serving(environment: dict[str, str]) -> Iterator[int]:
    """Start a server process, and wait until it can answer at once."""
    process = subprocess.Popen(
        [RECOLLECT, "serve", "--port", "0", "--no-auth"], env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None
        port = int(found[1])
        while not _ready(port):
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def _ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False


if __name__ == "__main__":
    main()
