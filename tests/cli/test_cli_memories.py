"""Keeping memories: save, show, edit, pin, forget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commandline import NOW, Home, check_error

FIELDS = (
    "id title text context why impact details tags kind severity domain project source tier space "
    "path created_at updated_at valid_from valid_until"
).split()


def show(home: Home, id: str) -> dict[str, Any]:
    [memory] = home.json("show", id)
    assert isinstance(memory, dict)
    return memory


@pytest.mark.installed
def test_save_prints_the_id_and_the_installed_command_finds_it(home: Home) -> None:
    saved = home.run("save", "--title", "Switched to JWT", "--text", "Sessions became tokens.")
    assert (saved.code, saved.err) == (0, "")
    id = saved.out.strip()
    assert id.startswith("switched-to-jwt-")
    assert "Switched to JWT" in home.run("search", "tokens").out
    assert "Sessions became tokens." in home.run("show", id).out
    assert id in home.run("list").out


def test_save_tells_on_stderr_what_the_memory_is_similar_to(home: Home) -> None:
    home.save("--id", "old", "--title", "Deploys run on Jenkins")
    again = home.call("save", "--id", "new", "--title", "deploys run on jenkins")
    assert (again.code, again.out) == (0, "new\n")
    assert again.err == "Same words as old: Deploys run on Jenkins\n"
    assert home.json("save", "--id", "third", "--title", "Deploys run on Jenkins.")["similar"] == [
        {"id": "new", "title": "deploys run on jenkins", "why": "same words"},
        {"id": "old", "title": "Deploys run on Jenkins", "why": "same words"},
    ]


def test_save_tells_how_to_put_it_in_the_place_of_what_it_seems_to_replace(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", RECOLLECT_NOW=NOW, RECOLLECT_EMBEDDING__PROVIDER="builtin")
    home.save("--id", "old", "--title", "Deploys run on Jenkins")
    told = home.call("save", "--id", "new", "--title", "Deploys run on Buildkite").err
    assert told == (
        "Seems to replace old: Deploys run on Jenkins\nIf it does: recollect supersede old new\n"
    )


def test_edit_appends_to_a_text_and_replaces_one_of_its_sections(home: Home) -> None:
    home.save("--id", "gate", "--text", "# Gate\n\n## Keys\n\nAt the desk.")
    assert home.call("edit", "gate", "--append", "## History\n\nBuilt in 1901.").code == 0
    assert home.call("edit", "gate", "--section", "keys", "--text", "With Ada.").code == 0
    assert show(home, "gate")["text"] == (
        "# Gate\n\n## Keys\n\nWith Ada.\n\n## History\n\nBuilt in 1901."
    )
    there = "no section 'Doors'; there are: Gate, Keys, History."
    check_error(home.call("edit", "gate", "--section", "Doors", "--text", "x"), there)
    assert home.call("edit", "gate", "--section", "Keys").code == 2
    assert home.call("edit", "gate", "--append", "x", "--text", "y").code == 2


def test_save_takes_every_promised_option(home: Home, tmp_path: Path) -> None:
    details = tmp_path / "details.md"
    details.write_text("# The long version\n\nüber alles\n", encoding="utf-8")
    id = home.save(
        *("--title", "T", "--text", "X", "--tag", "auth", "--tag", "jwt", "--kind", "decision"),
        *("--severity", "critical", "--domain", "security", "--project", "harbor"),
        *("--source", "claude-code", "--tier", "core", "--why", "W", "--impact", "I"),
        *("--details-file", str(details), "--valid-until", "2027-01-01", "--context", "C"),
        *("--space", "work", "--path", "a/b.md", "--valid-from", "2026-01-01T00:00:00+02:00"),
    )
    assert show(home, id) == {
        "id": id,
        "title": "T",
        "text": "X",
        "context": "C",
        "why": "W",
        "impact": "I",
        "details": "# The long version\n\nüber alles\n",
        "tags": ["auth", "jwt"],
        "kind": "decision",
        "severity": "critical",
        "domain": "security",
        "project": "harbor",
        "source": "claude-code",
        "tier": "core",
        "space": "work",
        "path": "a/b.md",
        "created_at": NOW,
        "updated_at": NOW,
        "valid_from": "2025-12-31T22:00:00Z",
        "valid_until": "2027-01-01T00:00:00Z",
    }


def test_a_memory_as_json_has_the_promised_fields_and_defaults(home: Home) -> None:
    memory = show(home, home.save("--text", "Only a text."))
    assert list(memory) == FIELDS
    assert memory.pop("id").startswith("only-a-text-")
    empty = dict.fromkeys(FIELDS[1:], "") | dict.fromkeys(("severity", "valid_from", "valid_until"))
    times = {"created_at": NOW, "updated_at": NOW}
    said = {"text": "Only a text.", "kind": "fact", "tier": "capture", "tags": []}
    assert memory == empty | times | said


def test_save_reads_text_and_details_from_standard_input(home: Home) -> None:
    text = home.call("save", "--title", "A", "--text", "-", stdin="zwölf\n".encode()).out.strip()
    assert show(home, text)["text"] == "zwölf\n"
    body = home.run("save", "--title", "B", "--details-file", "-", stdin=b"long").out.strip()
    assert show(home, body)["details"] == "long"


@pytest.mark.parametrize(
    "args", [("--title", "Runbook"), ("Runbook",), ("--title", "Runbook", "-"), ("Runbook", "-")]
)
def test_standard_input_is_the_text_where_none_is_given(home: Home, args: tuple[str, ...]) -> None:
    saved = show(home, home.call("save", *args, stdin=b"a\nb\n").out.strip())
    assert (saved["title"], saved["text"].rstrip()) == ("Runbook", "a\nb")


def test_standard_input_is_left_alone_where_a_text_is_given(home: Home) -> None:
    saved = show(home, home.call("save", "--title", "A", "the text", stdin=b"other").out.strip())
    assert saved["text"] == "the text"
    assert show(home, home.call("save", "B", stdin=b"").out.strip())["text"] == ""
    for args in (("--text", "x", "-"), ("--title", "A", "--details-file", "-", "-")):
        check_error(home.call("save", *args, stdin=b"other"), "standard input", code=2)


def test_save_says_the_same_again_without_a_twin(home: Home) -> None:
    first = home.json("save", "--title", "Same", "--text", "thing")
    again = home.json("save", "--title", "Same", "--text", "thing")
    other = home.json("save", "--title", "Same", "--text", "another thing")
    assert first == {"id": first["id"], "outcome": "added", "repeated": False}
    assert again == {"id": first["id"], "outcome": "unchanged", "repeated": True}
    assert other["outcome"] == "added"
    assert other["id"] != first["id"]
    assert len(home.list_ids()) == 2


@pytest.mark.parametrize(
    ("args", "holding"),
    [
        ((), ("title or a text",)),
        (("--title", ""), ("title or a text",)),
        (("--title", " \t\n"), ("title or a text",)),
        (("--kind", "fact"), ("title or a text",)),
        (
            ("--title", "x", "--severity", "high"),
            ("severity", "'high'", "critical", "warning", "suggestion"),
        ),
        (("--title", "x", "--tier", "gold"), ("tier", "'gold'", "core", "file", "capture")),
        (("--title", "x", "--kind", " "), ("kind",)),
        (("--title", "x", "--valid-until", "soon"), ("--valid-until", "'soon'", "2026-03-01")),
        (("--title", "x", "--tag", ""), ("tag",)),
        (("--title", "x", "--id", "two words"), ("id",)),
        (("--title", "x", "--id", ""), ("id",)),
        (("--title", "x", "--id", "a" * 201), ("id", "200")),
        (("--title", "x", "--details-file", "nowhere.md"), ("nowhere.md", "No such file")),
        (("--title", "x", "--details-file", "."), ("directory",)),
    ],
)
def test_save_refuses_by_name(home: Home, args: tuple[str, ...], holding: tuple[str, ...]) -> None:
    check_error(home.call("save", *args), *holding)
    assert home.list_ids() == []


def test_details_that_are_not_text_are_refused(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "details.bin"
    file.write_bytes(b"fine \xff not")
    ran = home.call("save", "--title", "x", "--details-file", str(file))
    check_error(ran, "details.bin", "UTF-8", "byte 5")
    check_error(home.call("save", "--title", "x", "--text", "-", stdin=b"\xff"), "Standard input")


def test_show_gives_whole_memories_in_the_order_asked_for(home: Home) -> None:
    for id in ("a", "b", "c"):
        home.save("--id", id, "--title", f"Title {id}", "--why", "because")
    assert [memory["id"] for memory in home.json("show", "c", "a")] == ["c", "a"]
    text = home.call("show", "b", "a").out
    assert text.index("Title b") < text.index("Title a")
    assert "because" in text


def test_show_of_an_unknown_id_is_an_error_that_names_it(home: Home) -> None:
    home.save("--id", "a", "--title", "A")
    check_error(home.run("show", "a", "nothing"), "There is no memory 'nothing'.")


def test_a_field_cannot_be_set_and_emptied_at_once(home: Home) -> None:
    home.save("--title", "A", "--text", "kept", "--id", "a")
    check_error(home.call("edit", "a", "--clear", "text", "--text", "abc"), "text", code=2)
    check_error(home.call("edit", "a", "--clear", "tags", "--add-tag", "abc"), "tags", code=2)
    assert home.json("show", "a")[0]["text"] == "kept"


def test_edit_changes_only_what_is_named(home: Home) -> None:
    home.save("--id=m", "--title=Old", "--text=kept", "--tag=a", "--severity=warning")
    before, later = show(home, "m"), "2026-03-02T00:00:00Z"
    assert home.call("edit", "m", "--title", "New", using={"RECOLLECT_NOW": later}).out == "m\n"
    assert show(home, "m") == before | {"title": "New", "updated_at": later}
    assert home.search_ids("new") == ["m"]
    assert home.search_ids("old") == []


def test_edit_adds_removes_and_replaces_tags(home: Home) -> None:
    home.save("--id", "m", "--title", "T", "--tag", "a", "--tag", "b")
    changed = home.json("edit", "m", "--add-tag", "c", "--add-tag", "b", "--remove-tag", "a")
    assert changed["tags"] == ["b", "c"]
    assert home.list_ids("--tag", "a") == []
    assert home.json("edit", "m", "--tag", "z")["tags"] == ["z"]
    assert home.list_ids("--tag", "z") == ["m"]


def test_edit_clears_fields(home: Home) -> None:
    plain = show(home, home.save("--id", "m", "--title", "T"))
    home.json(
        *("save", "--id", "m", "--text", "x", "--tag=a", "--severity=warning", "--kind=bug"),
        *("--valid-until", "2027-01-01", "--why", "w", "--tier", "core"),
    )
    clear = ("severity", "tags", "kind", "why", "valid-until", "text", "tier")
    assert home.json("edit", "m", *(f"--clear={name}" for name in clear)) == plain


@pytest.mark.parametrize(
    ("args", "holding"),
    [
        (("nothing", "--title", "x"), ("'nothing'",)),
        (("m", "--clear", "title"), ("title or a text",)),
        (("m", "--clear", "id"), ("id",)),
        (("m", "--clear", "created_at"), ("--created-at",)),
        (("m", "--clear", "colour"), ("'colour'", "title")),
        (("m", "--clear", "add_tags"), ("'add_tags'", "title")),
        (("m", "--severity", "high"), ("severity", "critical")),
        (("m", "--add-tag", " "), ("tag",)),
    ],
)
def test_edit_refuses_by_name_and_changes_nothing(
    home: Home, args: tuple[str, ...], holding: tuple[str, ...]
) -> None:
    home.save("--id", "m", "--title", "T")
    before = show(home, "m")
    check_error(home.call("edit", *args), *holding)
    assert show(home, "m") == before


def test_pin_makes_core_and_leaves_the_age(home: Home) -> None:
    home.save("--id", "a", "--title", "A")
    home.save("--id", "b", "--title", "B", using={"RECOLLECT_NOW": "2026-03-02T00:00:00Z"})
    later = "2026-03-05T00:00:00Z"
    assert home.json("pin", "a", using={"RECOLLECT_NOW": later}) == {"pinned": ["a"]}
    assert home.list_ids() == ["a", "b"]
    assert show(home, "a")["tier"] == "core"
    assert show(home, "a")["updated_at"] == NOW
    check_error(home.call("pin", "b", "nothing"), "'nothing'")
    assert show(home, "b")["tier"] == "capture"


def test_forget_takes_out_of_every_answer_and_undo_brings_back(home: Home) -> None:
    home.save("--id", "a", "--title", "Alpha particle", "--tag", "physics")
    home.save("--id", "b", "--title", "Beta particle")
    before = show(home, "a")
    done = home.run("forget", "a")
    assert done.code == 0
    assert "recollect forget --undo a" in done.out
    assert home.search_ids("particle") == ["b"]
    assert home.list_ids() == ["b"]
    assert home.json("context", "alpha")["matched"] == 0
    for command in (("show", "a"), ("forget", "a"), ("edit", "a", "--title", "x")):
        check_error(
            home.call(*command),
            "'a' is in the trash. `recollect forget --undo a` brings it back.",
        )
    assert home.json("forget", "--undo", "a") == {"restored": ["a"]}
    assert show(home, "a") == before
    assert sorted(home.search_ids("particle")) == ["a", "b"]
    assert home.is_sound()


def test_purge_is_for_good(home: Home) -> None:
    home.save("--id", "a", "--title", "A secret")
    home.save("--id", "b", "--title", "B")
    home.call("forget", "a")
    assert home.json("forget", "--purge", "a") == {"purged": ["a"]}
    assert home.json("forget", "--purge", "b") == {"purged": ["b"]}
    check_error(home.call("forget", "--undo", "a"), "'a'")
    check_error(home.call("forget", "--purge", "a"), "'a'")
    stats = home.json("stats")
    assert (stats["memories"], stats["forgotten"]) == (0, 0)
    assert home.is_sound()
