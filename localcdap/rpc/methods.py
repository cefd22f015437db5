"""The methods of a service as they are called from afar: their parameters, types and result.

Both ends read them from the same class: its public functions, with their annotations.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.api.serialization.structs import pack, unpack
from localcdap.rpc.frames import Call

_Method = TypeVar("_Method", bound=Callable[..., Any])
_ONCE: Final = "__called_once__"


def non_idempotent(method: _Method) -> _Method:
    """Mark a method of a service that must not be called again when its host was lost during the call,
    because the lost one may have done already what it asks for; its caller gets the HostLostError.
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
        """Return the arguments of one call; those left to their defaults are not among them.

        :raises TypeError: when they do not fit the parameters, as for any Python call.
        """
        bound = self._signature.bind(None, *args, **kwargs).arguments
        return {name: msgspec.Raw(pack(bound[name])) for name in self._parameters if name in bound}

    def unpack_arguments(self, arguments: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
        """Return the arguments of one call, each of its parameter's type.

        :raises BadRequestError: naming the first argument that does not fit.
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

    :raises NotFoundError: when there is none; the message lists those that are.
    """
    if name not in list_method_names(service):
        known = ", ".join(list_method_names(service))
        raise NotFoundError(f"{service.__name__} has no method '{name}'; it has: {known}.")
    return RemoteMethod(service, name)


@lru_cache(maxsize=64)
def list_method_names(service: type) -> tuple[str, ...]:
    """Return the methods that can be called from afar: functions of the class without a leading
    underscore.
    """
    return tuple(
        name
        for name in dir(service)
        if not name.startswith("_") and inspect.isfunction(inspect.getattr_static(service, name))
    )


S = TypeVar("S")


class CallChannel(Protocol):
    """What a proxy needs: :class:`~localcdap.rpc.peer.Caller` or :class:`~localcdap.rpc.client.Client`."""

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any: ...


def make_proxy(
    calls: CallChannel, name: str, service: type[S], timeout_s: float | None = None
) -> S:
    """Return the service ``name`` at the other end, to be used as if it were of class ``service``.

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
        if name not in list_method_names(self._service):
            raise AttributeError(
                f"{self._service.__name__} has no method '{name}' to call remotely"
            )
        method = get_remote_method(self._service, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            frame = Call(self._name, name, method.pack_arguments(args, kwargs))
            return self._calls.call(frame, method.result, self._timeout_s)

        self.__dict__[name] = call  # the next look-up finds it without __getattr__
        return call

    def __repr__(self) -> str:
        return f"<remote {self._service.__name__} '{self._name}'>"
