"""The web server of the studio: it checks each request, and connects pages with their studios.

The page shows Textual's script for terminals, and nothing from elsewhere. A page that is reloaded finds its
studio as it was. A studio is a process whose input and output are packets of Textual's web driver: a letter
(``D`` for data of the terminal, ``M`` for JSON about it), the size of the content in four bytes, and the
content; see ``textual/drivers/web_driver.py``.
"""

from __future__ import annotations

import asyncio
import html
import json
import os
import re
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib.resources import as_file, files
from pathlib import Path
from string import Template
from typing import Any, Final, Protocol

from aiohttp import WSMsgType, web

from localcdap.processes.spawn import end_piped, start_piped
from localcdap.server.access import Access
from localcdap.text import plural

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


MOST_TABS: Final = 4
"""The most studios at a time; each takes about 110 MB of memory."""


class TabLimitError(Exception):
    """There are as many studios as may be open."""

    def __init__(self) -> None:
        super().__init__(
            f"{plural(MOST_TABS, 'studio')} are open in other tabs. Close one of them, and reload this page."
        )


class _Tab:
    """A studio, and whether a page shows it."""

    def __init__(self) -> None:
        self.studio: StudioProcess | None = None
        self.pages = 0
        self.end: asyncio.TimerHandle | None = None


class StudioTabs:
    """Starts a studio for each tab, and ends it when the tab has been closed for some time.

    :param command: the program of the studio and its arguments.
    :param kept_s: seconds for which a studio without a page is kept.
    """

    def __init__(self, command: Sequence[str], kept_s: float) -> None:
        self._command = command
        self._kept_s = kept_s
        self._tabs: Final[dict[str, _Tab]] = {}
        self._ending: Final[set[asyncio.Task[None]]] = set()
        self._starting: Final = asyncio.Lock()

    async def attach(self, tab: str, page: Page, width: int, height: int) -> StudioProcess:
        """Show the studio of a tab on a page; it is started if there is none.

        :param tab: the id that the page has for its tab.
        :raises TabLimitError: when there are too many studios.
        """
        async with self._starting:
            found = self._tabs.get(tab)
            if found is None:
                if len(self._tabs) >= MOST_TABS:
                    raise TabLimitError
                found = self._tabs[tab] = _Tab()
            found.pages += 1
            if found.end is not None:
                found.end.cancel()
                found.end = None
            if found.studio is None:
                found.studio = await StudioProcess.start(
                    self._command, width, height, lambda: self._forget(tab)
                )
                found.studio.attach(page)
            else:
                await found.studio.move(page, width, height)
            return found.studio

    def detach(self, tab: str, page: Page) -> None:
        """Note that a page of a tab was closed or is reloaded."""
        found = self._tabs.get(tab)
        if found is None or found.studio is None:
            return
        found.studio.detach(page)
        found.pages -= 1
        if not found.pages:
            loop = asyncio.get_running_loop()
            found.end = loop.call_later(self._kept_s, self._end_soon, tab)

    async def close(self) -> None:
        """End all studios."""
        for tab in list(self._tabs):
            self._end_soon(tab)
        await asyncio.gather(*self._ending)

    def _end_soon(self, tab: str) -> None:
        found = self._tabs.get(tab)
        if found is not None and found.studio is not None:
            task = asyncio.get_running_loop().create_task(found.studio.end())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def _forget(self, tab: str) -> None:
        found = self._tabs.pop(tab, None)
        if found is not None and found.end is not None:
            found.end.cancel()


_PAGE: Final = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>$title</title>
<link rel="stylesheet" href="/static/css/xterm.css">
<style nonce="$nonce">
@font-face { font-family: "Roboto Mono"; src: url("/static/fonts/RobotoMono-VariableFont_wght.ttf"); }
html, body { margin: 0; height: 100%; background: #121212; color: #e0e0e0;
  font-family: "Roboto Mono", monospace; }
#terminal { position: absolute; inset: 0; }
#state { position: absolute; inset: 0; display: flex; flex-direction: column; align-items: center;
  justify-content: center; gap: 1em; z-index: 10; background: #121212; }
body.-first-byte:not(.-closed) #state { display: none; }
#again { display: none; font: inherit; padding: 0.5em 2em; }
body.-closed #again { display: block; }
</style>
<script nonce="$nonce">
history.replaceState(null, "", "/");
const KEY = "localcdap-tab";
const tab = sessionStorage.getItem(KEY) ||
  Array.from(crypto.getRandomValues(new Uint8Array(16)), each => each.toString(16).padStart(2, "0")).join("");
