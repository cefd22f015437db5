"""Calling a declared method of a plugin (:mod:`localcdap.api.methods`) in the plugin worker."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.failures import FailureCollector
from localcdap.api.methods import CallableMethod, find_plugin_methods
from localcdap.api.plugin import Plugin
from localcdap.api.tables import TableFile
from localcdap.artifacts.loading import UsedPlugins, load_plugin, to_plugin_error
from localcdap.artifacts.model import PluginRef
from localcdap.decoders import decode_json

SESSION_MEMORY_MB: Final = 512


class MethodRequest(msgspec.Struct):
    """A call of a declared method."""

    plugin: PluginRef
    properties: dict[str, str]
    """The evaluated properties that have a value so far."""
    macros: list[str]
    """Names of the properties that still hold a macro."""
    method: str
    request: Any
    """Decoded JSON."""
    rows: dict[str, list[dict[str, Any]]] = {}
    """The rows of the tables that the method declares."""
    files: list[TableFile] = []
    """The tables that an answer has asked for."""
    session_memory_mb: int = SESSION_MEMORY_MB


class MethodAnswer(msgspec.Struct):
    """The result of a declared method."""

    answer: Any
    """Decoded JSON."""
    wanted_tables: list[str] = []
    """The tables without which there is no answer: the call is to be repeated with their files."""


class _TablesWantedError(BaseException):
    """Leaves a method that needs files of tables; not an Exception, which the method might catch."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.names = names


def call_method(request: MethodRequest) -> MethodAnswer:
    """Call a method in this process.

    :raises NotFoundError: when the plugin has no such method; the message lists its methods.
    :raises BadRequestError: when the request or a property is invalid.
    :raises PluginError: when the method raised, or its result cannot be written as JSON.
    :raises MemoryError: when it takes more memory than there is.
    """
    ref, name = request.plugin, request.method
    where = f"Method '{name}' of plugin '{ref.name}'"
    cls = load_plugin(ref)
    try:
        method = _find_method(cls, ref, name)
        plugin = _make_plugin(cls, request)
        answer = method.call(plugin, request.request, _GivenContext(request))
        # Encoding turns the plugin's objects into plain values.
        return MethodAnswer(decode_json(msgspec.json.encode(answer)))
    except _TablesWantedError as wanted:
        return MethodAnswer(None, wanted.names)
    except (MemoryError, NotFoundError, BadRequestError):
        raise
    except (Exception, SystemExit) as error:
        raise to_plugin_error(where, error, Path(ref.path)) from error


class _GivenContext:
    """The :class:`localcdap.api.methods.MethodContext` with what a request brings."""

    def __init__(self, request: MethodRequest) -> None:
        self._used = UsedPlugins(request.plugin.uses)
        self._rows = request.rows
        self._files = {each.name: each for each in request.files}
        self.session_memory_mb = request.session_memory_mb

    def find_plugin(self, type: str, name: str) -> type[Plugin] | None:
        return self._used(type, name)

    def list_plugins(self, type: str) -> list[str]:
        return self._used.list_names(type)

    def list_rows(self, table: str) -> list[dict[str, Any]]:
        if table not in self._rows:
            raise NotFoundError(f"The method does not declare the table '{table}'.")
        return self._rows[table]

    def open_tables(self, names: Iterable[str]) -> list[TableFile]:
        wanted = list(dict.fromkeys(names))
        if not self._files.keys() >= set(wanted):
            raise _TablesWantedError([*dict.fromkeys([*self._files, *wanted])])
        return [self._files[name] for name in wanted]


def _find_method(cls: type[Plugin], ref: PluginRef, name: str) -> CallableMethod:
    methods = find_plugin_methods(cls)
    if name not in methods:
        known = ", ".join(methods) or "none"
        raise NotFoundError(f"Plugin '{ref.name}' has no method '{name}'; it has: {known}.")
    return methods[name]


def _make_plugin(cls: type[Plugin], request: MethodRequest) -> Plugin:
    """Return the plugin object; required properties may still lack a value."""
    failures = FailureCollector(request.plugin.name)
    config = cls.Config.build(request.properties, failures, request.macros)
    wrong = [f.message for f in failures if request.properties.get(f.field or "")]
    if wrong:
        raise BadRequestError(" ".join(wrong), "Correct the property, or leave it out.")
    return cls(config)
