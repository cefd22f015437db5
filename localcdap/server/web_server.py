"""The web server of the studio: it checks each request, and connects pages with their studios."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from aiohttp import WSMsgType, web

from localcdap.server.access import Access
from localcdap.server.page import (
    FONT_SIZES,
    build_page,
    build_policy,
    build_refusal,
    find_static_files,
)
from localcdap.server.studio_process import StudioProcess
from localcdap.server.studio_tabs import StudioTabs, TabLimitError

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
