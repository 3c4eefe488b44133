"""A short round of damage to pages; `make soak` damages each in three ways and repairs each."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from page_fuzz import Sound, contents, damage_page, read_problems, repair_problems, sound_vault

from recollect.store.rescue.salvage import SIZE


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    return sound_vault(tmp_path_factory.mktemp("sound"))


def test_a_page_costs_what_stands_on_it_and_nothing_else(sound: Sound, tmp_path: Path) -> None:
    """Every page with zeros, every fifth with noise and with a flipped bit."""
    chance, wrong = random.Random(1), []
    for page in range(1, sound.file.stat().st_size // SIZE + 1):
        for how, content in [*contents(page, sound, chance)][: 1 if page % 5 else 3]:
            file = damage_page(sound, page, content, tmp_path)
            wrong += [(how, page, each) for each in read_problems(sound, page, file)]
    assert wrong == []


def test_a_damaged_vault_says_so_and_is_repaired(sound: Sound, tmp_path: Path) -> None:
    """Pages of different tables and indexes, another choice for each version of the layout."""
    chance, wrong = random.Random(len(sound.owners)), []
    chosen = {owner: page for page, owner in sound.owners.items()}
    for page in [1, *chance.sample(sorted(chosen.values()), 7)]:
        file = damage_page(sound, page, bytes(SIZE), tmp_path)
        wrong += [(page, each) for each in repair_problems(sound, page, file)]
    assert wrong == []


def test_a_locked_vault_is_read_and_repaired_as_well(tmp_path: Path) -> None:
    sound, chance, wrong = sound_vault(tmp_path, locked=True), random.Random(2), []
    pages = range(2, sound.file.stat().st_size // SIZE + 1)
    for page in chance.sample(pages, 12):
        file = damage_page(sound, page, chance.randbytes(SIZE), tmp_path)
        wrong += [(page, each) for each in read_problems(sound, page, file)]
    wrong += [(page, each) for each in repair_problems(sound, page, file)]
    assert wrong == []
