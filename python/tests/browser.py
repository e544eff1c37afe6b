"""A headless Chromium over its own pipe: no driver, no package, no network."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def binary() -> str | None:
    """Where a Chromium is, if there is one."""
    return os.environ.get("FTLAB_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A page in a browser. What it logs, throws and wants to fetch is kept in `troubles`."""

    def __init__(self, profile: Path, patience_s: float = 120.0) -> None:
        program = binary()
        assert program is not None
        self.troubles: list[str] = []
        self._patience_s = patience_s
        self._number = 0
        self._rest = b""
        (theirs_in, self._out), (self._in, theirs_out) = os.pipe(), os.pipe()
        self._events: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            # The browser speaks over the descriptors 3 and 4.
            ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "browser", program, "--headless=new",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}",
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command to the page."""
        return self._ask(method, self._session, **parameters)

    def open(self, page: Path, width: int, height: int = 900, *, dark: bool = False, media: str = "") -> None:
        """Opens a file in a window of a size."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self._events.clear()
        self.ask("Page.navigate", url=page.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._events.append(self._next())

    def value(self, expression: str) -> Any:
        """What an expression is in the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def key(self, key: str) -> None:
        """Presses a key."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            code = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "Escape": 27}[key]
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text
            )

    def picture(self, file: Path, *, top: int = 0, height: int | None = None) -> None:
        """Draws the page, or a part of it, as PNG."""
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {
            "x": 0,
            "y": top,
            "width": size["width"],
            "height": height or size["height"] - top,
            "scale": 1,
        }
        found = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(found["data"]))

    def _ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + self._patience_s
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            read = os.read(self._in, 1 << 20) if ready else b""
            assert read, "the browser does not answer"
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        """Keeps what a page is not to do."""
        content = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = content["exceptionDetails"]
                self.troubles.append(details.get("exception", {}).get("description", details["text"]))
            case "Log.entryAdded":
                self.troubles.append(content["entry"]["text"])
            case "Runtime.consoleAPICalled":
                self.troubles.append(json.dumps(content["args"])[:300])
            case "Network.requestWillBeSent":
                url = content["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    self.troubles.append(f"fetches {url}")
