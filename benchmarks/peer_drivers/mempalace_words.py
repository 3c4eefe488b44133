"""MemPalace: `mempalace mine` over one file a passage, then its own search."""

import os
import re
import subprocess
import sys
from pathlib import Path


def _mempalace(folder, *arguments):
    program = str(Path(sys.executable).with_name("mempalace"))
    done = subprocess.run(
        [program, "--palace", str(folder / "palace"), *arguments],
        env=os.environ | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        input="n\n",
    )
    if done.returncode:
        raise SystemExit((done.stderr or done.stdout).strip().splitlines()[-1])
    if error := re.search(r"error: .*", done.stdout, re.IGNORECASE):
        raise SystemExit(error[0])
    return done.stdout


def load(folder, rows):
    files = folder / "files"
    files.mkdir()
    for number, row in enumerate(rows):
        text = f"{row['title']}\n\n{row['text']}\n"
        (files / f"{number}.md").write_text(text, encoding="utf-8")
    (folder / "ids").write_text("\n".join(row["id"] for row in rows), encoding="utf-8")
    _mempalace(folder, "init", str(files), "--yes")
    _mempalace(folder, "mine", str(files))


def opened(folder):
    ids = (folder / "ids").read_text(encoding="utf-8").split("\n")

    def ask(question):
        said = _mempalace(folder, "search", question["text"], "--results", "10")
        return [ids[int(number)] for number in re.findall(r"(\d+)\.md", said)]

    return ask
