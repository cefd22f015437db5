"""A headless Chromium, driven by its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from pathlib import Path
from typing import Any

import aiohttp

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

_BINARY = 2
"""The code of a frame of bytes."""


class Chromium:
    """One tab. Used as a context."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self.received = b""
        """What the page got over its WebSocket, since :meth:`listen`."""

    async def __aenter__(self) -> Chromium:
        self._process = await asyncio.create_subprocess_exec(
            *(
                PROGRAM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ),
            *("--remote-debugging-port=0", f"--user-data-dir={self._folder}", "about:blank"),
            *("--window-size=1200,800", "--no-first-run"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        port = self._folder / "DevToolsActivePort"
        while not port.exists() or len(port.read_text().splitlines()) < 2:
            assert self._process.returncode is None
            await asyncio.sleep(0.1)
        address = f"http://127.0.0.1:{port.read_text().splitlines()[0]}"
        self._client = aiohttp.ClientSession()
        async with self._client.get(f"{address}/json/list") as answer:
            (tab,) = [each for each in await answer.json() if each["type"] == "page"]
        self._channel = await self._client.ws_connect(
            tab["webSocketDebuggerUrl"], max_msg_size=1 << 26
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()
        self._process.kill()
        await self._process.wait()

    async def call(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol; of events, only what a WebSocket received is kept."""
        self._count += 1
        await self._channel.send_json({"id": self._count, "method": method, "params": params})
        while True:
            answer = await self._channel.receive_json(timeout=60)
            if answer.get("method") == "Network.webSocketFrameReceived":
                self._keep(answer["params"]["response"])
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def _keep(self, frame: dict[str, Any]) -> None:
        if frame["opcode"] == _BINARY:
            self.received += base64.b64decode(frame["payloadData"])

    async def listen(self) -> None:
        """Keep what the page gets over its WebSocket from now on."""
        await self.call("Network.enable")

    async def evaluate(self, script: str) -> Any:
        answer = await self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        return answer["result"].get("value")

    async def wait_for(self, script: str) -> Any:
        """Wait up to a minute until a script gives a true value."""
        for _ in range(600):
            found = await self.evaluate(script)
            if found:
                return found
            await asyncio.sleep(0.1)
        raise AssertionError(f"'{script}' stays {json.dumps(found)}")

    async def type(self, text: str) -> None:
        for each in text:
            await self.call("Input.dispatchKeyEvent", type="keyDown", text=each, key=each)
            await self.call("Input.dispatchKeyEvent", type="keyUp", key=each)

    async def press_f5(self) -> None:
        """Press the key that reloads a page which does not take it."""
        key = {"key": "F5", "code": "F5", "windowsVirtualKeyCode": 116}
        await self.call("Input.dispatchKeyEvent", type="rawKeyDown", **key)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    async def take_screenshot(self, file: Path) -> None:
        answer = await self.call("Page.captureScreenshot")
        file.write_bytes(base64.b64decode(answer["data"]))
