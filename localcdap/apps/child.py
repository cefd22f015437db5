"""The process of a system application, and the application inside it.

Started by :mod:`localcdap.apps.processes`, which writes an :class:`AppStartRequest` to its standard input.
Standard output and standard error belong to the application. Its runtime finds the routes of its services and
delivers events to its listeners.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from localcdap.api.app.application import APPLICATION_MARK, SPARK, SystemApplication
from localcdap.api.app.events import SYSTEM_NAMESPACE, SystemEventListener
from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.app.routes import (
    BODY,
    AnswerError,
    RouteHandler,
    RouteParameter,
    decode_body,
    find_http_status,
    find_route_handlers,
)
from localcdap.api.errors import (
    ApplicationLostError,
    BadRequestError,
    LocalcdapError,
    NotFoundError,
    PluginError,
)
from localcdap.api.security import Permission
from localcdap.api.serialization.value_types import decode_schema, encode_schema
from localcdap.apps.context import AppContext
from localcdap.apps.model import AppAnswer, AppRequest, listener_key
from localcdap.apps.platform import AppServices
from localcdap.artifacts.loading import load_application, summarize_error, user_frames
from localcdap.artifacts.model import ApplicationRef
from localcdap.datasets.listeners import TableListenerDelivery
from localcdap.datasets.transactions import TransactionService
from localcdap.decoders import convert, decode_msgpack
from localcdap.processes.limits import limit_memory
from localcdap.processes.tree import fork_below_parent
from localcdap.rpc.client import Client
from localcdap.rpc.host_record import HostRecord
from localcdap.rpc.server import Server
from localcdap.sandbox.dataset_calls import LoadedTypes
from localcdap.transactions.calls import TRANSACTIONS, Accessor
from localcdap.transactions.client import HostTransactionRunner

_LOG: Final = logging.getLogger(__name__)
Spaces = Callable[[str], NamespaceSummary | None]
"""Returns a namespace, or None when it does not exist."""
Enforce = Callable[[str, Permission], None]
"""Raises an error unless the caller has a permission on a namespace."""


class Router:
    """The routes of one service object. Threads may share it."""

    def __init__(self, service: object, find_namespace: Spaces, enforce: Enforce) -> None:
        self._find_namespace = find_namespace
        self._enforce = enforce
        found = [
            (name, RouteHandler(name, function))
            for name, function in find_route_handlers(type(service))
        ]
        # A literal path segment takes precedence over a placeholder at the same position.
        found.sort(key=lambda each: _get_specificity(each[1].route.path))
        self._routes = [
            _BoundRoute(handler, _to_pattern(handler.route.path), getattr(service, name))
            for name, handler in found
        ]

    def answer(self, request: AppRequest) -> AppAnswer:
        """Answer a request; every error becomes an answer too."""
        try:
            return self._answer(request)
        except AnswerError as error:
            return AppAnswer(error.status, _to_plain(error.body))
        except LocalcdapError as error:
            body = {"message": error.message, "correctiveAction": error.corrective_action}
            return AppAnswer(find_http_status(error), body)
        except (Exception, SystemExit) as error:
            _LOG.exception("%s %s", request.method, request.path)
            message = f"{type(error).__name__}: {error}"
            trace = "".join(traceback.format_exception(error)).splitlines()
            return AppAnswer(
                500, {"message": message, "correctiveAction": None, "stacktrace": trace}
            )

    def _answer(self, request: AppRequest) -> AppAnswer:
        here = [each for each in self._routes if each.pattern.fullmatch(request.path)]
        if not here:
            known = ", ".join(
                f"{r.handler.route.method} {r.handler.route.path}" for r in self._routes
            )
            raise NotFoundError(f"Nothing is at {request.path}.", f"Available: {known or 'none'}.")
        method = request.method.upper()
        bound = next((each for each in here if each.handler.route.method == method), None)
        if bound is None:
            allowed = ", ".join(each.handler.route.method for each in here)
            message = f"{request.path} does not answer {method}."
            return AppAnswer(405, {"message": message, "correctiveAction": f"Use {allowed}."})
        arguments = _Arguments(bound, request, self._find_namespace, self._enforce).read()
        result = bound.method(**arguments)
        body = result if isinstance(result, bytes) else _to_plain(result)
        return AppAnswer(bound.handler.route.status, body)


class _BoundRoute(msgspec.Struct, frozen=True):
    """A route and the method of the service object that handles it."""

    handler: RouteHandler
    pattern: re.Pattern[str]
    method: Callable[..., Any]


class _Arguments:
    """The arguments of one call, read from its request."""

    def __init__(
        self, bound: _BoundRoute, request: AppRequest, find_namespace: Spaces, enforce: Enforce
    ) -> None:
        match = bound.pattern.fullmatch(request.path)
        assert match is not None
        self._handler = bound.handler
        self._parts = {name: unquote(value) for name, value in match.groupdict().items()}
        self._request = request
        self._find_namespace = find_namespace
        self._enforce = enforce
        self._problems: list[str] = []

    def read(self) -> dict[str, Any]:
        """Return the arguments by name.

        :raises NotFoundError: when a namespace does not exist.
        :raises UnauthorizedError: when the caller lacks the permission of the route in it.
        :raises BadRequestError: when arguments are missing or have a wrong type, the message names all; or
            when the namespace of a route is ``system``.
        """
        taken = {
            each.name: self._read_namespace(each.name)
            for each in self._handler.parameters
            if each.type is NamespaceSummary
        }
        for each in self._handler.parameters:
            if each.name not in taken:
                taken[each.name] = self._read_value(each)
        unknown = self._request.query.keys() - {each.key for each in self._handler.query}
        if unknown:
            known = ", ".join(each.key for each in self._handler.query) or "none"
            self._problems.append(
                f"Unknown query parameter {', '.join(sorted(unknown))}; known: {known}."
            )
        if self._problems:
            raise BadRequestError(" ".join(self._problems))
        return taken

    def _read_namespace(self, name: str) -> NamespaceSummary:
        wanted = self._parts[name]
        if wanted == SYSTEM_NAMESPACE:
            # CDAP 6 wrangler, AbstractDirectiveHandler.respond: entities are in user namespaces only.
            route = f"{self._request.method.upper()} {self._request.path}"
            raise BadRequestError(
                f"{self._handler.route.operation or route} in system namespace is currently not supported.",
                "Name a namespace of users, such as 'default'.",
            )
        found = self._find_namespace(wanted)
        if found is None:
            raise NotFoundError(
                f"Namespace '{wanted}' does not exist.",
                f"Create it: localcdap namespaces create {wanted}",
            )
        self._enforce(wanted, self._handler.route.permission)
        return found

    def _read_value(self, parameter: RouteParameter) -> Any:
        try:
            if parameter.name in self._parts:
                return _convert(self._parts[parameter.name], parameter.type)
            if parameter.name == BODY:
                return self._read_body(parameter)
            if parameter.header is not None:
                given: Any = self._find_header(parameter.header)
                kind, name = "Header", parameter.header
            else:
                given = _read_query_value(self._request.query, parameter)
                kind, name = "Query parameter", parameter.key
            if given is not None:
                return _convert(given, parameter.type)
            self._add_missing(parameter, f"{kind} '{name}' is missing.")
        except (msgspec.ValidationError, LocalcdapError) as error:
            where = "The body" if parameter.name == BODY else f"'{parameter.name}'"
            self._problems.append(f"{where}: {error}.")
        return parameter.default

    def _find_header(self, name: str) -> str | None:
        found = (v for each, v in self._request.headers.items() if each.lower() == name.lower())
        return next(found, None)

    def _read_body(self, parameter: RouteParameter) -> Any:
        body = decode_body(self._request.body, parameter.type)
        if body is None:
            self._add_missing(parameter, "The body is missing.")
            return parameter.default
        return body

    def _add_missing(self, parameter: RouteParameter, message: str) -> None:
        if parameter.required:
            self._problems.append(message)


def _read_query_value(
    query: Mapping[str, str | list[str]], parameter: RouteParameter
) -> str | list[str] | None:
    given = query.get(parameter.key)
    if given is None or parameter.is_many:
        return [given] if isinstance(given, str) else given
    return given if isinstance(given, str) else (given[-1] if given else None)


def _convert(text: str | list[str], type: Any) -> Any:
    return convert(text, type, strict=False, hook=decode_schema)


def _to_plain(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=encode_schema, str_keys=True)


def _to_pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", path)
    texts: Iterable[str] = (
        f"(?P<{part}>[^/]+)" if place % 2 else re.escape(part) for place, part in enumerate(parts)
    )
    return re.compile("".join(texts))


def _get_specificity(path: str) -> list[bool]:
    return [segment.startswith("{") for segment in path.split("/")]


Listen = Callable[[SystemEventListener[Any], str], "TableListenerDelivery"]
"""Creates the delivery of events to a listener, whose position is stored under a name."""


class AppRuntime:
    """An application with its services and listeners, ready for requests. Threads may share it.

    :param listen: creates the delivery of events to a listener.
    :raises Exception: what the application raises when its services and listeners are created.
    """

    def __init__(self, app: type[SystemApplication], context: AppContext, listen: Listen) -> None:
        self._routers: dict[str, Router] = {}
        self._types: Final = {each.name: each.program_type for each in app.services}
        for cls in app.services:
            service = cls(context)
            service.initialize()
            self._routers[cls.name] = Router(
                service, context.get_namespace_summary, context.require_permission
            )
        name = vars(app)[APPLICATION_MARK][0]
        self._listening: Final = {
            each.name: listen(each(), listener_key(name, each.name)) for each in app.listeners
        }
        self._delivering: Final = threading.Lock()
        context.deliver = self.deliver_all

    def answer(self, request: AppRequest) -> AppAnswer:
        """Answer a request; every error becomes an answer too."""
        try:
            router = self._find_router(request.service, request.program_type)
        except LocalcdapError as error:
            body = {"message": error.message, "correctiveAction": error.corrective_action}
            return AppAnswer(find_http_status(error), body)
        return router.answer(request)

    def deliver(self, listener: str) -> int:
        """Deliver the waiting events to a listener; return how many messages were handled or skipped.

        :raises Exception: what the listener raised.
        """
        listening, passed = self._listening[listener], 0
        with self._delivering:
            while done := listening.deliver():
                passed += done
        return passed

    def deliver_all(self) -> int:
        """Deliver the waiting events to each listener."""
        return sum(map(self.deliver, self._listening))

    def _find_router(self, service: str | None, program_type: str | None) -> Router:
        known = ", ".join(self._routers) or "none"
        if service is None:
            if len(self._routers) != 1:
                raise BadRequestError("Which service is meant?", f"Services: {known}.")
            return next(iter(self._routers.values()))
        if service not in self._routers or program_type not in (None, self._types[service]):
            what = "Spark program" if program_type == SPARK else "service"
            raise NotFoundError(f"There is no {what} '{service}'.", f"Services: {known}.")
        return self._routers[service]


ENDPOINT: Final = "app"
"""The name under which the host calls the process, see :class:`AppEndpoint`."""


class AppStartRequest(msgspec.Struct):
    """The message that the host sends to a new process of an application."""

    app: ApplicationRef
    host: HostRecord
    """The address at which the process reaches the host."""
    address: str
    """The socket at which the process listens, with the key of ``host``."""
    memory_mb: int


class AppEndpoint:
    """The service that the process offers to its host. Threads may share it."""

    def __init__(self, order: AppStartRequest) -> None:
        self._order = order
        self._runtime: AppRuntime | None = None
        self._pid = os.getpid()

    def load(self) -> None:
        """Load the application; called once, before any other method.

        :raises ApplicationLostError: when its code raises.
        """
        ref, host = self._order.app, Client(self._order.host)
        name = ref.application.name
        # Programs that are not pipelines have no runs here: the process counts as one.
        accessor = Accessor(str(uuid.uuid1()), SYSTEM_NAMESPACE, name, "Service", name)
        services = AppServices.of_host(host)
        runner = HostTransactionRunner(
            lambda: host.make_proxy(TRANSACTIONS, TransactionService),
            accessor,
            SYSTEM_NAMESPACE,
            find_type=LoadedTypes(services.platform.find_dataset_type).find,
        )
        context = AppContext(services, runner, name)

        def listen(listener: SystemEventListener[Any], name: str) -> TableListenerDelivery:
            return TableListenerDelivery(services.messaging, runner, services.admin, listener, name)

        try:
            self._runtime = AppRuntime(load_application(ref), context, listen)
        except (Exception, SystemExit) as error:
            raise self._describe_failure(ApplicationLostError, error) from error

    def answer(self, request: AppRequest) -> AppAnswer:
        """See :meth:`localcdap.apps.child.AppRuntime.answer`."""
        assert self._runtime is not None
        try:
            return self._runtime.answer(request)
        finally:
            if os.getpid() != self._pid:  # a forked copy of this process must not answer too
                os._exit(0)

    def deliver(self, listener: str) -> int:
        """See :meth:`localcdap.apps.child.AppRuntime.deliver`.

        :raises PluginError: when the listener raises.
        """
        assert self._runtime is not None
        try:
            return self._runtime.deliver(listener)
        except LocalcdapError:
            raise
        except Exception as error:
            raise self._describe_failure(PluginError, error) from error

    def _describe_failure(self, kind: type[PluginError], error: BaseException) -> PluginError:
        ref = self._order.app
        path = Path(ref.path)
        return kind(
            f"Application '{ref.application.name}': {summarize_error(error, path)}",
            traceback=user_frames(error, path),
        )


def main(arguments: list[str]) -> None:
    """Serve until the host kills this process; it also ends when the host ends.

    :param arguments: the process id of the host.
    """
    supervisor = fork_below_parent(int(arguments[0]))
    order = decode_msgpack(sys.stdin.buffer.read(), type=AppStartRequest)
    limit_memory(order.memory_mb)
    Server(order.address, bytes.fromhex(order.host.authkey), {ENDPOINT: AppEndpoint(order)})
    while os.getppid() == supervisor:  # for systems that do not signal the end of the parent
        threading.Event().wait(5.0)
    os._exit(0)
