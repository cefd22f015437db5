"""Requests to fork servers, and how a process takes over the state of the one that has it forked.

Each request has a connection of its own, on which it is sent as MessagePack behind its length; the
descriptors that the new process gets go with the length. The reply is the id of the new process. One that
outlives its server replies itself and waits until the reply is confirmed: it exits at once when its caller
waits no more, who then does without it. A server that cannot serve a request closes the connection.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from localcdap.decoders import decode_msgpack
from localcdap.processes.limits import read_user_umask

TIMEOUT_S: Final = 1.0
"""Seconds that a server with a name, which serves one caller after the other, and its callers wait for a
message of each other."""
_LENGTH: Final = struct.Struct("<I")
_MOST_DESCRIPTORS: Final = 8
_READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_", "ARROW_", "GRPC_", "OMP_", "OPENBLAS_")
"""Prefixes of environment variables that Python or a library reads only once, when it starts."""
_CONFIRMATION: Final = b"\1"


class CallerState(msgspec.Struct):
    """The state of a process that the fork takes over, as if that process had started it."""

    working_directory: bytes
    umask: int
    environment: dict[bytes, bytes]
    origin: list[str]
    """See :func:`describe_origin`."""


class ForkRequest(msgspec.Struct, tag="fork"):
    """A request to fork. The descriptors of the standard streams, and further ones, go with it."""

    argument: bytes
    """What the new process is to do; the server's caller and the new process know what it means."""
    new_session: bool
    state: CallerState | None = None
    """None: the state of the server, whose only caller has started it."""


class EndRequest(msgspec.Struct, tag="end"):
    """A request to end a fork of :class:`OwnedForks`, which is answered with its exit code."""

    pid: int


def describe_origin(environment: dict[bytes, bytes], ignored: tuple[str, ...] = ()) -> list[str]:
    """Return what must be equal in two processes so that a fork of one can replace a new process of the
    other.

    :param ignored: prefixes of variables that do not count, because they differ each time.
    """
    variables = ((os.fsdecode(key), os.fsdecode(value)) for key, value in environment.items())
    read = (
        f"{key}={value}"
        for key, value in variables
        if key.startswith(_READ_AT_START) and not key.startswith(ignored)
    )
    return [sys.prefix, sys.version, __file__, *map(ascii, sorted(read))]


def describe_caller(ignored: tuple[str, ...] = ()) -> CallerState:
    """Return the state of this process.

    :param ignored: see :func:`describe_origin`.
    """
    environment = dict(os.environb)
    return CallerState(
        os.fsencode(Path.cwd()),
        read_user_umask(),
        environment,
        describe_origin(environment, ignored),
    )


def fork_at(directory: Path, name: str, request: ForkRequest, streams: Sequence[int]) -> int | None:
    """Have a server with a name fork a process.

    :param directory: of the server's socket.
    :param streams: the descriptors of its standard streams, and those that it gets besides.
    :returns: its process id; None when no server can serve the request.
    """
    if not sys.platform.startswith("linux"):
        return None
    with (
        contextlib.suppress(OSError, EOFError, msgspec.DecodeError),
        socket.socket(socket.AF_UNIX) as connection,
    ):
        connection.settimeout(TIMEOUT_S)
        _connect(connection, directory, name)
        send_message(connection, request, streams)
        pid = receive_number(connection)
        connection.sendall(_CONFIRMATION)
        return pid
    return None


def _connect(connection: socket.socket, directory: Path, name: str) -> None:
    # By the folder's descriptor: the path of a socket is limited to 107 bytes, the folder's may be longer.
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{name}")
    finally:
        os.close(folder)


def apply_state(state: CallerState) -> None:
    """Give a forked process the state of a process that the caller would have started."""
    os.chdir(state.working_directory)
    os.umask(state.umask)
    os.environb.clear()
    os.environb.update(state.environment)
    time.tzset()
    # With ``python -m`` it is the working directory.
    sys.path[0] = os.fsdecode(state.working_directory)


def receive_request(connection: socket.socket) -> tuple[ForkRequest | EndRequest, list[int]]:
    """Receive a request, and its descriptors, which the caller must close.

    :raises OSError: when it is not received in time.
    :raises EOFError: when only a part of it is received.
    :raises msgspec.DecodeError: when it is not a request.
    """
    head, descriptors, _, _ = socket.recv_fds(connection, _LENGTH.size, _MOST_DESCRIPTORS)
    try:
        head += _receive_exactly(connection, _LENGTH.size - len(head)) if head else b""
        if not head:
            raise EOFError
        data = _receive_exactly(connection, _LENGTH.unpack(head)[0])
        request: ForkRequest | EndRequest = decode_msgpack(data, type=ForkRequest | EndRequest)
        return request, descriptors
    except BaseException:
        close_descriptors(*descriptors)
        raise


def reply_and_wait(connection: socket.socket) -> None:
    """Reply from a process that was forked, and wait until the caller confirms that it counts on it.

    :raises OSError: when the caller waits no more.
    :raises EOFError: the same.
    """
    connection.settimeout(None)  # a caller that has the reply does, however slow the machine is
    send_message(connection, os.getpid())
    _receive_exactly(connection, len(_CONFIRMATION))


def send_message(
    connection: socket.socket, message: object, descriptors: Sequence[int] = ()
) -> None:
    """Send a request or a reply, and descriptors with it."""
    data = msgspec.msgpack.encode(message)
    frame = _LENGTH.pack(len(data)) + data
    sent = socket.send_fds(connection, [frame], descriptors)
    if sent < len(frame):  # a receiver that has all may have closed its end
        connection.sendall(frame[sent:])


def receive_number(connection: socket.socket) -> int:
    """Receive a reply: a process id or an exit code.

    :raises OSError: when it is not received in time.
    :raises EOFError: when only a part of it is received.
    :raises msgspec.DecodeError: when it is not a number.
    """
    length = _LENGTH.unpack(_receive_exactly(connection, _LENGTH.size))[0]
    number: int = decode_msgpack(_receive_exactly(connection, length), type=int)
    return number


def _receive_exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = connection.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def close_descriptors(*descriptors: int) -> None:
    """Close descriptors."""
    for descriptor in descriptors:
        os.close(descriptor)
