"""Firefox as Debian has it, asked over Marionette: the protocol that it brings itself.

Playwright drives only its own build of Firefox. Marionette is JSON over a socket: a command is
`[0, id, name, parameters]`, its answer `[1, id, error, value]`, each after its length and a colon.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import LONGEST_S, until

# It asks nobody but the server, and shows no page of its own.
PREFERENCES = {
    "app.update.enabled": False, "browser.aboutwelcome.enabled": False,
    "browser.safebrowsing.downloads.remote.enabled": False,
    "browser.safebrowsing.malware.enabled": False, "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False, "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False, "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "services.settings.server": "", "toolkit.telemetry.reportingpolicy.firstRun": False,
    "ui.prefersReducedMotion": 1, "dom.ipc.processCount": 1,
    "dom.ipc.processPrelaunch.enabled": False, "marionette.port": 0,
}  # fmt: skip
# What pages wrote into the console, errors and warnings of scripts, styles and the policy.
SAID = """
return Services.console.getMessageArray()
  .filter(one => one instanceof Ci.nsIScriptError && /127.0.0.1/.test(one.sourceName))
  .map(one => String(one));
"""


def firefox() -> str | None:
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """One window of one browser."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), LONGEST_S)
        self._kept = b""
        self._read()  # what it says first
        self._ask("WebDriver:NewSession", capabilities={})

    def visit(self, url: str) -> None:
        self._ask("WebDriver:Navigate", url=url)

    def run(self, script: str, *args: object) -> Any:
        return self._ask("WebDriver:ExecuteScript", script=script, args=[*args])["value"]

    def wait(self, condition: str, *args: object) -> None:
        """Wait until the expression is true, on whichever page."""
        until(lambda: self.run(f"return Boolean({condition})", *args))

    def click(self, selector: str) -> None:
        self._ask("WebDriver:ElementClick", id=self._element(selector))

    def type(self, selector: str, text: str) -> None:
        self._ask("WebDriver:ElementSendKeys", id=self._element(selector), text=text)

    def problems(self) -> list[str]:
        """Return the console messages of pages."""
        self._ask("Marionette:SetContext", value="chrome")
        said: list[str] = self._ask("WebDriver:ExecuteScript", script=SAID, args=[])["value"]
        self._ask("Marionette:SetContext", value="content")
        return said

    def close(self) -> None:
        self._socket.close()

    def _element(self, selector: str) -> str:
        self.wait("document.querySelector(arguments[0])", selector)
        found = self._ask("WebDriver:FindElement", using="css selector", value=selector)
        return str(next(iter(found["value"].values())))

    def _ask(self, name: str, **parameters: object) -> dict[str, Any]:
        text = json.dumps([0, 1, name, parameters]).encode()
        self._socket.sendall(b"%d:%b" % (len(text), text))
        _, _, error, value = self._read()
        assert error is None, f"{name}: {error['message']}"
        return value or {}

    def _read(self) -> Any:
        while b":" not in self._kept:
            self._receive()
        length, _, self._kept = self._kept.partition(b":")
        while len(self._kept) < int(length):
            self._receive()
        text, self._kept = self._kept[: int(length)], self._kept[int(length) :]
        return json.loads(text)

    def _receive(self) -> None:
        part = self._socket.recv(65536)
        assert part, "Firefox has ended."
        self._kept += part


@contextmanager
def running_firefox(program: str, profile: Path) -> Iterator[Firefox]:
    """A Firefox without a window, with a profile of its own."""
    lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in PREFERENCES.items())
    (profile / "user.js").write_text("".join(lines), encoding="utf-8")
    process = subprocess.Popen(
        [program, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access",
         "--profile", str(profile), "--width", "1280", "--height", "900"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"HOME": str(profile), "MOZ_DISABLE_CONTENT_SANDBOX": "1"},
    )  # fmt: skip
    try:
        opened = Firefox(_port(process, profile / "MarionetteActivePort"))
        yield opened
        opened.close()
    finally:
        process.terminate()
        process.wait(LONGEST_S)


def _port(process: subprocess.Popen[bytes], file: Path) -> int:
    """The port that it has chosen, which it writes into its profile."""

    def told() -> bool:
        assert process.poll() is None, "Firefox did not start."
        return file.exists() and file.read_text().strip() != ""

    until(told)
    return int(file.read_text())
