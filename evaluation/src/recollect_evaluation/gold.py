"""A gold set: questions, and the memories of the user's vault that answer them.

It is a data set without a corpus: the corpus is the vault. `gold.toml` marks the folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.checks import clean_query
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.draft import Draft
from recollect_evaluation.datasets import (
    CORPUS,
    LARGEST_GRADE,
    QRELS,
    QUERIES,
    Dataset,
    Problems,
    find,
    read_grades,
    read_questions,
    require_file,
    rows,
    table,
)

MARK = "gold.toml"
HEADING = "query-id\tcorpus-id\tscore\n"
TEMPLATE = {
    MARK: (
        "# The mark of a gold set: the questions here are asked of your own vault.\n"
        "# See README.md in this folder.\n"
    ),
    QUERIES: "",
    QRELS[0]: HEADING,
    "README.md": """\
# A gold set for your vault

Questions you really asked, and the memories that answer them. From these, Recollect measures how
well each ranking works for you.

    recollect eval add "how do we refresh tokens" auth-jwt-001
    recollect eval add "how do we refresh tokens" auth-jwt-002 --grade 2
    recollect eval THIS-FOLDER

- `queries.jsonl` holds one question a line: {"_id": "q1", "text": "how do we refresh tokens"}
- `qrels.tsv` holds one judgement a line, separated by tabs: question, memory, grade. A grade of 1
  or above answers the question, and a larger one answers it better; 0 was looked at and does not.
- `gold.toml` says that the corpus is your vault. Evaluating reads the vault and changes nothing.

Thirty questions begin to tell rankings apart. Take them from what you searched for, not from what
you know to be easy to find; and judge every memory that answers, not only the first one found.
Both files may be edited by hand.
""",
}


class Added(NamedTuple):
    """A question's id, and the number of its new or changed judgements."""

    query: str
    judgements: int


def is_gold(folder: Path) -> bool:
    return (folder / MARK).is_file() and find(folder, CORPUS) is None


def create_gold(folder: Path) -> None:
    """Write an empty gold set; existing files are never overwritten."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if taken := [name for name in TEMPLATE if (folder / name).exists()]:
            raise UserError(f"{folder} already has a {taken[0]}; name a new folder.")
        for name, text in TEMPLATE.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder} cannot be made a gold set: {error.strerror}.") from error


def add_judgements(
    memory: Recollect, folder: Path, query: str, ids: Sequence[str], grade: int = 1
) -> Added:
    """Judge memories of the vault as answers to a question; a known question gets more judgements.

    Takes the vault's write lock, so that two processes do not overwrite each other's judgements.
    Each file is replaced as a whole.
    """
    text = " ".join(clean_query(query).split())
    if not text:
        raise UserError("A gold set needs the question that the memories answer.")
    if not 0 <= grade <= LARGEST_GRADE:
        raise UserError(f"The grade must be from 0 to {LARGEST_GRADE}, not {grade}.")
    if not is_gold(folder):
        raise UserError(f"{folder} is not a gold set; `recollect eval init {folder}` makes one.")
    with memory.session.writing("judge"):
        memory.show(ids)
        id = _question(folder / QUERIES, text)
        return Added(id, _judge(folder / QRELS[0], id, ids, grade))


def _question(file: Path, text: str) -> str:
    """Return the id of this question; add a new one."""
    known = {str(row.get("_id")): row.get("text") for _, row in rows(file)}
    for id, question in known.items():
        if isinstance(question, str) and " ".join(question.split()) == text:
            return id
    number = len(known) + 1
    while f"q{number}" in known:
        number += 1
    id = f"q{number}"
    row = msgspec.json.encode({"_id": id, "text": text}).decode()
    _replace(file, f"{_text(file)}{row}\n")
    return id


def _judge(file: Path, query: str, ids: Sequence[str], grade: int) -> int:
    """Write these judgements to the file; return the number of new ones."""
    judged = table(file, ("query", "memory", "grade"))
    grades = {(question, id): written for _, (question, id, written) in judged}
    new = {(query, id): str(grade) for id in ids if grades.get((query, id)) != str(grade)}
    if new:
        lines = ["\t".join((*pair, grade)) + "\n" for pair, grade in (grades | new).items()]
        _replace(file, HEADING + "".join(lines))
    return len(new)


def _text(file: Path) -> str:
    """Return the file's text, ending with a line end."""
    text = file.read_text(encoding="utf-8")
    return text if text.endswith("\n") or not text else text + "\n"


def _replace(file: Path, text: str) -> None:
    """Write a temporary file in the same folder, then rename it."""
    try:
        part = file.with_name(f"{file.name}.part")
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error


def load_gold(folder: Path, memory: Recollect) -> Dataset:
    """Load the folder's questions and judgements, with the vault as the corpus."""
    problems = Problems()
    queries, qrels = require_file(folder, QUERIES), require_file(folder, QRELS[0])
    if not any(True for _ in rows(queries)):
        add = f"`recollect eval add QUERY ID --gold {folder}` adds to it"
        raise UserError(f"The gold set {folder} is empty; {add}.")
    documents = {
        saved.id: Draft({name: getattr(saved, name) for name in ("id", "title", "text", "space")})
        for saved in memory.export()
    }
    questions = read_questions(queries, problems)
    grades = read_grades(qrels, questions, documents, "the vault", problems)
    return Dataset(
        name=folder.resolve().name,
        documents=documents,
        questions=questions,
        grades=grades,
        problems=problems.by_reason(),
        in_vault=True,
    )
