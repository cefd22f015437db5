"""The objects that a plugin receives: its stage when it is configured, its context when it runs."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from localcdap.api.dataset.definition import DatasetDeclaration, DatasetFiles
from localcdap.api.errors import ConflictError
from localcdap.api.failures import FailureCollector
from localcdap.api.lineage import FieldOperation
from localcdap.api.locations import Locations
from localcdap.api.metadata import Metadata, MetadataEntity, MetadataScope
from localcdap.api.schema import Schema
from localcdap.api.tables import Lookup, TableLoading, TableShape, TableWrite
from localcdap.api.topics import TopicContext

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from localcdap.api.app.transactions import TransactionRunner
    from localcdap.api.join.definition import JoinDefinition


Record = dict[str, Any]
"""A record: field values by name, in schema order.

Values are ``bool``, ``int``, ``float``, ``bytes``, ``str`` (also for enums), ``list``, ``dict`` (for maps
and nested records), ``datetime.date``, ``datetime.time``, ``datetime.datetime`` (with UTC for timestamps,
naive for ``datetime``), ``decimal.Decimal``, or None.
"""

FindPlugin = Callable[[str, str], "type[Any] | None"]
"""Returns the class of a plugin by type and name; None when there is no such plugin."""

FindTable = Callable[[str], "TableShape | None"]
"""Returns the columns of a table by name; None when there is no such table."""

FindSchema = Callable[[str], "Schema | None"]
"""Returns the schema of a dataset by name; None when there is none of that name, or it has no schema."""


class NoticeKind(enum.StrEnum):
    """What a stage did to its input without being asked to; see :meth:`StageContext.count_altered`."""

    VALUES = "values"
    """Values were altered, such as rounded."""
    ROWS = "rows"
    """Rows were dropped because of an error."""
    KEYS = "keys"
    """Keys differ from a field by case or blanks only; the format decides whether they are read."""


@dataclasses.dataclass(frozen=True)
class AlteredRows:
    """The rows of a DataFrame in which a stage alters a value in one way."""

    change: str
    """See :meth:`StageContext.count_altered`."""
    first: Column
    """A text of an altered row; null for the other rows. The smallest text is kept."""
    locate: Callable[[str], str] = str
    """Makes of that text what the warning says; called in this process when the rows have been computed."""
    kind: NoticeKind = NoticeKind.VALUES
    """Whether values are altered, rows dropped, or keys differ from fields."""


class StageConfigurer:
    """A stage that is being configured: it has the input schemas, and gets failures and output schemas.

    ``configure`` must be a pure function of the configuration and the input schemas.
    """

    def __init__(
        self,
        name: str,
        input_schemas: Mapping[str, Schema | None],
        *,
        output_ports: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.input_schemas: dict[str, Schema | None] = dict(input_schemas)
        """Schemas by input stage, in connection order; None for a schema that is not known (yet)."""
        self.output_ports: tuple[str, ...] = tuple(output_ports)
        """The connected ports of a splitter."""
        self.failures = FailureCollector(name, list(self.input_schemas))
        self.warnings = FailureCollector(name, list(self.input_schemas))
        """Probable mistakes that do not make the stage invalid; added as in :attr:`failures`."""
        self.output_schema: Schema | None = None
        """Set by ``configure``; None when it is not known before the run."""
        self.error_schema: Schema | None = None
        """The schema of the records given to ``emit.error``; None means the input schema."""
        self.port_schemas: dict[str, Schema] = {}
        """The schemas by port, which a splitter sets instead of :attr:`output_schema`."""
        self.joined_stages: Sequence[str] | None = None
        """Set by a joiner whose configuration names the stages that it joins; they must be its inputs."""
        self.pipeline_properties: dict[str, str] = {}
        self.foreign_paths: dict[str, list[str]] = {}
        """By property, the paths given to :meth:`requires_location`."""
        self.written_folders: dict[str, list[str]] = {}
        """By property, the folders given to :meth:`replaces_folder`."""
        self.locations: Locations | None = None
        """Resolves paths; None until ``configure_connected`` is called."""
        self.find_table: FindTable = lambda _: None
        """Returns the columns of a table of this namespace; only in ``configure_connected``."""
        self.find_dataset_schema: FindSchema = lambda _: None
        """Returns the schema of a dataset of this namespace; only in ``configure_connected``."""
        self.pipeline_version: str | None = None
        """The version of CDAP that the document names, as ``6.7.0``; None for a document without one."""
        self.wants_errors: bool | None = None
        """Whether an error transform takes the error records; None if that is not known."""
        self.earlier_stages: frozenset[str] | None = None
        """The stages before a condition; None for other stages, or if that is not known."""
        self.datasets: list[DatasetDeclaration] = []
        """The datasets given to :meth:`create_dataset`."""
        self.columns: dict[str, dict[str, str]] = {}
        """Set by a sink that declares no dataset for its table: by table, the type of each column, a text
        that is equal for values that one column can hold. Sinks of one table must not differ; they write one
        after the other, and a table that does not exist yet takes its columns from the first. The name
        ``dataset.*`` stands for tables of which only the run tells, all that begin with ``dataset.``"""
        self.in_run = False
        """Whether the run process configures the stage. A missing input then fails the run when it is read,
        because a condition may leave the stage out."""
        self.find_plugin: FindPlugin = lambda *_: None
        """Returns the class of another plugin, which a property of the form ``{plugin:TYPE}`` names."""

    @property
    def input_schema(self) -> Schema | None:
        """The schema that all inputs have; None for a source, or when it is not known."""
        return next((schema for schema in self.input_schemas.values() if schema is not None), None)

    def resolve_path(self, path: str) -> str:
        """Return where a path of the document is, as :meth:`SparkContext.resolve_path` does in the run.

        Only for ``configure_connected``: the result of ``configure`` must not depend on the machine.

        :raises StageError: for a foreign path that has no location.
        :raises ConflictError: outside of ``configure_connected``.
        """
        if self.locations is None:
            raise ConflictError(
                f"Stage '{self.name}' resolves a path in configure.",
                "Call resolve_path in configure_connected only.",
            )
        return self.locations.resolve(path)

    def requires_location(self, name: str, path: str) -> None:
        """Require a location on this machine for the foreign path of a property, such as ``gs://…``.

        When ``[locations]`` of the settings has none, the property gets a failure. For plugins that replace
        one of the cloud, whose ``configure`` has the same result on every machine.
        """
        self.foreign_paths.setdefault(name, []).append(path)

    def replaces_folder(self, name: str, path: str) -> None:
        """Say that this sink writes a folder, which a run creates or replaces as a whole.

        Of two sinks of a pipeline that name one folder, or a folder and one inside it, both get a failure.

        :param name: the property that names the folder.
        :param path: as the document has it, without macros; ``dataset://NAME/PATH`` in a dataset.
        """
        self.written_folders.setdefault(name, []).append(path)

    def create_dataset(
        self,
        name: str,
        type: str,
        properties: Mapping[str, str],
        *,
        config_property: str | None = None,
    ) -> None:
        """Have the deployment of the pipeline create a dataset, or update it so that it has these properties.

        A pipeline whose dataset cannot follow has a failure.

        :param type: such as ``table``; see ``localcdap datasets types``.
        :param properties: the property ``schema`` is that of the rows that this stage writes.
        :param config_property: the property of the stage that names the dataset, for failures.
        """
        declared = DatasetDeclaration(name, type, dict(properties), config_property)
        self.datasets.append(declared)

    def set_pipeline_property(self, key: str, value: str) -> None:
        """Set an engine property; two stages must not set different values.

        :raises ConflictError: when this stage sets two different values.
        """
        if self.pipeline_properties.setdefault(key, value) != value:
            raise ConflictError(f"Stage '{self.name}' sets pipeline property '{key}' twice.")


class Emitter(Protocol):
    """Receives the results of a record-at-a-time plugin. It copies a record, which the plugin may then change
    and emit once more.
    """

    def __call__(self, record: Record) -> None:
        """Emit an output record."""

    def error(self, record: Record, code: int, message: str, *, dropped: bool = True) -> None:
        """Emit an error record to the connected error transforms.

        :param dropped: whether the stage does not pass the input record on, too. A run says how many are
            dropped where no error transform is connected.
        """

    def alert(self, payload: Mapping[str, str]) -> None:
        """Emit an alert to the connected alert publishers."""


class PortEmitter(Protocol):
    """Receives the results of a record-at-a-time splitter."""

    def __call__(self, port: str, record: Record) -> None:
        """Emit a record to a port; records of an unconnected port are dropped."""

    def error(self, record: Record, code: int, message: str) -> None:
        """Emit an error record to the connected error transforms."""

    def alert(self, payload: Mapping[str, str]) -> None:
        """Emit an alert to the connected alert publishers."""


class ErrorRecord(Protocol):
    """An error record as an error transform receives it."""

    record: Record
    code: int
    message: str
    stage: str
    """The stage that emitted it."""


class Metrics(Protocol):
    """User metrics of a stage."""

    def count(self, name: str, delta: int = 1) -> None:
        """Add to a counter."""


class StageContext(Protocol):
    """The run-time context of every plugin, in the run process and in Spark workers."""

    stage_name: str
    namespace: str
    pipeline: str
    """The name of the pipeline; empty when a stage is debugged alone."""
    run_id: str
    pipeline_version: str | None
    """As :attr:`StageConfigurer.pipeline_version`."""
    arguments: Mapping[str, str]
    """The arguments of the run, including those set by earlier actions."""
    logical_start_time: datetime.datetime
    """The time for which the run was scheduled, in UTC."""
    input_schemas: Mapping[str, Schema]
    output_schema: Schema | None
    error_schema: Schema | None
    port_schemas: Mapping[str, Schema]
    logger: logging.Logger
    metrics: Metrics

    @property
    def input_schema(self) -> Schema:
        """The schema of the input; of the first one when there are several."""
        ...

    def count_altered(
        self, change: str, first: str, number: int = 1, kind: NoticeKind = NoticeKind.VALUES
    ) -> None:
        """Count values that the stage does not pass on as they are, such as rounded ones.

        The log and the record of the run have a warning for each kind of change, with the number of the
        values and the first one; a strict run fails for it. So do not count what the pipeline asks for. Tasks
        that Spark repeats count once.

        :param change: what became of the values, without the values: ``"seconds were left out"``.
        :param first: where the value is, or what it was.
        :param kind: whether values are altered, rows dropped, or keys differ from fields.
        """

    def lookup(self, table: str) -> Lookup:
        """Return the lookup of a table of this namespace.

        A transform of record or batch grain must name its tables in ``lookup_tables``.

        :raises NotFoundError: when there is no such table.
        :raises StageError: when the table has no key, is too large, or was not named.
        """

    def get_metadata(self, scope: MetadataScope, entity: MetadataEntity) -> Metadata:
        """Return the metadata of an entity in one scope; empty when it has none.

        Only :meth:`Plugin.prepare_run` may read any entity. In ``initialize``, a plugin of record or batch
        grain reads those that its ``metadata_entities`` returned; nothing is read while it handles records.

        :raises StageError: when there is no such entity, the user may not read it, or it was not declared.
        """


class PrepareContext(StageContext, Protocol):
    """The context of :meth:`Plugin.prepare_run`, in the run's own process, before the first record.

    It reads and emits metadata (CDAP ``MetadataReaderContext`` and ``MetadataWriterContext``). An entity that
    names no namespace is in that of the run. Emitted metadata is of the scope USER; it takes effect some
    moments later and in the order of the calls, also when the run fails afterwards. An entity is read once
    for each run. A preview emits nothing: its log shows what a run would emit.
    """

    @property
    def transactions(self) -> TransactionRunner:
        """See :attr:`localcdap.api.control.ControlContext.transactions`."""

    def add_properties(self, entity: MetadataEntity, properties: Mapping[str, str]) -> None:
        """Set properties of an entity.

        :raises BadRequestError: when a key or a value is illegal; nothing is emitted.
        """

    def add_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Add tags to an entity.

        :raises BadRequestError: when a tag is illegal; nothing is emitted.
        """

    def remove_metadata(self, entity: MetadataEntity) -> None:
        """Remove all properties and tags of an entity."""

    def remove_properties(self, entity: MetadataEntity, *names: str) -> None:
        """Remove properties of an entity; without names, all of them."""

    def remove_tags(self, entity: MetadataEntity, *tags: str) -> None:
        """Remove tags of an entity; without tags, all of them."""

    def record(self, operations: Sequence[FieldOperation]) -> None:
        """Record operations on fields that only a run knows (CDAP ``LineageRecorder.record``).

        They come after those of :meth:`localcdap.api.plugin.Plugin.record_lineage`. Lineage takes effect when
        the run commits; that of a preview is dropped.
        """


