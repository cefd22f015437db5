"""The web server of the REST API, in the foreground of its process."""

from __future__ import annotations

import gc
import logging
import signal
import socket
from collections.abc import Callable
from typing import Final

import uvicorn

from localcdap.host import Cdap
from localcdap.server.access import SiteCheck
from localcdap.server.rest.app import Report, RequestAccess, RestApp
from localcdap.server.rest.table import build_router

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
