"""What a run of a mirror did, or would do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from recollect.mirror.decisions import Action


class MirrorStep(NamedTuple):
    """One action on a memory and its file; `note`: what there is to say about it."""

    action: Action
    id: str
    path: str
    note: str = ""


class Mirrored(NamedTuple):
    """The steps of a run; what could not be done and why, by path; and how many memories and files
    were equal already. `redacted`: how many secrets of each kind were replaced in the vault; a file
    keeps what somebody wrote there."""

    folder: Path
    steps: tuple[MirrorStep, ...]
    problems: tuple[tuple[str, str], ...]
    unchanged: int
    redacted: Mapping[str, int]
