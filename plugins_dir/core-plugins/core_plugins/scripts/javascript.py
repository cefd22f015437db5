"""The JavaScript transform: a script that emits any number of records for each record."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from localcdap.api import (
    Emitter,
    PluginConfig,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    Transform,
    field,
    plugin,
)

from .coercion import ScriptValueError, make_coercer
from .javascript_engine import ScriptEngine, ScriptError, check_script, run_in_turns
from .javascript_values import RecordEncoder
from .lookups import DESCRIPTION, check_declared, check_tables, parse_declared_tables
from .record_coercion import INT_RANGE

_LEVELS: Final = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}


class ScriptTransform(Transform):
    """The base of transforms that call a JavaScript function with each record."""

    usage = "transform(input, emitter, context)"
    """The signature of the function that the script must define."""
    script_property = "script"
    """The name of the property with the script."""

    config: Any

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = self.get_declared_schema() or stage.input_schema
        stage.error_schema = stage.input_schema
        if self.config.script:
            problem = check_script(self.config.script, self.usage)
            if problem is not None:
                stage.failures.add(f"Invalid script: {problem}.").with_config_property(
                    self.script_property
                )
        check_declared(stage, self.config.lookup)

    def configure_connected(self, stage: StageConfigurer) -> None:
        check_tables(stage, self.config.lookup)

    def lookup_tables(self) -> Sequence[str]:
        return parse_declared_tables(self.config.lookup)

    def get_declared_schema(self) -> Schema | None:
        """Return the output schema of the properties; None for the input schema."""
        return None

    def build_script(self) -> str:
        """Return the script to run; its function ``transform`` has the parameters of :class:`JavaScript`."""
        raise NotImplementedError

    def initialize(self, context: StageContext) -> None:
        output = context.output_schema or context.input_schema
        self._context = context
        self._encoder = RecordEncoder(context.input_schema)
        self._coerce = make_coercer(output)
        self._coerce_error = make_coercer(context.input_schema)
        tables = [context.lookup(name) for name in self.lookup_tables()]
        self._engine = ScriptEngine(
            self.build_script(), output, context.input_schema, context.arguments, tables
        )

    def destroy(self) -> None:
        self._engine.close()

    def transform(self, record: Record, emit: Emitter) -> None:
        self.transform_records([record], emit)

    def transform_records(self, records: Sequence[Record], emit: Emitter) -> None:
        """Transform many records with one call into V8, which is many times faster than a call for each.

        :raises ScriptError: when the script fails, or emits a value that does not fit the schema.
        """
        for events in run_in_turns(self._engine, list(records), self._encoder.encode):
            for event in events:
                try:
                    self._apply(event, emit)
                except ScriptValueError as error:
                    raise ScriptError(f"Could not transform input: {error}.") from None

    def _apply(self, event: list[Any], emit: Emitter) -> None:
        match event:
            case ["record", record]:
                emit(self._coerce(record))
            case ["error", code, message, record]:
                emit.error(self._coerce_error(record), _to_error_code(code), message)
            case ["alert", payload]:
                emit.alert(payload)
            case ["log", level, text]:
                self._context.logger.log(_LEVELS[level], "%s", text)
            case ["metric", name, delta]:
                self._context.metrics.count(name, int(delta))


@plugin(
    name="JavaScript",
    description="Runs a JavaScript function on each record, which emits any number of records.",
)
class JavaScript(ScriptTransform):
    """The script runs in V8, which does not have the Java classes of CDAP's Nashorn.

    A long beyond 2^53 is a BigInt: it can be emitted unchanged and compared, but arithmetic with numbers is
    an error, where CDAP would round it without an error.
    """

    class Config(PluginConfig):
        script: str = field(
            "Script that defines 'function transform(input, emitter, context)'. The input is an "
            "object with the record's fields. The emitter has emit(record), "
            "emitError({errorCode, errorMsg, invalidRecord}) and emitAlert(texts). The context has "
            "getArguments().get(name), getLookup(table).lookup(key), getMetrics().count(name, delta) and "
            "getLogger().info(text). Dates are days, times and timestamps milli- or microseconds "
            "since the epoch, bytes are arrays of numbers.",
            syntax="javascript",
        )
        schema: Schema | None = field(
            "The output schema. If empty, it is the input schema.", default=None
        )
        lookup: str | None = field(DESCRIPTION, default=None, syntax="json")

    config: Config

    def get_declared_schema(self) -> Schema | None:
        return self.config.schema

    def build_script(self) -> str:
        return self.config.script


def _to_error_code(code: Any) -> int:
    lowest, highest = INT_RANGE
    if not lowest <= code <= highest:
        raise ScriptValueError("errorCode must be a valid Integer")
    return int(code)
