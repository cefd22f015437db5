"""Remote methods of a service, proxies that call them, and the two ends of a connection.

Both ends read the methods from the same class: its public functions with their annotations.

A connection carries one call at a time. Concurrent calls need several connections;
:class:`localcdap.rpc.client.Client` opens one for each thread that is in a call.

The connection may be the host's socket, or a socket pair shared with a child process::

    mine, theirs = multiprocessing.connection.Pipe()             # parent
    child = start_process([..., str(theirs.fileno())], descriptors=[theirs.fileno()])
    theirs.close()
    worker = make_proxy(Caller(mine, "the plugin worker"), "worker", WorkerService)

    answer_calls(Connection(int(sys.argv[1])), {"worker": WorkerService()})   # child
"""

from __future__ import annotations

import inspect
import logging
import threading
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec

from localcdap.api.errors import (
    BadRequestError,
    HostError,
    HostLostError,
    LocalcdapError,
    NotFoundError,
)
from localcdap.api.security import Principal
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.rpc.frames import Answer, Call, Fault, Result, receive, send, to_error, to_fault
from localcdap.security.principals import act_as, get_current_user

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
_ATTEMPTS: Final = 3
"""Hosts that a call is made to: a call that ends each of them is not repeated for ever."""


def repeat_at_next_host(method: RemoteMethod, make_call: Callable[[], S]) -> S:
    """Make a call to the host of the moment; when it is lost, repeat the call at the next one, unless it may
    have taken effect and must not do so twice.

    :raises HostLostError: when the call may have taken effect, or several hosts were lost.
    """
    for left in reversed(range(_ATTEMPTS)):
        try:
            return make_call()
        except HostLostError as error:
            if not left or (error.was_sent and method.is_non_idempotent):
                raise
    raise AssertionError("unreachable")


class CallChannel(Protocol):
    """The channel through which a proxy sends calls: a :class:`~localcdap.rpc.methods.Caller`, a client, or
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


Perform = Callable[[object, str, dict[str, Any]], Any]
"""Calls a method of a service with the arguments by name."""
_LOG: Final = logging.getLogger(__name__)


class Caller:
    """The end that calls. Threads may share it; they take turns.

    :param other: the name of the process at the other end, for messages.
    """

    def __init__(self, connection: Connection, other: str = "the host") -> None:
        self._connection = connection
        self._other = other
        self._turn = threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether no more calls are possible: this end was closed, or the connection broke."""
        return self._connection.closed

    def close(self) -> None:
        self._connection.close()

    def call(self, call: Call, result: Any = Any, timeout_s: float | None = None) -> Any:
        """Make a call and wait for its result.

        :param result: the type of the result.
        :param timeout_s: seconds to wait; None for no limit.
        :raises LocalcdapError: what the method raised; other exceptions arrive as HostError.
        :raises HostLostError: when the other process has ended; this end is then closed.
        :raises TimeoutError: when no answer came in time; this end is then closed too, because a late
            answer would be mistaken for the answer to the next call.
        """
        with self._turn:
            try:
                answer = self._send_and_receive(call, timeout_s)
            except BaseException:  # after an interrupt, too, the answer may still arrive
                self._connection.close()
                raise
        if isinstance(answer, Fault):
            raise to_error(answer)
        try:
            return unpack(answer.value, result)
        except msgspec.DecodeError as error:
            name = f"{call.service}.{call.method}"
            raise HostError(
                f"The answer of {self._other} to {name} cannot be decoded: {error}.",
                "The two processes may run different versions of localcdap: restart both.",
            ) from None

    def _send_and_receive(self, call: Call, timeout_s: float | None) -> Answer:
        name = f"{call.service}.{call.method}"
        was_sent = False
        try:
            if self._connection.closed:
                raise ConnectionResetError("closed")
            send(self._connection, call)
            was_sent = True
            if timeout_s is not None and not self._connection.poll(timeout_s):
                raise TimeoutError(f"{self._other} did not answer {name} within {timeout_s:g} s")
            answer: Answer = receive(self._connection, Answer)
            return answer
        except ConnectionError as error:
            raise HostLostError(
                f"The connection to {self._other} broke in the call of {name} ({error}).",
                was_sent=was_sent,
            ) from error
        except msgspec.DecodeError as error:
            raise HostLostError(f"{self._other} sent an invalid answer: {error}.") from error


def perform_call(service: object, method: str, arguments: dict[str, Any]) -> Any:
    """Call a method of a service."""
    return getattr(service, method)(**arguments)


def answer_calls(
    connection: Connection, services: Mapping[str, object], perform: Perform = perform_call
) -> None:
    """Answer calls until the other end closes the connection, which is then closed here too.

    A method's exceptions, SystemExit included, go to the caller; only KeyboardInterrupt ends the loop. A
    frame that is not a call ends the connection, because further frames cannot be trusted.

    :param services: any objects, by name; see :mod:`localcdap.rpc.methods`.
    :param perform: makes the calls; the user whom a call names acts meanwhile.
    """
    with connection:
        while True:
            try:
                call = receive(connection, Call)
            except ConnectionError:
                return
            except msgspec.DecodeError as error:
                _LOG.warning("connection closed: a frame is not a call: %s", error)
                return
            try:
                send(connection, _answer(call, services, perform))
            except ConnectionError:
                _LOG.info("the caller of %s.%s is gone", call.service, call.method)
                return


def _answer(call: Call, services: Mapping[str, object], perform: Perform) -> Answer:
    try:
        service = services.get(call.service)
        if service is None:
            known = ", ".join(sorted(services))
            raise NotFoundError(f"There is no service '{call.service}'; available: {known}.")
        kind: type = type(service)
        method = get_remote_method(kind, call.method)
        arguments = method.unpack_arguments(call.arguments)
        with act_as(Principal(call.user) if call.user else None):
            value = perform(service, call.method, arguments)
        return Result(msgspec.Raw(pack(value)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # no exception of a method may end the process
        return to_fault(error)
