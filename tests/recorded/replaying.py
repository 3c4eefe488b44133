"""Replay the calls of a vault, compare the answers with the recorded ones, or record them anew.

`answers/VAULT-INTERFACE.jsonl` has one call a line. What the bundled models said of texts is
recorded as well (`answers/VAULT-models.npz`): another processor rounds otherwise.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from commandline import Home
from recorded_interfaces import INTERFACES
from recorded_vaults import FILL, HERE, timed_lines

import bundled_models
from model_server import ModelServer
from recollect.models.folder import declarations, folder_of
from recollect.version import __version__

ANSWERS = HERE / "answers"
RECORD = os.environ.get("RECORD") == "yes"
TOLERANCE = 1e-9
MOST_SHOWN = 5  # differing calls, and differences of one call: the first ones tell what happened
# No answer depends on how quick the machine is, or on whether a model was used before.
STEADY = {
    "RECOLLECT_RERANK__BUDGET_MS": "600000",
    "RECOLLECT_CONTEXT__SEMANTIC": "always",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}
BUNDLED = {"RECOLLECT_EMBEDDING__PROVIDER": "builtin", "RECOLLECT_RERANK__PROVIDER": "builtin"}
DROPPED = {"timings_ms", "request_id", "bytes"}  # of the vault file: pages depend on timing
Answers = list[dict[str, Any]]


@contextmanager
def environment_of(vault: str) -> Iterator[dict[str, str]]:
    """Yield the settings of a vault: the bundled models, or made-up ones for many memories."""
    if vault != "large":
        yield STEADY | BUNDLED
        return
    with ModelServer() as server:
        yield STEADY | {
            "RECOLLECT_EMBEDDING__PROVIDER": "openai",
            "RECOLLECT_EMBEDDING__MODEL": "toy",
            "RECOLLECT_EMBEDDING__BASE_URL": server.openai_url,
            "RECOLLECT_RERANK__PROVIDER": "http",
            "RECOLLECT_RERANK__MODEL": "toy",
            "RECOLLECT_RERANK__BASE_URL": server.url,
            "OPENAI_API_KEY": "none",
        }


@contextmanager
def filled_vault(vault: str, folder: Path) -> Iterator[Home]:
    """Yield the home with the vault, for `replay` to copy; record the models' outputs."""
    load_outputs(vault)
    with environment_of(vault) as settings:
        home = Home(folder / "home", **settings)
        FILL[vault](home)
        yield home
    if RECORD and vault != "large":
        store_outputs(vault)


def replay(first: Home, vault: str, interface: str) -> Answers:
    """Make every call of a vault and interface, on a copy of the vault."""
    root = first.folder.parent
    home = Home(root / interface, **first.environment)
    home.environment |= {"HOME": str(home.folder), "RECOLLECT_HOME": str(home.folder)}
    shutil.copytree(first.folder, home.folder)
    table = tomllib.loads((HERE / "calls" / f"{vault}.toml").read_text(encoding="utf-8"))
    with in_utc(), INTERFACES[interface](home) as call:
        return [
            {"now": now, "call": line, "answer": steady(call(now, line), home.folder, root)}
            for now, line in timed_lines(table[interface])
        ]


@contextmanager
def in_utc() -> Iterator[None]:
    """Have days begin and end in UTC, whatever the machine's time zone."""
    try:
        with mock.patch.dict(os.environ, {"TZ": "UTC"}):
            time.tzset()
            yield
    finally:
        time.tzset()


def check(answers: Answers, vault: str, interface: str) -> None:
    """Fail with the calls that answer otherwise than recorded; with RECORD=yes, record them."""
    file = ANSWERS / f"{vault}-{interface}.jsonl"
    recorded = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    told = report([json.loads(line) for line in recorded], answers, f"{vault} {interface}")
    if RECORD:
        ANSWERS.mkdir(exist_ok=True)
        rows = (json.dumps(one, ensure_ascii=False, sort_keys=True) for one in answers)
        file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        print(told or f"{vault} {interface}: no change")
        return
    if told:
        pytest.fail(f"{told}\n\nIf this is meant: make record", pytrace=False)


# Comparing


