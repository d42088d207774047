"""Drives a headless Chromium over its debugging pipe: pointer, touch and keys as a user has them.

Every call returns when the browser has handled it, so no test waits for a time. What the console
receives is kept.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from running import HANG_S

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for path in map(shutil.which, NAMES) if path), None)
Point: TypeAlias = "tuple[float, float]"
SANDBOX = ["--no-sandbox"] if hasattr(os, "getuid") and os.getuid() == 0 else []
"""Root has no sandbox."""
STEADY_SCROLL = "--disable-features=ResamplingScrollEvents"
"""Otherwise the browser guesses where a finger is at each frame, by the machine's clock, and a
swipe whose times come from `Page.clock` scrolls less than it moves."""
KEYS = {"Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}
"""Codes of keys that type nothing."""
NOISE = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")


class Page:
    """A page in the browser."""

    def __init__(self, read: int, write: int) -> None:
        self.read, self.write = read, write
        self.buffer = b""
        self.last = 0
        self.session: str | None = None
        self.clock = time.time()
        self.console: list[str] = []
        """What the console received, errors included."""
        self.seen: list[str] = []
        """Events since `opened` looked last."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        target_session = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = target_session["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.call(f"{domain}.enable")

    def _message(self) -> dict[str, Any]:
        limit = time.monotonic() + HANG_S
        while b"\0" not in self.buffer:
            readable, _, _ = select.select([self.read], [], [], limit - time.monotonic())
            assert readable, "the browser does not answer"
            part = os.read(self.read, 1 << 20)
            assert part, "the browser has ended"
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if message.get("method") in NOISE:
            self.console.append(json.dumps(message["params"])[:600])
        if "method" in message:
            self.seen.append(message["method"])
        return message

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """What a method of the browser returns."""
        self.last += 1
        request: dict[str, Any] = {"id": self.last, "method": method, "params": params}
        if self.session is not None:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self.last:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result

    def opened(
        self, file: Path | str, width: int = 1400, height: int = 900, *, touch: bool = False
    ) -> None:
        """Opens a file or an address in a window of this size: with a mouse, or a telephone."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=1)
        self.seen.clear()
        self.call("Page.navigate", url=file if isinstance(file, str) else file.as_uri())
        while "Page.loadEventFired" not in self.seen:
            self._message()

    def run(self, script: str) -> Any:  # noqa: ANN401 - what the script returns
        """The value of an expression in the page."""
        result = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def at(self, selector: str, x_share: float = 0.5, y_share: float = 0.5) -> Point:
        """A place in the window, of an element that is scrolled into view."""
        box = self.run(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
            " one.scrollIntoView({ block: 'center', behavior: 'instant' });"
            " const b = one.getBoundingClientRect();"
            " return [b.left, b.top, b.width, b.height]; })()"
        )
        return box[0] + x_share * box[2], box[1] + y_share * box[3]

    def mouse(self, kind: str, place: Point, clicks: int = 0) -> None:
        """A mouse event: `Moved`, `Pressed` or `Released`."""
        button = {"Moved": "none", "Pressed": "left", "Released": "left"}[kind]
        names = {"type": f"mouse{kind}", "button": button, "clickCount": clicks}
        self.call("Input.dispatchMouseEvent", x=place[0], y=place[1], **names)

    def click(self, place: Point, clicks: int = 1) -> None:
        """A click, or several in a row."""
        self.mouse("Moved", place)
        for count in range(1, clicks + 1):
            self.mouse("Pressed", place, count)
            self.mouse("Released", place, count)

    def drag(self, start: Point, end: Point, steps: int = 5) -> None:
        """A drag with the left button."""
        self.mouse("Moved", start)
        self.mouse("Pressed", start, 1)
        for step in range(1, steps + 1):
            place = tuple(a + (b - a) * step / steps for a, b in zip(start, end, strict=True))
            move = {"type": "mouseMoved", "button": "left", "buttons": 1}
            self.call("Input.dispatchMouseEvent", x=place[0], y=place[1], **move)
        self.mouse("Released", end, 1)

    def swipe(self, start: Point, end: Point, steps: int = 8) -> None:
        """A finger from one place to another, where it rests: what it scrolls does not roll on."""
        self._touch("touchStart", start)
        for step in range(1, steps + 1) if start != end else ():
            place = (
                start[0] + (end[0] - start[0]) * step / steps,
                start[1] + (end[1] - start[1]) * step / steps,
            )
            self._touch("touchMove", place)
        if start != end:
            self.clock += 0.5
            self._touch("touchMove", end)
        self._touch("touchEnd")

    def tap(self, place: Point) -> None:
        """A tap with a finger; the click that the browser makes of it may come later."""
        self.swipe(place, place)

    def until(self, condition: str) -> None:
        """Waits for an expression to be true, however long the machine takes."""
        limit = time.monotonic() + HANG_S
        while not self.run(condition):
            assert time.monotonic() < limit, condition
            self.run("new Promise(requestAnimationFrame)")

    def _touch(self, kind: str, *places: Point) -> None:
        points = [{"x": x, "y": y} for x, y in places]
        # By a clock of its own: speeds do not depend on that of the machine.
        self.clock += 0.02
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=points, timestamp=self.clock)

    def press(self, *keys: str) -> None:
        """Keys, one after the other."""
        for key in keys:
            code = KEYS.get(key, ord(key[0]))
            text = {} if key in KEYS else {"text": key}
            for kind in ("keyDown", "keyUp"):
                text_keys = {**text} if kind == "keyDown" else {}
                self.call(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    windowsVirtualKeyCode=code,
                    **text_keys,
                )

    def picture(self, file: Path) -> None:
        """A screenshot of the window."""
        data = self.call("Page.captureScreenshot")["data"]
        file.write_bytes(base64.b64decode(data))


@contextmanager
def page(profile: Path, options: Sequence[str] = ()) -> Iterator[Page]:
    """A browser with a page of its own, which ends with the block."""
    assert BROWSER is not None
    to_browser, to_us = os.pipe(), os.pipe()
    words = ["--headless=new", "--disable-gpu", *SANDBOX, "--remote-debugging-pipe"]
    words += [STEADY_SCROLL, *options, f"--user-data-dir={profile}", "about:blank"]
    # The browser reads commands from descriptor 3 and answers on 4.
    shell = f'exec 3<&{to_browser[0]} 4>&{to_us[1]}; exec "$0" "$@"'
    process = subprocess.Popen(
        ["bash", "-c", shell, BROWSER, *words],
        pass_fds=(to_browser[0], to_us[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser[0])
    os.close(to_us[1])
    browser_page: Page | None = None
    try:
        browser_page = Page(to_us[0], to_browser[1])
        yield browser_page
    finally:
        with suppress(OSError):
            os.write(to_browser[1], b'{"id": 0, "method": "Browser.close"}\0')
        try:
            process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(to_us[0])
        os.close(to_browser[1])
