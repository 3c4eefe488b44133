"""What a Markdown file gives to a memory: one of ours exactly, one that a person wrote as it is
meant, with its heading for a title and the tags in its text."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from recollect.documents.front_matter_fields import understood
from recollect.documents.markdown import structure
from recollect.mirror.memory_markdown import Form


def our_fields(form: Form) -> dict[str, object]:
    """The fields of a file that has an id: exactly what it says."""
    fields = dict(form.fields)
    if "tags" in fields:
        fields["tags"] = _tags(fields["tags"])
    return fields


def note_fields(form: Form, path: str) -> dict[str, object]:
    """The fields of a file that a person wrote. Its title is the front matter's, else the first
    heading's, else the file's name; its tags are those of the front matter and of the text."""
    fields = understood(form.others).fields | our_fields(form)
    text, title, tags = fields.get("text"), fields.get("title"), fields.get("tags", [])
    found = structure(text if isinstance(text, str) else "")
    if title is None or (isinstance(title, str) and not title.strip()):
        headings = (mark.title for mark in found.marks if mark.level == 1)
        fields["title"] = next(filter(None, headings), PurePosixPath(path).stem)
    if isinstance(tags, list | tuple):
        bare = [tag.removeprefix("#") if isinstance(tag, str) else tag for tag in tags]
        fields["tags"] = list(dict.fromkeys([*filter(None, bare), *found.tags]))
    return fields


def _tags(value: object) -> object:
    """Tags as a list. Obsidian takes one text for several, with commas or blanks between them."""
    if isinstance(value, str):
        return [tag for tag in re.split(r"[,\s]+", value) if tag]
    return [tag for tag in value if tag != ""] if isinstance(value, list) else value
