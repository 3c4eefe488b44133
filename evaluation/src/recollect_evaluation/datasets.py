"""Judged data sets in BEIR's layout: a corpus, questions, and judgements.

`corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`), `qrels.tsv` (query,
document, grade); each may be compressed (`.gz`, `.xz`). If documents have a `group`, a question
searches its own group only; if there is `candidates.tsv` (query, document), its own candidates
only. Problems with the data are counted and never change a figure.
"""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.checks import LONGEST_QUERY
from recollect.errors import UserError
from recollect.ingest.draft import Draft, make_draft
from recollect.times import parse_time

OPENERS: dict[str, Callable[[Path, Any], Any]] = {"": open, ".gz": gzip.open, ".xz": lzma.open}
# Errors of a truncated or damaged compressed file, in addition to OSError.
DAMAGED = (EOFError, zlib.error, lzma.LZMAError)
BOM = "\ufeff"
# Formats of LoCoMo, LongMemEval and BEAM, which are not ISO 8601.
FORMATS = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%B-%d-%Y")
CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"
QRELS = ("qrels.tsv", "qrels/test.tsv")
CANDIDATES = "candidates.tsv"
LAYOUT = f"a data set is a folder with {CORPUS}, {QUERIES} and {QRELS[0]}"
# trec_eval keeps a table as long as the largest grade.
LARGEST_GRADE = 1000
WHOLE = re.compile(r"-?[0-9]{1,9}")


def find(folder: Path, *names: str) -> Path | None:
    """Return the first of these files that exists, compressed or not."""
    files = (folder / f"{name}{ending}" for name in names for ending in OPENERS)
    return next((file for file in files if file.is_file()), None)


def rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each line's number and its JSON object."""
    decoder = msgspec.json.Decoder()
    for number, line in lines(file):
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UserError(f"{file}, line {number}: it is not valid JSON: {error}.") from error
        if not isinstance(row, dict):
            raise UserError(f"{file}, line {number}: it is not a JSON object.")
        yield number, row


