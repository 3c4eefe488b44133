"""Import EchoVault: the index of its vault or, if that is missing, its Markdown sessions.

The format: `src/memory/db.py`, `models.py` and `markdown.py` of github.com/mraza007/echovault, 0.1
to 0.5 and the columns added since. It has no version numbers; unknown columns are reported. The
package `echovault` on PyPI is another tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, Importer, refuse_record
from recollect.plugins.importers.databases import database, import_rows, require, rows
from recollect.plugins.importers.files import files_below, json_object, require_path, text_file
from recollect.plugins.importers.records import Record, bullet_list, empty, plain, without_repeats

TOOL = "echovault"
INDEX = "index.db"
# The headings of sessions, and their kinds of memories.
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
# A heading that no text contains.
END = "## \0"
# A section begins with one of these.
FIRST = (MEMORY_ID, "**What:**")


def read(path: Path) -> Iterator[ImportedRecord]:
    return without_repeats(_read(path))


def _read(path: Path) -> Iterator[ImportedRecord]:
    if require_path(path).is_dir() and (path / INDEX).is_file():
        return _of_index(path / INDEX)
    if path.is_dir() or path.suffix.lower() == ".md":
        return _of_sessions(path)
    return _of_index(path)


def _of_index(path: Path) -> Iterator[ImportedRecord]:
    with database(path, TOOL) as connection:
        require(connection, path, TOOL, memories=("id", "title", "what"))
        details: dict[object, object] = {}
        for row in rows(connection, "memory_details", "memory_id"):
            if row.values is None:
                yield refuse_record(row.where, row.reason)
            else:
                details[row.values.get("memory_id")] = row.values.get("body")

        def with_details(where: str, raw: dict[str, object]) -> ImportedRecord:
            return _record(where, {**raw, "details": details.get(raw["id"])})

        yield from import_rows(rows(connection, "memories", "rowid"), with_details)


def _record(where: str, raw: Mapping[str, object]) -> ImportedRecord:
    id = plain(raw.get("id"))
    if not id:
        return refuse_record(where, "It has no id.")
    record = Record(where, raw, TOOL, id)
    # Places in EchoVault's own files, and numbers that it computes.
    record.ignore("id", "rowid", "file_path", "section_anchor", "content_fingerprint")
    counters = (name for name, value in raw.items() if name.endswith("_count") and value == 0)
    record.ignore("history_complete", *counters)
    record.take(
        "title", "why", "impact", "project", "source", "details", "tags", "created_at",
        "updated_at", "valid_from", "valid_until", text="what", kind="category",
    )  # fmt: skip
    _lists(record)
    record.end("archived_at")
    if record.use("status") not in (None, "active") and not record.has("valid_until"):
        record.leave("status")
    return record.finish()


def _lists(record: Record) -> None:
    """Add lists of texts to the details; the first file is the path."""
    files = record.texts("related_files")
    record.put("path", files[0] if files else None, "related_files")
    if len(files) > 1:
        record.add("details", bullet_list("Related files", files))
    record.add("details", bullet_list("Links", record.texts("links")))
    value = record.use("structured_data")
    structured = json_object(value)
    if not structured and not empty(value):
        record.leave("structured_data")
    for name, items in structured.items():
        heading = name.replace("_", " ").capitalize()
        record.add("details", bullet_list(heading, record.texts_of(items, name)))


# --- sessions -----------------------------------------------------------------------------------


def _of_sessions(path: Path) -> Iterator[ImportedRecord]:
    folder = path if path.is_dir() else path.parent
    files = list(files_below(path, "-session.md")) if path.is_dir() else [path]
    if not files:
        raise UserError(
            f"{path} has no EchoVault memories: neither {INDEX} nor files named like "
            "2026-03-01-session.md."
        )
    for file in files:
        yield from _of_session(file, file.relative_to(folder).as_posix())


def _of_session(file: Path, where: str) -> Iterator[ImportedRecord]:
    try:
        head, body = _halves(text_file(file))
    except UserError as error:
        yield refuse_record(where, str(error))
        return
    sections = list(_sections(body))
    if not sections:
        yield refuse_record(where, "It has no memory in it.")
    head.setdefault("project", file.parent.name)
    # A session lists the tags of all its memories together.
    head["tags" if len(sections) == 1 else "tags of the session"] = head.pop("tags", "").strip("[]")
    for number, section in enumerate(sections, start=1):
        yield _record(f"{where}, memory {number}", _as_row(head, section, file.stem))


def _as_row(head: dict[str, str], section: dict[str, str], session: str) -> dict[str, object]:
    """Return a memory of a session with the names of the index."""
    # Older sessions have no ids: the place in the file is used instead.
    place = f"{head['project']}/{session}/{section.pop('anchor')}"
    living = json_object(section.get("living"))
    if living:
        del section["living"]
    shared = {name: value for name, value in head.items() if name not in ("created", "sources")}
    return {**shared, "created_at": head.get("created"), **living, "id": place, **section}


def _halves(text: str) -> tuple[dict[str, str], str]:
    """Return the head, lines of `name: value`, and the rest. It looks like front matter but is not
    YAML: EchoVault quotes nothing."""
    if not text.startswith("---\n") or "\n---\n" not in text[3:]:
        return {}, text
    head, _, body = text[3:].partition("\n---\n")
    pairs = (line.partition(":") for line in head.split("\n") if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}, body


def _sections(body: str) -> Iterator[dict[str, str]]:
    """Yield every `###` section, its parts by the names of the index."""
    group, title, lines, seen = "", "", list[str](), dict[str, int]()
    inside = False
    for line, following in pairwise([*body.split("\n"), END, ""]):
        # Details may have headings of their own, and may not be closed.
        inside = (inside or line.strip() == "<details>") and line.strip() != "</details>"
        inside = inside and not (line.startswith("### ") and following.startswith(FIRST))
        if (inside and line != END) or not line.startswith(("## ", "### ")):
            lines.append(line)
            continue
        if title:
            seen[title] = seen.get(title, 0) + 1
            yield _section(group, title, lines) | {"anchor": f"{title}/{seen[title]}"}
        title, lines = line[4:].strip() if line.startswith("### ") else "", []
        group = line[3:].strip() if line.startswith("## ") else group


def _section(group: str, title: str, lines: list[str]) -> dict[str, str]:
    status = "archived" if group == "Archived" else "active"
    return {"category": KINDS.get(group, ""), "status": status, **_parts(lines), "title": title}


def _parts(lines: list[str]) -> dict[str, str]:
    """Return the text of each label; a line without a label belongs to the last one."""
    parts: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        bare = line.strip()
        label = next((label for label in LABELS if bare.startswith(label)), None)
        if name == "details" and bare != "</details>":
            parts["details"].append(line)
        elif bare.startswith(MEMORY_ID):
            parts["id"] = [bare.removeprefix(MEMORY_ID).removesuffix("-->").strip()]
        elif bare == "<details>":
            name = "details"
            parts[name] = []
        elif label:
            name = LABELS[label]
            parts[name] = [bare.removeprefix(label).strip()]
        elif bare == "</details>":
            name = ""
        elif name:
            parts[name].append(line)
    return {part: "\n".join(texts).strip() for part, texts in parts.items()}


IMPORTER = Importer(
    TOOL,
    "EchoVault's folder (~/.memory), its index.db, or its vault/ of Markdown sessions",
    "https://github.com/mraza007/echovault/tree/main/src/memory",
    read,
)
