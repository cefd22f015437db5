"""The two ends of a connection: one calls, one answers.

A connection carries one call at a time. Concurrent calls need several connections;
:class:`localcdap.rpc.client.Client` opens one for each thread that is in a call.

The connection may be the host's socket, or a socket pair shared with a child process::

    mine, theirs = multiprocessing.connection.Pipe()             # parent
    child = start_process([..., str(theirs.fileno())], descriptors=[theirs.fileno()])
    theirs.close()
    worker = proxy(Caller(mine, "the plugin worker"), "worker", WorkerService)

    answer_calls(Connection(int(sys.argv[1])), {"worker": WorkerService()})   # child
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, Final

import msgspec

from localcdap.api.errors import HostError, HostLostError, NotFoundError
from localcdap.api.security import Principal
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.rpc.frames import Answer, Call, Fault, Result, receive, send, to_error, to_fault
from localcdap.rpc.methods import get_remote_method
from localcdap.security.principals import act_as

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
