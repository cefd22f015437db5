"""What crosses a connection: one call, one answer, each a MessagePack frame. Nothing is ever unpickled.

A frame is a message of :class:`multiprocessing.connection.Connection` (length, then bytes). A call is
answered by exactly one :class:`Result` or :class:`Fault`; a connection carries one call at a time, so
frames need no numbers.
"""

from __future__ import annotations

import errno
import traceback
from multiprocessing.connection import Connection
from typing import Any, Final

import msgspec

from localcdap.api import errors
from localcdap.api.errors import HostError, LocalcdapError
from localcdap.api.serialization.structs import pack, unpack

FRAME_LIMIT: Final = 256 * 1024 * 1024
"""Bytes of the largest frame that is read; a longer one ends its connection."""


class Call(msgspec.Struct, array_like=True, frozen=True):
    """Asks for ``service.method``."""

    service: str
    method: str
    arguments: dict[str, msgspec.Raw]
    """By parameter name; a parameter that has a default may be left out."""


class Result(msgspec.Struct, array_like=True, frozen=True, tag="result"):
    """What the method returned."""

    value: msgspec.Raw


class Fault(msgspec.Struct, array_like=True, frozen=True, tag="fault"):
    """What the method raised; see :mod:`localcdap.rpc.frames`."""

    classes: list[str]
    """Names of the error's classes in ``localcdap.api.errors``, most special first."""
    attributes: dict[str, Any]
    """Constructor arguments."""


Answer = Result | Fault


def send(connection: Connection, frame: Call | Answer) -> None:
    """Write one frame.

    :raises ConnectionError: when the other end is gone.
    """
    try:
        connection.send_bytes(pack(frame))
    except OSError as error:
        raise _gone(error) from error


def receive(connection: Connection, type: Any) -> Any:
    """Read one frame of the given type; waits for it.

    :raises ConnectionError: when the other end is gone, or sent a frame over :data:`FRAME_LIMIT`.
    :raises msgspec.DecodeError: when the frame is something else; the connection is of no more use.
    """
    try:
        data = connection.recv_bytes(FRAME_LIMIT)
    except (OSError, EOFError) as error:
        raise _gone(error) from error
    return unpack(data, type)


def _gone(error: Exception) -> ConnectionError:
    """Return one class for the many ways in which the standard library says that a connection is no more."""
    if isinstance(error, ConnectionError):
        return error
    return ConnectionResetError(errno.ECONNRESET, str(error) or "closed by the other end")


_KNOWN: Final[dict[str, type[LocalcdapError]]] = {
    name: member
    for name, member in vars(errors).items()
    if isinstance(member, type) and issubclass(member, LocalcdapError)
}


def to_fault(error: BaseException) -> Fault:
    """Return how an exception travels.

    An error of localcdap keeps its class and attributes; a subclass that only this process knows
    arrives as its nearest known base. Anything else arrives as a HostError with the traceback.
    """
    if isinstance(error, LocalcdapError):
        names = [c.__name__ for c in type(error).__mro__ if _KNOWN.get(c.__name__) is c]
        return Fault(names, _encodable(error))
    summary = _writable(traceback.format_exception_only(error)[-1])
    frames = [_writable(line) for line in traceback.format_exception(error)]
    return Fault([HostError.__name__], {"message": summary, "traceback": frames})


def to_error(fault: Fault) -> LocalcdapError:
    """Return the exception that a fault stands for."""
    for name in fault.classes:
        try:
            return _KNOWN[name](**fault.attributes)
        except (KeyError, TypeError):
            continue
    return LocalcdapError(str(fault.attributes.get("message", "unknown error")))


def _encodable(error: LocalcdapError) -> dict[str, Any]:
    """Return the attributes, or the two that every error has where some value cannot be encoded."""
    try:
        attributes = error.attributes()
        pack(attributes)
    except Exception:  # attributes() may be a plugin author's
        return {"message": _writable(traceback.format_exception_only(error)[-1])}
    return attributes


def _writable(text: str) -> str:
    """Return the text without what UTF-8 cannot hold, such as the odd bytes of a file name."""
    return text.rstrip("\n").encode("utf-8", "backslashreplace").decode("utf-8")
