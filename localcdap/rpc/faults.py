"""Exceptions on their way between processes."""

from __future__ import annotations

import traceback
from typing import Any, Final

from localcdap.api import errors
from localcdap.api.errors import HostError, LocalcdapError
from localcdap.api.serialization.structs import pack
from localcdap.rpc.frames import Fault

_KNOWN: Final[dict[str, type[LocalcdapError]]] = {
    name: member
    for name, member in vars(errors).items()
    if isinstance(member, type) and issubclass(member, LocalcdapError)
}


def to_fault(error: BaseException) -> Fault:
    """How an exception travels.

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
    """The exception that a fault stands for."""
    for name in fault.classes:
        try:
            return _KNOWN[name](**fault.attributes)
        except (KeyError, TypeError):
            continue
    return LocalcdapError(str(fault.attributes.get("message", "unknown error")))


def _encodable(error: LocalcdapError) -> dict[str, Any]:
    """The attributes, or the two that every error has where some value cannot be encoded."""
    try:
        attributes = error.attributes()
        pack(attributes)
    except Exception:  # attributes() may be a plugin author's
        return {"message": _writable(traceback.format_exception_only(error)[-1])}
    return attributes


def _writable(text: str) -> str:
    """The text without what UTF-8 cannot hold, such as the odd bytes of a file name."""
    return text.rstrip("\n").encode("utf-8", "backslashreplace").decode("utf-8")
