"""EchoVault: the index of its vault, or where that is missing the Markdown sessions it was made of.

The format: `src/memory/db.py`, `models.py` and `markdown.py` of github.com/mraza007/echovault, 0.1
to 0.5 and the columns added since. It numbers no versions; a column that is not known here is
reported. The package `echovault` on PyPI is another tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from recollect.errors import UserError
from recollect.importers.base import Importer, Taken
from recollect.importers.databases import database, require, rows
from recollect.importers.files import files_below, json_object, present, text_file
from recollect.importers.records import Piece, empty, foreign_id, listed, once, plain

TOOL = "echovault"
INDEX = "index.db"
# The headings that sessions group memories under.
KINDS = {
    "Decisions": "decision", "Patterns": "pattern", "Bugs Fixed": "bug", "Context": "context",
    "Learnings": "learning", "Playbooks": "playbook", "Known Fixes": "known_fix",
    "Constraints": "constraint", "Project State": "project_state", "Active Work": "active_work",
}  # fmt: skip
LABELS = {
    "**What:**": "what", "**Why:**": "why", "**Impact:**": "impact", "**Source:**": "source",
    "**Category:**": "category", "**Archived:**": "archived_at",
    "**Archive Reason:**": "archive_reason", "**Superseded By:**": "superseded_by",
    "**Living Memory:**": "living",
}  # fmt: skip
MEMORY_ID = "<!-- memory-id:"
# A heading that no text has.
END = "## \0"
# What a section begins with.
FIRST = (MEMORY_ID, "**What:**")


def read(path: Path) -> Iterator[Taken]:
    return once(_read(path))


def _read(path: Path) -> Iterator[Taken]:
    if present(path).is_dir() and (path / INDEX).is_file():
        return _of_index(path / INDEX)
    if path.is_dir() or path.suffix.lower() == ".md":
        return _of_sessions(path)
    return _of_index(path)


def _of_index(path: Path) -> Iterator[Taken]:
    with database(path, TOOL) as connection:
        require(connection, path, TOOL, memories=("id", "title", "what"))
        details: dict[object, object] = {}
        for row in rows(connection, "memory_details", "memory_id"):
            if row.values is None:
                yield Taken(row.where, None, row.reason)
            else:
                details[row.values.get("memory_id")] = row.values.get("body")
        for row in rows(connection, "memories", "rowid"):
            if row.values is None:
                yield Taken(row.where, None, row.reason)
            else:
                held = {**row.values, "details": details.get(row.values["id"])}
                yield _taken(row.where, held)


def _taken(where: str, raw: Mapping[str, object]) -> Taken:
    id = plain(raw.get("id"))
    if not id:
        return Taken(where, None, "It has no id.")
    piece = Piece(where, raw, foreign_id(TOOL, id), TOOL)
    # Where it stands in EchoVault's own files, and what EchoVault counts and computes.
    piece.ignore("id", "rowid", "file_path", "section_anchor", "content_fingerprint")
    piece.ignore("history_complete", *_counts(raw))
    for field, called in (
        ("title", "title"), ("text", "what"), ("why", "why"), ("impact", "impact"),
        ("kind", "category"), ("project", "project"), ("source", "source"), ("details", "details"),
        ("created_at", "created_at"), ("updated_at", "updated_at"),
        ("valid_from", "valid_from"), ("valid_until", "valid_until"),
    ):  # fmt: skip
        piece.take(field, called)
    piece.take("tags", "tags")
    _lists(piece)
    piece.end("archived_at")
    if piece.use("status") not in (None, "active") and not piece.has("valid_until"):
        piece.leave("status")
    return piece.taken()


def _counts(raw: Mapping[str, object]) -> tuple[str, ...]:
    """Counters that never counted anything."""
    return tuple(name for name, value in raw.items() if name.endswith("_count") and value == 0)


def _lists(piece: Piece) -> None:
    """Lists of texts become paragraphs of the details; the first file is the path."""
    files = piece.texts("related_files")
    piece.put("path", files[0] if files else None, "related_files")
    if len(files) > 1:
        piece.add("details", listed("Related files", files))
    piece.add("details", listed("Links", piece.texts("links")))
    told = piece.use("structured_data")
    structured = json_object(told)
    if not structured and not empty(told):
        piece.leave("structured_data")
    for name, held in structured.items():
        heading = name.replace("_", " ").capitalize()
        piece.add("details", listed(heading, piece.texts_of(held, name)))


# --- sessions -----------------------------------------------------------------------------------


def _of_sessions(path: Path) -> Iterator[Taken]:
    folder = path if path.is_dir() else path.parent
    files = list(files_below(path, "-session.md")) if path.is_dir() else [path]
    if not files:
        raise UserError(
            f"{path} is not of {TOOL}: it has neither {INDEX} nor files named like "
            "2026-03-01-session.md."
        )
    for file in files:
        yield from _of_session(file, file.relative_to(folder).as_posix())


def _of_session(file: Path, where: str) -> Iterator[Taken]:
    try:
        head, body = _halves(text_file(file))
    except UserError as error:
        yield Taken(where, None, str(error))
        return
    sections = list(_sections(body))
    if not sections:
        yield Taken(where, None, "It has no memory in it.")
    head.setdefault("project", file.parent.name)
    # A session lists the tags of all its memories together.
    head["tags" if len(sections) == 1 else "tags of the session"] = head.pop("tags", "").strip("[]")
    for number, section in enumerate(sections, start=1):
        yield _taken(f"{where}, memory {number}", _as_row(head, section, file.stem))


def _as_row(head: dict[str, str], section: dict[str, str], session: str) -> dict[str, object]:
    """A memory of a session by the names that the index has."""
    # Older sessions number nothing: there the place in the file is the name.
    place = f"{head['project']}/{session}/{section.pop('anchor')}"
    living = json_object(section.get("living"))
    if living:
        del section["living"]
    shared = {name: value for name, value in head.items() if name not in ("created", "sources")}
    return {**shared, "created_at": head.get("created"), **living, "id": place, **section}


def _halves(text: str) -> tuple[dict[str, str], str]:
    """The head, `name: value` line by line, and the rest. It looks like YAML and is not: EchoVault
    quotes nothing."""
    if not text.startswith("---\n") or "\n---\n" not in text[3:]:
        return {}, text
    head, _, body = text[3:].partition("\n---\n")
    pairs = (line.partition(":") for line in head.split("\n") if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}, body


def _sections(body: str) -> Iterator[dict[str, str]]:
    """Every `###` section, by the names that the index has for its parts."""
    group, title, held, seen = "", "", list[str](), dict[str, int]()
    inside = False
    for line, following in pairwise([*body.split("\n"), END, ""]):
        # Details may have headings of their own, and may not be closed.
        inside = (inside or line.strip() == "<details>") and line.strip() != "</details>"
        inside = inside and not (line.startswith("### ") and following.startswith(FIRST))
        if (inside and line != END) or not line.startswith(("## ", "### ")):
            held.append(line)
            continue
        if title:
            seen[title] = seen.get(title, 0) + 1
            yield _section(group, title, held) | {"anchor": f"{title}/{seen[title]}"}
        title, held = line[4:].strip() if line.startswith("### ") else "", []
        group = line[3:].strip() if line.startswith("## ") else group


def _section(group: str, title: str, lines: list[str]) -> dict[str, str]:
    status = "archived" if group == "Archived" else "active"
    return {"category": KINDS.get(group, ""), "status": status, **_parts(lines), "title": title}


def _parts(lines: list[str]) -> dict[str, str]:
    """What the labels say; a line without one goes on with what the last one said."""
    held: dict[str, list[str]] = {}
    at = ""
    for line in lines:
        bare = line.strip()
        label = next((label for label in LABELS if bare.startswith(label)), None)
        if at == "details" and bare != "</details>":
            held["details"].append(line)
        elif bare.startswith(MEMORY_ID):
            held["id"] = [bare.removeprefix(MEMORY_ID).removesuffix("-->").strip()]
        elif bare == "<details>":
            at = "details"
            held[at] = []
        elif label:
            at = LABELS[label]
            held[at] = [bare.removeprefix(label).strip()]
        elif bare == "</details>":
            at = ""
        elif at:
            held[at].append(line)
    return {name: "\n".join(texts).strip() for name, texts in held.items()}


IMPORTER = Importer(
    TOOL,
    "EchoVault's folder (~/.memory), its index.db, or its vault/ of Markdown sessions",
    "https://github.com/mraza007/echovault/tree/main/src/memory",
    read,
)
