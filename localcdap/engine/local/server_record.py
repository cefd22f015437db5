"""The files in the directory of a local Spark server, and the record of the running server."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

import msgspec

from localcdap.decoders import decode_json

LOCK: Final = "server.lock"
"""Locked while a supervisor lives; contains its process id."""
RECORD: Final = "server.json"
LEASES: Final = "leases"
OUTPUT: Final = "server.out"
"""The file with the output of the server."""
LOG: Final = "spark.log"
"""The log file of the server."""
SUPERVISOR_ERRORS: Final = "supervisor.err"
"""The file with the output of the supervisor."""
_BUSY_S: Final = 10.0
"""A port without a listener refuses at once; a server that takes longer is busy and must not be replaced."""


class ServerOptions(msgspec.Struct, frozen=True):
    """The settings with which the server is started."""

    cores: str
    memory: str
    idle_minutes: float
    """0: the server never stops as idle."""


class ServerRecord(msgspec.Struct, frozen=True):
    """The address and token of the server. Only its user can read the file."""

    url: str
    token: str
    supervisor: int
    """Process id."""
    server: int
    """Process id."""
    started: float
    """Seconds since 1970."""
    options: ServerOptions
    python: str
    """The interpreter that runs the server's Python workers."""
    spark: str
    """Version."""
    program: str = ""
    """The digest of the server's main class, which other versions of localcdap have otherwise."""

    @property
    def port(self) -> int:
        """The port of the URL."""
        return int(self.url.rpartition(":")[2])


def read_server_record(directory: Path) -> ServerRecord | None:
    """Read the record of the server that was started last; None when there is no readable one."""
    try:
        return decode_json((directory / RECORD).read_bytes(), type=ServerRecord)
    except (OSError, msgspec.DecodeError):
        return None


def is_port_open(port: int) -> bool:
    """Whether a process listens on a port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(_BUSY_S)
        return probe.connect_ex(("127.0.0.1", port)) == 0
