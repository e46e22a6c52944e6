"""A real Chromium without a window, driven over its DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any, Self

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--use-gl=angle",
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
    "--remote-debugging-port=0", "--remote-allow-origins=*",
)  # fmt: skip


def executable() -> str:
    """Return the path of a Chromium, or skip the test."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    return path


class Chromium:
    """A running Chromium; a context manager."""

    def __init__(self, size: tuple[int, int] = (1280, 720)) -> None:
        self._folder = tempfile.mkdtemp(prefix="chromium")
        width, height = size
        self._process = subprocess.Popen(
            [
                executable(), *OPTIONS, f"--user-data-dir={self._folder}",
                f"--window-size={width},{height}", "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._port = self._wait_for_port()

    def _wait_for_port(self) -> int:
        file = Path(self._folder, "DevToolsActivePort")
        end = time.monotonic() + 30.0
        while time.monotonic() < end:
            if file.exists() and (text := file.read_text().split()):
                return int(text[0])
            time.sleep(0.05)
        raise RuntimeError("Chromium did not start")

    def open(self, address: str) -> Tab:
        """Open an address in a new tab."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/json/new?about:blank", method="PUT"
        )
        with urllib.request.urlopen(request) as answer:
            tab = Tab(json.load(answer)["webSocketDebuggerUrl"])
        tab.open(address)
        return tab

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait(10.0)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Tab:
    """A tab."""

    def __init__(self, address: str) -> None:
        from websockets.sync.client import connect

        self._socket = connect(address, max_size=None, ping_interval=None)
        self._number = 0
        self.events: Counter[str] = Counter()
        """Number of events by their names."""
        self.bytes = 0
        """Bytes of the web sockets' frames that were received."""
        self.errors: list[str] = []
        """Exceptions of the page."""
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True
        )  # the page's web socket is in a worker

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        self._number += 1
        number = self._number
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=60.0))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        if "method" not in message:  # the answer to a call that nobody waits for
            return
        name, parameters = message["method"], message["params"]
        self.events[name] += 1
        if name == "Network.webSocketFrameReceived":
            self.bytes += 3 * len(parameters["response"]["payloadData"]) // 4  # base64
        elif name == "Target.attachedToTarget":
            self._number += 1
            call = {"id": self._number, "method": "Network.enable", "params": {}}
            self._socket.send(json.dumps(call | {"sessionId": parameters["sessionId"]}))
        elif name == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))

    def open(self, address: str) -> None:
        """Open an address."""
        self.call("Page.navigate", url=address)

    def read_events(self, seconds: float) -> None:
        """Read events for some time [s]."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            try:
                self._note(json.loads(self._socket.recv(timeout=left)))
            except TimeoutError:
                return

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 30.0) -> Any:
        """Wait until an expression is true, and return it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.evaluate(expression):
                return value
            self.read_events(0.05)
        raise AssertionError(f"not true within {seconds:g} s: {expression}\n{self.text()}")

    def wait_for_text(self, text: str, seconds: float = 30.0) -> None:
        """Wait until the page has a text."""
        self.wait_for(f"(document.body?.innerText ?? '').includes({json.dumps(text)})", seconds)

    def text(self) -> str:
        """Return the text of the page."""
        return str(self.evaluate("document.body?.innerText ?? ''"))

    def click(self, label: str) -> None:
        """Click a button or tab by its text, when it is there."""
        spot = self.wait_for(
            "(() => {const button = [...document.querySelectorAll('button, [role=tab]')]"
            f".find(b => b.innerText.trim() === {json.dumps(label)});"
            "if (!button) return null;"
            "button.scrollIntoView({block: 'center'});"
            "const r = button.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]})()"
        )
        self.drag([spot])

    def drag(self, path: list[tuple[float, float]]) -> None:
        """Press the mouse at the first point, move it along, and release it at the last one."""
        (x, y), (x1, y1) = path[0], path[-1]
        self._mouse("mouseMoved", x, y)
        self._mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for x, y in path[1:]:
            self._mouse("mouseMoved", x, y, button="left", buttons=1)
            self.read_events(0.03)
        self._mouse("mouseReleased", x1, y1, button="left", clickCount=1)

    def _mouse(self, kind: str, x: float, y: float, **options: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **options)

    def press(self, key: str, code: str, number: int) -> None:
        """Press and release a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=code,
                windowsVirtualKeyCode=number,
            )  # fmt: skip

    def picture(self) -> bytes:
        """Return the page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        """Close the tab."""
        self.call("Page.close")
        self._socket.close()
