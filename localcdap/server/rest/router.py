"""The table of routes, and the search in it.

A pattern is a path whose parts may be parameters: ``{name}`` is one part, and ``{name...}`` at the end
all that follows, percent-encoded as it was sent. A literal part wins over a parameter. ``{entity}`` is the
path of any entity in the routes of metadata, as ``namespaces/default/datasets/orders``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import unquote

import msgspec

from localcdap.server.rest.answers import Answer
from localcdap.server.rest.request import RestRequest

Handler = Callable[[RestRequest], Answer]
METHODS: Final = ("GET", "POST", "PUT", "DELETE")
_NOT_OF_ENTITIES: Final = frozenset(("methods", "securekeys"))
"""Parts of paths that end like one of metadata, and are none."""


class RestRoute(msgspec.Struct, frozen=True):
    """A method and a pattern of paths, with the function that answers."""

    method: str
    pattern: str
    handler: Handler
    lack: str = ""
    """What the original's route does besides; empty when nothing is missing."""
    is_built: bool = True
    """Whether the route does its work, instead of saying that localcdap does not have it."""


class RouteTable:
    """The routes of one area."""

    def __init__(self, area: str) -> None:
        self.area: Final = area
        """What the routes are about, a heading of the page about compatibility."""
        self.routes: Final[list[RestRoute]] = []

    def add(self, methods: str, *patterns: str, lack: str = "") -> Callable[[Handler], Handler]:
        """Make a function the handler of one or several methods and patterns.

        :param methods: separated by blanks.
        """

        def register(handler: Handler) -> Handler:
            for method in methods.split():
                self.routes.extend(RestRoute(method, each, handler, lack) for each in patterns)
            return handler

        return register


class Match(msgspec.Struct, frozen=True):
    """The routes of a path by method, and the values of its parameters."""

    routes: dict[str, RestRoute]
    values: list[str]

    def get_parameters(self, route: RestRoute) -> dict[str, str]:
        """Return the values of the parameters of one of the routes, by name."""
        return dict(zip(_list_parameters(route.pattern), self.values, strict=True))


class _Node:
    """The routes whose patterns have the same beginning."""

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.rest: dict[str, RestRoute] = {}
        self.routes: dict[str, RestRoute] = {}


class RestRouter:
    """Finds the routes of a path."""

    def __init__(self, routes: Sequence[RestRoute]) -> None:
        self._root = _Node()
        for each in routes:
            self._add(each)

    def find(self, path: str) -> Match | None:
        """Return the routes of a percent-encoded path; None when nothing is there.

        A slash at the end and the prefix ``/api`` of Data Fusion's addresses make no difference.
        """
        parts = path.strip("/").split("/")
        if parts[0] == "api":
            del parts[0]
        return _find(self._root, _shorten_entity(parts), 0)

    def _add(self, route: RestRoute) -> None:
        node = self._root
        for part in route.pattern.strip("/").split("/"):
            if part.endswith("...}"):
                node.rest[route.method] = route
                return
            if part.startswith("{"):
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.literals.setdefault(part, _Node())
        assert route.method not in node.routes, f"two routes for {route.method} {route.pattern}"
        node.routes[route.method] = route


def _find(node: _Node, parts: Sequence[str], at: int) -> Match | None:
    if at == len(parts):
        if node.routes:
            return Match(node.routes, [])
        return Match(node.rest, [""]) if node.rest else None
    part = parts[at]
    child = node.literals.get(part)
    found = _find(child, parts, at + 1) if child is not None else None
    if found is None and node.parameter is not None and part:
        found = _find(node.parameter, parts, at + 1)
        if found is not None:
            found.values.insert(0, unquote(part, errors="replace"))
    if found is None and node.rest:
        found = Match(node.rest, ["/".join(parts[at:])])
    return found


def _list_parameters(pattern: str) -> Iterator[str]:
    for part in pattern.split("/"):
        if part.startswith("{"):
            yield part.strip("{}").removesuffix("...")


def _shorten_entity(parts: list[str]) -> list[str]:
    """Return the parts of a path of metadata with the entity as one part; other paths unchanged.

    Such a path is one of an entity, pairs of key and value, with what is asked of it (CDAP 6
    ``MetadataHttpHandler``).
    """
    for at in range(len(parts) - 1, max(2, len(parts) - 4), -1):
        if parts[at] != "metadata":
            continue
        asked = parts[at + 1 : at + 2]
        is_pairs = at % 2 == 1 and parts[0] == "v3" and all(parts[1:at])
        is_known = asked in ([], ["properties"], ["tags"])
        if is_pairs and is_known and not _NOT_OF_ENTITIES.intersection(parts[1:at]):
            return ["v3", "/".join(parts[1:at]), *parts[at:]]
    return parts
