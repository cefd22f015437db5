"""The web server of the REST API, in the foreground of its process."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Final

import uvicorn

from localcdap.host import Cdap
from localcdap.server.access import SiteCheck
from localcdap.server.rest.app import Access, Report, RestApp
from localcdap.server.rest.table import build_router

DEFAULT_PORT: Final = 11015
"""The TCP port of the original's router."""
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
        self._socket = socket.create_server((_ADDRESS, port), backlog=_MOST_WAITING)
        self.port: Final[int] = self._socket.getsockname()[1]
        self.address: Final = f"http://{_ADDRESS}:{self.port}"

    def run(self, cdap: Cdap, access: Access, report: Report, on_start: Callable[[], None]) -> None:
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
            ws="none",
            timeout_keep_alive=_KEPT_S,
            timeout_graceful_shutdown=_END_S,
        )
        on_start()  # the socket accepts connections already
        uvicorn.Server(config).run([self._socket])

    def close(self) -> None:
        """Free the port."""
        self._socket.close()
