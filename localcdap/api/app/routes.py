"""The routes of a service.

A parameter of a method with a route is a path parameter when the path contains its name, as in
``/experiments/{id}``; the parameter ``body`` is the body of the request, see :func:`decode_body`; one whose
type is ``Annotated`` with a :class:`Header` is a header of the request; every other is a query parameter,
with a :class:`QueryParameter` one of another name. Each is converted to its annotated type. A path parameter
of type :class:`NamespaceSummary` is the name of a namespace: the method gets that namespace, and is not
called when there is none.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Annotated, Any, Final, TypeVar

import msgspec
import msgspec.inspect

from localcdap.api.app.namespaces import NamespaceSummary
from localcdap.api.errors import (
    ApplicationLostError,
    BadRequestError,
    ConflictError,
    HostError,
    IncapableError,
    InvalidPipelineError,
    InvalidStageError,
    LocalcdapError,
    MacroError,
    NotFoundError,
    OAuthError,
    PluginError,
    SchemaError,
    TransactionConflictError,
    TransactionTimeoutError,
    UnauthorizedError,
)
from localcdap.api.security import Permission
from localcdap.api.serialization.value_types import decode_schema, encode_schema
from localcdap.decoders import check_type, convert, decode_json_leniently

_Method = TypeVar("_Method", bound=Callable[..., Any])
ROUTE_MARK: Final = "__localcdap_route__"
BODY: Final = "body"
_SEGMENT: Final = re.compile(r"[^{}/]+|\{[a-zA-Z_]\w*\}")
_WITHOUT_BODY: Final = ("GET", "DELETE")
_BOM: Final = b"\xef\xbb\xbf"
"""What PowerShell writes before a text."""
_BLANKS: Final = b" \t\r\n"
_BINARY: Final = (
    msgspec.inspect.BytesType,
    msgspec.inspect.ByteArrayType,
    msgspec.inspect.MemoryViewType,
)


class Header(msgspec.Struct, frozen=True):
    """The header that a parameter takes: ``file: Annotated[str | None, Header("file")] = None``."""

    name: str
    """Capital letters do not count."""


class QueryParameter(msgspec.Struct, frozen=True):
    """The query parameter that a parameter takes, where its name is none of Python's:
    ``report: Annotated[str | None, QueryParameter("report-id")] = None``.
    """

    name: str


class Route(msgspec.Struct, frozen=True):
    """The HTTP method and path of a method of a service."""

    method: str
    """``GET``, ``POST``, ``PUT`` or ``DELETE``."""
    path: str
    status: int
    """The status of a successful answer."""
    operation: str = ""
    """What it does, for the error of a caller who names the namespace ``system``."""
    permission: Permission = Permission.READ
    """What the caller must be allowed in the namespaces of the path."""

    @property
    def parts(self) -> list[str]:
        """The names of the path parameters."""
        return re.findall(r"\{(\w+)\}", self.path)


def get(
    path: str,
    *,
    status: int = 200,
    operation: str = "",
    permission: Permission = Permission.READ,
) -> Callable[[_Method], _Method]:
    """Answer ``GET`` requests for a path.

    :param path: begins with ``/``; a segment such as ``{id}`` matches any segment.
    :param operation: such as ``Listing notes``; callers who name the namespace ``system`` read it.
    :param permission: what callers must be allowed in the namespaces of the path.
    """
    return _build_decorator(Route("GET", path, status, operation, permission))


def post(
    path: str,
    *,
    status: int = 200,
    operation: str = "",
    permission: Permission = Permission.WRITE,
) -> Callable[[_Method], _Method]:
    """Answer ``POST`` requests for a path."""
    return _build_decorator(Route("POST", path, status, operation, permission))


def put(
    path: str,
    *,
    status: int = 200,
    operation: str = "",
    permission: Permission = Permission.WRITE,
) -> Callable[[_Method], _Method]:
    """Answer ``PUT`` requests for a path."""
    return _build_decorator(Route("PUT", path, status, operation, permission))


def delete(
    path: str,
    *,
    status: int = 200,
    operation: str = "",
    permission: Permission = Permission.WRITE,
) -> Callable[[_Method], _Method]:
    """Answer ``DELETE`` requests for a path."""
    return _build_decorator(Route("DELETE", path, status, operation, permission))


def decode_body(body: Any, type: Any) -> Any:
    """Return the body of a request as a value of the type of its parameter.

    A parameter of the type ``bytes`` takes the body as it is, ``str`` its text in UTF-8, and every other
    type its JSON, as leniently as Gson reads it; each may be optional. The header ``Content-Type`` does not
    count.

    :param body: the bytes of a request, or a value that takes their place in the same process: a text where
        bytes or a text are wanted, else what JSON can represent.
    :returns: None for a body that is empty, which HTTP cannot tell from a missing one.
    :raises BadRequestError: when the body is not of the type, or no text in UTF-8.
    """
    form = _find_form(type)
    if body is None:
        return None
    if not isinstance(body, (bytes, bytearray)):
        is_text = isinstance(body, str) and form is not None
        body = body.encode() if is_text else msgspec.json.encode(body, enc_hook=encode_schema)
    data = bytes(body)
    try:
        if form is None:
            data = data.removeprefix(_BOM).strip(_BLANKS)
            return decode_json_leniently(data, type, hook=decode_schema) if data else None
        return convert(form(data), type) if data else None
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise BadRequestError(str(error)) from None
    except RecursionError:
        raise BadRequestError("It is nested too deeply.") from None


@lru_cache(maxsize=1024)
def _find_form(type: Any) -> Callable[[bytes], bytes | str] | None:
    """Return what makes a value of bytes or texts of the bytes of a body; None for a type that JSON has."""
    found = msgspec.inspect.type_info(type)
    members = found.types if isinstance(found, msgspec.inspect.UnionType) else (found,)
    kinds = [each for each in members if not isinstance(each, msgspec.inspect.NoneType)]
    if kinds and all(isinstance(each, (*_BINARY, msgspec.inspect.StrType)) for each in kinds):
        is_binary = any(isinstance(each, _BINARY) for each in kinds)
        return bytes if is_binary else bytes.decode
    return None


class RouteParameter(msgspec.Struct, frozen=True):
    """A parameter of a method with a route."""

    name: str
    type: Any
    required: bool
    default: Any = None
    header: str | None = None
    """The name of the header that it takes."""
    query: str | None = None
    """The name of the query parameter that it takes; None: its own name."""

    @property
    def key(self) -> str:
        """Its name in a query."""
        return self.query or self.name

    @property
    def is_many(self) -> bool:
        """Whether the parameter collects all values of its name in the query."""
        return typing.get_origin(self.type) in (list, set, tuple, frozenset)


class RouteHandler:
    """A method with a route, and its parameters.

    :raises TypeError: when a request cannot call it; the message lists all reasons.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name: Final = name
        self.route: Final[Route] = getattr(function, ROUTE_MARK)
        self.description: Final = inspect.getdoc(function) or ""
        self.parameters: Final = list(_list_parameters(function))
        problems = list(self._find_problems())
        if problems:
            raise TypeError("; ".join(f"{name}: {problem}" for problem in problems))

    @property
    def namespaced(self) -> list[str]:
        """The path parameters that are namespaces."""
        return [each.name for each in self.parameters if each.type is NamespaceSummary]

    @property
    def query(self) -> list[RouteParameter]:
        """The query parameters."""
        other_parameters = {BODY, *self.route.parts}
        return [
            each
            for each in self.parameters
            if each.name not in other_parameters and each.header is None
        ]

    def _find_problems(self) -> Iterator[str]:
        route, names = self.route, {each.name for each in self.parameters}
        segments = route.path.split("/")
        if segments[0] or not all(map(_SEGMENT.fullmatch, segments[1:])):
            yield f"the path '{route.path}' is not of the form /things/{{id}}"
        if len(set(route.parts)) < len(route.parts):
            yield f"the path '{route.path}' has a name twice"
        for name in dict.fromkeys(route.parts):
            if name not in names:
                yield f"it has no parameter '{name}', which its path names"
        if BODY in names and BODY not in route.parts and route.method in _WITHOUT_BODY:
            yield f"a {route.method} request has no body"
        for each in self.parameters:
            try:
                check_type(each.type)
            except TypeError as error:
                yield f"nothing can be converted to the type of '{each.name}': {error}"
        for name in self.namespaced:
            if name not in route.parts:
                yield f"'{name}' is a namespace, but no part of its path"


