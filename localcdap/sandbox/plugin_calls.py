"""Using a plugin outside a pipeline: calling its methods, and running records through a transform."""

from __future__ import annotations

import contextlib
import copy
import datetime
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import (
    BadRequestError,
    InvalidStageError,
    NotFoundError,
    PluginError,
    SessionLostError,
    StageError,
)
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataScope
from localcdap.api.methods import CallableMethod, find_plugin_methods
from localcdap.api.plugin import Grain, Plugin, Transform, has_override
from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import pack
from localcdap.api.stage import FindPlugin, Metrics, NoticeKind, Record
from localcdap.api.tables import Lookup, TableFile
from localcdap.artifacts.loading import UsedPlugins, load_plugin, to_plugin_error
from localcdap.artifacts.model import PluginRef
from localcdap.decoders import decode_json
from localcdap.sandbox.stage_configuration import ConfigureRequest, configure_stage

if TYPE_CHECKING:
    import pyarrow as pa


_R = TypeVar("_R")
_T = TypeVar("_T")


class CallRequest(msgspec.Struct):
    """A call of a public method of a plugin, on a new object."""

    plugin: PluginRef
    properties: dict[str, str]
    method: str
    arguments: list[Any]


class TransformRequest(msgspec.Struct):
    """Records for a transform that takes them outside of Spark."""

    plugin: PluginRef
    namespace: str
    properties: dict[str, str]
    schema: Schema
    records: bytes
    """An Arrow stream with one batch; see :func:`to_arrow_stream`."""


class TransformResult(msgspec.Struct):
    """The output of a transform."""

    output_schema: Schema
    records: bytes
    error_schema: Schema
    error_records: bytes
    errors: list[tuple[int, str]]
    """The code and message of each error record."""


class JobRunner:
    """The common interface of a plugin worker and the pool of workers: the jobs that use one plugin."""

    def do(
        self,
        job: Callable[[_R], _T],
        request: _R,
        plugin: PluginRef,
        who: str,
        session: str = "",
    ) -> _T:
        """Run a job that calls a plugin's code.

        :param who: the subject of the message when the plugin hung, crashed or took too much memory.
        :param session: the name of a session: its calls have a process of their own, in which what they keep
            stays from one call to the next, until the process is lost or the session ends.
        :raises PluginError: when it did.
        :raises SessionLostError: when the process of the session crashed, or was lost since the last call;
            the next call has a new one.
        :raises HostLostError: when the worker was closed meanwhile.
        :raises LocalcdapError: what the job raised.
        """
        raise NotImplementedError

    def call(self, request: CallRequest) -> bytes:
        """Call a method of a plugin, and return its result packed.

        :raises InvalidStageError: when the plugin's properties are wrong.
        :raises PluginError: when the method raised, hung, crashed or took too much memory.
        """
        plugin = request.plugin
        who = f"Method '{request.method}' of plugin '{plugin.name}'"
        return self.do(call_plugin, request, plugin, who)

    def transform(self, request: TransformRequest) -> TransformResult:
        """Run records through a transform.

        :raises InvalidStageError: when configuring the transform gives failures.
        :raises PluginError: when it raised, hung, crashed, took too much memory, or is no such transform.
        """
        plugin = request.plugin
        return self.do(transform_records, request, plugin, f"Plugin '{plugin.name}'")


def call_plugin(request: CallRequest) -> bytes:
    """Call a method in this process, and return its packed result.

    :raises InvalidStageError: when the properties are invalid.
    :raises PluginError: when the plugin has no such public method, the method raised, or its result cannot
        be packed.
    :raises MemoryError: when it takes more memory than there is.
    """
    ref = request.plugin
    with _translate_errors(ref):
        plugin = _make_plugin(ref, request.properties)
        method = getattr(plugin, request.method, None)
        if request.method.startswith("_") or not callable(method):
            raise PluginError(f"Plugin '{ref.name}' has no method '{request.method}'.")
        return pack(method(*request.arguments))