class FinishContext(StageContext, Protocol):
    """The context of :meth:`Plugin.on_run_finish`, in the run's own process, when the run has ended."""

    @property
    def transactions(self) -> TransactionRunner:
        """See :attr:`localcdap.api.control.ControlContext.transactions`."""

    def resolve_path(self, path: str) -> str:
        """See :meth:`SparkContext.resolve_path`."""

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return an error to raise, which names this stage."""


class SparkContext(StageContext, Protocol):
    """The run-time context of a plugin of DataFrame grain, in the run process."""

    spark: SparkSession
    is_remote: bool
    """Whether Spark is a cluster, whose files this process cannot read."""

    def resolve_path(self, path: str) -> str:
        """Return where a path of the pipeline document is on this machine or on the cluster.

        Applies ``[locations]`` of the settings, or those of the compute profile on a cluster, and removes
        ``file:``. A relative path is relative to the instance's folder, and an error on a cluster.
        """

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return an error to raise, which names this stage."""

    def read_error_text(self, error: Exception) -> str:
        """Return the message of Spark's error with its causes.

        Spark loses the exception of a task whose class comes from a session's jar, such as a JDBC driver's;
        on this machine it is read from the log of the Spark server.
        """

    def raising(self, message: Column, record: Column | None = None) -> Column:
        """Return a column that fails the run, with an error of this stage, on every row where it is computed.

        :param message: what is wrong, as a text column; it may contain values of the row.
        :param record: the row at fault, as JSON, which the error shows shortened; null for none.
        """

    def join(self, inputs: Mapping[str, DataFrame], join: JoinDefinition) -> DataFrame:
        """Return the joined records, and explain how they are joined.

        :param inputs: the DataFrames by input stage.
        :param join: valid for these inputs.
        """

    wants_errors: bool
    """Whether the error records of this stage are used."""

    def without_errors(
        self,
        df: DataFrame,
        *,
        code: Column,
        message: Column,
        record: Column,
        dropped: Column | bool = True,
    ) -> DataFrame:
        """Return the rows of a DataFrame that are not errors; the other rows become error records.

        Call it at most once, in a transform's ``apply``.

        :param code: the error code, as an int.
        :param message: the error message; null on the rows that are not errors.
        :param record: the error record, a struct of the columns of the error schema; only computed when
            :attr:`wants_errors`.
        :param dropped: whether an error row counts as dropped where no stage takes the error records
            (:attr:`NoticeKind.ROWS`): not when the pipeline asks for that.
        """

    needed_fields: Collection[str] | None
    """The output fields that later stages read; None for all of them."""

    def observe_altered(self, df: DataFrame, *changes: AlteredRows) -> DataFrame:
        """Return the DataFrame, whose altered rows Spark counts; see :meth:`StageContext.count_altered`.

        Spark handles each row once more for each call, so that one with several changes costs less than
        several calls.
        """

    def in_batches(
        self,
        df: DataFrame,
        run: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        schema: Schema,
    ) -> DataFrame:
        """Apply a function to the Arrow batches of a DataFrame, in parallel.

        An exception in it becomes an error of this stage.

        :param run: a picklable function, called once in each task.
        :param schema: the schema of the batches that the function returns.
        """

    find_plugin: FindPlugin
    """As :attr:`StageConfigurer.find_plugin`; picklable, for functions of :meth:`in_batches`."""

    @property
    def transactions(self) -> TransactionRunner:
        """See :attr:`localcdap.api.control.ControlContext.transactions`.

        Those of a source or sink that write are not undone when the run fails later.
        """

    def explain(self, line: str) -> None:
        """Add a line on how the stage runs to the output of ``localcdap run --explain``."""

    def empty(self, schema: Schema) -> DataFrame:
        """Return a DataFrame without rows."""

    def read_table(self, name: str) -> DataFrame:
        """Return the rows of a table of this namespace, as a snapshot of now.

        :raises NotFoundError: when there is no such table.
        """

    def find_table(self, name: str) -> TableShape | None:
        """Return the current columns of a table of this namespace; None when there is none."""

    def lookup(self, table: str) -> Lookup:
        """As :meth:`StageContext.lookup`; picklable, for functions of :meth:`in_batches`."""

    def generate(self, schema: Schema, tasks: Sequence[Any], read: Any) -> DataFrame:
        """Return a DataFrame of the batches that ``read(task)`` yields for each task, in parallel.

        :param read: a picklable function from a task to an iterator of ``pyarrow.RecordBatch`` with the
            schema
            :func:`localcdap.api.arrow.to_arrow_schema` of ``schema``.
        """