def find_route_handlers(service: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the names and methods with a route of a class, in the order of their definition."""
    for owner in reversed(service.__mro__):
        for name in vars(owner):
            function = inspect.getattr_static(service, name)
            if hasattr(function, ROUTE_MARK) and getattr(service, name) is function:
                yield name, function


def _build_decorator(route: Route) -> Callable[[_Method], _Method]:
    def mark(method: _Method) -> _Method:
        setattr(method, ROUTE_MARK, route)
        return method

    return mark


def _list_parameters(function: Callable[..., Any]) -> Iterator[RouteParameter]:
    """Yield the parameters of a method.

    :raises TypeError: when it has a parameter without a name.
    """
    hints = typing.get_type_hints(function, include_extras=True)
    for index, (name, given) in enumerate(inspect.signature(function).parameters.items()):
        if index == 0:
            continue
        if given.kind not in (given.POSITIONAL_OR_KEYWORD, given.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: '{name}' must be a parameter with a name")
        required = given.default is given.empty
        type, header, query = _split_marks(hints.get(name, str))
        default = None if required else given.default
        yield RouteParameter(name, type, required, default, header, query)


def _split_marks(hint: Any) -> tuple[Any, str | None, str | None]:
    """Return the type of a parameter, and the names of the header or query parameter that it takes."""
    if typing.get_origin(hint) is Annotated:
        for each in hint.__metadata__:
            if isinstance(each, Header):
                return hint.__origin__, each.name, None
            if isinstance(each, QueryParameter):
                return hint.__origin__, None, each.name
    return hint, None, None


class AnswerError(LocalcdapError):
    """Ends a request with a status and a body, where the body of other errors is not enough.

    :param status: the HTTP status, such as 400.
    :param body: a value that JSON can represent, or a Struct.
    """

    def __init__(
        self, status: int, body: Any, message: str = "The request cannot be answered."
    ) -> None:
        super().__init__(message)
        self.status: Final = status
        self.body: Final = body


_STATUSES: Final[tuple[tuple[int, tuple[type[Exception], ...]], ...]] = (
    (403, (UnauthorizedError,)),
    (404, (NotFoundError,)),
    (409, (ConflictError, TransactionConflictError)),
    (503, (ApplicationLostError, HostError, TransactionTimeoutError)),
    (
        400,
        (
            BadRequestError,
            SchemaError,
            MacroError,
            InvalidStageError,
            InvalidPipelineError,
            IncapableError,
            PluginError,
        ),
    ),
)


def find_http_status(error: BaseException) -> int:
    """Return the HTTP status of an error: 500 for an unexpected one.

    A plugin that fails is an error of the request that selected it: 400. An application without a process
    cannot answer: 503, as from the router of CDAP (6.10 ``HttpRequestRouter``). An OAuth provider that
    gives no token has a status of its own.
    """
    if isinstance(error, OAuthError):
        return error.status
    return next((status for status, kinds in _STATUSES if isinstance(error, kinds)), 500)
