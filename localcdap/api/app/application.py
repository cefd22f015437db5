"""The declaration of a system application: services with tables and routes, and listeners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from localcdap.api.app.context import SystemContext
from localcdap.api.app.events import SystemEventListener
from localcdap.api.app.jobs import SystemJob
from localcdap.api.app.routes import BODY, RouteHandler, find_route_handlers
from localcdap.api.app.table import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionContext
from localcdap.api.declarations import reject_declaration

_App = TypeVar("_App", bound="type[SystemApplication]")
APPLICATION_MARK: Final = "__localcdap_application__"
"""The attribute (name, description) that :func:`application` sets; it is not inherited: read
``vars(cls)``."""
SERVICE: Final = "Service"
SPARK: Final = "Spark"
Listener = type[SystemEventListener[TransactionContext]]


class SystemService:
    """Base class of services, which answer requests. One object answers all requests, in several threads.

    When the application is deployed, its tables are created, or get the fields and indexes that they lack.
    """

    name: ClassVar[str] = "service"
    """The name of the service, unique in the application."""
    tables: ClassVar[Sequence[StructuredTableSpecification]] = ()
    program_type: ClassVar[str] = SERVICE
    """The type of the program in paths: see :class:`SparkService`."""

    def __init__(self, context: SystemContext) -> None:
        self.context = context

    def initialize(self) -> None:
        """Prepare for requests; called once before the first."""


class SparkService(SystemService):
    """Base class of services whose paths are those of a Spark program, as ``spark/NAME/methods/things``.

    In CDAP they are handlers of a Spark program; here they are services like the others.
    """

    program_type = SPARK


class SystemApplication:
    """Base class of system applications, which run in the namespace ``system`` for all namespaces."""

    services: ClassVar[Sequence[type[SystemService]]] = ()
    listeners: ClassVar[Sequence[Listener]] = ()
    """Listeners are created without arguments, and called with a transaction on structured tables."""
    jobs: ClassVar[Sequence[type[SystemJob]]] = ()
    """The jobs that :meth:`SystemContext.submit` can submit; they are created without arguments."""


def application(*, name: str, description: str) -> Callable[[_App], _App]:
    """Make a class an application of an artifact.

    :raises TypeError: when the declaration is invalid.
    """

    def mark(cls: _App) -> _App:
        problem = _find_problem(cls, name, description)
        if problem:
            reject_declaration(cls, problem)
        else:
            setattr(cls, APPLICATION_MARK, (name, description.strip()))
        return cls

    return mark


class RouteDetail(msgspec.Struct, rename="camel"):
    """A route of a service."""

    method: str
    path: str
    description: str
    namespaced: list[str]
    """The path parameters that are namespaces."""
    query: list[str]
    """The query parameters; the name of a required one ends with ``*``."""
    body: bool


class ServiceDetail(msgspec.Struct, rename="camel"):
    """A service of an application."""

    name: str
    tables: list[StructuredTableSpecification]
    routes: list[RouteDetail]
    program_type: str = SERVICE


class ListenerDetail(msgspec.Struct, rename="camel"):
    """A listener of an application."""

    name: str
    events: list[str]
    """The ``kind`` of each subscribed event, such as ``entityDeleted``."""
    topics: list[str]
    entity_types: list[str] = []
    """Of events about entities, only those about entities of these types; empty: all."""
    patience_s: float = 0
    """See :class:`localcdap.api.app.events.BatchListener`."""


class ApplicationClass(msgspec.Struct, rename="camel"):
    """A system application of an artifact, as inspection describes it."""

    name: str
    description: str
    class_name: str
    """``package.module.Class``, with the names inside the artifact."""
    services: list[ServiceDetail]
    listeners: list[ListenerDetail]
    jobs: list[str] = []
    """The names of its jobs."""


def describe_application(cls: type[SystemApplication], class_name: str) -> ApplicationClass:
    """Return the description of an application.

    :raises TypeError: when one of its parts is invalid; the message says which.
    """
    name, description = vars(cls)[APPLICATION_MARK]
    services = [
        _describe_service(each) for each in _check_classes(cls.services, SystemService, "service")
    ]
    listeners = _check_classes(cls.listeners, SystemEventListener, "listener")
    jobs = [each.name for each in _check_classes(cls.jobs, SystemJob, "job")]
    return ApplicationClass(
        name,
        description,
        class_name,
        services,
        [_describe_listener(each) for each in listeners],
        jobs,
    )


def _find_problem(cls: object, name: object, description: object) -> str | None:
    if not isinstance(cls, type) or not issubclass(cls, SystemApplication):
        return "an application extends SystemApplication."
    if not isinstance(description, str) or not description.strip():
        return "an application needs a name and a description."
    if not _is_name(name):
        return f"an application cannot be called {name!r}: use letters, digits, '.', '_' and '-'."
    return None


def _is_name(name: object) -> bool:
    return (
        isinstance(name, str)
        and name != ""
        and name.isascii()
        and _replace_punctuation(name).isalnum()
    )


def _replace_punctuation(name: str) -> str:
    return name.replace("-", "a").replace("_", "a").replace(".", "a")


def _check_classes(classes: Sequence[Any], base: type, what: str) -> Iterator[Any]:
    """Yield the classes, each of which must extend ``base`` and have a unique name."""
    seen: set[str] = set()
    for cls in classes:
        if not isinstance(cls, type) or not issubclass(cls, base):
            raise TypeError(f"{cls!r} is not a {what}: use a class that extends {base.__name__}.")
        name = getattr(cls, "name", None)
        if not _is_name(name):
            raise TypeError(f"{what} {cls.__qualname__} cannot be called {name!r}.")
        if name in seen:
            raise TypeError(f"two {what}s are called '{name}'.")
        seen.add(str(name))
        yield cls


def _describe_service(cls: type[SystemService]) -> ServiceDetail:
    found: list[RouteHandler] = []
    problems: list[str] = []
    for name, function in find_route_handlers(cls):
        try:
            found.append(RouteHandler(name, function))
        except (TypeError, NameError) as error:  # NameError: an undefined name in an annotation
            problems.append(str(error))
    counts = Counter((each.route.method, each.route.path) for each in found)
    problems += [f"{' '.join(key)} is answered twice" for key, count in counts.items() if count > 1]
    for table in cls.tables:
        if not isinstance(table, StructuredTableSpecification):
            problems.append(f"{table!r} is not a table specification")
    if problems:
        raise TypeError(f"service {cls.__qualname__}: {'; '.join(problems)}.")
    routes = [_describe_route(each) for each in found]
    return ServiceDetail(cls.name, list(cls.tables), routes, cls.program_type)


def _describe_route(handler: RouteHandler) -> RouteDetail:
    return RouteDetail(
        handler.route.method,
        handler.route.path,
        handler.description,
        handler.namespaced,
        [f"{each.key}{'*' if each.required else ''}" for each in handler.query],
        any(each.name == BODY for each in handler.parameters),
    )


def _describe_listener(cls: Listener) -> ListenerDetail:
    events = getattr(cls, "events", ())
    if not events:
        raise TypeError(f"listener {cls.__qualname__} declares no events.")
    kinds = [each.__struct_config__.tag for each in events]
    return ListenerDetail(
        cls.name,
        kinds,
        sorted({each.topic for each in events}),
        sorted(cls.entity_types),
        getattr(cls, "patience_s", 0),
    )
