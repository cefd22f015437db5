"""The web server of the REST API and its ASGI application, in the foreground of a process.

The application checks who asks before it reads a body, and answers each request in a thread. Requests take
turns: few answers are made at a time, so that each of them is soon ready.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Final

import anyio.to_thread
import msgspec
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from localcdap.api.security import Principal
from localcdap.host import Cdap
from localcdap.security.principals import act_as
from localcdap.server.access import SiteCheck
from localcdap.server.rest.answers import Answer, send_text, to_answer
from localcdap.server.rest.process import has_token
from localcdap.server.rest.request import Body, RestRequest, receive_body
from localcdap.server.rest.router import RestRoute, RestRouter
from localcdap.server.rest.table import build_router

_AT_A_TIME: Final = 2
"""The answers that are made at a time: while one waits for the database, another one runs Python. More
of them pass Python's lock to each other again and again, and all are late instead of the last."""
_LONGEST_S: Final = 0.02
"""Seconds after which the next request has its turn, although the answer before is not ready."""


class Turns:
    """Gives each request its turn, in the order in which they came.

    An answer that takes long, such as one that waits for a run to end, delays others by 20 ms at most.
    """

    def __init__(self, at_a_time: int = _AT_A_TIME, longest_s: float = _LONGEST_S) -> None:
        self._free: Final = asyncio.Semaphore(at_a_time)
        self._longest_s: Final = longest_s

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it for the time of the block or until it has lasted long enough."""
        await self._free.acquire()
        turn = _Turn(self._free)
        timer = asyncio.get_running_loop().call_later(self._longest_s, turn.end)
        try:
            yield
        finally:
            timer.cancel()
            turn.end()


class _Turn:
    """A turn that ends once."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free: Final = free
        self._has_ended = False

    def end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._free.release()


