"""Plugin methods: requests that a plugin answers while it is configured (design "Plugin Endpoints").

>>> class Ask(msgspec.Struct):
...     database: str
>>> class Tables(BatchSource):                                    # doctest: +SKIP
...     @plugin_method("list-tables", "The tables of a database.")
...     def list_tables(self, request: Ask) -> list[str]: ...
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

import msgspec

from localcdap.api.config import NamedPlugins
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import decode_schema, encode_schema
from localcdap.api.tables import TableFile
from localcdap.decoders import convert

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MARK: Final = "__localcdap_method__"


class MethodContext(Protocol):
    """What a plugin method may use: the plugins that it declares, as far as they exist, and rows."""

    session_memory_mb: int
    """The memory in MiB that the method may keep from one call of a session to the next."""
    arguments: Mapping[str, str]
    """The arguments of the call, with the preferences of the namespace, as a run would have them."""

    def find_plugin(self, type: str, name: str) -> type[Any] | None:
        """Return the class of a plugin; None when the method does not declare it, or it does not exist.

        :raises PluginError: when it cannot be loaded.
        """

    def list_plugins(self, type: str) -> list[str]:
        """Return the names of the plugins of a type that :meth:`find_plugin` finds."""

    def list_rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows that a structured table has for the namespace of the call.

        :raises NotFoundError: when the method does not declare the table.
        """

    def open_tables(self, names: Iterable[str]) -> list[TableFile]:
        """Return tables and datasets of the namespace of the call as files, which the caller may read.

        The method begins again once the files are written, so that it asks before it changes anything. They
        are deleted when it has returned.
        """


class PluginMethod(msgspec.Struct, rename="camel", omit_defaults=True):
    """A plugin method, as front ends see it."""

    name: str
    description: str = ""
    request: Any = None
    """The JSON Schema of the request; None for a method without a request."""
    answer: Any = None
    """The JSON Schema of the answer; None when the method does not declare it."""
    uses: dict[str, NamedPlugins] = {}
    """How fields of the request name other plugins, as :attr:`PluginProperty.uses` for properties."""
    all_of: list[str] = []
    """The types of which the method may use every plugin that the namespace sees."""
    tables: list[str] = []
    """The structured tables, with a ``namespace`` in their keys, whose rows the method reads."""


def plugin_method(
    name: str,
    description: str = "",
    *,
    uses: Mapping[str, NamedPlugins] | None = None,
    all_of: Sequence[str] = (),
    tables: Sequence[str] = (),
) -> Callable[[_Function], _Function]:
    """Make a method of a plugin class callable by front ends.

    The method has at most one parameter besides ``self`` for the request: a msgspec Struct, or another type
    that JSON converts to, such as ``dict[str, str]``. A parameter of the type :class:`MethodContext` gives it
    the plugins that the properties name, and those that ``uses`` and ``all_of`` declare. The method returns
    what JSON can represent, including Structs and schemas. It runs in the plugin worker, within its limits,
    on an object with the properties entered so far: required properties may be None.

    :param name: the name of the method, printable and without ``/``.
    :param uses: how text fields of the request name other plugins, by field.
    :param all_of: types of which the method may use every plugin.
    :param tables: the structured tables of applications whose rows it reads: those of the call's namespace.
    :raises TypeError: when the name is invalid.
    """
    if not isinstance(name, str) or not name.strip() or "/" in name or not name.isprintable():
        raise TypeError(
            f"{name!r} is not a name of a plugin method: use printable text without '/'."
        )

    def mark(function: _Function) -> _Function:
        declared = PluginMethod(
            name,
            description,
            uses=dict(uses or {}),
            all_of=list(dict.fromkeys(all_of)),
            tables=list(dict.fromkeys(tables)),
        )
        setattr(function, _MARK, declared)
        return function

    return mark


