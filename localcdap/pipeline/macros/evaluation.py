"""The properties of a stage with their macros expanded, and the secrets that macros read.

Secrets of a call are remembered when macros read them, and removed from every answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api.config import PluginProperty, use_present_names
from localcdap.api.errors import LocalcdapError, MacroError, NotFoundError, SchemaError
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.api.pipeline import OutputPort, PipelineSpec, StageSpec
from localcdap.api.schema import Schema
from localcdap.decoders import convert
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.macros.parser import (
    SECRET_FUNCTIONS,
    Connections,
    Credentials,
    Expansion,
    Function,
    MacroOptions,
    MacroParser,
    SecureStore,
    create_call,
    create_lookup,
    create_macro_functions,
    find_call_errors,
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
        self._parsers = {
            (escaping, skip_invalid): self._create_parser(escaping, skip_invalid)
            for escaping in (False, True)
            for skip_invalid in (False, True)
        }

    def _create_parser(self, escaping: bool, skip_invalid: bool) -> MacroParser:
        whitelist = frozenset() if self.runtime else SECRET_FUNCTIONS
        options = MacroOptions(whitelist=whitelist, escaping=escaping, skip_invalid=skip_invalid)
        return MacroParser(self._lookup, create_call(self._call), options)

    @property
    def arguments(self) -> Mapping[str, str]:
        """The values of ``${key}``."""
        return self._given[0] or {}

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
        return self._parsers[escaping, not self.runtime]

    def find_errors(self, expansion: Expansion) -> list[MacroError]:
        """Return why macros that an expansion has left keep the stage from running, leftmost first."""
        if self.runtime:
            return expansion.errors
        left = expansion.unresolved[::-1]
        missing = [error for macro in left if (error := self.find_missing_connection(macro))]
        return [*missing, *(error for macro in left for error in find_call_errors(macro))]

    def expand(self, text: str, *, escaping: bool) -> Expansion:
        """Expand the macros of a text; those without a value are left.

        :raises MacroError: for a malformed macro, or one that expands without end.
        """
        return self._parsers[escaping, True].expand(text)


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
            expansion = context.expand(value, escaping=escaping)
        except MacroError as error:
            action = error.corrective_action
            failures.add(error.message, action).with_config_property(name)
            macros.append(name)  # otherwise the plugin would validate the text of the macro
            continue
        properties[name] = expansion.text
        if expansion.unresolved:
            macros.append(name)
        for each in context.find_errors(expansion):
            failures.add(each.message, each.corrective_action).with_config_property(name)
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


HIDDEN: Final = "********"
_LEAST_IN_SCHEMA: Final = 4
_LEAST_CUT: Final = 4
_IN_CONNECTIONS: Final = ("secure", "oauth", "oauthAccessToken")
"""The functions that properties of connections may use."""
_CUT: Final = re.compile(r"(.+?)(…|\.{3})", re.DOTALL)
_T = TypeVar("_T", bound=msgspec.Struct)


class Secrets:
    """The secure keys and tokens that a call has read, directly or through connections.

    :param store: returns the value of a key; None where there are no keys.
    :param connections: returns the properties of a connection, which may hold ``${secure(key)}`` and
        ``${oauth(provider,credential)}``; None where there are no connections.
    :param credentials: returns the token of an OAuth credential; None where there are none.
    """

    def __init__(
        self,
        store: SecureStore | None,
        connections: Connections | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self._store = store
        self._connections = connections
        self._credentials = credentials
        self._tokens: dict[tuple[str, str], Mapping[str, str]] = {}
        self._values: dict[str, str] = {}
        self._forms: Sequence[str] = ()
        """The forms that the values can have in a text, longest first."""

    @property
    def source(self) -> SecureStore | None:
        """Reads secure keys for macros; None where there are no keys."""
        return self._get if self._store is not None else None

    @property
    def connections(self) -> Connections | None:
        """Reads connections for macros; None where there are no connections."""
        return self._connection if self._connections is not None else None

    @property
    def credentials(self) -> Credentials | None:
        """Reads tokens of OAuth for macros; None where there are none."""
        return self._get_token if self._credentials is not None else None

    def _connection(self, name: str) -> dict[str, str]:
        """Return the properties of a connection, with these functions evaluated as in CDAP 6
        ``RemoteConnectionTaskBase``.
        """
        assert self._connections is not None
        made = create_macro_functions(secure=self.source, oauth=self.credentials)
        used = {name for name in _IN_CONNECTIONS if name != "secure" or self._store is not None}
        used = used if self._credentials is not None else used & {"secure"}
        functions = {name: made[name] for name in used}
        options = MacroOptions(whitelist=frozenset(used), skip_invalid=True)
        parser = MacroParser(create_lookup({}), create_call(functions), options)
        found = self._connections(name)
        return {
            key: parser.parse(value) or ""
            if any(f"${{{each}(" in value for each in used)
            else value
            for key, value in found.items()
        }

    def _get_token(self, provider: str, credential: str) -> Mapping[str, str]:
        """Return the token of a credential, the same one throughout the call.

        :raises LocalcdapError: when there is none.
        """
        key = (provider, credential)
        if key not in self._tokens:
            assert self._credentials is not None
            self._tokens[key] = self._credentials(provider, credential)
            self._hide_values()
        return self._tokens[key]

    def _get(self, key: str) -> str:
        """Return the value of a key, the same one throughout the call.

        :raises LocalcdapError: when there is none.
        """
        if key not in self._values:
            assert self._store is not None
            self._values[key] = self._store(key)
            self._hide_values()
        return self._values[key]

    def _hide_values(self) -> None:
        """Note the forms of all values that were read."""
        tokens = (each["accessToken"] for each in self._tokens.values())
        values = (*self._values.values(), *tokens)
        found = {form for value in values for form in _list_forms(value)}
        self._forms = sorted(found, key=len, reverse=True)

    def hide(self, text: str) -> str:
        """Return the text with every value that was read replaced by :data:`HIDDEN`.

        So is the beginning of a value, of four characters or more, before an ellipsis: messages quote long
        values that way.
        """
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        return _CUT.sub(self._hide_beginning, text) if self._forms else text

    def _hide_beginning(self, cut: re.Match[str]) -> str:
        quoted = cut[1]
        for form in self._forms:
            start = quoted.find(form[:_LEAST_CUT]) if len(form) > _LEAST_CUT else -1
            while start >= 0:
                if form.startswith(quoted[start:]):
                    return quoted[:start] + HIDDEN + cut[2]
                start = quoted.find(form[:_LEAST_CUT], start + 1)
        return cut[0]

    def clean(self, structs: Sequence[_T]) -> list[_T]:
        """Return copies of structs with the values removed from all of their texts."""
        if not self._forms:
            return list(structs)
        return [convert(self._clean(msgspec.to_builtins(each)), type(each)) for each in structs]

    def clean_schema(self, schema: Schema | None) -> Schema | None:
        """Return the schema with the values removed from its names; None when it is not a valid schema then.

        Values of fewer than four characters are kept: they hide nothing and occur in many names.
        """
        long = [form for form in self._forms if len(form) >= _LEAST_IN_SCHEMA]
        if schema is None or not any(form in str(schema) for form in long):
            return schema
        try:
            return Schema.parse(self._clean(schema.to_json()))
        except SchemaError:
            return None

    def clean_stage(self, spec: StageSpec) -> StageSpec:
        """Return the specification of a stage with the values removed from its schemas."""
        if not self._forms:
            return spec
        ports = {port: self.clean_schema(schema) for port, schema in spec.port_schemas.items()}
        return msgspec.structs.replace(
            spec,
            input_schemas={k: self.clean_schema(v) for k, v in spec.input_schemas.items()},
            port_schemas={port: schema for port, schema in ports.items() if schema is not None},
            output_ports={
                target: OutputPort(each.port, self.clean_schema(each.schema))
                for target, each in spec.output_ports.items()
            },
            output_schema=self.clean_schema(spec.output_schema),
            error_schema=self.clean_schema(spec.error_schema),
        )

    def clean_pipeline(self, spec: PipelineSpec) -> PipelineSpec:
        """Return the specification of a pipeline with the values removed from schemas and properties."""
        if not self._forms:
            return spec
        return msgspec.structs.replace(
            spec,
            stages=[self.clean_stage(stage) for stage in spec.stages],
            properties={key: self.hide(value) for key, value in spec.properties.items()},
        )

    def _clean(self, value: Any) -> Any:
        match value:
            case str():
                return self.hide(value)
            case list():
                return [self._clean(each) for each in value]
            case dict():
                return {key: self._clean(each) for key, each in value.items()}
        return value


def _list_forms(value: str) -> set[str]:
    """Return the value, and its forms inside a quoted Python or JSON text."""
    quoted = {json.dumps(value, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
    return {value, repr(value)[1:-1], *quoted} - {""}
