"""Reading judged data: what is mapped, what is counted, what is refused."""

from __future__ import annotations

import gzip
import lzma
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sets import DOCUMENTS, JUDGED, QUESTIONS, jsonl, written

from recollect.errors import UserError
from recollect_evaluation.datasets import Dataset, load


def count_parts(dataset: Dataset) -> dict[str, int]:
    """The problems without the first place of each."""
    return {reason.partition(" (first: ")[0]: n for reason, n in dataset.problems.items()}


def test_a_sound_set_is_read_in_order_and_has_no_problems(tmp_path: Path) -> None:
    dataset = load(written(tmp_path / "mine"))
    assert dataset.name == "mine"
    assert list(dataset.documents) == ["d1", "d2", "d3"]
    assert dataset.documents["d3"].fields == {
        "id": "d3", "title": "Tea", "text": "Anna drinks tea, never coffee.",
    }  # fmt: skip
    assert [question.id for question in dataset.scored] == ["q1", "q2"]
    assert dataset.grades["q2"] == {"d2": 1, "d1": 0}
    assert dataset.candidates is None
    assert dataset.problems == {}


def test_files_may_be_compressed_and_judgements_stand_where_beir_puts_them(tmp_path: Path) -> None:
    folder = written(tmp_path / "set")
    for name, opener, ending in (("corpus", gzip.open, "gz"), ("queries", lzma.open, "xz")):
        plain = folder / f"{name}.jsonl"
        with opener(f"{plain}.{ending}", "wb") as stream:
            stream.write(plain.read_bytes())
        plain.unlink()
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    assert load(folder) == load(written(tmp_path / "again" / "set"))


def test_further_fields_become_fields_of_the_memory(tmp_path: Path) -> None:
    documents = [
        {"_id": 1, "text": "a", "group": "g", "session": 3, "date": "1:56 pm on 8 May, 2023"},
        {"_id": 2, "text": "b", "snippet500": "short b", "date": "2023/04/10 (Mon) 17:50"},
        {"_id": 3, "text": "c", "speaker": "Anna", "role": "user", "date": "March-15-2024"},
        {"_id": 4, "text": "d", "date": "some day", "created_at": "2024-03-15T09:30:00+01:00"},
        {"_id": 5, "text": "e", "date": "one day", "title": None, "session": None},
    ]
    questions = [
        {"_id": "q", "text": "?", "group": "g", "question_date": "2023/05/28 (Sun) 06:47"},
        {"_id": "r", "text": "?", "question_date": "soon"},
    ]
    dataset = load(written(tmp_path, documents, questions, ["q\t1\t1"]))
    fields = {id: one.fields for id, one in dataset.documents.items()}
    moments = {
        "1": datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        "2": datetime(2023, 4, 10, 17, 50, tzinfo=UTC),
        "3": datetime(2024, 3, 15, tzinfo=UTC),
        "4": datetime(2024, 3, 15, 8, 30, tzinfo=UTC),
    }
    for id, moment in moments.items():
        assert fields[id]["created_at"] == fields[id]["updated_at"] == moment
    assert (fields["1"]["space"], fields["1"]["source"]) == ("g", "3")
    assert fields["2"]["text"] == "short b"
    assert fields["3"].keys() == {"id", "title", "text", "created_at", "updated_at"}
    assert fields["5"] == {"id": "5", "title": "", "text": "e"}
    assert dataset.questions["q"].group == "g"
    assert dataset.questions["q"].asked_at == datetime(2023, 5, 28, 6, 47, tzinfo=UTC)
    assert dataset.questions["r"].asked_at is None
    assert dataset.problems == {}


def test_candidates_are_each_questions_own(tmp_path: Path) -> None:
    folder = written(tmp_path)
    lines = ["q1\td1", "q1\td3", "q1\td1", "q2\td3", "q9\td1", "q1\td9"]
    (folder / "candidates.tsv").write_text("\n".join(lines), encoding="utf-8")
    dataset = load(folder)
    assert dataset.candidates == {"q1": ("d1", "d3"), "q2": ("d3",), "q3": ()}
    assert count_parts(dataset) == {
        "candidates of a question or a document that is not there: left out": 2,
        "answers that are not among the question's candidates: they cannot be found": 1,
    }


def test_groups_hold_only_where_documents_have_them(tmp_path: Path) -> None:
    asked = [{**QUESTIONS[0], "group": "a"}]
    assert not load(written(tmp_path / "none", DOCUMENTS, asked, JUDGED[:1])).grouped
    documents = [{**DOCUMENTS[0], "group": "b"}, {**DOCUMENTS[1], "group": "a"}]
    dataset = load(written(tmp_path / "some", documents, asked, JUDGED[:1]))
    assert dataset.grouped
    assert count_parts(dataset) == {"answers outside the question's group: they cannot be found": 1}