class SourceContext(SparkContext, Protocol):
    """The run-time context of a source."""

    def create_dataset(
        self, name: str, type: str, properties: Mapping[str, str]
    ) -> DatasetFiles | None:
        """See :meth:`SinkContext.create_dataset`."""


class SinkContext(SparkContext, TopicContext, Protocol):
    """The run-time context of a sink. Its output is committed when the whole run succeeds, or not at all."""

    def staging_directory(self, final: str, *, written_by_spark: bool = False) -> str:
        """Return a new directory to write into, whose files are moved to ``final`` when the run succeeds.

        :param final: a path from :meth:`resolve_path`; it must not exist or be an empty directory.
        :param written_by_spark: True for a sink that does nothing but ``df.write.mode("append")`` there: the
            directory then has what Spark would make first, so that a run can be stopped at that moment too.
        """

    def create_dataset(
        self, name: str, type: str, properties: Mapping[str, str]
    ) -> DatasetFiles | None:
        """Create a dataset now, unless it exists and has these properties already.

        It is the counterpart of :meth:`StageConfigurer.create_dataset` for properties that only a run knows.
        Previews, and runs without a host, create nothing.

        :returns: where its files are; None for a dataset without a folder, and when nothing is created.
        :raises StageError: when it exists and would have to change.
        """

    def add_partition(self, dataset: str, key: Mapping[str, str | int], path: str) -> None:
        """Add a partition to a file set when the run succeeds.

        :param path: the folder of its files, relative to that of the file set.
        """

    def drop_partition(self, dataset: str, key: Mapping[str, str | int]) -> None:
        """Drop a partition of a file set with its files when the run succeeds."""

    def write_table(self, name: str, df: DataFrame, schema: Schema, key: str) -> None:
        """Upsert rows into a table by the column ``key`` when the run succeeds."""

    def load_table(self, name: str, df: DataFrame, schema: Schema, how: TableWrite) -> None:
        """Write rows into a table without a key when the run succeeds.

        :raises StageError: for a key that is not a field of the schema.
        """

    def load_tables(self, df: DataFrame, loads: Sequence[TableLoading]) -> None:
        """Insert rows into several tables when the run succeeds.

        :param df: its last column is the index of the row's table in ``loads``; rows where it is null are
            left out. The other columns are the fields of all tables.
        :raises StageError: on a cluster.
        """


