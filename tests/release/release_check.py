"""Build the distributions as a release would, and check each as a user would get it.

Each wheel is built from its own sdist. Checked are metadata, licences, sizes, and that no path or
address of this machine is inside. Each wheel is then installed in an environment of its own and
tried. The first thing that is wrong ends the check with a sentence. `make release-check` runs it.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[2]
MEGABYTE = 1024 * 1024
LONGEST_S = 900  # for one program
REQUIRED = ("Name", "Version", "Summary", "License-Expression", "License-File", "Requires-Python")

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "release-check", "version": "0"},
}
TRY_MCP = "\n".join(
    json.dumps({"jsonrpc": "2.0", **message})
    for message in (
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
)
TRY_POSTGRES = """
from importlib.metadata import entry_points
stores = entry_points(group="recollect.stores")
assert {store.name for store in stores} >= {"postgres", "postgresql"}, stores
for store in stores:
    store.load()
"""
JUDGED = {
    "corpus.jsonl": '{"_id": "right", "text": "tokens rotate"}\n{"_id": "wrong", "text": "tea"}\n',
    "queries.jsonl": '{"_id": "q", "text": "tokens"}\n',
    "qrels.tsv": "query-id\tcorpus-id\tscore\nq\tright\t1\n",
}


class Distribution(NamedTuple):
    """A distribution: its folder, its largest wheel in MB, and files that its wheel must have."""

    folder: str
    most_mb: int
    files: tuple[str, ...]


CORE = Distribution(
    ".",
    100,  # what a package registry takes
    (
        "recollect/py.typed",
        "recollect/demo/memories.jsonl",
        "share/man/man1/recollect.1",
        "licenses/NOTICE",
        "licenses/LICENSE",
    ),
)
DISTRIBUTIONS = {
    "core": CORE,
    "postgres": Distribution("postgres", 1, ()),
    "evaluation": Distribution("evaluation", 1, ()),
    "multilingual": Distribution("multilingual", 100, ("multilingual/LICENSE",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="leave the built files in this folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        built = args.keep or work / "dist"
        wheels = {}
        for name, distribution in DISTRIBUTIONS.items():
            sdist, wheels[name] = build(ROOT / distribution.folder, built, work / name)
            check_archive(sdist, distribution)
            check_archive(wheels[name], distribution)
        for name in DISTRIBUTIONS:
            try_wheel(name, wheels, work)
            say(name, "installed in a fresh environment and tried")
    print("All is ready for a release.")


def build(folder: Path, built: Path, work: Path) -> tuple[Path, Path]:
    """Build the sdist of a folder, and a wheel from the unpacked sdist."""
    run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(built)], cwd=folder)
    sdist = max(built.glob("*.tar.gz"), key=lambda file: file.stat().st_mtime)
    with tarfile.open(sdist) as archive:
        archive.extractall(work, filter="data")
    [unpacked] = work.iterdir()
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)], cwd=unpacked)
    return sdist, max(built.glob("*.whl"), key=lambda file: file.stat().st_mtime)


def check_archive(archive: Path, distribution: Distribution) -> None:
    """Check the metadata, the licences, the size, and the contents of an archive."""
    files = contents(archive)
    size = archive.stat().st_size / MEGABYTE
    if size > distribution.most_mb:
        fail(f"{archive.name} has {size:.1f} MB; {distribution.most_mb} are allowed")
    metadata = read_metadata(archive, files)
    if missing := [field for field in REQUIRED if not metadata[field]]:
        fail(f"{archive.name} has no {', '.join(missing)} in its metadata")
    if metadata["Version"] != version():
        fail(f"{archive.name} is version {metadata['Version']}, the core {version()}")
    for licence in metadata.get_all("License-File", []):
        if not any(name.endswith(licence) for name in files):
            fail(f"{archive.name} names the licence {licence} and does not have it")
    if archive.suffix == ".whl":
        for wanted in distribution.files:
            if not any(name.endswith(wanted) for name in files):
                fail(f"{archive.name} does not have {wanted}")
    traces = {text.encode() for text in traces_of_this_machine()}
    for name, content in files.items():
        for trace in traces:
            if trace in content or trace in name.encode():
                fail(f"{archive.name}: {name} holds {trace.decode()!r}, which is of this machine")
    say(archive.name, f"{size:.1f} MB, {len(files)} files")


def contents(archive: Path) -> dict[str, bytes]:
    """Return the files of a wheel or an sdist, by name."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return {name: opened.read(name) for name in opened.namelist()}
    with tarfile.open(archive) as tar:
        files = ((member.name, tar.extractfile(member)) for member in tar.getmembers())
        return {name: file.read() for name, file in files if file}


