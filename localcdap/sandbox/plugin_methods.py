"""Calling a method of a plugin (:mod:`localcdap.api.methods`) in the plugin worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.failures import FailureCollector
from localcdap.api.methods import CallableMethod, find_plugin_methods
from localcdap.api.plugin import Plugin
from localcdap.artifacts.loading import load_plugin
from localcdap.artifacts.model import PluginRef
from localcdap.artifacts.tracebacks import to_plugin_error


class MethodRequest(msgspec.Struct):
    """A method to be called."""

    plugin: PluginRef
    properties: dict[str, str]
    """Those that are filled in so far, evaluated."""
    macros: list[str]
    """Names of the properties that still hold a macro."""
    method: str
    request: Any
    """Decoded JSON."""


class MethodAnswer(msgspec.Struct):
    """What it answered."""

    answer: Any
    """Decoded JSON."""


def call_method(request: MethodRequest) -> MethodAnswer:
    """Call a method in this process.

    :raises NotFoundError: when the plugin has no such method; the message lists those that it has.
    :raises BadRequestError: when the request or a property does not fit.
    :raises PluginError: when the method raised, or answered what JSON cannot hold.
    :raises MemoryError: when it takes more memory than there is.
    """
    ref, name = request.plugin, request.method
    where = f"Method '{name}' of plugin '{ref.name}'"
    cls = load_plugin(ref)
    try:
        method = _method(cls, ref, name)
        plugin = _plugin(cls, request)
        answer = method.call(plugin, request.request)
        # What a plugin made is a plain value only after this.
        return MethodAnswer(msgspec.json.decode(msgspec.json.encode(answer)))
    except (MemoryError, NotFoundError, BadRequestError):
        raise
    except (Exception, SystemExit) as error:
        raise to_plugin_error(where, error, Path(ref.path)) from error


def _method(cls: type[Plugin], ref: PluginRef, name: str) -> CallableMethod:
    methods = find_plugin_methods(cls)
    if name not in methods:
        known = ", ".join(methods) or "none"
        raise NotFoundError(f"Plugin '{ref.name}' has no method '{name}'; it has: {known}.")
    return methods[name]


def _plugin(cls: type[Plugin], request: MethodRequest) -> Plugin:
    """Return the plugin, whose required properties may still lack a value."""
    failures = FailureCollector(request.plugin.name)
    config = cls.Config.build(request.properties, failures, request.macros)
    wrong = [f.message for f in failures if request.properties.get(f.field or "")]
    if wrong:
        raise BadRequestError(" ".join(wrong), "Correct the property, or leave it out.")
    return cls(config)
