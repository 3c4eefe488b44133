"""Measure how well cosines tell that two bare statements are about the same thing: `I use Neovim`
and `Switched to Zed`, which share no word. 45 pairs of things that can replace each other, each
also compared with the other 44. Prints, for the statements and for the names alone, how often the
right one is nearest, and the share of pairs found at the lowest cosine with which nine of ten
claims are right: with one wrong statement for each right one, and with ten."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from recollect import Recollect

PAIRS = """
Neovim/Zed Vim/Emacs Postgres/MySQL Poetry/uv npm/pnpm Firefox/Arc Chrome/Brave Spotify/Tidal
Slack/Zulip Jira/Linear Notion/Obsidian iPhone/Pixel bash/fish zsh/fish Jenkins/Buildkite
Webpack/Vite Redux/Zustand Heroku/Fly Datadog/Grafana Mailgun/Postmark Dropbox/Syncthing
Ubuntu/Fedora Windows/Linux Gmail/Fastmail Evernote/Notion GitHub/GitLab Terraform/Pulumi
Docker/Podman pytest/unittest React/Svelte Angular/Vue Redis/Valkey Kafka/NATS Zoom/Jitsi coffee/tea
AWS/Hetzner Todoist/Things LastPass/Bitwarden tmux/Zellij iTerm/Ghostty Sublime/Helix PyCharm/Cursor
Copilot/Claude Netflix/Mubi Uber/Bolt
"""
FORMS = {"statements": ("I use {}", "Switched to {}"), "names": ("{}", "{}")}
PRECISION = 0.9


def main() -> None:
    pairs = [pair.split("/") for pair in PAIRS.split()]
    with tempfile.TemporaryDirectory() as folder, Recollect(Path(folder) / "vault.db") as memory:
        embedder = memory.models.embedder()
        for name, forms in FORMS.items():
            older, newer = (
                np.asarray(embedder.documents([form.format(pair[side]) for pair in pairs]))
                for side, form in enumerate(forms)
            )
            cosines = older @ newer.T
            nearest = (cosines.argmax(axis=0) == np.arange(len(pairs))).mean()
            found = [f"{recall(cosines, wrong):.2f} beside {wrong}" for wrong in (1, 10)]
            print(
                f"{name:<10} right one nearest {nearest:.2f}  found at precision {PRECISION}: "
                f"{', '.join(found)}"
            )


def recall(cosines: np.ndarray, wrong: int) -> float:
    """Return the share of right pairs at or above the lowest cosine that keeps the precision."""
    right = np.diag(cosines)
    others = cosines[~np.eye(len(cosines), dtype=bool)]
    best = 0.0
    for least in right:
        share, false = (right >= least).mean(), wrong * (others >= least).mean()
        if share / (share + false) >= PRECISION:
            best = max(best, float(share))
    return best


if __name__ == "__main__":
    main()