def transform_records(request: TransformRequest) -> TransformResult:
    """Transform records in this process.

    :raises InvalidStageError: when configuring the plugin gives failures.
    :raises PluginError: when the plugin raised, or is not a transform that takes records outside of Spark.
    :raises MemoryError: when it takes more memory than there is.
    """
    ref, schema = request.plugin, request.schema
    configured = configure_stage(
        ConfigureRequest(ref, ref.name, request.properties, [], {"input": schema})
    )
    _raise_failures(configured.failures)
    output = configured.output_schema or schema
    error_schema = configured.error_schema or schema
    with _translate_errors(ref):
        plugin = _make_plugin(ref, request.properties)
        if not isinstance(plugin, Transform) or not _takes_records(plugin):
            raise PluginError(
                f"Plugin '{ref.name}' is not a transform that takes records outside of Spark.",
                "Use a transform of record grain, or one that implements transform_sample.",
            )
        emitted = _RecordCollector()
        records = RecordCodec(schema).decode(read_arrow_stream(request.records))
        context = _ContextWithoutRun(request, schema, output, error_schema)
        if plugin.grain() is not Grain.RECORD:
            plugin.transform_sample(records, emitted, context)
        else:
            plugin.initialize(context)
            try:
                plugin.transform_records(records, emitted)
            finally:
                plugin.destroy()
        return TransformResult(
            output,
            to_arrow_stream(RecordCodec(output).encode(emitted)),
            error_schema,
            to_arrow_stream(
                RecordCodec(error_schema).encode(each.record for each in emitted.errors)
            ),
            [(each.code, each.message) for each in emitted.errors],
        )


def emit_errors(
    ref: PluginRef,
    namespace: str,
    properties: dict[str, str],
    schema: Schema,
    records: list[Record],
) -> list[Record]:
    """Return the records that a transform gives to ``emit.error``; it must implement ``transform_sample``.

    :raises InvalidStageError: when the properties are invalid.
    :raises PluginError: when it raised, or rejects what it is asked for.
    """
    emitted = _RecordCollector()
    request = TransformRequest(ref, namespace, properties, schema, b"")
    with _translate_errors(ref):
        plugin = _make_plugin(ref, properties)
        assert isinstance(plugin, Transform)
        plugin.transform_sample(records, emitted, _ContextWithoutRun(request, schema, None, schema))
    return [dict(each.record) for each in emitted.errors]


def _takes_records(plugin: Transform) -> bool:
    return plugin.grain() is Grain.RECORD or has_override(type(plugin), "transform_sample")