def report(was: Answers, now: Answers, name: str) -> str:
    """Return what differs, call by call, or an empty text."""
    calls = [[(one["now"], one["call"]) for one in each] for each in (was, now)]
    if calls[0] != calls[1]:
        return f"{name}: the table of calls has changed ({len(was)} recorded, {len(now)} made)"
    pairs = zip(was, now, strict=True)
    found = [
        (one["call"], paths)
        for old, one in pairs
        if (paths := list(differences(old["answer"], one["answer"])))
    ]
    if not found:
        return ""
    lines = [f"{name}: {len(found)} of {len(now)} calls answer otherwise"]
    for call, paths in found[:MOST_SHOWN]:
        lines += ["", f"  {call}"]
        for path, old, new in paths[:MOST_SHOWN]:
            lines += [f"    {path}", f"      was {old}", f"      is  {new}"]
        if len(paths) > MOST_SHOWN:
            lines.append(f"    … and {len(paths) - MOST_SHOWN} more differences")
    if len(found) > MOST_SHOWN:
        lines += ["", "  also: " + " | ".join(call[:60] for call, _ in found[MOST_SHOWN:][:20])]
    return "\n".join(lines)


def differences(was: Any, now: Any, path: str = "$") -> Iterator[tuple[str, str, str]]:
    """Yield (path, was, is) of every leaf that differs."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name in sorted(was.keys() | now.keys()):
            if name not in now or name not in was:
                yield f"{path}.{name}", shown(was.get(name, "∅")), shown(now.get(name, "∅"))
            else:
                yield from differences(was[name], now[name], f"{path}.{name}")
    elif isinstance(was, list) and isinstance(now, list):
        if len(was) != len(now):
            yield f"{path}.length", str(len(was)), str(len(now))
        for place, (old, new) in enumerate(zip(was, now, strict=False)):
            yield from differences(old, new, f"{path}[{place}]")
    elif is_number(was) and is_number(now):
        if not math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield path, shown(was), shown(now)
    elif type(was) is not type(now) or was != now:
        yield path, shown(was), shown(now)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


# What is different each time


def steady(value: Any, home: Path, root: Path) -> Any:
    """Return the answer without durations, ports, folders, hashes of folders and the version."""
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if name not in DROPPED}
        return {
            steady_text(name, home, root): steady(each, home, root) for name, each in kept.items()
        }
    if isinstance(value, list):
        return [steady(each, home, root) for each in value]
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return steady_text(value, home, root) if isinstance(value, str) else value


def steady_text(text: str, home: Path, root: Path) -> str:
    for folder, name in ((home, "<home>"), (root / "home", "<home>"), (root, "<root>")):
        text = text.replace(str(folder), name)
    text = re.sub(r"(-md-)[a-z2-7]{10}\b", r"\1<hash>", text)  # ids of files, made of their path
    text = re.sub(r"(127\.0\.0\.1|localhost):\d+", r"\1:<port>", text)
    text = re.sub(r"\b[\d.,]+ ms\b", "<n> ms", text) if "recipe" in text else text
    return re.sub(rf"(?<![\d.]){re.escape(__version__)}(?![\d.])", "<version>", text)


# What the bundled models said


def fingerprints() -> str:
    return " ".join(sorted(folder_of(declared).fingerprint() for declared in declarations()))


def load_outputs(vault: str) -> None:
    """Give the bundled models their recorded outputs, if they are still the same models."""
    file = ANSWERS / f"{vault}-models.npz"
    if RECORD:
        bundled_models._outputs.clear()
    elif file.exists():
        with np.load(file) as stored:
            if str(stored["fingerprints"]) == fingerprints():
                rows: dict[str, Any] = {}
                for shape in {name.partition(":")[2] for name in stored.files if ":" in name}:
                    rows |= zip(stored[f"names:{shape}"], stored[f"rows:{shape}"], strict=True)
                for name in sorted(rows):  # the outputs of one text, in their order
                    outputs = bundled_models._outputs.setdefault(name.partition("#")[0], [])
                    outputs.append(rows[name])


def store_outputs(vault: str) -> None:
    """Write what the models said since `load_outputs`, the arrays of one shape as one array."""
    stored: dict[str, Any] = {"fingerprints": np.array(fingerprints())}
    by_shape: dict[str, dict[str, Any]] = {}
    for name, outputs in sorted(bundled_models._outputs.items()):
        for place, row in enumerate(outputs):
            shape = "x".join(map(str, row.shape))
            by_shape.setdefault(shape, {})[f"{name}#{place}"] = row
    for shape, rows in sorted(by_shape.items()):
        stored[f"names:{shape}"] = np.array([*rows])
        stored[f"rows:{shape}"] = np.stack([*rows.values()])
    np.savez_compressed(ANSWERS / f"{vault}-models.npz", **stored)
