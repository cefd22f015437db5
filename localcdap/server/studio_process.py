"""A studio that runs for a page: its input and output are packets of Textual's web driver.

A packet is a letter (``D`` for data of the terminal, ``M`` for JSON about it), the size of its content in
four bytes, and the content; see ``textual/drivers/web_driver.py``.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from localcdap.processes.spawn import end_piped, start_piped

_DRIVER: Final = "textual.drivers.web_driver:WebDriver"
_BEGIN: Final = b"__GANGLION__\n"
"""The line that the web driver writes before its first packet."""
_MODES: Final = b"\x1b[?1049h\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h\x1b[?25l\x1b[?2004h"
"""What the web driver writes at its start, which a new page of a running studio needs too: alternate screen,
mouse, no cursor, marked pastes."""
_EXIT_S: Final = 5.0
"""Seconds that a studio may take to exit before it is killed."""
_MOST_ERRORS: Final = 4000
"""The last bytes of what a studio writes to standard error that are kept."""


class Page(Protocol):
    """A page that shows a studio. Both methods raise ConnectionError when it is gone."""

    async def show(self, data: bytes) -> None:
        """Show data of the terminal."""

    async def close(self) -> None:
        """Say that the page does not show the studio any more."""


class StudioProcess:
    """One studio. All methods are called in one event loop.

    :param on_exit: called once, after the studio has ended.
    """

    def __init__(self, process: asyncio.subprocess.Process, on_exit: Callable[[], None]) -> None:
        self._process = process
        self._page: Page | None = None
        self._errors = b""
        self._tasks: Final = (
            asyncio.create_task(self._read_packets(on_exit)),
            asyncio.create_task(self._read_errors()),
        )

    @classmethod
    async def start(
        cls, command: Sequence[str], width: int, height: int, on_exit: Callable[[], None]
    ) -> StudioProcess:
        """Start a studio.

        :param command: the program and its arguments.
        :param width: of the page's terminal, in cells.
        :param height: of the page's terminal, in cells.
        """
        environment = os.environ | {
            "TEXTUAL_DRIVER": _DRIVER,
            "TEXTUAL_COLOR_SYSTEM": "truecolor",
            "TERM": "xterm-256color",
            "TERM_PROGRAM": "textual",
            "COLUMNS": str(width),
            "ROWS": str(height),
        }
        for multiplexer in ("TMUX", "STY"):  # the page is not in the terminal of the server
            environment.pop(multiplexer, None)
        return cls(await start_piped(command, environment), on_exit)

    def attach(self, page: Page) -> None:
        """Let a page show a studio that has just been started."""
        self._page = page

    async def move(self, page: Page, width: int, height: int) -> None:
        """Let a page show the studio from now on, drawn completely; a page that showed it is closed."""
        before, self._page = self._page, page
        if before is not None:
            with suppress(ConnectionError):
                await before.close()
        await page.show(_MODES)
        # Textual draws everything when the size changes.
        await self.resize(width, max(1, height - 1))
        await self.resize(width, height)

    def detach(self, page: Page) -> None:
        """Stop showing the studio on a page, unless another page shows it already."""
        if self._page is page:
            self._page = None

    async def type(self, text: str) -> None:
        """Send what the user types, with the sequences of the mouse."""
        await self._write(b"D", text.encode("utf-8", "replace"))

    async def resize(self, width: int, height: int) -> None:
        """Tell the size of the page's terminal in cells."""
        await self._tell({"type": "resize", "width": width, "height": height})

    async def focus(self, focused: bool) -> None:
        """Tell whether the page's terminal has the focus."""
        await self._tell({"type": "focus" if focused else "blur"})

    async def end(self) -> None:
        """Let the studio exit as it does when its terminal is closed, which keeps unsaved changes."""
        await end_piped(self._process, signal.SIGHUP, _EXIT_S)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _tell(self, message: dict[str, Any]) -> None:
        await self._write(b"M", json.dumps(message).encode())

    async def _write(self, kind: bytes, content: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(ConnectionError, RuntimeError):  # it has ended
            stdin.write(kind + len(content).to_bytes(4, "big") + content)
            await stdin.drain()

    async def _read_packets(self, on_exit: Callable[[], None]) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        try:
            while (line := await stdout.readline()) != _BEGIN:
                if not line:
                    await self._show_failure()
                    return
            while True:
                kind = await stdout.readexactly(1)
                size = int.from_bytes(await stdout.readexactly(4), "big")
                content = await stdout.readexactly(size)
                if kind == b"D":
                    await self._show(content)
        except asyncio.IncompleteReadError:
            pass
        finally:
            await self._process.wait()
            on_exit()
            if self._page is not None:
                with suppress(ConnectionError):
                    await self._page.close()

    async def _show(self, content: bytes) -> None:
        if self._page is not None:
            with suppress(ConnectionError):
                await self._page.show(content)

    async def _show_failure(self) -> None:
        await self._tasks[1]
        text = self._errors.decode("utf-8", "replace").strip().replace("\n", "\r\n")
        await self._show(f"The studio did not start.\r\n{text}\r\n".encode())

    async def _read_errors(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while data := await stderr.read(_MOST_ERRORS):
            self._errors = (self._errors + data)[-_MOST_ERRORS:]
