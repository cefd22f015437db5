"""The properties of a stage with their macros expanded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.config import PluginProperty, use_present_names
from localcdap.api.errors import LocalcdapError, MacroError, NotFoundError
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.macros.functions import SECRET_FUNCTIONS
from localcdap.pipeline.macros.parser import (
    Function,
    MacroOptions,
    MacroParser,
    create_call,
    create_lookup,
    list_macros,
)

_CONNECTION: Final = re.compile(r"conn\(([^${}()]*)\)")


_NOT_SHARED: Final = frozenset(
    ("useConnection", "connection", "format", "delimiter", "skipHeader", "fileEncoding")
)
"""Properties that a stage never takes from its connection. Those about the reading of files say how the
connection itself shows files: CDAP's plugins take only the account and the server from a connection."""


class MacroContext:
    """Evaluates macros.

    :param arguments: values of ``${key}``.
    :param runtime: whether every macro must have a value. If not, a macro without a value is left as it is,
        and only the functions in :data:`SECRET_FUNCTIONS` are called, as in CDAP's validation.
    """

    def __init__(
        self,
        arguments: Mapping[str, str] | None = None,
        functions: Mapping[str, Function] | None = None,
        *,
        runtime: bool = False,
    ) -> None:
        self.runtime = runtime
        self._given = (arguments, functions)
        self._lookup = create_lookup(arguments or {})
        self._call = _wrap_errors(functions or {})
        self._parsers = {escaping: self._create_parser(escaping) for escaping in (False, True)}

    def _create_parser(self, escaping: bool) -> MacroParser:
        whitelist = frozenset() if self.runtime else SECRET_FUNCTIONS
        options = MacroOptions(
            whitelist=whitelist, escaping=escaping, skip_invalid=not self.runtime
        )
        return MacroParser(self._lookup, create_call(self._call), options)

    def without_runtime(self) -> MacroContext:
        """Return a context with the same values in which macros may lack a value."""
        return MacroContext(*self._given) if self.runtime else self

    def find_missing_connection(self, macro: str) -> MacroError | None:
        """Return the error of an unresolved ``${conn(name)}`` whose connection does not exist; else None."""
        call = _CONNECTION.fullmatch(macro)
        function = self._call.get("conn") if call is not None else None
        if call is None or function is None:
            return None
        try:
            function(call[1])
        except MacroError as error:
            return error if isinstance(error.__cause__, NotFoundError) else None
        return None

    def get_parser(self, escaping: bool) -> MacroParser:
        return self._parsers[escaping]


def _wrap_errors(functions: Mapping[str, Function]) -> dict[str, Function]:
    """Return the functions with every error of a provider converted to a MacroError."""

    def wrap(function: Function) -> Function:
        def call(*arguments: str) -> str:
            try:
                return function(*arguments)
            except MacroError:
                raise
            except LocalcdapError as error:
                raise MacroError(error.message, error.corrective_action) from error

        return call

    return {name: wrap(function) for name, function in functions.items()}


class Evaluated(msgspec.Struct):
    """The properties of a stage after evaluation."""

    properties: dict[str, str]
    macros: list[str]
    """Names of the properties that still hold an unresolved macro."""
    failures: list[ValidationFailure]


def evaluate(
    stage: StageUse, declared: Mapping[str, PluginProperty], context: MacroContext
) -> Evaluated:
    """Expand the macros of the properties that allow them; all others are literal text.

    Properties that a document has under a former name have their present name in the answer.
    """
    texts = use_present_names(stage.plugin.properties, declared)
    properties = dict(texts)
    macros: list[str] = []
    failures = FailureCollector(stage.name)
    for name, value in texts.items():
        info = declared.get(name)
        if info is None or not info.macro_supported:
            continue
        escaping = info.macro_escaping_enabled
        if "${" not in value and not (escaping and "\\" in value):
            continue
        try:
            expansion = context.get_parser(escaping).expand(value)
        except MacroError as error:
            action = error.corrective_action
            failures.add(error.message, action).with_config_property(name)
            macros.append(name)  # otherwise the plugin would validate the text of the macro
            continue
        properties[name] = expansion.text
        if expansion.unresolved:
            macros.append(name)
        for find_missing_connection in filter(
            None, map(context.find_missing_connection, expansion.unresolved)
        ):
            failures.add(
                find_missing_connection.message, find_missing_connection.corrective_action
            ).with_config_property(name)
    if properties.get("useConnection", "").strip().lower() == "true":
        _use_connection(properties, macros, declared)
    return Evaluated(properties, macros, list(failures))


def _use_connection(
    properties: dict[str, str], macros: list[str], declared: Mapping[str, PluginProperty]
) -> None:
    """Override the properties of a stage with those of the connection that it uses.

    As in CDAP 6.5, where a plugin reads its connection config from ``${conn(name)}`` as a whole.
    """
    text = properties.get("connection", "")
    if "connection" in macros:  # its value, known at run time, may have all required properties
        lacking = [name for name, each in declared.items() if each.required]
        for name in lacking:
            if not properties.get(name):
                properties[name] = text
                macros.append(name)
        return
    try:
        found = json.loads(text)
    except ValueError:
        return
    texts = use_present_names(found, declared) if isinstance(found, dict) else {}
    for name, value in texts.items():
        if name in declared and name not in _NOT_SHARED and isinstance(value, str):
            properties[name] = value
            if name in macros:
                macros.remove(name)


def connections_used(properties: Mapping[str, str]) -> list[str]:
    """Return names of the connections that properties refer to with ``${conn(name)}``."""
    names: list[str] = []
    for value in properties.values():
        if "${" in value and "conn(" in value:
            try:
                calls = list_macros(value, escaping=False)
            except MacroError:
                continue
            names += [c[5:-1].strip() for c in reversed(calls) if c.startswith("conn(")]
    return names