def table(file: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield each line's number and its cells, separated by tabs, without the heading."""
    for number, line in lines(file):
        cells = [cell.strip() for cell in line.split("\t")]
        if number == 1 and cells[0].lower() in ("query-id", "query_id", "qid"):
            continue
        if len(cells) != len(columns) or not all(cells):
            wanted = ", ".join(columns)
            raise UserError(
                f"{file}, line {number}: it must have {len(columns)} columns, separated by tabs: "
                f"{wanted}."
            )
        yield number, cells


def lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield each line that is not empty, with its number from 1."""
    opener = OPENERS.get(file.suffix, open)
    number = 0
    try:
        with opener(file, "rb") as stream:
            for number, line in enumerate(stream, start=1):
                text = line.decode().strip("\r\n")
                if number == 1:
                    text = text.removeprefix(BOM)
                if text.strip():
                    yield number, text
    except UnicodeDecodeError as error:
        raise UserError(f"{file}, line {number}: it is not valid UTF-8 text.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{file} cannot be read: {reason}.") from error
    except DAMAGED as error:
        raise UserError(f"{file} cannot be read: it is damaged or cut short.") from error


def as_moment(value: object) -> datetime | None:
    """Return the field's time in UTC; None if it is not a time."""
    if not isinstance(value, str):
        return None
    for format in FORMATS:
        try:
            return datetime.strptime(value.strip(), format).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        return parse_time(value, "date")
    except UserError:
        return None


def as_text(value: object) -> str | None:
    """Return a text, or a number as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


# More fields of a document and the memory's fields for them; unreadable values are left out. The
# speaker is in the titles already.
MAPPED: tuple[tuple[str, tuple[str, ...], Callable[[object], object]], ...] = (
    ("group", ("space",), as_text),
    ("session", ("source",), as_text),
    ("date", ("created_at", "updated_at"), as_moment),
    ("created_at", ("created_at", "updated_at"), as_moment),
)
# This field is the text of a row that has it.
SNIPPET = "snippet500"


class Question(Struct, frozen=True):
    """A question, with its group and the time it was asked if the data have them."""

    id: str
    text: str
    group: str = ""
    asked_at: datetime | None = None


Grades = dict[str, dict[str, int]]


class Dataset(Struct, frozen=True, kw_only=True):
    """A data set, and the problems with it, counted by reason."""

    name: str
    documents: dict[str, Draft]
    questions: dict[str, Question]
    grades: Grades
    candidates: dict[str, tuple[str, ...]] | None = None
    problems: dict[str, int]
    in_vault: bool = False

    @property
    def scored(self) -> list[Question]:
        """The questions with an answer: a judgement above 0."""
        return [
            question
            for id, question in self.questions.items()
            if any(grade > 0 for grade in self.grades.get(id, {}).values())
        ]

    @property
    def grouped(self) -> bool:
        """True if documents have groups; else a question's group is ignored."""
        return not self.in_vault and any(
            document.fields.get("space") for document in self.documents.values()
        )


class Problems:
    """Counts the problems with the data by reason, each with its first place."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, reason: str, where: str) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        self._first.setdefault(reason, where)

    def by_reason(self) -> dict[str, int]:
        return {
            f"{reason} (first: {self._first[reason]})": count
            for reason, count in self._counts.items()
        }


def load(folder: Path) -> Dataset:
    """Read a folder; UserError says which file is missing or broken."""
    if folder.is_file():
        raise UserError(f"{folder} is a file; {LAYOUT}.")
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}.")
    problems = Problems()
    documents = _documents(require_file(folder, CORPUS), problems)
    questions = read_questions(require_file(folder, QUERIES), problems)
    grades = read_grades(require_file(folder, *QRELS), questions, documents, "the corpus", problems)
    dataset = Dataset(
        name=folder.resolve().name,
        documents=documents,
        questions=questions,
        grades=grades,
        candidates=_candidates(folder, documents, questions, problems),
        problems={},
    )
    _check_reach(dataset, problems)
    dataset.problems.update(problems.by_reason())
    return dataset


def require_file(folder: Path, *names: str) -> Path:
    """Return the first of these files that exists; UserError if none does."""
    file = find(folder, *names)
    if file is not None:
        return file
    name = " or ".join(names)
    raise UserError(f"{folder} has no {name}, nor with .gz or .xz; {LAYOUT}.")


def _documents(file: Path, problems: Problems) -> dict[str, Draft]:
    documents: dict[str, Draft] = {}
    for number, row in rows(file):
        id = _id(file, number, row)
        title, text = _text(file, number, row, "title"), _text(file, number, row, "text")
        snippet = _text(file, number, row, SNIPPET)
        fields = {"id": id, "title": title, "text": snippet or text, **_map_fields(row)}
        if id in documents:
            problems.add("documents with an id that came before: left out", id)
        elif not f"{title}{fields['text']}".strip():
            problems.add("documents without title and text: left out", id)
        else:
            try:
                documents[id] = make_draft(fields)
            except UserError as error:
                problems.add(f"documents that no memory can be: left out: {error}", repr(id)[:60])
    if not documents:
        raise UserError(f"{file} holds no document.")
    return documents


def _map_fields(row: Mapping[str, Any]) -> dict[str, object]:
    """Return the memory's fields for a document's MAPPED fields."""
    return {
        name: value
        for field, names, read in MAPPED
        if (value := read(row.get(field))) is not None
        for name in names
    }


def read_questions(file: Path, problems: Problems) -> dict[str, Question]:
    """Return the questions by id, in the order of the file."""
    questions: dict[str, Question] = {}
    for number, row in rows(file):
        id, text = _id(file, number, row), _text(file, number, row, "text")
        if id in questions:
            problems.add("questions with an id that came before: left out", id)
        elif not text.strip():
            problems.add("questions without a text: left out", id)
        elif len(text) > LONGEST_QUERY:
            problems.add(f"questions of more than {LONGEST_QUERY:,} characters: left out", id)
        else:
            group, asked_at = as_text(row.get("group")), as_moment(row.get("question_date"))
            questions[id] = Question(id, text, group or "", asked_at)
    if not questions:
        raise UserError(f"{file} holds no question.")
    return questions


def read_grades(
    file: Path,
    questions: Mapping[str, Question],
    documents: Mapping[str, object],
    corpus: str,
    problems: Problems,
) -> Grades:
    """Return each question's judgements. A judged document that is missing is kept and counts as
    not found; without it recall would look better than it is."""
    grades: Grades = {}
    for number, (query, document, written) in table(file, ("query", "document", "grade")):
        grade, judged = _grade(file, number, written), grades.setdefault(query, {})
        if query not in questions:
            problems.add("judgements of questions that are not there: left out", query)
        elif judged.get(document, grade) != grade:
            where = f"{query} {document}"
            problems.add("judgements that contradict an earlier one: the earlier counts", where)
        elif document not in judged:
            judged[document] = grade
            if document not in documents and grade > 0:
                reason = f"judged documents that are not in {corpus}: they count as not found"
                problems.add(reason, f"{query} {document}")
    known = {query: judged for query, judged in grades.items() if query in questions}
    _check_judged(file, known, documents, corpus)
    return known


def _check_judged(file: Path, grades: Grades, documents: Mapping[str, object], corpus: str) -> None:
    """Refuse judgements that belong to other data: no answer, or none of them in the corpus."""
    answers = {id for judged in grades.values() for id, grade in judged.items() if grade > 0}
    if not answers:
        raise UserError(f"{file} names no answer to any question: no grade above 0.")
    if not any(id in documents for id in answers):
        raise UserError(f"{file} names only answers that are not in {corpus}.")


def _candidates(
    folder: Path,
    documents: Mapping[str, Draft],
    questions: Mapping[str, Question],
    problems: Problems,
) -> dict[str, tuple[str, ...]] | None:
    """Return each question's candidates, in the order of the file; None without such a file."""
    file = find(folder, CANDIDATES)
    if file is None:
        return None
    candidates: dict[str, dict[str, None]] = {id: {} for id in questions}
    for _, (query, document) in table(file, ("query", "document")):
        if query not in questions or document not in documents:
            reason = "candidates of a question or a document that is not there: left out"
            problems.add(reason, f"{query} {document}")
        else:
            candidates[query][document] = None
    return {query: tuple(ids) for query, ids in candidates.items()}


def _check_reach(dataset: Dataset, problems: Problems) -> None:
    """Count the answers that are outside the question's group or candidates."""
    documents, grouped = dataset.documents, dataset.grouped
    for question in dataset.scored:
        for id, grade in dataset.grades[question.id].items():
            if grade < 1 or id not in documents:
                continue
            where = f"{question.id} {id}"
            space = documents[id].fields.get("space", "")
            if grouped and question.group and space != question.group:
                problems.add("answers outside the question's group: they cannot be found", where)
            elif dataset.candidates is not None and id not in dataset.candidates[question.id]:
                reason = "answers that are not among the question's candidates: they cannot be "
                problems.add(f"{reason}found", where)


def _id(file: Path, number: int, row: Mapping[str, Any]) -> str:
    id = as_text(row.get("_id"))
    if not id:
        raise UserError(f"{file}, line {number}: the row has no _id that is a text.")
    return id


def _text(file: Path, number: int, row: Mapping[str, Any], name: str) -> str:
    """Return a text, or a number as text; a missing or null field is empty."""
    text = as_text(row.get(name) if row.get(name) is not None else "")
    if text is None:
        raise UserError(f"{file}, line {number}: {name} is not a text.")
    return text


def _grade(file: Path, number: int, written: str) -> int:
    if not WHOLE.fullmatch(written) or int(written) > LARGEST_GRADE:
        raise UserError(
            f"{file}, line {number}: the grade {written[:20]!r} is not a whole number up to "
            f"{LARGEST_GRADE}."
        )
    return int(written)
