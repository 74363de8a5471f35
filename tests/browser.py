"""A real browser driven by its own debugging protocol: Chromium, headless, one page at a time.

The protocol is JSON over a websocket: a command has a number and is answered with it, everything else is an event.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
OPTIONS = (
    "--headless=new", "--remote-debugging-port=0", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-extensions", "--disable-background-networking", "--hide-scrollbars", "--enable-unsafe-swiftshader",
)  # fmt: skip
PATIENCE_S = 60.0


class Page:
    """One tab; what it says on the console and what goes wrong in it is collected in ``errors``."""

    def __init__(self, address: str) -> None:
        from websockets.sync.client import connect

        self._socket = connect(address, max_size=None, open_timeout=PATIENCE_S)
        self._number = 0
        self._events: list[str] = []
        self.errors: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE_S))
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return dict(message["result"])
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        """Keep what an event says."""
        method, said = message.get("method", ""), message.get("params", {})
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description", ""))) for a in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] == "error":
            self.errors.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])

    def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Go to an address in a window of a size (CSS pixels) and wait until it is loaded."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.theme(dark=dark)
        self.errors.clear()
        self.requests.clear()
        self._events.clear()
        self.send("Page.navigate", url=url)
        while "Page.loadEventFired" not in self._events:
            self._note(json.loads(self._socket.recv(timeout=PATIENCE_S)))

    def theme(self, *, dark: bool) -> None:
        """What the person prefers."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[feature])

    def evaluate(self, script: str) -> Any:
        """Value of an expression in the page; promises are awaited."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", "script failed"))
        return found["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + PATIENCE_S
        while not self.evaluate(script):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}")
            time.sleep(0.05)

    def press(self, key: str, code: int) -> None:
        """Press and let go a key, by its name and number."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """The window, or the whole page, as a PNG file."""
        found = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(found["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def print(self, path: Path) -> None:
        """The page as it is printed on A4, as a PDF file."""
        found = self.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)
        path.write_bytes(base64.b64decode(found["data"]))


def browser_program() -> str | None:
    """Chromium or a browser like it, if there is one."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@contextmanager
def open_page() -> Iterator[Page]:
    """A page of a new browser; the test is skipped when there is no browser or no way to talk to it."""
    program = browser_program()
    if program is None:
        pytest.skip("no Chromium on this machine")
    pytest.importorskip("websockets", reason="websockets is not installed (extra 'test')")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [program, *OPTIONS, f"--user-data-dir={folder}", "about:blank"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield Page(_address(Path(folder), process))
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)


def _address(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the first page listens."""
    file, end = folder / "DevToolsActivePort", time.monotonic() + PATIENCE_S
    while not (file.exists() and file.read_text(encoding="utf-8").count("\n")):
        if process.poll() is not None:
            pytest.skip("Chromium does not start here")
        if time.monotonic() > end:
            raise TimeoutError("the browser did not start")
        time.sleep(0.05)
    port = file.read_text(encoding="utf-8").split("\n")[0]
    with urlopen(Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")) as answer:
        return str(json.load(answer)["webSocketDebuggerUrl"])