def read_metadata(archive: Path, files: dict[str, bytes]) -> Message:
    """Return the metadata of the archive."""
    name = ".dist-info/METADATA" if archive.suffix == ".whl" else "/PKG-INFO"
    [metadata] = [content for file, content in files.items() if file.endswith(name)]
    return BytesParser().parsebytes(metadata)


def traces_of_this_machine() -> set[str]:
    """Return texts that no archive may hold: folders, the user, the host, the package index."""
    index = run([sys.executable, "-m", "pip", "config", "list"])
    hosts = {urlsplit(address).hostname for address in re.findall(r"https?://[^\s'\"]+", index)}
    hosts -= {"pypi.org", "files.pythonhosted.org", None}
    named = {str(ROOT), f"/home/{getpass.getuser()}/", socket.gethostname(), *map(str, hosts)}
    return {text for text in named if len(text) > 5 and text != "localhost"}


def try_wheel(name: str, wheels: dict[str, Path], work: Path) -> None:
    """Install a wheel, with the core where it is another one, and use it."""
    environment = work / f"environment-{name}"
    run([sys.executable, "-m", "venv", str(environment)])
    programs = environment / "bin"
    wanted = dict.fromkeys((wheels["core"], wheels[name]))
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
    run([*pip, "--disable-pip-version-check", *map(str, wanted)])
    home = {"RECOLLECT_HOME": str(work / f"home-{name}")}
    TRIED[name](programs, home, work)


def try_core(programs: Path, home: dict[str, str], _: Path) -> None:
    """Use the installed command as a new user would."""
    command = str(programs / "recollect")
    if run([command, "--version"], home).split()[-1] != version():
        fail(f"`recollect --version` is not {version()}")
    if "blend" not in run([command, "demo"], home):
        fail("`recollect demo` does not show its rankings")
    run([command, "save", "Refresh tokens rotate, and old ones end", "--id", "rotate"], home)
    expect_first("rotate", "how do we refresh tokens", command, home)
    run([command, "doctor"], home)
    answers = run([command, "mcp"], home, said=f"{TRY_MCP}\n").splitlines()
    tools = json.loads(answers[-1])["result"]["tools"]
    if "memory_search" not in {tool["name"] for tool in tools}:
        fail(f"`recollect mcp` does not list its tools: {answers}")


def try_postgres(programs: Path, home: dict[str, str], _: Path) -> None:
    """Load the store. Its tests have a server; this check has none."""
    run([str(programs / "python"), "-c", TRY_POSTGRES], home)


def try_evaluation(programs: Path, home: dict[str, str], work: Path) -> None:
    """Measure a ranking on a judged set of two documents."""
    judged = work / "judged"
    judged.mkdir()
    for name, text in JUDGED.items():
        (judged / name).write_text(text, encoding="utf-8")
    command = [str(programs / "recollect"), "eval", str(judged), "--recipe", "bm25"]
    if "1.000" not in run(command, home):
        fail("`recollect eval` does not find the one right document")


def try_multilingual(programs: Path, home: dict[str, str], _: Path) -> None:
    """Find a memory by a question in another language."""
    command = str(programs / "recollect")
    run([command, "models", "use", "multilingual"], home)
    for id, title in {"boat": "The boat is repaired in spring", "tax": "Taxes are due"}.items():
        run([command, "save", title, "--id", id], home)
    run([command, "reindex"], home)
    expect_first("boat", "Wann wird das Schiff ausgebessert?", command, home)


TRIED = {
    "core": try_core,
    "postgres": try_postgres,
    "evaluation": try_evaluation,
    "multilingual": try_multilingual,
}


def expect_first(id: str, question: str, command: str, home: dict[str, str]) -> None:
    """End the check unless a search finds this memory first."""
    found = json.loads(run([command, "search", question, "--json"], home))["results"]
    if not found or found[0]["id"] != id:
        fail(f"`recollect search {question}` does not find {id} first: {found}")


def version() -> str:
    """Return the version of the core."""
    source = (ROOT / "src" / "recollect" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "(.+)"', source)
    assert found
    return found[1]


def run(
    command: list[str],
    environment: dict[str, str] | None = None,
    *,
    cwd: Path | None = None,
    said: str = "",
) -> str:
    """Run a program and return what it printed; end the check if it fails."""
    ran = subprocess.run(
        command,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | (environment or {}),
        cwd=cwd,
        input=said,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    if ran.returncode:
        fail(f"`{' '.join(command)}` failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def say(name: str, text: str) -> None:
    print(f"{name:<55} {text}", flush=True)


def fail(why: str) -> None:
    sys.exit(f"Not ready for a release: {why}")


if __name__ == "__main__":
    main()
