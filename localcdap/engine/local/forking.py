"""Run processes forked from the template of a local engine, which has imported what they need.

The template is another process, see :mod:`localcdap.engine.local.template`; this is the way to it.
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

SOCKET: Final = "template.sock"
"""In the engine's directory; who may write to it may have processes started."""
PATIENCE_S: Final = 1.0
"""Seconds that either side waits for the other one to say something."""
_LENGTH: Final = struct.Struct("<I")
_READ_AT_START: Final = ("PYTHON", "LC_", "LANG", "LD_", "ARROW_", "GRPC_", "OMP_", "OPENBLAS_")
"""Beginnings of the variables that Python, or a library, looks at once only."""


class ForkRequest(msgspec.Struct):
    """What the forked process is to be like: as if its caller had started it."""

    run_directory: bytes
    working_directory: bytes
    umask: int
    environment: dict[bytes, bytes]
    origin: list[str]
    """See :func:`origin`."""


class Forked(msgspec.Struct):
    """What the forked process answers. A template that cannot stand for a process of its own says nothing."""

    pid: int


def origin(environment: dict[bytes, bytes]) -> list[str]:
    """What must be the same of two processes so that one can be forked from the other."""
    variables = ((os.fsdecode(key), os.fsdecode(value)) for key, value in environment.items())
    seen = (f"{key}={value}" for key, value in variables if key.startswith(_READ_AT_START))
    return [sys.prefix, sys.version, __file__, *map(ascii, sorted(seen))]


def forked_run(engine: Path, run_directory: Path, input: int, output: int) -> int | None:
    """A run process like the one that ``python -m localcdap.engine.driver.run RUN_DIR`` starts.

    When this gives None, a process that was forked nevertheless leaves as soon as its input ends.

    :param engine: the directory of the local engine.
    :param input: file descriptor of its standard input.
    :param output: file descriptor of its standard output and standard error.
    :returns: its process id; None where there is no template that can be used.
    """
    if not sys.platform.startswith("linux"):
        return None
    environment = dict(os.environb)
    request = ForkRequest(
        run_directory=os.fsencode(run_directory.absolute()),
        working_directory=os.fsencode(Path.cwd()),
        umask=_umask(),
        environment=environment,
        origin=origin(environment),
    )
    with (
        contextlib.suppress(OSError, EOFError, msgspec.DecodeError),
        socket.socket(socket.AF_UNIX) as end,
    ):
        end.settimeout(PATIENCE_S)
        _connect(end, engine)
        data = msgspec.msgpack.encode(request)
        socket.send_fds(end, [_LENGTH.pack(len(data))], [input, output])
        end.sendall(data)
        return msgspec.msgpack.decode(_received(end), type=Forked).pid
    return None


def receive_request(end: socket.socket) -> tuple[ForkRequest, list[int]]:
    """A request, and the descriptors of input and output, which are the receiver's to close.

    :raises OSError: when it does not come.
    :raises EOFError: when only a part of it comes.
    :raises msgspec.DecodeError: when it is none.
    """
    head, descriptors, _, _ = socket.recv_fds(end, _LENGTH.size, 2)
    try:
        if len(head) < _LENGTH.size or len(descriptors) < 2:
            raise EOFError
        data = _exactly(end, _LENGTH.unpack(head)[0])
        return msgspec.msgpack.decode(data, type=ForkRequest), descriptors
    except BaseException:
        for each in descriptors:
            os.close(each)
        raise


def send_answer(end: socket.socket, answer: Forked) -> None:
    data = msgspec.msgpack.encode(answer)
    end.sendall(_LENGTH.pack(len(data)) + data)


def _received(end: socket.socket) -> bytes:
    return _exactly(end, _LENGTH.unpack(_exactly(end, _LENGTH.size))[0])


def _exactly(end: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = end.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _connect(end: socket.socket, engine: Path) -> None:
    # By way of the folder's descriptor: a folder's path may be longer than a socket's may.
    folder = os.open(engine, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        end.connect(f"/proc/self/fd/{folder}/{SOCKET}")
    finally:
        os.close(folder)


def _umask() -> int:
    """It can be read only by setting it; the file of the kernel shows it without."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    found = next((line for line in lines if line.startswith("Umask:")), "Umask: 0022")
    return int(found.split()[1], 8)
