"""Count keystrokes of twenty everyday tasks at a terminal, here and with other tools.

A keystroke is a character of the command line, or the Enter that ends it; the text of a memory and
of a question is the same for all tools and counts for all. What happens in an editor does not.
With `--run` every line is run, in this order, on a terminal, in a home of its own for each tool;
"yes" in the page then means that it ended with 0 and printed what is expected. The table in
docs/reference/comparison.md is written again.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "comparison.md"
TOOLS = {"recollect": "recollect", "nb": "nb", "qmd": "qmd", "basic-memory": "basic-memory",
         "grep": "files, grep"}  # fmt: skip
LIMIT_S = 15
DAYS = "We refresh tokens every 14 days"
BM = "basic-memory tool"


class Call(NamedTuple):
    """A command line, and a part of its expected output."""

    line: str
    expected: str = ""


# Task → the call of each tool. A tool that is not named has no command for it.
TASKS: dict[str, dict[str, Call]] = {
    "Save a sentence": {
        "recollect": Call(f'recollect save "{DAYS}"', "we-refresh"),
        "nb": Call(f'nb add "{DAYS}"', "Added"),
        "qmd": Call(f'echo "{DAYS}" > notes/tokens.md; qmd update', "1 new"),
        "basic-memory": Call(
            f'{BM} write-note --title Tokens --folder notes --content "{DAYS}"', "tokens"
        ),
        "grep": Call(f'echo "{DAYS}" > notes/tokens.md'),
    },
    "Save what another command prints": {
        "recollect": Call("uname -a | recollect save", "linux"),
        "nb": Call("uname -a | nb add", "Added"),
        "qmd": Call("uname -a > notes/machine.md; qmd update", "1 new"),
        "basic-memory": Call(
            f"uname -a | {BM} write-note --title Machine --folder notes", "machine"
        ),
        "grep": Call("uname -a > notes/machine.md"),
    },
    "Save with a tag and a project": {
        "recollect": Call('recollect save "Deploys run on Buildkite" -t ci -p harbor', "deploys"),
        "nb": Call('nb add harbor/ "Deploys run on Buildkite" --tags ci', "Added"),
        "basic-memory": Call(
            f'{BM} write-note --title Deploys --folder harbor --content "Deploys run on Buildkite" '
            "--tags ci", "deploys"),
    },
    "Find by words": {
        "recollect": Call("recollect refresh tokens", "14 days"),
        "nb": Call('nb search "refresh tokens"', "14 days"),
        "qmd": Call("qmd search refresh tokens", "14 days"),
        "basic-memory": Call(f'{BM} search-notes "refresh tokens"', "tokens"),
        "grep": Call('grep -ri "refresh tokens" notes', "14 days"),
    },
    "Ask in other words than the note has": {
        "recollect": Call("recollect how long does a login last", "14 days"),
        "qmd": Call('qmd query "how long does a login last"', "14 days"),
    },
    "Find in one project": {
        "recollect": Call("recollect deploys -p harbor", "Buildkite"),
        "nb": Call("nb search harbor/ deploys", "Buildkite"),
        "qmd": Call("qmd search deploys -c notes", ""),
        "grep": Call("grep -ri deploys notes/harbor", "Buildkite"),
    },
    "Find what changed this week": {
        "recollect": Call("recollect tokens --since 7d", "14 days"),
        "basic-memory": Call(f"{BM} search-notes tokens --after_date 7d", "tokens"),
        "grep": Call("find notes -type f -mtime -7 | xargs grep -i tokens", "14 days"),
    },
    "List the newest": {
        "recollect": Call("recollect ls", "Buildkite"),
        "nb": Call("nb ls", "[1]"),
        "qmd": Call("qmd ls notes", "tokens.md"),
        "basic-memory": Call(f"{BM} recent-activity", "Tokens"),
        "grep": Call("ls -t notes", "tokens.md"),
    },
    "Read one whole, after a search": {
        "recollect": Call("recollect show @1", "tier"),
        "nb": Call("nb show 2 --print", "14 days"),
        "qmd": Call("qmd get notes/tokens.md", "14 days"),
        "basic-memory": Call(f"{BM} read-note notes/tokens", "14 days"),
        "grep": Call("cat notes/tokens.md", "14 days"),
    },
    "Change one in the editor": {
        "recollect": Call("recollect edit @1"),
        "nb": Call("nb edit 2"),
        "qmd": Call("$EDITOR notes/tokens.md; qmd update", "unchanged"),
        "grep": Call("$EDITOR notes/tokens.md"),
    },
    "Tag everything that a search finds": {
        "recollect": Call("recollect tokens -q | recollect tag - --add auth", "tagged"),
    },
    "Rename a tag everywhere": {
        "recollect": Call("recollect tag rename auth login --yes", "changed"),
        "grep": Call("grep -rl '#auth' notes | xargs -r sed -i 's/#auth/#login/'"),
    },
    "Delete one": {
        "recollect": Call("recollect rm we-r", "1 memory forgotten"),
        "nb": Call("nb delete 2 --force", "Deleted"),
        "qmd": Call("rm notes/machine.md; qmd update", "1 removed"),
        "grep": Call("rm notes/machine.md"),
    },
    "Take the last change back": {
        "recollect": Call("recollect undo", ""),
    },
    "See what one said before": {
        "recollect": Call("recollect history we-r", "version 1"),
        "nb": Call("nb history 3", "Add"),
    },
    "Make a folder of documents searchable": {
        "recollect": Call("recollect add docs", "added"),
        "nb": Call("nb import docs", "Imported"),
        "qmd": Call("qmd collection add docs", "created"),
        "grep": Call("grep -ri kestrel docs", "kestrel"),
    },
    "Copy one to the clipboard": {
        "recollect": Call("recollect clip we-r", "copied"),
        "grep": Call("xclip < notes/tokens.md"),
    },
    "Count the notes of each project": {
        "recollect": Call("recollect projects", "harbor"),
        "qmd": Call("qmd collection list", "notes"),
        "grep": Call("ls -d notes/*/ | xargs -I{} sh -c 'echo {} $(ls {} | wc -l)'", "harbor"),
    },
    "Back everything up": {
        "recollect": Call("recollect backup", "verified"),
        "nb": Call("nb export home/ home.zip", ""),
        "grep": Call("tar czf notes.tgz notes"),
    },
    "Hand what is found to a script": {
        "recollect": Call("recollect tokens -j", '"id"'),
        "qmd": Call("qmd search tokens --json", '"file"'),
        "basic-memory": Call(f"{BM} search-notes tokens", '"results"'),
        "grep": Call("grep -ril tokens notes", "tokens.md"),
    },
}  # fmt: skip
# Set-up before the first task; nb and qmd are told once where their notes are.
BEFORE = {
    "recollect": "true",
    "nb": "nb notebooks add work </dev/null >/dev/null; nb add folder harbor </dev/null",
    "qmd": "qmd collection add notes --name notes",
    "basic-memory": "true",
    "grep": "cp notes/first.md notes/harbor/; echo Deploys on Buildkite > notes/harbor/d.md",
}
COLOURS = re.compile(r"\x1b[^a-zA-Z]*[a-zA-Z]|\r")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true", help="run every line that can be run")
    parser.add_argument("--show", action="store_true", help="with --run: what did not go well")
    args = parser.parse_args()
    ran = {tool: _run(tool, args.show) for tool in TOOLS if shutil.which(tool)} if args.run else {}
    before, _, rest = PAGE.read_text().partition("<!-- table -->\n")
    after = rest.partition("<!-- /table -->")[2]
    table = "\n".join(_table(ran))
    PAGE.write_text(f"{before}<!-- table -->\n{table}\n<!-- /table -->{after}")


def _table(ran: dict[str, dict[str, str]]) -> list[str]:
    lines = [f"| task | {' | '.join(TOOLS.values())} |", f"|---|{'---|' * len(TOOLS)}"]
    for task, calls in TASKS.items():
        cells = []
        for tool in TOOLS:
            call = calls.get(tool)
            state = ran.get(tool, {}).get(task, "not run")
            mark = "" if state == "yes" else f", {state}"
            cells.append(f"{keystrokes(call)}{mark}" if call else "—")
        lines.append(f"| {task} | {' | '.join(cells)} |")
    return lines


def keystrokes(call: Call) -> int:
    return len(call.line) + 1


def _run(tool: str, show: bool) -> dict[str, str]:
    """Run each task's line in one session on a terminal; return `yes`, `no` or `over N s`."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for name in ("notes/harbor", "docs"):
            (here / name).mkdir(parents=True)
        (here / "notes" / "first.md").write_text("# First\n\nA first note.\n")
        (here / ".gitconfig").write_text("[user]\nname = a\nemail = a@b.c\n")  # nb asks for it
        (here / "docs" / "birds.md").write_text("# Birds\n\nA kestrel hovers.\n")
        variables = {
            "HOME": folder, "RECOLLECT_HOME": f"{folder}/r", "EDITOR": "true", "PAGER": "cat",
            "TERM": "xterm-256color",
        }  # fmt: skip
        steps = [("", Call(BEFORE[tool]))]
        steps += [(task, calls[tool]) for task, calls in TASKS.items() if tool in calls]
        script = here / "steps.sh"
        script.write_text("".join(
            f"timeout -k 1 {LIMIT_S} bash -c {_quote(call.line)} </dev/tty\necho \"::end $?\"\n"
            for _, call in steps
        ))  # fmt: skip
        done = subprocess.run(
            ["script", "-qec", f"bash {script}", "/dev/null"], cwd=here, check=False,
            env=os.environ | variables, capture_output=True, text=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    parts = re.split(r"::end (\d+)\n", COLOURS.sub("", done.stdout))
    for (task, call), printed, code in zip(steps, parts[::2], parts[1::2], strict=False):
        late = code in ("124", "137")
        well = code == "0" and call.expected.lower() in printed.lower()
        found[task] = "yes" if well else f"over {LIMIT_S} s" if late else "no"
        if show and not well:
            print(f"{tool}: {call.line}: {code}\n{printed[-600:]}\n", file=sys.stderr)
    return found


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


if __name__ == "__main__":
    main()
