"""The fields of a memory in a Markdown file: exactly those of a file that we wrote; for a note that
a person wrote, with its heading as the title and the tags in its text."""

from __future__ import annotations

from pathlib import PurePosixPath

from recollect.documents.document import main_title
from recollect.documents.front_matter_fields import memory_fields, tag_list
from recollect.documents.memory_markdown import ParsedFile
from recollect.documents.reader import structure


def our_fields(file: ParsedFile) -> dict[str, object]:
    """The fields of a file that has an id, exactly as it gives them."""
    fields = dict(file.fields)
    if "tags" in fields:
        fields["tags"] = tag_list(fields["tags"], at_spaces=True, exact=True)
    return fields


def note_fields(file: ParsedFile, path: str) -> dict[str, object]:
    """The fields of a file that a person wrote. Its title is the front matter's, else the first
    heading's, else the file's name; its tags are those of the front matter and of the text."""
    fields = memory_fields(file.others).fields | our_fields(file)
    text, title, tags = fields.get("text"), fields.get("title"), fields.get("tags", [])
    found = structure(text if isinstance(text, str) else "")
    if title is None or (isinstance(title, str) and not title.strip()):
        fields["title"] = main_title(found.sections) or PurePosixPath(path).stem
    tags = tag_list(tags)
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        fields["tags"] = list(dict.fromkeys([*tags, *found.tags]))
    return fields
