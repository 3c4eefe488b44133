"""Edit a memory as a form in the user's editor: front matter and text, as in a mirrored folder.

The form is a private file in the home, removed once it is saved. Until then no typing is lost: a
form that cannot be read is opened again with a message at its top.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from recollect.documents.memory_markdown import ALWAYS, as_markdown, front_line, our_fields, parse
from recollect.errors import UserError
from recollect.home import home_path
from recollect.ingest.draft import FIELDS
from recollect.types import Memory

EDITORS = ("sensible-editor", "nano", "vim", "vi")
# Editors by how they take a line number: `+12 FILE`, `FILE:12`, or `--goto FILE:12`.
PLUS_LINE = (
    "sensible-editor editor nano vi vim nvim gvim view emacs emacsclient mg joe jed ne micro kak"
).split()
COLON_LINE = ("hx", "helix", "subl", "zed")
GOTO_LINE = ("code", "codium", "cursor", "windsurf")
FOLDER = "drafts"
# Fields of an empty form, which most people fill in.
USUAL = ("title", "tags", "kind", "project", "why")
# Begins the message line above a refused form.
MESSAGE = "#! "


def make_form(fields: Mapping[str, object]) -> str:
    """Return the form of a new memory, with these fields filled in."""
    empty = dict.fromkeys(USUAL, "")
    front = {name: value for name, value in (empty | dict(fields)).items() if name != "text"}
    lines = [front_line(name, value) if value else f"{name}:\n" for name, value in front.items()]
    return "".join(["---\n", *lines, "---\n\n", str(fields.get("text", "")), "\n"])


def find_changes(memory: Memory, fields: Mapping[str, object]) -> dict[str, Any]:
    """Return the changes that a form makes to a memory; None for fields that were removed."""
    if fields.get("id") != memory.id:
        raise UserError("An id cannot be changed; save a new memory and forget this one.")
    before = our_fields(parse(as_markdown(memory)))
    names = [name for name in FIELDS if fields.get(name) != before.get(name, None)]
    return {name: fields.get(name) for name in names if name in fields or name not in ALWAYS}


def fill_in(form: str, use: Callable[[dict[str, object]], None], *, as_is: bool = False) -> bool:
    """Let the user edit the form, and call `use` with its fields. Return False if the form is
    empty, or unchanged and not `as_is`. A form that cannot be read, or that `use` refuses, is
    opened again with the reason; if it stays unchanged then, raise UserError with the file's
    name."""
    folder = Path(home_path(os.environ)) / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(".md", "memory-", folder)
    path, shown = Path(name), form
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(form)
    while True:
        open_in_editor(path)
        text = _read_form(path)
        written = "\n".join(line for line in text.split("\n") if not line.startswith(MESSAGE))
        if not written.strip() or (written == form and not as_is):
            _remove_form(path)
            return False
        try:
            use(_parse_form(written))
        except UserError as error:
            if text == shown:
                raise UserError(f"{error} What you wrote is in {path}.") from error
            shown = f"{MESSAGE}Not saved: {' '.join(str(error).split())}\n{written}"
            path.write_text(shown, encoding="utf-8")
        else:
            _remove_form(path)
            return True


def _parse_form(text: str) -> dict[str, object]:
    """Return the memory's fields in a form."""
    file = parse(text)
    if file.problem:
        raise UserError(file.problem)
    if file.others:
        raise UserError(f"There is no field {next(iter(file.others))!r}.")
    fields = our_fields(file)
    return {name: value for name, value in fields.items() if value not in ("", [])}


def open_in_editor(path: Path, line: int = 1) -> None:
    """Open the file in the user's editor, at that line if the editor is known, and wait until it is
    closed."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    found = chosen or next(filter(shutil.which, EDITORS), None)
    if found is None:
        raise UserError("There is no editor; name yours in the variable EDITOR.")
    try:
        command = shlex.split(found)
        # If standard output is a pipe, the editor draws on standard error.
        code = subprocess.run(
            [*command, *line_arguments(command[0], path, line)],
            stdout=None if os.isatty(1) else 2,
            check=False,
        ).returncode
    except (OSError, ValueError) as error:
        raise UserError(f"The editor {found!r} cannot be started; the file is {path}.") from error
    if code:
        raise UserError(f"The editor ended with {code}; nothing was saved. The file is {path}.")


def line_arguments(program: str, path: Path, line: int) -> list[str]:
    """Return the arguments with which this editor opens the file at a line."""
    name = Path(program).stem
    if line > 1 and name in PLUS_LINE:
        return [f"+{line}", str(path)]
    if line > 1 and name in (*COLON_LINE, *GOTO_LINE):
        return [*(["--goto"] if name in GOTO_LINE else []), f"{path}:{line}"]
    return [str(path)]


def _read_form(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except OSError:  # the editor removed it
        return ""
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not valid UTF-8 text (byte {error.start}).") from error


def _remove_form(path: Path) -> None:
    path.unlink(missing_ok=True)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
