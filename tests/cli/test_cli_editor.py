"""Saving as one thought: words, standard input, or a form in the person's editor."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commandline import Home, check_error

from recollect.interfaces.cli.save import split_thought


def editor(home: Home, *steps: str) -> None:
    """Let the editor do one of these after the other, each time it is opened; then nothing."""
    script = home.folder.parent / "editor.sh"
    count = home.folder.parent / "opened"
    cases = "".join(f"{number}) {step} ;;\n" for number, step in enumerate(steps))
    script.write_text(
        f"n=$(cat {count} 2>/dev/null || echo 0)\necho $((n + 1)) > {count}\n"
        f"case $n in\n{cases}esac\n"
    )
    count.unlink(missing_ok=True)
    home.environment["EDITOR"] = f"sh {script}"


def test_standard_input_is_a_memory(home: Home) -> None:
    id = home.call("save", stdin=b"# Deploys\n\nNever on Friday.\n").out.strip()
    [memory] = home.json("show", id)
    assert (memory["title"], memory["text"]) == ("Deploys", "Never on Friday.")
    check_error(home.call("save", stdin=b" \n"), "A memory needs a title or a text.", code=1)


def test_a_long_thought_keeps_all_of_its_words_and_gets_a_short_title() -> None:
    said = "word " * 40
    fields = split_thought(said, titled=False)
    assert fields["text"] == said.strip()
    assert len(fields["title"]) <= 102
    assert fields["title"].endswith("word …")
    assert split_thought("x" * 150, titled=False)["title"] == "x" * 100 + " …"
    assert split_thought("the text", titled=True) == {"text": "the text"}


def test_words_beside_title_and_text_are_refused(home: Home) -> None:
    done = home.call("save", "words", "--title", "a title", "--text", "more")
    check_error(done, "leave out --title, --text or the words", code=2)


def test_a_save_over_an_existing_id_says_what_changed(home: Home) -> None:
    home.call("save", "--id", "x", "--text", "all of it", "The title")
    again = home.call("save", "--id", "x", "Another title")
    assert again.err == "recollect: x already existed; changed: title.\n"
    assert home.call("save", "--id", "x", "Another title").err.endswith("changed: nothing.\n")


def test_a_form_is_saved_with_what_was_filled_in(home: Home) -> None:
    editor(home, 'sed -i "s/^title:.*/title: Ports/" $1; echo "The port is 7117." >> $1')
    id = home.call("save", "--edit", "--tag", "net", "--kind", "decision").out.strip()
    [memory] = home.json("show", id)
    assert (memory["title"], memory["text"]) == ("Ports", "The port is 7117.")
    assert (memory["tags"], memory["kind"]) == (["net"], "decision")
    assert not (home.folder / "drafts").exists()


@pytest.mark.parametrize("step", ["true", ": > $1", "rm $1"])
def test_an_empty_form_saves_nothing(home: Home, step: str) -> None:
    editor(home, step)
    done = home.call("save", "--edit")
    assert (done.code, done.out) == (0, "")
    assert done.err == "recollect: Nothing was saved: the form is empty.\n"
    assert not (home.folder / "drafts").exists()


def test_a_form_with_a_mistake_comes_back_with_the_message(home: Home) -> None:
    seen = home.folder.parent / "seen"
    editor(
        home,
        'printf -- "---\\ntitle: Ports\\nseverity: awful\\n---\\n\\nThe port is 7117.\\n" > $1',
        f'head -1 $1 > {seen}; sed -i "s/awful/warning/" $1',
    )
    id = home.call("save", "--edit").out.strip()
    assert seen.read_text().startswith("#! Not saved: severity")
    [memory] = home.json("show", id)
    assert (memory["severity"], memory["text"]) == ("warning", "The port is 7117.")


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("---\ntitle: Ports\nid: x\n", "not closed"),
        ("---\ntitle: Ports\nflavour: red\n---\n", "flavour"),
        ("---\ntitle: [Ports\n---\n", "The front matter"),
    ],
)
def test_a_form_that_stays_wrong_is_kept_and_named(home: Home, form: str, said: str) -> None:
    written = home.folder.parent / "form.md"
    written.write_text(form)
    editor(home, f"cp {written} $1")
    done = home.call("save", "--edit")
    assert done.code == 1
    assert said in done.err
    [draft] = (home.folder / "drafts").iterdir()
    assert str(draft) in done.err
    assert draft.read_text().endswith(form)


def test_an_editor_that_fails_loses_nothing(home: Home) -> None:
    editor(home, 'echo "half a thought" >> $1; exit 3')
    done = home.call("save", "--edit")
    assert "The editor ended with 3; nothing was saved." in done.err
    [draft] = (home.folder / "drafts").iterdir()
    assert "half a thought" in draft.read_text()
    assert draft.stat().st_mode & 0o077 == 0


def test_a_memory_is_edited_as_a_form(home: Home) -> None:
    home.save(
        "--id", "x", "--title", "Ports", "--text", "7117", "--why", "it is free", "--tag", "a"
    )
    editor(home, 'sed -i "/^tags:/d; /^  - a/d; s/^7117/7118/" $1')
    assert home.call("edit", "--edit", "x").out == "x\n"
    [memory] = home.json("show", "x")
    assert (memory["text"], memory["tags"], memory["why"]) == ("7118", [], "it is free")
    editor(home, "true")
    assert home.call("edit", "--edit", "x").err == "recollect: Nothing was changed.\n"
    editor(home, 'sed -i "s/^id: x/id: y/" $1')
    assert "An id cannot be changed" in home.call("edit", "--edit", "x").err


def test_a_change_meanwhile_is_not_overwritten(home: Home) -> None:
    home.save("--id", "x", "--title", "Ports", "--text", "7117")
    other = f"RECOLLECT_HOME={home.folder} {Path(sys.executable).with_name('recollect')}"
    editor(home, f'{other} edit x --text 9999 > /dev/null; sed -i "s/^7117/7118/" $1')
    done = home.call("edit", "--edit", "x")
    assert done.code == 1
    [memory] = home.json("show", "x")
    assert memory["text"] == "9999"
    [draft] = (home.folder / "drafts").iterdir()
    assert "7118" in draft.read_text()
