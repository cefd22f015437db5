"""A service in another process that looks like the service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from localcdap.rpc.frames import Call
from localcdap.rpc.methods import method_names, remote_method

S = TypeVar("S")


class CallChannel(Protocol):
    """What a proxy needs: :class:`~localcdap.rpc.peer.Caller` or :class:`~localcdap.rpc.client.Client`."""

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any: ...


def make_proxy(
    calls: CallChannel, name: str, service: type[S], timeout_s: float | None = None
) -> S:
    """The service ``name`` at the other end, to be used as if it were of class ``service``.

    Only public methods are there, no attributes.

    :param timeout_s: seconds that each call may take; None for ever.
    """
    return cast(S, _Proxy(calls, name, service, timeout_s))


class _Proxy:
    def __init__(
        self, calls: CallChannel, name: str, service: type, timeout_s: float | None
    ) -> None:
        self._calls = calls
        self._name = name
        self._service = service
        self._timeout_s = timeout_s

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in method_names(self._service):
            raise AttributeError(
                f"{self._service.__name__} has no method '{name}' to call remotely"
            )
        method = remote_method(self._service, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            frame = Call(self._name, name, method.packed(args, kwargs))
            return self._calls.call(frame, method.result, self._timeout_s)

        self.__dict__[name] = call  # the next look-up finds it without __getattr__
        return call

    def __repr__(self) -> str:
        return f"<remote {self._service.__name__} '{self._name}'>"