def test_bad_rows_are_counted_with_the_first_of_them(tmp_path: Path) -> None:
    documents = [
        *DOCUMENTS,
        DOCUMENTS[0],
        {"_id": "empty", "title": " ", "text": ""},
        {"_id": "nothing"},
        {"_id": "x" * 201, "text": "too long an id"},
        {"_id": "with blank", "text": "two words as id"},
        {"_id": "nul", "text": "a\0b"},
    ]
    questions = [*QUESTIONS, QUESTIONS[0], {"_id": "q4", "text": "  "}]
    questions.append({"_id": "q5", "text": "x" * 10_001})
    dataset = load(written(tmp_path, documents, questions))
    assert len(dataset.documents) == len(dataset.questions) == 3
    assert dataset.problems["documents without title and text: left out (first: empty)"] == 2
    left_out = "documents that no memory can be: left out"
    assert count_parts(dataset) == {
        "documents with an id that came before: left out": 1,
        "documents without title and text: left out": 2,
        f"{left_out}: id must be 1 to 200 characters without white space.": 2,
        f"{left_out}: text holds a NUL character, which text cannot hold.": 1,
        "questions with an id that came before: left out": 1,
        "questions without a text: left out": 1,
        "questions of more than 10,000 characters: left out": 1,
    }


def test_bad_judgements_are_counted_and_missing_answers_stay(tmp_path: Path) -> None:
    more = ["q1\tgone\t1", "q1\tgone\t1", "q1\td1\t1", "q9\td1\t1", "q2\tgone\t0"]
    dataset = load(written(tmp_path, judged=[*JUDGED, *more]))
    assert dataset.grades["q1"] == {"d1": 2, "gone": 1}
    assert dataset.grades.keys() == {"q1", "q2", "q3"}
    assert count_parts(dataset) == {
        "judged documents that are not in the corpus: they count as not found": 1,
        "judgements that contradict an earlier one: the earlier counts": 1,
        "judgements of questions that are not there: left out": 1,
    }


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("corpus.jsonl", b'{"_id": "d1"\n', "line 1: it is not valid JSON"),
        ("corpus.jsonl", b'\n\n["d1"]\n', "line 3: it is not a JSON object"),
        ("corpus.jsonl", b'{"id": "d1", "text": "x"}\n', "line 1: the row has no _id"),
        ("corpus.jsonl", b'{"_id": "d1", "text": ["x"]}\n', "line 1: text is not a text"),
        ("corpus.jsonl", b'{"_id": "d1"}\n{"_id": "\xff"}\n', "line 2: it is not valid UTF-8"),
        ("corpus.jsonl", b"", "holds no document"),
        ("corpus.jsonl", b"_id,title,text\nd1,a,b\n", "line 1: it is not valid JSON"),
        ("queries.jsonl", b"", "holds no question"),
        ("queries.jsonl", b'{"_id": null, "text": "x"}', "line 1: the row has no _id"),
        ("qrels.tsv", b"", "names no answer to any question"),
        ("qrels.tsv", b"query-id\tcorpus-id\tscore\nq1\td1\t0\n", "names no answer"),
        ("qrels.tsv", b"q1\td7\t1\n", "names only answers that are not in the corpus"),
        ("qrels.tsv", b"q1,d1,1\n", "line 1: it must have 3 columns, separated by tabs"),
        ("qrels.tsv", b"q1\t0\td1\t1\n", "line 1: it must have 3 columns"),
        ("qrels.tsv", b"q1\td1\t1\nq1\td2\t0.5\n", "line 2: the grade '0.5' is not a whole"),
        ("qrels.tsv", b"q1\td1\tgood\n", "line 1: the grade 'good'"),
        ("qrels.tsv", b"q1\td1\t1000000000000\n", "line 1: the grade '1000000000000'"),
    ],
)
def test_a_broken_file_names_the_line(tmp_path: Path, file: str, content: bytes, said: str) -> None:
    folder = written(tmp_path)
    (folder / file).write_bytes(content)
    with pytest.raises(UserError) as refused:
        load(folder)
    assert said in str(refused.value)
    assert str(folder / file) in str(refused.value)


def test_compressed_files_that_are_cut_short_or_no_such_files(tmp_path: Path) -> None:
    folder = written(tmp_path)
    whole = gzip.compress(jsonl(DOCUMENTS).encode())
    (folder / "corpus.jsonl").unlink()
    for ending, content in (("gz", whole[:-12]), ("gz", b"plain text"), ("xz", b"plain text")):
        file = folder / f"corpus.jsonl.{ending}"
        file.write_bytes(content)
        with pytest.raises(UserError, match="cannot be read"):
            load(folder)
        file.unlink()


def test_a_wrong_layout_is_an_error_that_says_the_right_one(tmp_path: Path) -> None:
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        folder = written(tmp_path / name)
        (folder / name).unlink()
        with pytest.raises(UserError, match=rf"has no {name}.* a data set is a folder with"):
            load(folder)
