"""Changing parts of long notes: appending a paragraph, replacing a section by its heading."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.errors import UserError
from recollect.settings import Embedding, Rerank, Settings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
NOTE = """# Harbour gate

Closed in a north-easterly wind.

## Open questions

- Who has the key?

```sh
# Open questions
```

### Answered

None.

## History

Built in 1901."""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=OFF, environment={}, clock=lambda: NOW
    ) as opened:
        opened.save(id="gate", text=NOTE)
        yield opened


def text(memory: Recollect) -> str:
    return memory.show(["gate"])[0].text


def test_appended_text_is_a_paragraph_of_its_own_and_history_keeps_what_was(
    memory: Recollect,
) -> None:
    memory.edit("gate", append="Repaired in 2026.\n")
    assert text(memory) == f"{NOTE}\n\nRepaired in 2026."
    assert [version.action for version in memory.history("gate")] == ["edit", "save"]
    memory.undo("gate")
    assert text(memory) == NOTE


def test_appended_text_is_the_text_of_a_memory_that_had_none(memory: Recollect) -> None:
    memory.save(id="bare", title="A title")
    assert memory.edit("bare", append="The text.").text == "The text."


@pytest.mark.parametrize("heading", ["Open questions", "## open  questions", "OPEN QUESTIONS"])
def test_a_section_is_replaced_with_all_that_stands_below_its_heading(
    memory: Recollect, heading: str
) -> None:
    memory.edit("gate", section=heading, text="\nNone left.\n")
    before, after = NOTE.split("- Who")[0].rstrip(), NOTE[NOTE.index("## History") :]
    assert text(memory) == f"{before}\n\nNone left.\n\n{after}"


def test_the_last_section_is_replaced_up_to_the_end_and_an_empty_text_empties_it(
    memory: Recollect,
) -> None:
    memory.edit("gate", section="History", text="Built in 1902.")
    assert text(memory) == NOTE.replace("1901", "1902")
    memory.edit("gate", section="History", text="")
    assert text(memory).endswith("None.\n\n## History")


def test_a_section_of_the_details_is_found_and_a_heading_may_be_underlined(
    memory: Recollect,
) -> None:
    memory.edit("gate", details="Costs\n-----\n\nMuch.\n\nPlans\n-----\n\nMany.")
    changed = memory.edit("gate", section="Costs", text="Little.")
    assert changed.details == "Costs\n-----\n\nLittle.\n\nPlans\n-----\n\nMany."
    assert changed.text == NOTE


def test_a_heading_that_is_not_there_is_refused_with_those_that_are(memory: Recollect) -> None:
    with pytest.raises(UserError) as refused:
        memory.edit("gate", section="Questions", text="None.")
    assert str(refused.value) == (
        "The memory 'gate' has no section 'Questions'; there are: Harbour gate, Open questions, "
        "Answered, History."
    )
    memory.save(id="bare", text="No headings.")
    with pytest.raises(UserError, match="no headings at all"):
        memory.edit("bare", section="Questions", text="None.")


def test_a_heading_that_is_there_twice_is_refused(memory: Recollect) -> None:
    memory.edit("gate", details="## History")
    with pytest.raises(UserError, match="several sections 'History'"):
        memory.edit("gate", section="History", text="x")


@pytest.mark.parametrize(
    "given",
    [{"append": " "}, {"append": "x", "text": "y"}, {"section": "History"},
     {"section": "History", "text": None}, {"section": "History", "text": "x", "append": "y"}],
)  # fmt: skip
def test_half_a_change_is_refused_and_changes_nothing(
    memory: Recollect, given: dict[str, str]
) -> None:
    with pytest.raises(UserError):
        memory.edit("gate", **given)
    assert text(memory) == NOTE


def test_of_several_memories_all_or_none_get_the_section(memory: Recollect) -> None:
    memory.save(id="bare", text="No headings.")
    with pytest.raises(UserError):
        memory.edit_all(["gate", "bare"], section="History", text="x")
    assert text(memory) == NOTE