sessionStorage.setItem(KEY, tab);
addEventListener("DOMContentLoaded", () => {
  document.getElementById("terminal").dataset.sessionWebsocketUrl = "ws://" + location.host + "/ws/" + tab;
  document.getElementById("again").addEventListener("click", () => location.reload());
  const state = document.getElementById("text");
  new MutationObserver(() => {
    if (document.body.classList.contains("-closed")) state.textContent = $closed;
    else if (document.body.classList.contains("-first-byte"))
      document.querySelector(".xterm-helper-textarea").focus();
  }).observe(document.body, {attributes: true, attributeFilter: ["class"]});
});
</script>
<script src="/static/js/textual.js"></script>
</head>
<body>
<div id="state" role="status"><div id="text">The studio starts …</div>
<button id="again">Open it again</button></div>
<noscript>The studio needs JavaScript.</noscript>
<div id="terminal" class="textual-terminal" role="application" aria-label="$title"
data-font-size="$font_size"></div>
</body>
</html>
""")
_CLOSED: Final = (
    "The studio has ended in this page: it was quit or opened elsewhere, or its server was stopped."
)
_REFUSED: Final = Template("""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>localcdap</title></head>
<body><h1>The studio cannot be opened here</h1><p>$reason</p></body></html>
""")
FONT_SIZES: Final = range(8, 41)
"""The sizes of the font in pixels that a page can have."""


def build_page(title: str, nonce: str, font_size: int) -> str:
    """Return the page of a studio.

    :param nonce: a random text that its styles and its script carry, which the content security policy names.
    :param font_size: in pixels.
    """
    return _PAGE.substitute(
        title=html.escape(title), nonce=nonce, font_size=font_size, closed=json.dumps(_CLOSED)
    )


def build_refusal(reason: str) -> str:
    """Return a page that says why the studio is not shown."""
    return _REFUSED.substitute(reason=html.escape(reason))


def build_policy(nonce: str, socket_sources: str) -> str:
    """Return the content security policy of the page: nothing from elsewhere, and in no frame."""
    # The script sets styles of elements, which needs 'unsafe-inline' for style attributes.
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
        f"font-src 'self'; img-src 'self' data:; connect-src 'self' {socket_sources}; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


def find_static_files() -> Path:
    """Return the folder of the scripts, styles and fonts of textual-serve."""
    with as_file(files("textual_serve").joinpath("static")) as folder:
        return folder


_ADDRESS: Final = "127.0.0.1"
_KEPT_S: Final = 600.0
"""Seconds for which the studio of a closed tab is kept."""
_TAB: Final = re.compile(r"[0-9a-f]{32}")
_SIDES: Final = range(1, 1001)
"""The widths and heights of a terminal in cells."""
_LARGEST_MESSAGE: Final = 1 << 20
"""The most bytes of a message of a page, such as a pasted text."""
_HEARTBEAT_S: Final = 15.0
_USED: Final = (
    "This link was used, or is not of this server. The terminal of 'localcdap browser' shows a new "
    "one."
)


_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class StudioServer:
    """Serves the studio to the browsers of this machine.

    :param command: the program of the studio and its arguments.
    :param port: 0 for any free port.
    :param on_link: called with each link that opens the page: at the start, and after one was used.
    :raises OSError: when the port is in use.
    """

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        on_link: Callable[[str], None],
        *,
        title: str = "localcdap",
        kept_s: float = _KEPT_S,
    ) -> None:
        self._socket = socket.create_server((_ADDRESS, port))
        self.port: Final[int] = self._socket.getsockname()[1]
        self._access: Final = Access(self.port)
        self._command: Final = command
        self._kept_s: Final = kept_s
        self._title: Final = title
        self._on_link: Final = on_link
        self._tabs: StudioTabs | None = None

    def run(self) -> None:
        """Serve until SIGINT, SIGTERM or SIGHUP; then all studios end."""
        asyncio.run(self._run())

    async def _run(self) -> None:
        ends = asyncio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, ends.set)
        self._tabs = StudioTabs(self._command, self._kept_s)
        runner = web.AppRunner(self._build_app(), access_log=None)
        await runner.setup()
        await web.SockSite(runner, self._socket, shutdown_timeout=1.0).start()
        self._on_link(self._access.create_link())
        try:
            await ends.wait()
        finally:
            await self._tabs.close()
            await runner.cleanup()

    def _build_app(self) -> web.Application:
        @web.middleware
        async def check(request: web.Request, handler: _Handler) -> web.StreamResponse:
            return await self._check(request, handler)

        app = web.Application(middlewares=[check])
        app.add_routes(
            [
                web.get("/", self._get_page),
                web.get("/ws/{tab}", self._connect),
                web.static("/static", find_static_files()),
            ]
        )
        return app

    async def _check(
        self,
        request: web.Request,
        handler: _Handler,
    ) -> web.StreamResponse:
        """Refuse whatever does not come from the page itself, or from a link of the terminal."""
        is_socket = request.path.startswith("/ws")
        refusal = self._access.find_refusal(request.headers, needs_origin=is_socket)
        if refusal is not None:
            return _refuse(refusal)
        known = self._access.has_session(request.cookies.get(self._access.cookie))
        if not known and not (request.path == "/" and "token" in request.query):
            return _refuse(_USED)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = error
        if not response.prepared:
            _add_headers(response)
        return response

    async def _get_page(self, request: web.Request) -> web.StreamResponse:
        known = self._access.has_session(request.cookies.get(self._access.cookie))
        session = self._access.exchange_token(request.query.get("token", ""))
        if session is None and not known:
            return _refuse(_USED)
        nonce = secrets.token_urlsafe(16)
        font_size = _read_number(request, "fontsize", FONT_SIZES, 16)
        response = web.Response(
            text=build_page(self._title, nonce, font_size), content_type="text/html"
        )
        policy = build_policy(nonce, self._access.socket_sources)
        response.headers["Content-Security-Policy"] = policy
        if session is not None:
            response.set_cookie(self._access.cookie, session, httponly=True, samesite="Strict")
            self._on_link(self._access.create_link())
        return response

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        """Connect a page with the studio of its tab until either ends."""
        tab = request.match_info["tab"]
        if not _TAB.fullmatch(tab):
            raise web.HTTPNotFound
        channel = web.WebSocketResponse(heartbeat=_HEARTBEAT_S, max_msg_size=_LARGEST_MESSAGE)
        await channel.prepare(request)
        page = _SocketPage(channel)
        width = _read_number(request, "width", _SIDES, 80)
        height = _read_number(request, "height", _SIDES, 24)
        assert self._tabs is not None
        try:
            studio = await self._tabs.attach(tab, page, width, height)
        except (TabLimitError, OSError) as error:
            await channel.send_bytes(f"{error}\r\n".encode())
            return channel
        try:
            async for message in channel:
                if message.type is WSMsgType.TEXT:
                    await _take(message.data, channel, studio)
        finally:
            self._tabs.detach(tab, page)
        return channel


class _SocketPage:
    """A page at the other end of a websocket."""

    def __init__(self, channel: web.WebSocketResponse) -> None:
        self._channel = channel

    async def show(self, data: bytes) -> None:
        await self._channel.send_bytes(data)

    async def close(self) -> None:
        await self._channel.close()


async def _take(text: str, channel: web.WebSocketResponse, studio: StudioProcess) -> None:
    """Pass on one message of the page; one that makes no sense is ignored."""
    with suppress(ValueError, TypeError, KeyError, ConnectionError):
        kind, *content = json.loads(text)
        match kind, content:
            case "stdin", [str(typed)]:
                await studio.type(typed)
            case "resize", [{"width": int(width), "height": int(height)}]:
                if width in _SIDES and height in _SIDES:
                    await studio.resize(width, height)
            case "focus" | "blur", _:
                await studio.focus(kind == "focus")
            case "ping", [str(sent)]:
                await channel.send_str(json.dumps(["pong", sent]))


def _read_number(request: web.Request, name: str, allowed: range, default: int) -> int:
    text = request.query.get(name, "")
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else default
    return number if number in allowed else default


def _refuse(reason: str) -> web.Response:
    response = web.Response(status=403, text=build_refusal(reason), content_type="text/html")
    _add_headers(response)
    return response


def _add_headers(response: Any) -> None:
    response.headers.setdefault("Content-Security-Policy", "default-src 'none'")
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
