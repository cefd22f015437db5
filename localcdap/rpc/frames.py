"""What goes over a connection: the handshake, then frames.

Both ends prove that they know the key before the first frame. The proof is that of
:mod:`multiprocessing.connection` (a keyed digest of random bytes, in both directions), with a time limit.

A frame is a call or an answer as MessagePack, nothing is ever unpickled. It is a message of
:class:`multiprocessing.connection.Connection` (length, then bytes). A call is answered by exactly one
:class:`Result` or :class:`Fault`. A connection carries one call at a time, so frames need no numbers.
Exceptions travel as faults and become exceptions again at the other end.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import traceback
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any, Final

import msgspec

from localcdap.api import errors
from localcdap.api.errors import HostError, LocalcdapError
from localcdap.api.serialization.value_types import pack, unpack

FRAME_LIMIT: Final = 256 * 1024 * 1024
"""The largest frame that is read, in bytes; a longer one ends its connection."""


class Call(msgspec.Struct, array_like=True, frozen=True):
    """A call of ``service.method``."""

    service: str
    method: str
    arguments: dict[str, msgspec.Raw]
    """The packed arguments by parameter name; parameters with a default may be missing."""
    user: str = ""
    """The name of the user who calls; empty when the caller acts as localcdap itself."""


class Result(msgspec.Struct, array_like=True, frozen=True, tag="result"):
    """The result of the method."""

    value: msgspec.Raw


class Fault(msgspec.Struct, array_like=True, frozen=True, tag="fault"):
    """The exception that the method raised; see :func:`to_fault`."""

    classes: list[str]
    """Names of the error's classes in ``localcdap.api.errors``, the most specific one first."""
    attributes: dict[str, Any]
    """The arguments of the constructor."""


Answer = Result | Fault


def send(connection: Connection, frame: Call | Answer) -> None:
    """Write one frame.

    :raises ConnectionError: when the other end has closed the connection.
    """
    try:
        connection.send_bytes(pack(frame))
    except OSError as error:
        raise _to_connection_error(error) from error


def receive(connection: Connection, type: Any) -> Any:
    """Wait for a frame of the given type.

    :raises ConnectionError: when the other end has closed the connection, or sent a frame over
        :data:`FRAME_LIMIT`.
    :raises msgspec.DecodeError: when the frame has another type; the connection cannot be used any more.
    """
    try:
        data = connection.recv_bytes(FRAME_LIMIT)
    except (OSError, EOFError) as error:
        raise _to_connection_error(error) from error
    return unpack(data, type)


def _to_connection_error(error: Exception) -> ConnectionError:
    """Return a ConnectionError for any exception by which the standard library reports a closed
    connection.
    """
    if isinstance(error, ConnectionError):
        return error
    return ConnectionResetError(errno.ECONNRESET, str(error) or "closed by the other end")


_KNOWN: Final[dict[str, type[LocalcdapError]]] = {
    name: member
    for name, member in vars(errors).items()
    if isinstance(member, type) and issubclass(member, LocalcdapError)
}


def to_fault(error: BaseException) -> Fault:
    """Return the fault for an exception.

    An error of localcdap keeps its class and attributes; a subclass that only this process knows arrives as
    its nearest known base class. Any other exception arrives as a HostError with the traceback.
    """
    if isinstance(error, LocalcdapError):
        names = [c.__name__ for c in type(error).__mro__ if _KNOWN.get(c.__name__) is c]
        return Fault(names, _to_encodable(error))
    summary = _to_printable(traceback.format_exception_only(error)[-1])
    frames = [_to_printable(line) for line in traceback.format_exception(error)]
    return Fault([HostError.__name__], {"message": summary, "traceback": frames})


def to_error(fault: Fault) -> LocalcdapError:
    """Return the exception for a fault."""
    for name in fault.classes:
        try:
            return _KNOWN[name](**fault.attributes)
        except (KeyError, TypeError):
            continue
    return LocalcdapError(str(fault.attributes.get("message", "unknown error")))


def _to_encodable(error: LocalcdapError) -> dict[str, Any]:
    """Return the attributes of an error, or only its message when a value cannot be encoded."""
    try:
        attributes = error.attributes()
        pack(attributes)
    except Exception:  # attributes() may be a plugin author's
        return {"message": _to_printable(traceback.format_exception_only(error)[-1])}
    return attributes


def _to_printable(text: str) -> str:
    """Escape what UTF-8 cannot hold, such as invalid bytes of a file name."""
    return text.rstrip("\n").encode("utf-8", "backslashreplace").decode("utf-8")


def greet_server(connection: Connection, authkey: bytes, timeout_s: float) -> None:
    """Perform the handshake at the end that connected.

    :raises HostError: when the other end refuses, is not localcdap, or does not answer in time.
    """
    _perform_handshake(connection, authkey, timeout_s, challenge_first=False)


def greet_client(connection: Connection, authkey: bytes, timeout_s: float) -> None:
    """Perform the handshake at the end that accepted the connection.

    :raises HostError: when the other end does not know the key, or does not answer in time.
    """
    _perform_handshake(connection, authkey, timeout_s, challenge_first=True)


def _perform_handshake(
    connection: Connection, authkey: bytes, timeout_s: float, *, challenge_first: bool
) -> None:
    steps = [deliver_challenge, answer_challenge]
    try:
        _limit_reads(connection, timeout_s)
        for step in steps if challenge_first else reversed(steps):
            step(connection, authkey)
        _limit_reads(connection, 0)
    except AuthenticationError as error:
        raise HostError(f"Refused: the key is wrong ({error}).") from None
    except BlockingIOError:
        raise HostError(f"The other process did not answer within {timeout_s:.2g} s.") from None
    except (OSError, EOFError, AssertionError) as error:  # the library asserts on unknown messages
        raise HostError(
            f"The other process aborted the handshake: {error or 'it ended'}."
        ) from None


def _limit_reads(connection: Connection, seconds: float) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as twin:
        limit_waiting(twin, socket.SO_RCVTIMEO, seconds)


def limit_waiting(end: socket.socket, option: int, seconds: float) -> None:
    """Limit the time of a read (``SO_RCVTIMEO``) or a connect (``SO_SNDTIMEO``); 0 for no limit.

    Unlike ``settimeout``, the limit belongs to the socket itself, not to one Python object, and the socket
    stays in blocking mode.
    """
    whole = int(seconds)
    limit = struct.pack("ll", whole, int((seconds - whole) * 1_000_000))
    end.setsockopt(socket.SOL_SOCKET, option, limit)