def to_arrow_stream(batch: pa.RecordBatch) -> bytes:
    """Return a batch as an Arrow IPC stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def read_arrow_stream(data: bytes) -> pa.RecordBatch:
    """Return the batch of an Arrow IPC stream; see :func:`to_arrow_stream`."""
    import pyarrow as pa

    with pa.ipc.open_stream(data) as stream:
        return stream.read_next_batch()


def read_arrow_table(data: bytes) -> pa.Table:
    """Return the rows of an Arrow IPC stream."""
    import pyarrow as pa

    with pa.ipc.open_stream(data) as stream:
        return stream.read_all()


def _make_plugin(ref: PluginRef, properties: dict[str, str]) -> Plugin:
    cls = load_plugin(ref)
    failures = FailureCollector(ref.name)
    config = cls.Config.build(properties, failures)
    _raise_failures(list(failures))
    return cls(config)


def _raise_failures(failures: list[ValidationFailure]) -> None:
    if failures:
        raise InvalidStageError([failure.full_message for failure in failures])


@contextlib.contextmanager
def _translate_errors(ref: PluginRef) -> Iterator[None]:
    """Turn exceptions of user code into PluginErrors."""
    try:
        yield
    except (MemoryError, PluginError, InvalidStageError):
        raise
    except (Exception, SystemExit) as error:
        raise to_plugin_error(f"Plugin '{ref.name}'", error, Path(ref.path)) from error


class _ErrorRecord(NamedTuple):
    record: Record
    code: int
    message: str


class _RecordCollector(list[Record]):
    """The emitter of a transform: a list of output records, with a list of error records.

    It takes copies, as a plugin may change a record and emit it once more.
    """

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[_ErrorRecord] = []

    def __call__(self, record: Record) -> None:
        self.append(copy.deepcopy(record))

    def error(self, record: Record, code: int, message: str, *, dropped: bool = True) -> None:
        self.errors.append(_ErrorRecord(copy.deepcopy(record), int(code), str(message)))

    def alert(self, payload: Mapping[str, str]) -> None:
        """Ignore an alert: there is no run that publishes it."""


class _Metrics:
    def count(self, name: str, delta: int = 1) -> None:
        """Ignore a metric: there is no run that it belongs to."""


class _ContextWithoutRun:
    """The :class:`localcdap.api.stage.StageContext` of a plugin outside a run."""

    run_id = ""
    pipeline = ""
    pipeline_version: str | None = None

    def __init__(
        self, request: TransformRequest, schema: Schema, output: Schema | None, errors: Schema
    ) -> None:
        self.stage_name: str = request.plugin.name
        self.namespace: str = request.namespace
        self.find_plugin: FindPlugin = UsedPlugins(request.plugin.uses)
        self.arguments: Mapping[str, str] = {}
        self.logical_start_time = datetime.datetime.now(datetime.UTC)
        self.input_schemas: Mapping[str, Schema] = {"input": schema}
        self.input_schema: Schema = schema
        self.output_schema: Schema | None = output
        self.error_schema: Schema | None = errors
        self.port_schemas: Mapping[str, Schema] = {}
        self.logger = logging.getLogger(f"localcdap.stage.{self.stage_name}")
        self.metrics: Metrics = _Metrics()

    def count_altered(
        self, change: str, first: str, number: int = 1, kind: NoticeKind = NoticeKind.VALUES
    ) -> None:
        """Do nothing: no run would warn."""

    def lookup(self, table: str) -> Lookup:
        raise StageError(
            f"Table '{table}' cannot be read: the plugin is used outside a run.",
            "Use the plugin in a pipeline.",
        )

    def get_metadata(self, scope: MetadataScope, entity: MetadataEntity) -> Metadata:
        raise StageError(
            f"The metadata of {entity.describe()} in the scope {scope.value} cannot be read: the plugin is "
            "used outside a run.",
            "Use the plugin in a pipeline.",
        )


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
    arguments: dict[str, str] = {}
    """The arguments of the call, with the preferences."""


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
    :raises SessionLostError: when the method misses what it kept in this process.
    :raises PluginError: when the method raised, or its result cannot be written as JSON.
    :raises MemoryError: when it takes more memory than there is.
    """
    ref, name = request.plugin, request.method
    where = f"Method '{name}' of plugin '{ref.name}'"
    cls = load_plugin(ref)
    try:
        method = _find_method(cls, ref, name)
        plugin = _create_called_plugin(cls, request)
        answer = method.call(plugin, request.request, _GivenContext(request))
        # Encoding turns the plugin's objects into plain values.
        return MethodAnswer(decode_json(msgspec.json.encode(answer)))
    except _TablesWantedError as wanted:
        return MethodAnswer(None, wanted.names)
    except (MemoryError, NotFoundError, BadRequestError, SessionLostError):
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
        self.arguments: Mapping[str, str] = request.arguments

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


def _create_called_plugin(cls: type[Plugin], request: MethodRequest) -> Plugin:
    """Return the plugin object; required properties may still lack a value."""
    failures = FailureCollector(request.plugin.name)
    config = cls.Config.build(request.properties, failures, request.macros)
    wrong = [f.message for f in failures if request.properties.get(f.field or "")]
    if wrong:
        raise BadRequestError(" ".join(wrong), "Correct the property, or leave it out.")
    return cls(config)
