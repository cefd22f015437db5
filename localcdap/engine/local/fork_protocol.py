"""Requests to the fork servers of a local engine, which fork processes with everything imported already.

They are processes of their own: :mod:`localcdap.engine.fork_server` forks run processes, and
:mod:`localcdap.engine.worker_server` forks the daemons of Spark's Python workers.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

import msgspec

from localcdap.decoders import decode_msgpack
from localcdap.processes.umask import read_user_umask

SOCKET: Final = "template.sock"
"""In the engine's directory. Every process that may write to the socket can start processes."""
WORKER_SOCKET: Final = "workers.sock"
"""The socket of the server that forks daemons of workers."""
TIMEOUT_S: Final = 1.0
"""Seconds that either side waits for a message of the other."""
_LENGTH: Final = struct.Struct("<I")
_STREAMS: Final = 3
_READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_", "ARROW_", "GRPC_", "OMP_", "OPENBLAS_")
"""Prefixes of environment variables that Python or a library reads only once, when it starts."""
_SET_BY_SPARK: Final = ("PYTHONPATH", "PYTHON_")
"""Prefixes of those that Spark sets for the daemon of a session; the forked process gets them."""
_CONFIRMATION: Final = b"\1"


class ForkRequest(msgspec.Struct):
    """The state that the forked process is to have: as if the caller had started it."""

    run_directory: bytes
    """Of a run process, which gets a session of its own; empty for a daemon of workers."""
    working_directory: bytes
    umask: int
    environment: dict[bytes, bytes]
    origin: list[str]
    """See :func:`describe_origin`."""


class ForkReply(msgspec.Struct):
    """The reply of the forked process.

    A fork server that cannot serve a request closes the connection instead.
    """

    pid: int


def describe_origin(
    environment: dict[bytes, bytes], *, started_by_spark: bool = False
) -> list[str]:
    """Return what must be equal in two processes so that a fork of one can replace a new process of the
    other.

    :param started_by_spark: whether Spark starts the other process, with variables that differ each time.
    """
    ignored = _SET_BY_SPARK if started_by_spark else ()
    variables = ((os.fsdecode(key), os.fsdecode(value)) for key, value in environment.items())
    seen = (
        f"{key}={value}"
        for key, value in variables
        if key.startswith(_READ_AT_START) and not key.startswith(ignored)
    )
    return [sys.prefix, sys.version, __file__, *map(ascii, sorted(seen))]


def request_fork(engine: Path, run_directory: Path, input: int, output: int) -> int | None:
    """Have a run process forked that equals a new ``python -m localcdap.engine.run_process RUN_DIR``.

    :param engine: the directory of the local engine.
    :param input: file descriptor of its standard input.
    :param output: file descriptor of its standard output and standard error.
    :returns: its process id; None when there is no fork server that can serve the request.
    """
    environment = dict(os.environb)
    origin = describe_origin(environment)
    directory = os.fsencode(run_directory.absolute())
    request = _create_request(directory, environment, origin)
    return _send_request(engine, SOCKET, request, (input, output, output))


def request_daemon(engine: Path) -> int | None:
    """Have a daemon of workers forked that has the standard streams and the environment of this process.

    :returns: its process id; None when there is no fork server that can serve the request.
    """
    environment = dict(os.environb)
    origin = describe_origin(environment, started_by_spark=True)
    return _send_request(
        engine, WORKER_SOCKET, _create_request(b"", environment, origin), (0, 1, 2)
    )


def _create_request(
    run_directory: bytes, environment: dict[bytes, bytes], origin: list[str]
) -> ForkRequest:
    return ForkRequest(
        run_directory, os.fsencode(Path.cwd()), read_user_umask(), environment, origin
    )


def _send_request(
    engine: Path, name: str, request: ForkRequest, streams: tuple[int, int, int]
) -> int | None:
    """Send a request and confirm the reply. A process whose reply is not confirmed exits at once."""
    if not sys.platform.startswith("linux"):
        return None
    with (
        contextlib.suppress(OSError, EOFError, msgspec.DecodeError),
        socket.socket(socket.AF_UNIX) as end,
    ):
        end.settimeout(TIMEOUT_S)
        _connect(end, engine, name)
        data = msgspec.msgpack.encode(request)
        socket.send_fds(end, [_LENGTH.pack(len(data))], streams)
        end.sendall(data)
        pid = decode_msgpack(_receive_message(end), type=ForkReply).pid
        end.sendall(_CONFIRMATION)
        return pid
    return None


def receive_request(end: socket.socket) -> tuple[ForkRequest, list[int]]:
    """Receive a request, and the descriptors of the standard streams, which the caller must close.

    :raises OSError: when it is not received in time.
    :raises EOFError: when only a part of it is received.
    :raises msgspec.DecodeError: when it is not a request.
    """
    head, descriptors, _, _ = socket.recv_fds(end, _LENGTH.size, _STREAMS)
    try:
        if len(head) < _LENGTH.size or len(descriptors) < _STREAMS:
            raise EOFError
        data = _receive_exactly(end, _LENGTH.unpack(head)[0])
        return decode_msgpack(data, type=ForkRequest), descriptors
    except BaseException:
        for each in descriptors:
            os.close(each)
        raise


def send_reply(end: socket.socket, reply: ForkReply) -> None:
    """Send the reply to a request, and wait until it is confirmed.

    :raises OSError: when the other side has given up.
    :raises EOFError: the same.
    """
    data = msgspec.msgpack.encode(reply)
    end.sendall(_LENGTH.pack(len(data)) + data)
    _receive_exactly(end, len(_CONFIRMATION))


def _receive_message(end: socket.socket) -> bytes:
    return _receive_exactly(end, _LENGTH.unpack(_receive_exactly(end, _LENGTH.size))[0])


def _receive_exactly(end: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = end.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _connect(end: socket.socket, engine: Path, name: str) -> None:
    # By the folder's descriptor: the path of a socket is limited to 107 bytes, the folder's may be longer.
    folder = os.open(engine, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        end.connect(f"/proc/self/fd/{folder}/{name}")
    finally:
        os.close(folder)