class CallableMethod:
    """A method of a plugin class with :func:`plugin_method`.

    :raises TypeError: when its annotations cannot be read, or it has more parameters than the request and
        the context.
    """

    def __init__(self, owner: type, function: Callable[..., Any]) -> None:
        self._declared: Final[PluginMethod] = getattr(function, _MARK)
        self.name: Final = self._declared.name
        self._function: Final = function
        where = f"plugin method '{self.name}'"
        try:
            hints = typing.get_type_hints(function)
        except Exception as error:  # evaluating an annotation can raise anything
            raise TypeError(f"the annotations of {where} cannot be read: {error}") from None
        parameters = list(inspect.signature(function).parameters)[1:]
        contexts = [each for each in parameters if hints.get(each) is MethodContext]
        self._context: Final = contexts[0] if contexts else None
        parameters = [each for each in parameters if each != self._context]
        if len(parameters) > 1:
            raise TypeError(f"{where} takes the request only, not {', '.join(parameters)}.")
        self._takes_request: Final = bool(parameters)
        self._request: Final = hints.get(parameters[0], Any) if parameters else None
        self._answer: Final = hints.get("return", Any)

    def describe(self) -> PluginMethod:
        """Return the method as front ends see it.

        :raises TypeError: when JSON cannot represent the request or the answer.
        """
        request = _build_json_schema(self._request) if self._takes_request else None
        return msgspec.structs.replace(
            self._declared, request=request, answer=_build_json_schema(self._answer)
        )

    def call(self, plugin: Any, request: Any, context: MethodContext | None = None) -> Any:
        """Call the method and return its answer as decoded JSON.

        :param request: decoded JSON; None for no request.
        :param context: the plugins that it may use; None: none.
        :raises BadRequestError: when the request does not fit; the message names the field.
        :raises TypeError: when JSON cannot represent the answer.
        """
        more = {} if self._context is None else {self._context: context or _NoPlugins()}
        if not self._takes_request:
            if request:
                raise BadRequestError(f"Method '{self.name}' takes no request.")
            answer = self._function(plugin, **more)
        else:
            answer = self._function(plugin, self._convert_request(request), **more)
        return msgspec.to_builtins(answer, enc_hook=_encode)

    def _convert_request(self, request: Any) -> Any:
        try:
            given = {} if request is None else request
            return convert(given, self._request, hook=decode_schema)
        except msgspec.ValidationError as error:
            what, _, place = str(error).partition(" - at `$")
            field = place.rstrip("`").lstrip(".")
            where = f"field '{field}': " if field else ""
            raise BadRequestError(
                f"The request of method '{self.name}' does not fit: {where}{_lower_first(what)}.",
                f"It must be {_describe_request(self._request)}.",
            ) from None


class _NoPlugins:
    """The context of a method that is called without one."""

    session_memory_mb = 512
    arguments: Mapping[str, str] = MappingProxyType({})

    def find_plugin(self, _type: str, _name: str) -> type[Any] | None:
        return None

    def list_plugins(self, _type: str) -> list[str]:
        return []

    def list_rows(self, table: str) -> list[dict[str, Any]]:
        raise NotFoundError(f"The method has no rows of table '{table}'.")

    def open_tables(self, names: Iterable[str]) -> list[TableFile]:
        reason = "the method is called outside of a namespace"
        return [TableFile(name, problem=reason) for name in names]


def find_plugin_methods(cls: type) -> dict[str, CallableMethod]:
    """Return the plugin methods of a class, by name.

    :raises TypeError: when two methods have the same name, or a method has an unsupported signature.
    """
    found: dict[str, CallableMethod] = {}
    for attribute in dir(cls):
        function = inspect.getattr_static(cls, attribute)
        if not hasattr(function, _MARK) or not inspect.isfunction(function):
            continue
        method = CallableMethod(cls, function)
        if method.name in found:
            raise TypeError(f"plugin method '{method.name}' is defined twice.")
        found[method.name] = method
    return found


def _build_json_schema(type: Any) -> Any:
    if type is Any:
        return None
    return msgspec.json.schema(type, schema_hook=_describe_type)


def _describe_type(type: Any) -> dict[str, Any]:
    if type is Schema:
        return {"description": "A schema document."}
    raise TypeError(f"JSON cannot represent a {getattr(type, '__qualname__', type)}.")


def _encode(value: Any) -> Any:
    try:
        return encode_schema(value)
    except NotImplementedError as error:
        raise TypeError(str(error)) from None


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _describe_request(type: Any) -> str:
    """Return the expected form of a request: ``{"database": string, "limit"?: integer}``."""
    schema = msgspec.json.schema(type, schema_hook=_describe_type)
    schema = schema.get("$defs", {}).get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    members = schema.get("properties")
    if not members:
        return "JSON of the kind " + msgspec.json.encode(schema).decode()
    required = schema.get("required", [])
    parts = (
        f'"{name}"{"" if name in required else "?"}: {each.get("type", "any")}'
        for name, each in members.items()
    )
    return "{" + ", ".join(parts) + "}"
