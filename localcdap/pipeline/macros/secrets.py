"""Secrets of a call: remembered when macros read them, and removed from every answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api.errors import SchemaError
from localcdap.api.pipeline import OutputPort, PipelineSpec, StageSpec
from localcdap.api.schema import Schema
from localcdap.decoders import convert
from localcdap.pipeline.macros.functions import (
    Connections,
    Credentials,
    SecureStore,
    create_macro_functions,
)
from localcdap.pipeline.macros.parser import MacroOptions, MacroParser, create_call, create_lookup

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
