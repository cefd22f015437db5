"""What is known of a local Spark server: the files in its directory and what they say."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

import msgspec

LOCK: Final = "server.lock"
"""Locked while a supervisor lives, whose process id it says."""
RECORD: Final = "server.json"
LEASES: Final = "leases"
OUTPUT: Final = "server.out"
"""What the server prints."""
LOG: Final = "spark.log"
"""What the server logs."""
COMPLAINTS: Final = "supervisor.err"
"""What the supervisor prints."""
_BUSY_S: Final = 10.0
"""A port that nobody listens at refuses at once; who takes longer is busy and must not be replaced."""


class ServerOptions(msgspec.Struct, frozen=True):
    """How the server is to be started."""

    cores: str
    memory: str
    idle_minutes: float
    """0: never stop it."""


class ServerRecord(msgspec.Struct, frozen=True):
    """How to reach the server. Only its user can read it."""

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

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])


def read_host_record(directory: Path) -> ServerRecord | None:
    """The record of the server that was started last; None where there is none that can be read."""
    try:
        return msgspec.json.decode((directory / RECORD).read_bytes(), type=ServerRecord)
    except (OSError, msgspec.DecodeError):
        return None


def is_open(port: int) -> bool:
    """Whether something listens at a port of this machine."""
    with socket.socket() as probe:
        probe.settimeout(_BUSY_S)
        return probe.connect_ex(("127.0.0.1", port)) == 0
