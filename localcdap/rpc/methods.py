"""Remote methods of a service: their parameters, types and result, and proxies that call them.

Both ends read the methods from the same class: its public functions with their annotations.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.rpc.frames import Call
from localcdap.security.principals import get_current_user

_Method = TypeVar("_Method", bound=Callable[..., Any])
_ONCE: Final = "__called_once__"


def non_idempotent(method: _Method) -> _Method:
    """Mark a method of a service as non-idempotent: a call during which the host was lost is not repeated.

    The lost host may have executed the call already, so the caller gets the HostLostError.
    """
    setattr(method, _ONCE, True)
    return method


class RemoteMethod:
    """One public method of a service class."""

    def __init__(self, service: type, name: str) -> None:
        function = inspect.getattr_static(service, name)
        self.name = f"{service.__name__}.{name}"
        self.is_non_idempotent: bool = getattr(function, _ONCE, False)
        self._signature = inspect.signature(function)
        self._hints = typing.get_type_hints(function, include_extras=True)
        self._parameters = list(self._signature.parameters)[1:]
        self.result: Any = self._hints.get("return", Any)

    def pack_arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, msgspec.Raw]:
        """Pack the arguments of one call; parameters that keep their defaults are left out.

        :raises TypeError: when the arguments do not fit the parameters, as in any Python call.
        """
        bound = self._signature.bind(None, *args, **kwargs).arguments
        return {name: msgspec.Raw(pack(bound[name])) for name in self._parameters if name in bound}

    def unpack_arguments(self, arguments: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
        """Unpack the arguments of one call as the types of their parameters.

        :raises BadRequestError: for the first argument that does not fit.
        """
        return {name: self._unpack_argument(name, raw) for name, raw in arguments.items()}

    def _unpack_argument(self, name: str, raw: msgspec.Raw) -> Any:
        if name not in self._parameters:
            known = ", ".join(self._parameters) or "none"
            raise BadRequestError(f"{self.name} has no parameter '{name}'; it has: {known}.")
        try:
            return unpack(raw, self._hints.get(name, Any))
        except msgspec.DecodeError as error:
            raise BadRequestError(f"Argument '{name}' of {self.name}: {error}.") from None
        except LocalcdapError as error:
            raise BadRequestError(f"Argument '{name}' of {self.name}: {error}") from None


@lru_cache(maxsize=1024)
def get_remote_method(service: type, name: str) -> RemoteMethod:
    """Return the method ``name`` of the class ``service``.

    :raises NotFoundError: when there is no such method; the message lists the methods.
    """
    if name not in list_method_names(service):
        known = ", ".join(list_method_names(service))
        raise NotFoundError(f"{service.__name__} has no method '{name}'; it has: {known}.")
    return RemoteMethod(service, name)


@lru_cache(maxsize=64)
def list_method_names(service: type) -> tuple[str, ...]:
    """Return the names of the remote methods: the functions of the class without a leading underscore."""
    return tuple(
        name
        for name in dir(service)
        if not name.startswith("_") and inspect.isfunction(inspect.getattr_static(service, name))
    )


S = TypeVar("S")


class CallChannel(Protocol):
    """The channel through which a proxy sends calls: a :class:`~localcdap.rpc.peer.Caller`, a client, or
    a worker process.
    """

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any: ...


def make_proxy(
    calls: CallChannel, name: str, service: type[S], timeout_s: float | None = None
) -> S:
    """Return a proxy of the service ``name`` at the other end, with the methods of the class ``service``.

    A proxy has the public methods only, no attributes.

    :param timeout_s: seconds that each call may take; None for no limit.
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
        if name not in list_method_names(self._service):
            raise AttributeError(
                f"{self._service.__name__} has no method '{name}' to call remotely"
            )
        method = get_remote_method(self._service, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            user = get_current_user() or ""
            frame = Call(self._name, name, method.pack_arguments(args, kwargs), user)
            return self._calls.call(frame, method.result, self._timeout_s)

        self.__dict__[name] = call  # the next look-up does not need __getattr__
        return call

    def __repr__(self) -> str:
        return f"<remote {self._service.__name__} '{self._name}'>"
