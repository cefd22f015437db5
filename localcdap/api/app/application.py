"""Declaring a system application: services with their tables and routes, and listeners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Final, TypeVar

import msgspec

from localcdap.api.app.context import SystemContext
from localcdap.api.app.events import SystemEventListener
from localcdap.api.app.routes import BODY, RouteHandler, find_route_handlers
from localcdap.api.app.specification import StructuredTableSpecification
from localcdap.api.app.transactions import TransactionContext
from localcdap.api.declarations import reject_declaration

_App = TypeVar("_App", bound="type[SystemApplication]")
APPLICATION_MARK: Final = "__localcdap_application__"
"""Class attribute (name, description) set by :func:`application`; look in the class's own ``vars``."""
Listener = type[SystemEventListener[TransactionContext]]


class SystemService:
    """Answers requests. One object of it serves all of them, several at once in threads of their own.

    Its tables are made, or get the fields and indexes that they lack, when the application is deployed.
    """

    name: ClassVar[str] = "service"
    """Unique in the application."""
    tables: ClassVar[Sequence[StructuredTableSpecification]] = ()

    def __init__(self, context: SystemContext) -> None:
        self.context = context

    def initialize(self) -> None:
        """Called once, before the first request."""


class SystemApplication:
    """Base of all system applications. They run in the namespace ``system`` only, for all namespaces."""

    services: ClassVar[Sequence[type[SystemService]]] = ()
    listeners: ClassVar[Sequence[Listener]] = ()
    """They are made without arguments, and called with a transaction on structured tables."""


def application(*, name: str, description: str) -> Callable[[_App], _App]:
    """Make a class an application of an artifact.

    :raises TypeError: when something in its declaration is wrong.
    """

    def mark(cls: _App) -> _App:
        problem = _problem(cls, name, description)
        if problem:
            reject_declaration(cls, problem)
        else:
            setattr(cls, APPLICATION_MARK, (name, description.strip()))
        return cls

    return mark


class RouteDetail(msgspec.Struct, rename="camel"):
    """A routed method, as others see it."""

    method: str
    path: str
    description: str
    namespaced: list[str]
    """The parts of its path that name namespaces."""
    query: list[str]
    """Parameters of the query; one that must be given ends with ``*``."""
    body: bool


class ServiceDetail(msgspec.Struct, rename="camel"):
    """A service, as others see it."""

    name: str
    tables: list[StructuredTableSpecification]
    routes: list[RouteDetail]


class ListenerDetail(msgspec.Struct, rename="camel"):
    """A listener, as others see it."""

    name: str
    events: list[str]
    """The ``kind`` of each event that it wants, such as ``entityDeleted``."""
    topics: list[str]


class ApplicationClass(msgspec.Struct, rename="camel"):
    """A system application, as inspection finds it in the code of an artifact."""

    name: str
    description: str
    class_name: str
    """``package.module.Class``, as the artifact's own code names it."""
    services: list[ServiceDetail]
    listeners: list[ListenerDetail]


def describe_application(cls: type[SystemApplication], class_name: str) -> ApplicationClass:
    """What an application consists of.

    :raises TypeError: when one of its parts is none; says where.
    """
    name, description = vars(cls)[APPLICATION_MARK]
    services = [_service(each) for each in _unique(cls.services, SystemService, "service")]
    listeners = _unique(cls.listeners, SystemEventListener, "listener")
    return ApplicationClass(
        name, description, class_name, services, [_listener(each) for each in listeners]
    )


def _problem(cls: object, name: object, description: object) -> str | None:
    if not isinstance(cls, type) or not issubclass(cls, SystemApplication):
        return "an application extends SystemApplication."
    if not isinstance(description, str) or not description.strip():
        return "an application needs a name and a description."
    if not _is_name(name):
        return f"an application cannot be called {name!r}: use letters, digits, '.', '_' and '-'."
    return None


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name != "" and name.isascii() and _plain(name).isalnum()


def _plain(name: str) -> str:
    return name.replace("-", "a").replace("_", "a").replace(".", "a")


def _unique(classes: Sequence[Any], base: type, what: str) -> Iterator[Any]:
    """The classes, each of which must extend ``base`` and have a name of its own."""
    seen: set[str] = set()
    for cls in classes:
        if not isinstance(cls, type) or not issubclass(cls, base):
            raise TypeError(
                f"{cls!r} is no {what}: it must be a class that extends {base.__name__}."
            )
        name = getattr(cls, "name", None)
        if not _is_name(name):
            raise TypeError(f"{what} {cls.__qualname__} cannot be called {name!r}.")
        if name in seen:
            raise TypeError(f"two {what}s are called '{name}'.")
        seen.add(str(name))
        yield cls


def _service(cls: type[SystemService]) -> ServiceDetail:
    found: list[RouteHandler] = []
    problems: list[str] = []
    for name, function in find_route_handlers(cls):
        try:
            found.append(RouteHandler(name, function))
        except (TypeError, NameError) as error:  # a name in an annotation that means nothing
            problems.append(str(error))
    counts = Counter((each.route.method, each.route.path) for each in found)
    problems += [f"{' '.join(key)} is answered twice" for key, count in counts.items() if count > 1]
    for table in cls.tables:
        if not isinstance(table, StructuredTableSpecification):
            problems.append(f"{table!r} is no table specification")
    if problems:
        raise TypeError(f"service {cls.__qualname__}: {'; '.join(problems)}.")
    return ServiceDetail(cls.name, list(cls.tables), [_route(each) for each in found])


def _route(handler: RouteHandler) -> RouteDetail:
    return RouteDetail(
        handler.route.method,
        handler.route.path,
        handler.description,
        handler.namespaced,
        [f"{each.name}{'*' if each.required else ''}" for each in handler.query],
        any(each.name == BODY for each in handler.parameters),
    )


def _listener(cls: Listener) -> ListenerDetail:
    events = getattr(cls, "events", ())
    if not events:
        raise TypeError(f"listener {cls.__qualname__} says no events.")
    kinds = [each.__struct_config__.tag for each in events]
    return ListenerDetail(cls.name, kinds, sorted({each.topic for each in events}))