_LOG: Final = logging.getLogger(__name__)
_USER: Final = "CDAP-UserId"
"""The header with the name of the user, which the router of the original sets for the services."""
_OPEN_PATHS: Final = frozenset(("/ping", "/status", "/api/ping"))
"""Paths that say whether a server is there, and nothing else."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

Report = Callable[[BaseException, str], str]
"""Writes a report about a fault, with what was being done, and returns where it is."""


class RequestAccess(msgspec.Struct, frozen=True):
    """Who may ask, and who they are."""

    token: str | None
    """What a request must have; None: a request needs no token."""
    trusts_user_header: bool = True
    """Whether the header ``CDAP-UserId`` names the user who acts; otherwise it is the user of the server."""


class RestApp:
    """Answers the requests of one server.

    :param site: refuses requests of other sites.
    :param report: called for faults of localcdap.
    """

    def __init__(
        self, cdap: Cdap, site: SiteCheck, access: RequestAccess, router: RestRouter, report: Report
    ) -> None:
        self._cdap = cdap
        self._site = site
        self._access = access
        self._router = router
        self._report = report
        self._turns = Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever is not HTTP is refused."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1003})
            return
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
            await response(scope, receive, send)
        except ClientDisconnect:
            _LOG.debug("The client of %s %s is gone.", request.method, request.url.path)

    async def _respond(self, request: Request) -> Response:
        raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        path = raw.decode("ascii", "replace").partition("?")[0]
        refusal = self._refuse(request, path)
        if refusal is not None:
            return _build_response(refusal)
        match = self._router.find(path)
        if match is None:
            return _build_response(send_text(f"Problem accessing: {path}. Reason: Not Found", 404))
        allowed = ", ".join(sorted({*match.routes, "HEAD", "OPTIONS"}))
        if request.method == "OPTIONS":
            return _build_response(Answer(), {"Allow": allowed})
        method = "GET" if request.method == "HEAD" else request.method
        route = match.routes.get(method)
        if route is None:
            text = f"Problem accessing: {path}. Reason: Method Not Allowed"
            return _build_response(send_text(text, 405), {"Allow": allowed})
        body = await receive_body(request.stream())
        try:
            parameters = match.get_parameters(route)
            query = request.scope["query_string"].decode("utf-8", "replace")
            async with self._turns.take():
                answer = await anyio.to_thread.run_sync(
                    self._answer, route, parameters, method, query, request, body
                )
        finally:
            body.close()
        return _build_response(answer, is_head=request.method == "HEAD")

    def _refuse(self, request: Request, path: str) -> Answer | None:
        """Return an answer to a request that must not be looked at any further."""
        refusal = self._site.find_refusal(request.headers)
        if refusal is not None:
            return send_text(refusal, 403)
        token = self._access.token
        if token is None or path.rstrip("/") in _OPEN_PATHS or has_token(request.headers, token):
            return None
        return send_text(
            "The request has no valid token. Send the header 'Authorization: Bearer TOKEN' with the "
            "token that 'localcdap server status' shows.",
            401,
        )

    def _answer(
        self,
        route: RestRoute,
        parameters: dict[str, str],
        method: str,
        query: str,
        request: Request,
        body: Body,
    ) -> Answer:
        """Run a route as the user of the request, in a thread."""
        user = request.headers.get(_USER) if self._access.trusts_user_header else None
        who = Principal(user) if user else None
        with act_as(who):
            try:
                asked = RestRequest(self._cdap, method, parameters, query, request.headers, body)
                answer = route.handler(asked)
            except Exception as error:
                return to_answer(error) or self._report_fault(error, route)
        if not isinstance(answer.body, bytes):
            answer.body = _act_for_parts(answer.body, who)
        return answer

    def _report_fault(self, error: Exception, route: RestRoute) -> Answer:
        place = self._report(error, f"{route.method} {route.pattern}")
        return send_text(f"localcdap had an internal error, see {place}.", 500)


def _act_for_parts(parts: Iterator[bytes], who: Principal | None) -> Iterator[bytes]:
    """Return the parts of a body, each made for the user of the request, maybe in other threads."""
    while True:
        with act_as(who):
            part = next(parts, None)
        if part is None:
            return
        yield part


def _build_response(
    answer: Answer, headers: dict[str, str] | None = None, *, is_head: bool = False
) -> Response:
    given = _HEADERS | (headers or {})
    if is_head:
        return Response(status_code=answer.status, media_type=answer.content_type, headers=given)
    if isinstance(answer.body, bytes):
        return Response(answer.body, answer.status, given, answer.content_type)
    parts: Iterator[bytes] = answer.body
    return StreamingResponse(parts, answer.status, given, answer.content_type)


_ADDRESS: Final = "127.0.0.1"
_MOST_WAITING: Final = 512
"""Connections that wait until they are accepted."""
_KEPT_S: Final = 65
"""Seconds for which a connection without requests stays open."""
_END_S: Final = 10
"""Seconds that answers in progress may take after the server was told to end."""


class RestServer:
    """Serves the REST API of an instance to the programs of this machine.

    :param port: 0 for any free port.
    :raises OSError: when the port is in use.
    """

    def __init__(self, port: int) -> None:
        # Named as TCP, asyncio sends each part at once: an answer would wait 40 ms for the client's system.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((_ADDRESS, port))
            self._socket.listen(_MOST_WAITING)
        except OSError:
            self._socket.close()
            raise
        self.port: Final[int] = self._socket.getsockname()[1]
        self.address: Final = f"http://{_ADDRESS}:{self.port}"

    def run(
        self, cdap: Cdap, access: RequestAccess, report: Report, on_start: Callable[[], None]
    ) -> None:
        """Serve until SIGINT or SIGTERM.

        :param report: see :class:`RestApp`.
        :param on_start: called when the server answers.
        """
        app = RestApp(cdap, SiteCheck(self.port), access, build_router(), report)
        config = uvicorn.Config(
            app,
            lifespan="off",
            access_log=False,
            log_level=logging.WARNING,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_keep_alive=_KEPT_S,
            timeout_graceful_shutdown=_END_S,
        )
        # Uvicorn raises the signal again after it has ended, which would end the process at once.
        signal.signal(signal.SIGTERM, lambda *_: None)
        # What was loaded stays; the collector would look at it again and again, for 50 ms each time.
        gc.freeze()
        on_start()  # the socket accepts connections already
        uvicorn.Server(config).run([self._socket])

    def close(self) -> None:
        """Free the port."""
        self._socket.close()
