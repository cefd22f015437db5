"""The PythonEvaluator transform: a Python function that emits any number of records for each record."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any, Final

from localcdap.api import (
    Emitter,
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
from localcdap.plugin_lib.differing_keys import DIFFERING, FieldForms

from .coercion import INT_RANGE, Coerce, ScriptValueError, make_coercer
from .javascript_lookups import (
    DESCRIPTION,
    ScriptLookup,
    ScriptLookups,
    check_declared,
    check_tables,
    parse_declared_tables,
)

_FILE: Final = "script"
_FUNCTION: Final = "transform"
_NATIVE: Final = "Native"


@plugin(
    name="PythonEvaluator",
    description="Runs a Python function on each record, which emits any number of records.",
)
class PythonEvaluator(Transform):
    """The script runs in the run's Python worker with all its rights; it is not sandboxed.

    Dates, times and decimals are objects of :mod:`datetime` and :mod:`decimal`, where CDAP passes numbers.
    The script runs in the run's own Python, in both modes of CDAP's plugin (python-plugins,
    ``io/cdap/plugin/python/transform/PythonEvaluator.java``).
    """

    class Config(PluginConfig):
        script: str = field(
            "Script that defines 'def transform(record, emitter, context)'. The record is a "
            "dictionary. The emitter has emit(record), emitError({'errorCode', 'errorMsg', "
            "'invalidRecord'}) and emitAlert(texts). The context has getArguments().get(name), "
            "getLookup(table).lookup(key), getMetrics().count(name, delta) and getLogger().info(text).",
            syntax="python",
        )
        schema: Schema | None = field(
            "The output schema. If empty, it is the input schema.", default=None
        )
        lookup: str | None = field(
            DESCRIPTION,
            default=None,
            syntax="json",
            addition="CDAP's script finds each table that it names.",
        )
        execution_mode: str = field(
            "Interpreted, which is Jython in CDAP, or Native. Both run in the run's own Python 3; only "
            "Native reads 'pythonPath'.",
            default="Interpreted",
            choices=("Interpreted", _NATIVE),
            name="executionMode",
            macro=True,
            group="interpreter",
        )
        python_binary: str | None = field(
            "The interpreter in the mode Native. It is without effect here: the run's own Python runs the "
            "script.",
            default=None,
            name="pythonBinary",
            macro=True,
            group="interpreter",
        )
        python_path: str | None = field(
            f"Folders with modules that the script can import in the mode Native, separated by "
            f"'{os.pathsep}'.",
            default=None,
            name="pythonPath",
            macro=True,
            group="interpreter",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = self.config.schema or stage.input_schema
        stage.error_schema = stage.input_schema
        check_declared(stage, self.config.lookup)
        if not self.config.script:
            return
        try:
            code = _compile_script(self.config.script)
        except SyntaxError as error:
            stage.failures.add(
                f"Invalid script: {error.msg} (line {error.lineno}).", _get_advice(error)
            ).with_config_property("script")
        except ValueError as error:
            stage.failures.add(f"Invalid script: {error}.").with_config_property("script")
        else:
            if _FUNCTION not in code.co_names:
                stage.failures.add(
                    "Invalid script: it does not define a function "
                    "'transform(record, emitter, context)'."
                ).with_config_property("script")

    def configure_connected(self, stage: StageConfigurer) -> None:
        check_tables(stage, self.config.lookup)

    def lookup_tables(self) -> Sequence[str]:
        return parse_declared_tables(self.config.lookup)

    def initialize(self, context: StageContext) -> None:
        output = context.output_schema or context.input_schema
        self._coerce = make_coercer(output, on_missing=self._note_differing_key)
        self._forms = FieldForms(output)
        self._stage = context
        self._coerce_error = make_coercer(context.input_schema)
        tables = ScriptLookups(context.lookup(name) for name in self.lookup_tables())
        self._context = ScriptContext(context, tables)
        self._function = self._load()

    def _load(self) -> Callable[[Record, Any, Any], Any]:
        names: dict[str, Any] = {"__name__": _FILE}
        if self.config.execution_mode == _NATIVE:
            folders = (self.config.python_path or "").split(os.pathsep)
            # After the others: the process runs other stages too, whose modules these must not replace.
            sys.path += [folder for folder in folders if folder and folder not in sys.path]
        try:
            # The script is the user's own program, see the class.
            exec(_compile_script(self.config.script), names)  # noqa: S102
        except Exception as error:
            raise StageError(f"Invalid script: {_describe_error(error)}.") from error
        function = names.get(_FUNCTION)
        if not callable(function):
            raise StageError(f"Invalid script: '{_FUNCTION}' is not a function.")
        loaded: Callable[[Record, Any, Any], Any] = function
        return loaded

    def transform(self, record: Record, emit: Emitter) -> None:
        self.transform_records([record], emit)

    def transform_records(self, records: Sequence[Record], emit: Emitter) -> None:
        emitter = ScriptEmitter(emit, self._coerce, self._coerce_error)
        function, context = self._function, self._context
        try:
            for record in records:
                emitter.has_emitted = False
                function(record, emitter, context)
                if emitter.failed:
                    emitter.put_errors()
        except Exception as error:
            raise StageError(f"Could not transform input: {_describe_error(error)}.") from error

    def _note_differing_key(self, record: Any) -> None:
        key = self._forms.find(record) if isinstance(record, Mapping) else None
        if key is not None:
            self._stage.count_altered(DIFFERING, key, kind=NoticeKind.KEYS)


class ScriptEmitter:
    """The emitter of a script."""

    def __init__(self, emit: Emitter, coerce: Coerce, coerce_error: Coerce) -> None:
        self._into = emit
        self._coerce_error = coerce_error
        self.has_emitted = False
        """Whether the script has emitted a record for the present one."""
        self.failed: list[tuple[Record, int, str]] = []
        """The errors of the present record: a script may emit a record after them."""
        put = emit.__call__  # a bound method is cheaper than a call of the emitter

        def emit_coerced(record: Record) -> None:
            self.has_emitted = True
            put(coerce(record))

        self.emit = emit_coerced
        """Emit a record; the script may change its dictionary afterwards."""

    def emitError(self, error: Mapping[str, Any]) -> None:  # noqa: N802
        """Emit an error record: ``errorCode`` (a number), ``errorMsg``, ``invalidRecord``."""
        code = error["errorCode"]
        if isinstance(code, bool) or not isinstance(code, (int, float)):
            raise ScriptValueError(f"errorCode must be a number, not {code!r}")
        if not INT_RANGE[0] <= code <= INT_RANGE[1]:
            raise ScriptValueError("errorCode must be a valid Integer")
        record = self._coerce_error(error["invalidRecord"])
        self.failed.append((record, int(code), str(error.get("errorMsg") or "")))

    def put_errors(self) -> None:
        """Emit the errors of the present record."""
        for record, code, message in self.failed:
            self._into.error(record, code, message, dropped=not self.has_emitted)
        self.failed.clear()

    def emitAlert(self, payload: Mapping[str, Any]) -> None:  # noqa: N802
        """Emit an alert; all values are converted to text."""
        self._into.alert({str(key): str(value) for key, value in payload.items()})


class ScriptContext:
    """The context of a script."""

    def __init__(self, context: StageContext, lookups: ScriptLookups) -> None:
        self._context = context
        self._lookups = lookups

    def getArguments(self) -> Mapping[str, str]:  # noqa: N802
        return self._context.arguments

    def getMetrics(self) -> Any:  # noqa: N802
        return self._context.metrics

    def getLogger(self) -> logging.Logger:  # noqa: N802
        return self._context.logger

    def getLookup(self, name: str) -> ScriptLookup:  # noqa: N802
        return self._lookups.get(name)


def _compile_script(script: str) -> CodeType:
    return compile(script, _FILE, "exec", dont_inherit=True)


def _get_advice(error: SyntaxError) -> str | None:
    if "print" in (error.msg or "") or "except" in (error.text or ""):
        return "The script must be Python 3; scripts for Python 2 may need small changes."
    return None


def _describe_error(error: Exception) -> str:
    """Return the error's text with the line of the script where it occurred."""
    line = None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == _FILE:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    is_ours = isinstance(error, ScriptValueError)
    text = str(error) if is_ours else f"{type(error).__name__}: {error}"
    return text if line is None else f"{text} (line {line})"
