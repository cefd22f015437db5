"""Methods of plugins: what only a plugin can answer (design "Plugin Endpoints").

>>> class Ask(msgspec.Struct):
...     database: str
>>> class Tables(BatchSource):                                    # doctest: +SKIP
...     @plugin_method("list-tables", "The tables of a database.")
...     def list_tables(self, request: Ask) -> list[str]: ...
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.api.serialization.structs import decode_schema, encode_schema

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MARK: Final = "__localcdap_method__"


class PluginMethod(msgspec.Struct, rename="camel", omit_defaults=True):
    """A method of a plugin, as front ends see it."""

    name: str
    description: str = ""
    request: Any = None
    """JSON Schema of the request; None for a method that takes none."""
    answer: Any = None
    """JSON Schema of the answer; None where the plugin does not say."""


def plugin_method(name: str, description: str = "") -> Callable[[_Function], _Function]:
    """Make a method of a plugin class callable from outside.

    It takes the plugin and, if it wants one, a request: a msgspec Struct, or anything else that JSON can be
    converted to (``dict[str, str]``). It answers what JSON can hold, Structs and schemas included. It runs
    in the plugin worker, within its limits, on an object that has the properties that are filled in so far:
    required ones may still be None.

    :param name: printable, without ``/``.
    :raises TypeError: when the name is none.
    """
    if not isinstance(name, str) or not name.strip() or "/" in name or not name.isprintable():
        raise TypeError(f"{name!r} is no name of a plugin method: it is a text without '/'.")

    def mark(function: _Function) -> _Function:
        setattr(function, _MARK, (name, description))
        return function

    return mark


class CallableMethod:
    """A marked method of a plugin class.

    :raises TypeError: when its request or answer cannot be JSON, or it takes other arguments.
    """

    def __init__(self, owner: type, function: Callable[..., Any]) -> None:
        self.name, self.description = getattr(function, _MARK)
        self._function: Final = function
        where = f"plugin method '{self.name}'"
        parameters = list(inspect.signature(function).parameters)[1:]
        if len(parameters) > 1:
            raise TypeError(f"{where} takes the request only, not {', '.join(parameters)}.")
        try:
            hints = typing.get_type_hints(function)
        except Exception as error:  # an annotation is any code at all
            raise TypeError(f"the annotations of {where} cannot be read: {error}") from None
        self._takes_request: Final = bool(parameters)
        self._request: Final = hints.get(parameters[0], Any) if parameters else None
        self._answer: Final = hints.get("return", Any)

    def describe(self) -> PluginMethod:
        """:raises TypeError: when the request or the answer is nothing that JSON can hold."""
        request = _json_schema(self._request) if self._takes_request else None
        return PluginMethod(self.name, self.description, request, _json_schema(self._answer))

    def call(self, plugin: Any, request: Any) -> Any:
        """What the method answers, as decoded JSON.

        :param request: decoded JSON; None where there is none.
        :raises BadRequestError: when the request does not fit; names the field.
        :raises TypeError: when JSON cannot hold the answer.
        """
        if not self._takes_request:
            if request:
                raise BadRequestError(f"Method '{self.name}' takes no request.")
            answer = self._function(plugin)
        else:
            answer = self._function(plugin, self._converted(request))
        return msgspec.to_builtins(answer, enc_hook=_plain)

    def _converted(self, request: Any) -> Any:
        try:
            given = {} if request is None else request
            return msgspec.convert(given, self._request, dec_hook=decode_schema)
        except msgspec.ValidationError as error:
            what, _, place = str(error).partition(" - at `$")
            field = place.rstrip("`").lstrip(".")
            where = f"field '{field}': " if field else ""
            raise BadRequestError(
                f"The request of method '{self.name}' does not fit: {where}{_lowered(what)}.",
                f"It must be {_shown(self._request)}.",
            ) from None


def find_plugin_methods(cls: type) -> dict[str, CallableMethod]:
    """The methods of a plugin class that can be called from outside, by name.

    :raises TypeError: when two have the same name, or one cannot be called so.
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


def _json_schema(type: Any) -> Any:
    if type is Any:
        return None
    return msgspec.json.schema(type, schema_hook=_schema_hook)


def _schema_hook(type: Any) -> dict[str, Any]:
    if type is Schema:
        return {"description": "A schema document."}
    raise TypeError(f"JSON cannot hold a {getattr(type, '__qualname__', type)}.")


def _plain(value: Any) -> Any:
    try:
        return encode_schema(value)
    except NotImplementedError as error:
        raise TypeError(str(error)) from None


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _shown(type: Any) -> str:
    """What a request must look like: ``{"database": string, "limit"?: integer}``."""
    schema = msgspec.json.schema(type, schema_hook=_schema_hook)
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