class SchemaContext(SourceContext, Protocol):
    """The context of :meth:`BatchSource.find_schema`, in the run's own process, before the plan is made."""

    def set_argument(self, name: str, value: str) -> None:
        """Set an argument of the run for the other stages (CDAP ``BatchSourceContext.getArguments``)."""


class SampleContext(StageContext, Protocol):
    """The context of a transform that runs on a sample, outside of Spark."""

    find_plugin: FindPlugin
    """As :attr:`StageConfigurer.find_plugin`."""


class SourceSampleContext(StageContext, Protocol):
    """The context in which a source reads its first records without Spark, on this machine."""

    is_remote: bool
    """Always False, as in a :class:`SourceContext` on this machine."""
    find_plugin: FindPlugin
    """As :attr:`StageConfigurer.find_plugin`."""

    def resolve_path(self, path: str) -> str:
        """See :meth:`SparkContext.resolve_path`."""

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return an error to raise, which names this stage."""

    def generate(
        self, schema: Schema, tasks: Sequence[Any], read: Callable[[Any], Iterator[pa.RecordBatch]]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches that ``read`` makes of each task, in order, as :meth:`SparkContext.generate` does
        in Spark's workers.
        """


class SinkSampleContext(StageContext, Protocol):
    """The context in which a sink looks at records of a preview without Spark."""

    def resolve_path(self, path: str) -> str:
        """See :meth:`SparkContext.resolve_path`."""
