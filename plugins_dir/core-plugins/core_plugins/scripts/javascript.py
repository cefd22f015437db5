"""The JavaScript transform: a script that emits any number of records for each record.

Runs scripts in V8. Each call passes a whole batch of records as JSON.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from localcdap.api import (
    Emitter,
    Lookup,
    NoticeKind,
    PluginConfig,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    StageError,
    Transform,
    field,
    plugin,
)
from localcdap.plugin_lib.differing_keys import DIFFERING

from .coercion import INT_RANGE, ScriptValueError, make_coercer
from .javascript_lookups import (
    DESCRIPTION,
    HARNESS,
    MARK_IN_JSON,
    UNDECLARED,
    RecordEncoder,
    ScriptTable,
    check_declared,
    check_size,
    check_tables,
    decode,
    parse_declared_tables,
)

TIME_LIMIT_S: Final = 30.0
"""The time limit of one record, in seconds."""
MEMORY_BYTES: Final = 512 * 2**20
"""The memory limit of one script."""
_TURN_MS: Final = 500
"""The script returns its results after this time, so that the time limit applies to single records."""
_NAME: Final = "script"
_POSITION: Final = re.compile(rf"\b{_NAME}:(\d+)")
_PARSE_POSITION: Final = re.compile(r"^<?\w+>?:(\d+): ")

_HARNESS: Final = r"""
(function (tables, settings, lookups, undeclared) {
  'use strict';
  const parse = JSON.parse, stringify = JSON.stringify, now = Date.now;
  const MARK = '\u0000\u0000';
  const {fields, errorFields, args} = parse(settings);
  const {allocate, getLookup} = tables(lookups, undeclared, revive, toNumber);
  const {isInteger, MAX_SAFE_INTEGER: SAFE} = Number, LARGEST = '9223372036854775807';
  let events = [], rounded = new Map();
  let failed = [];  // the errors of the present record, for which a record may be emitted, too
  let hasEmitted = false;

  function revive(key, value) {
    if (value === null || typeof value !== 'object' || typeof value[MARK] !== 'string') return value;
    const text = value[MARK];
    if (text === 'e') return Object.fromEntries(value.entries);
    return text[0] === 'i' ? toNumber(text.slice(1)) : Number(text.slice(1));
  }
  // The number of a whole number beyond 2^53. The digits are kept, to report the numbers that are passed on.
  function toNumber(digits) {
    const number = Number(digits);
    if (String(BigInt(number)) !== digits) rounded.set(number, digits);
    return number;
  }
  // JSON would have only the 17 first digits.
  function large(number) {
    const digits = number === 2 ** 63 ? LARGEST : String(BigInt(number));
    const given = rounded.get(number);
    if (given !== undefined && given !== digits) events.push(['rounded', given]);
    return {[MARK]: 'i' + digits};
  }
  function plain(value) {
    switch (typeof value) {
      case 'number':
        if (!isFinite(value)) return {[MARK]: 'n' + value};
        return (value > SAFE || value < -SAFE) && isInteger(value) ? large(value) : value;
      case 'bigint': return {[MARK]: 'i' + value};
      case 'string': case 'boolean': return value;
      case 'object': return value === null ? null : compound(value);
      default: return null;
    }
  }
  function compound(value) {
    if (Array.isArray(value) || ArrayBuffer.isView(value)) return Array.from(value, plain);
    if (value instanceof Date) return value.toISOString();
    const inner = typeof value.valueOf === 'function' ? value.valueOf() : value;
    if (typeof inner !== 'object') return plain(inner);
    const copy = Object.create(null);
    for (const key of Object.keys(value)) copy[key] = plain(value[key]);
    return copy;
  }
  function project(record, names, method) {
    if (record === null || typeof record !== 'object')
      throw new TypeError(method + ' needs an object, not ' + record);
    const copy = Object.create(null);
    for (const name of names) copy[name] = plain(record[name]);
    return copy;
  }
  function text(message, values) {
    let next = 0;
    return String(message).replace(/\{\}/g, mark => next < values.length ? String(values[next++]) : mark);
  }
  const toForm = name => name.replace(/\s+/g, '').toLowerCase();
  const forms = new Map(fields.map(name => [toForm(name), name]));
  function noteDifferingKey(record) {
    for (const key of Object.keys(record)) {
      const name = forms.get(toForm(key));
      if (name === undefined || name === key || Object.hasOwn(record, name)) continue;
      events.push(['key', `'${key}' for '${name}'`]);
      return;
    }
  }
  const emitter = {
    emit(record) {
      events.push(['record', project(record, fields, 'emit')]);
      hasEmitted = true;
      if (fields.some(name => record[name] === undefined)) noteDifferingKey(record);
    },
    emitError(error) {
      if (error === null || typeof error !== 'object' || typeof error.errorCode !== 'number')
        throw new TypeError('emitError needs an object with a number errorCode');
      failed.push(['error', plain(error.errorCode), String(error.errorMsg ?? ''),
                   project(error.invalidRecord, errorFields, 'emitError')]);
      events.push(failed[failed.length - 1]);
    },
    emitAlert(payload) {
      const copy = Object.create(null);
      for (const key of Object.keys(payload)) copy[key] = String(payload[key]);
      events.push(['alert', copy]);
    },
  };
  const logger = {};
  for (const level of ['trace', 'debug', 'info', 'warn', 'error'])
    logger[level] = (message, ...values) => { events.push(['log', level, text(message, values)]); };
  const count = (name, delta = 1) => { events.push(['metric', String(name), Number(delta)]); };
  const gauge = () => { throw new Error('gauges are not supported; use count'); };
  const metrics = {count, pipelineCount: count, gauge, pipelineGauge: gauge};
  const argumentsView = {
    get: name => Object.hasOwn(args, name) ? args[name] : null,
    has: name => Object.hasOwn(args, name),
    asMap: () => ({...args}),
  };
  const context = {
    getArguments: () => argumentsView,
    getLogger: () => logger,
    getMetrics: () => metrics,
    getLookup,
  };
  function run(batch, isMarked, turn) {
    if (rounded.size > 0) rounded = new Map();
    const records = parse(batch, isMarked ? revive : undefined);
    const end = now() + turn;
    let done = 0, failure = null;
    events = [];
    failed = [];
    try {
      while (done < records.length) {
        hasEmitted = false;
        transform(records[done], emitter, context, {
          emit() {
            events.push(['same', done]);
            hasEmitted = true;
          },
          emitError(code, message) {
            failed.push(['error', code, message, done]);
            events.push(failed[failed.length - 1]);
          },
        });
        if (failed.length > 0) {
          for (const event of failed) event.push(!hasEmitted);
          failed = [];
        }
        done++;
        if (now() > end) break;
      }
    } catch (error) {
      failure = error instanceof Error ? [String(error), String(error.stack)] : [String(error), ''];
    }
    return stringify([events, done, failure]);
  }
  return {run, allocate};
})
"""


class ScriptError(StageError):
    """The script failed, or exceeded its time or memory limit."""


def check_script(script: str, usage: str) -> str | None:
    """Return what is wrong with a script; None if V8 can parse it. The script is not run.

    :param usage: the signature of the function that the script must define.
    """
    from py_mini_racer import JSEvalException, JSParseException, MiniRacer

    with MiniRacer() as v8:
        try:
            v8.eval(f"throw 0;{script}", timeout_sec=TIME_LIMIT_S)
        except JSParseException as error:
            return _describe_parse_error(str(error))
        except JSEvalException:
            pass
    if re.search(rf"\b{usage.partition('(')[0]}\b", script) is None:
        return f"it does not define a function '{usage}'"
    return None


class ScriptEngine:
    """A script in its own V8, for one stage in one process.

    :param lookups: the tables in which the script may look up values.
    :raises ScriptError: when the top-level statements of the script fail.
    """

    def __init__(
        self,
        script: str,
        output: Schema,
        error: Schema,
        arguments: Mapping[str, str],
        lookups: Iterable[Lookup] = (),
        *,
        time_limit_s: float = TIME_LIMIT_S,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        from py_mini_racer import MiniRacer

        self._time_limit_s = time_limit_s
        self._v8 = MiniRacer()
        self._v8.set_hard_memory_limit(memory_bytes)
        settings = {
            "fields": output.field_names,
            "errorFields": error.field_names,
            "args": dict(arguments),
        }
        with contextlib.ExitStack() as undo:
            undo.callback(self._v8.close)  # it has a thread of its own
            self._load(script, json.dumps(settings), [ScriptTable(lookup) for lookup in lookups])
            undo.pop_all()

    def _load(self, script: str, settings: str, tables: list[ScriptTable]) -> None:
        from py_mini_racer import JSEvalException

        try:
            self._v8.eval(f"{script}\n//# sourceURL={_NAME}", timeout_sec=self._time_limit_s)
            harness: Any = self._v8.eval(f"({_HARNESS}).bind(null, {HARNESS})")
            check_size(tables)
            declared = json.dumps([table.settings for table in tables])
            made = harness(settings, declared, UNDECLARED)
            self._run: Any = made["run"]
            for table in tables:
                for column, name, part in table.iterate_parts():
                    made["allocate"](table.name, column, name, part.nbytes)[:] = part
        except JSEvalException as error:
            raise ScriptError(f"Invalid script: {_describe_runtime_error(error)}.") from None

    def run(self, batch: str) -> tuple[list[list[Any]], int]:
        """Run the script on the first records of a batch.

        :param batch: JSON text of a non-empty array of records.
        :returns: the number of transformed records, and their events in order: ``["record", r]``,
            ``["error", code, message, r]``, ``["alert", payload]``, ``["log", level, text]``, ``["metric",
            name, delta]``, ``["rounded", digits]`` of a number that is passed on, ``["same", i]`` for the
            i-th record of the batch. The record of an error may be such a number, too.
        :raises ScriptError: when the script fails; the events of the batch are lost.
        """
        from py_mini_racer import JSEvalException, JSTimeoutException

        try:
            answer = self._run(
                batch, MARK_IN_JSON in batch, _TURN_MS, timeout_sec=self._time_limit_s
            )
        except JSTimeoutException:
            # V8 still has to raise its own timeout error; closing it before that gives a warning.
            with contextlib.suppress(JSEvalException):
                self._v8.eval("0", timeout_sec=1)
            raise ScriptError(
                f"Could not transform input: the script worked on one record for more than "
                f"{self._time_limit_s:g} seconds.",
                "Look for an endless loop.",
            ) from None
        except JSEvalException as error:
            raise self._build_error(_describe_runtime_error(error)) from None
        events, done, failure = decode(answer)
        if failure is not None:
            raise self._build_error(_add_line(*failure))
        return events, done

    def _build_error(self, problem: str) -> ScriptError:
        # V8 reports exhausted memory in several ways; only this one is reliable.
        if self._v8.was_hard_memory_limit_reached():
            return ScriptError(
                "Could not transform input: the script exceeded its memory limit.",
                "Look for a variable outside 'transform' that grows with every record.",
            )
        return ScriptError(f"Could not transform input: {problem}.")

    def close(self) -> None:
        """Free the memory of V8."""
        self._v8.close()


def run_in_turns(
    engine: ScriptEngine, records: list[Any], encode: Any
) -> Iterator[tuple[list[Any], list[list[Any]]]]:
    """Run the script on all records; yield the records that are left at each turn, and its events."""
    while records:
        events, done = engine.run(encode(records))
        yield records, events
        records = records[done:]


def _describe_parse_error(text: str) -> str:
    first = text.splitlines()[0]
    match = _PARSE_POSITION.match(first)
    if match is None:
        return first
    return f"{first[match.end() :]} (line {match[1]})"


def _describe_runtime_error(error: Exception) -> str:
    text = str(error)
    return _add_line(_PARSE_POSITION.sub("", text.splitlines()[0]), text) if text else repr(error)


def _add_line(message: str, stack: str) -> str:
    """Return the message with the line of the script where the error occurred."""
    place = _POSITION.search(stack)
    return f"{message} (line {place[1]})" if place else message


_ROUNDED: Final = "whole numbers beyond 2^53 became numbers of JavaScript, which are rounded"

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
        for given, events in run_in_turns(self._engine, list(records), self._encoder.encode):
            for event in events:
                try:
                    self._apply(event, given, emit)
                except ScriptValueError as error:
                    raise ScriptError(f"Could not transform input: {error}.") from None

    def _apply(self, event: list[Any], given: list[Record], emit: Emitter) -> None:
        match event:
            case ["record", record]:
                emit(self._coerce(record))
            case ["same", int(place)]:
                emit(given[place])
            case ["error", code, message, place_or_record, *more]:
                is_place = isinstance(place_or_record, int)
                error = given[place_or_record] if is_place else self._coerce_error(place_or_record)
                # Where the script has failed it is not known whether it has emitted the record, too.
                emit.error(error, _to_error_code(code), message, dropped=more != [False])
            case ["alert", payload]:
                emit.alert(payload)
            case ["key", key]:
                self._context.count_altered(DIFFERING, key, kind=NoticeKind.KEYS)
            case ["log", level, text]:
                self._context.logger.log(_LEVELS[level], "%s", text)
            case ["metric", name, delta]:
                self._context.metrics.count(name, int(delta))
            case ["rounded", digits]:
                self._context.count_altered(_ROUNDED, digits)


@plugin(
    name="JavaScript",
    description="Runs a JavaScript function on each record, which emits any number of records.",
)
class JavaScript(ScriptTransform):
    """The script runs in V8, which does not have the Java classes of CDAP's Nashorn.

    As in CDAP, each number of a record is a number of JavaScript, so a long beyond 2^53 is rounded to the
    nearest double. The run counts those that a script emits as altered values. A BigInt of a script keeps
    its digits.
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
