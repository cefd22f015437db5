"""Requests to the fork server of a local engine, which forks run processes with everything imported already.

The fork server is a process of its own, see :mod:`localcdap.engine.fork_server`.
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
from localcdap.umask import read_user_umask

SOCKET: Final = "template.sock"
"""In the engine's directory. Every process that may write to the socket can start processes."""
TIMEOUT_S: Final = 1.0
"""Seconds that either side waits for a message of the other."""
_LENGTH: Final = struct.Struct("<I")
_READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_", "ARROW_", "GRPC_", "OMP_", "OPENBLAS_")
"""Prefixes of environment variables that Python or a library reads only once, when it starts."""


class ForkRequest(msgspec.Struct):
    """The state that the forked process is to have: as if the caller had started it."""

    run_directory: bytes
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


def describe_origin(environment: dict[bytes, bytes]) -> list[str]:
    """Return what must be equal in two processes so that a fork of one can replace a new process of the
    other.
    """
    variables = ((os.fsdecode(key), os.fsdecode(value)) for key, value in environment.items())
    seen = (f"{key}={value}" for key, value in variables if key.startswith(_READ_AT_START))
    return [sys.prefix, sys.version, __file__, *map(ascii, sorted(seen))]


def request_fork(engine: Path, run_directory: Path, input: int, output: int) -> int | None:
    """Have a run process forked that equals a new ``python -m localcdap.engine.run_process RUN_DIR``.

    When this returns None, a process that was forked nevertheless exits as soon as its input ends.

    :param engine: the directory of the local engine.
    :param input: file descriptor of its standard input.
    :param output: file descriptor of its standard output and standard error.
    :returns: its process id; None when there is no fork server that can serve the request.
    """
    if not sys.platform.startswith("linux"):
        return None
    environment = dict(os.environb)
    request = ForkRequest(
        run_directory=os.fsencode(run_directory.absolute()),
        working_directory=os.fsencode(Path.cwd()),
        umask=read_user_umask(),
        environment=environment,
        origin=describe_origin(environment),
    )
    with (
        contextlib.suppress(OSError, EOFError, msgspec.DecodeError),
        socket.socket(socket.AF_UNIX) as end,
    ):
        end.settimeout(TIMEOUT_S)
        _connect(end, engine)
        data = msgspec.msgpack.encode(request)
        socket.send_fds(end, [_LENGTH.pack(len(data))], [input, output])
        end.sendall(data)
        return decode_msgpack(_receive_message(end), type=ForkReply).pid
    return None


def receive_request(end: socket.socket) -> tuple[ForkRequest, list[int]]:
    """Receive a request, and the descriptors of input and output, which the caller must close.

    :raises OSError: when it is not received in time.
    :raises EOFError: when only a part of it is received.
    :raises msgspec.DecodeError: when it is not a request.
    """
    head, descriptors, _, _ = socket.recv_fds(end, _LENGTH.size, 2)
    try:
        if len(head) < _LENGTH.size or len(descriptors) < 2:
            raise EOFError
        data = _receive_exactly(end, _LENGTH.unpack(head)[0])
        return decode_msgpack(data, type=ForkRequest), descriptors
    except BaseException:
        for each in descriptors:
            os.close(each)
        raise


def send_reply(end: socket.socket, reply: ForkReply) -> None:
    """Send the reply to a request."""
    data = msgspec.msgpack.encode(reply)
    end.sendall(_LENGTH.pack(len(data)) + data)


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


def _connect(end: socket.socket, engine: Path) -> None:
    # By the folder's descriptor: the path of a socket is limited to 107 bytes, the folder's may be longer.
    folder = os.open(engine, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        end.connect(f"/proc/self/fd/{folder}/{SOCKET}")
    finally:
        os.close(folder)
