"""The objects that the stages of a run share in the driver, and the stage contexts of plugin code that runs
there.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.dataset.definition import DatasetDeclaration, DatasetFiles, PartitionChange
from localcdap.api.errors import HostError, LocalcdapError, StageError, StoreError
from localcdap.api.join import JoinDefinition
from localcdap.api.lineage import FieldOperation
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.api.sql_names import quote_column
from localcdap.api.stage import FindPlugin, NoticeKind
from localcdap.api.tables import Lookup, TableLoading, TableShape, TableWrite
from localcdap.artifacts.loading import UsedPlugins
from localcdap.artifacts.model import PluginRef
from localcdap.engine.cluster.shipment import Shipment
from localcdap.engine.commit import Staging, make_job_directory
from localcdap.engine.host_client import HostTopics, TopicAccess
from localcdap.engine.local.lost_task_errors import recover_task_error
from localcdap.engine.messages.flow import Stage
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.plan.error_attribution import mark_message, mark_record
from localcdap.engine.plan.joins import explain_join, join_frames
from localcdap.engine.plan.record_counter import RunAlteredValues
from localcdap.engine.plan.run_metadata import RunMetadata
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.engine.plan.tables import (
    TableSource,
    check_new_table,
    download_rows,
    find_new_table,
    find_repeated_key,
    upload_rows,
    write_lookup_file,
)
from localcdap.engine.spark_internals import pickle_code
from localcdap.engine.tasks.batch_functions import (
    BatchFunction,
    create_batches_pass,
    create_generating_pass,
)
from localcdap.engine.tasks.context import (
    CountingMetrics,
    EntityMetadata,
    StageContextData,
    WorkerStageContext,
)
from localcdap.engine.tasks.lookups import FileLookup, LookupFile
from localcdap.engine.tasks.pass_plan import ERROR_FIELDS
from localcdap.engine.tasks.runners import UNREAD_ERRORS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_MOST_PARTITIONS: Final = 1024
_TABLE: Final = "__localcdap_table__"
"""Column with the index of the table that a row is for."""


class TableUse(enum.Enum):
    """How a stage uses a table."""

    READ = enum.auto()
    """It reads all rows, or those that SQL asks for."""
    LOOKUP = enum.auto()
    """It looks rows up by their keys."""
    WRITE = enum.auto()
    """It writes rows when the run commits."""
    CHANGE = enum.auto()
    """It has changed the table by SQL, at once."""


@dataclasses.dataclass
class RunContext:
    """The objects that all stages of a run share."""

    spark: SparkSession
    namespace: str
    pipeline: str
    run_id: str
    arguments: Mapping[str, str]
    logical_start_time: datetime.datetime
    locations: Locations
    tables: TableSource
    staging: Staging
    table_directory: Path
    """The folder in which rows for tables are stored until the run commits."""
    host_directory: str | None = None
    """The instance's folder, by which the host is found; None when there is no host."""
    shipment: Shipment | None = None
    """The code that was sent to a cluster; None on this machine, where workers read it from disk."""
    table_loads: list[TableLoad] = dataclasses.field(default_factory=list)
    partitions: list[PartitionChange] = dataclasses.field(default_factory=list)
    """The partitions of file sets that are added and dropped when the run commits."""
    declare: Callable[[str, DatasetDeclaration], DatasetFiles | None] | None = None
    """Creates a dataset for a stage; None where nothing is created."""
    numbers: Iterator[int] = dataclasses.field(default_factory=itertools.count)
    """Numbers for names that must be unique in the run."""
    metrics: dict[str, CountingMetrics] = dataclasses.field(default_factory=dict)
    """The metrics that plugin code counts in this process, by stage."""
    lookups: dict[str, LookupFile] = dataclasses.field(default_factory=dict)
    """The tables that were prepared for lookups, by name."""
    metadata: RunMetadata = dataclasses.field(default_factory=RunMetadata)
    """What stages read and emit while they prepare."""
    hide: Callable[[str], str] = str
    """Removes the secrets that the run has read from a text."""
    altered: RunAlteredValues = dataclasses.field(default_factory=RunAlteredValues)
    """The values that stages have altered."""
    prepared: dict[str, tuple[Stage, Any]] = dataclasses.field(default_factory=dict)
    """The plugins that have prepared the run, with their stages, by stage."""
    operations: dict[str, list[FieldOperation]] = dataclasses.field(default_factory=dict)
    """The operations that plugins recorded while they prepared the run, by stage."""
    tables_used: dict[str, list[tuple[TableUse, str]]] = dataclasses.field(default_factory=dict)
    """The tables that stages use, by stage."""
    transactions: Callable[[str], TransactionRunner] | None = None
    """Returns what runs the transactions of a stage; None when there is no host."""
    profiles: bool = False
    """Whether the profiles of what reaches the sinks are taken."""
    message_directory: str | None = None
    """Folder into which workers write log lines and counts; None for a cluster, which does not see it."""

    def block(self) -> None:
        """Make what Spark still writes for the run fail, unless its commit is decided."""
        self.staging.block(self.table_directory)

    def get_metrics(self, stage: str) -> CountingMetrics:
        """Return the metrics that a stage counts in this process."""
        return self.metrics.setdefault(stage, CountingMetrics())

    def locate_for_workers(self, plugin: PluginRef) -> PluginRef:
        """Return a plugin with the path at which Spark's Python workers find it.

        :raises EngineError: when the workers of a cluster cannot run plugins.
        """
        return plugin if self.shipment is None else self.shipment.relocate(plugin)

    def open_transactions(self, stage: str) -> TransactionRunner:
        """Return what runs the transactions of a stage.

        :raises HostError: when the run has no host.
        """
        if self.transactions is None:
            raise HostError(
                "Datasets cannot be opened: this run has no host.",
                "Run the pipeline through localcdap.",
            )
        return self.transactions(stage)

    def note_table(self, stage: str, use: TableUse, table: str) -> None:
        """Remember that a stage uses a table."""
        known = self.tables_used.setdefault(stage, [])
        if (use, table) not in known:
            known.append((use, table))

    def find_tables(self, stage: str, *uses: TableUse) -> list[str]:
        """Return the tables that a stage uses in one of some ways, in the order of their first uses."""
        known = self.tables_used.get(stage, ())
        return list(dict.fromkeys(table for use, table in known if use in uses))

    def get_lookup_file(self, stage: str, table: str) -> LookupFile:
        """Return the rows of a table for lookups on this machine; all stages of the run share one snapshot.

        :raises NotFoundError: when the table does not exist.
        :raises StageError: when the table has no key, or is too large.
        """
        self.note_table(stage, TableUse.LOOKUP, table)
        if table not in self.lookups:
            snapshot = self.tables.export(self.namespace, table)
            directory = self.table_directory.with_name("lookups") / str(next(self.numbers))
            try:
                self.lookups[table] = write_lookup_file(table, snapshot, directory)
            except StageError as error:
                text = f"Stage '{stage}': {error.message}"
                raise StageError(text, error.corrective_action, stage=stage) from None
        return self.lookups[table]

    def find_table(self, name: str) -> TableShape | None:
        """Return the columns of a table, also of one that the run has begun to write; None without one."""
        known = self.lookups.get(name)
        shape = self.tables.find(self.namespace, name) if known is None else known.shape
        return shape or find_new_table(name, self.table_loads)

    def send_lookup_file(self, stage: str, table: str) -> LookupFile:
        """Return :meth:`get_lookup_file` with the path at which Spark's Python workers find it."""
        file = self.get_lookup_file(stage, table)
        return file if self.shipment is None else self.shipment.send_lookup_file(file)

    def create_stage_data(
        self,
        stage: Stage,
        lookups: Iterable[str] = (),
        metadata: Sequence[EntityMetadata] = (),
        *,
        in_this_process: bool = False,
    ) -> StageContextData:
        """Return the data from which a stage's context is made.

        :param lookups: the tables that its plugin names.
        :param metadata: the metadata that its plugin declares to read.
        :param in_this_process: whether its code runs here and not in a worker of Spark.
        """
        find = self.get_lookup_file if in_this_process else self.send_lookup_file
        return StageContextData(
            stage_name=stage.name,
            namespace=self.namespace,
            pipeline=self.pipeline,
            run_id=self.run_id,
            arguments=dict(self.arguments),
            logical_start_time=self.logical_start_time,
            input_schemas=stage.input_schemas,
            output_schema=stage.output_schema,
            error_schema=stage.error_schema,
            port_schemas=stage.port_schemas,
            pipeline_version=stage.pipeline_version,
            lookups=[find(stage.name, table) for table in dict.fromkeys(lookups)],
            metadata=list(metadata),
        )


class DriverContext(TopicAccess, WorkerStageContext):
    """A :class:`localcdap.api.stage.SparkContext`, source context and sink context, whatever the stage is.

    :param drops_errors: whether no stage of the pipeline takes the error records; by default, when they are
        not wanted.
    :param shared: called with a DataFrame and the condition of its error rows; counts these, and has the
        DataFrame computed once for both its records and its errors.
    """

    def __init__(
        self,
        stage: Stage,
        run: RunContext,
        *,
        wants_errors: bool = False,
        drops_errors: bool | None = None,
        shared: Callable[[DataFrame, Column], DataFrame] = lambda df, _: df,
        needed_fields: Collection[str] | None = None,
    ) -> None:
        altered = run.altered.get(stage.name)
        super().__init__(run.create_stage_data(stage), run.get_metrics(stage.name), altered)
        self.needed_fields: Collection[str] | None = needed_fields
        self.spark: SparkSession = run.spark
        self.is_remote: bool = run.shipment is not None
        self.find_plugin: FindPlugin = UsedPlugins(
            stage.plugin.uses, [run.locate_for_workers(used) for used in stage.plugin.uses]
        )
        self.wants_errors: bool = wants_errors
        self._drops_errors: Final = not wants_errors if drops_errors is None else drops_errors
        self.errors: DataFrame | None = None
        """The error records of the stage, once its plugin has separated them."""
        self.lines: Final[list[str]] = []
        """How the stage is run, as its plugin explains it."""
        self._stage: Final = stage
        self._run: Final = run
        self._shared: Final = shared
        self._topics = HostTopics(run.host_directory)

    @property
    def transactions(self) -> TransactionRunner:
        """See :attr:`localcdap.api.control.ControlContext.transactions`."""
        return self._run.open_transactions(self.stage_name)

    @property
    def metrics_of_run(self) -> Mapping[str, CountingMetrics]:
        """The metrics that plugin code has counted in this process, by stage."""
        return self._run.metrics

    @property
    def altered_in_run(self) -> RunAlteredValues:
        """The values that all stages have altered."""
        return self._run.altered

    def resolve_path(self, path: str) -> str:
        """See :meth:`localcdap.api.stage.SparkContext.resolve_path`."""
        try:
            return self._run.locations.resolve(path)
        except StageError as error:
            raise self.fail(error.message, error.corrective_action) from None

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """Return the error of this stage with a message."""
        text = f"Stage '{self.stage_name}': {message}"
        return StageError(text, corrective_action, stage=self.stage_name)

    def read_error_text(self, error: Exception) -> str:
        return recover_task_error(str(error), self.spark)

    def raising(self, message: Column, record: Column | None = None) -> Column:
        """Return a column that fails the run, as a failure of this stage, when it is computed."""
        from pyspark.sql import functions as f

        parts = [f.lit(mark_message(self.stage_name)), message]
        if record is not None:
            parts.append(f.when(record.isNull(), f.lit("")).otherwise(mark_record(record)))
        return f.raise_error(f.concat(*parts))

    def without_errors(
        self,
        df: DataFrame,
        *,
        code: Column,
        message: Column,
        record: Column,
        dropped: Column | bool = True,
    ) -> DataFrame:
        """Separate the error rows, which have a message; return the others."""
        from pyspark.sql import functions as f

        if self._drops_errors and dropped is not False:
            is_dropped = message.isNotNull() if dropped is True else dropped
            df = self.observe_altered(df, UNREAD_ERRORS, is_dropped, message, kind=NoticeKind.ROWS)
        df = self._shared(df, message.isNotNull())
        parts = (record, code.cast("int"), message, f.lit(self.stage_name))
        if self.wants_errors:
            named = [part.alias(name) for name, part in zip(ERROR_FIELDS, parts, strict=True)]
            self.errors = df.where(message.isNotNull()).select(*named)
        records: DataFrame = df.where(message.isNull())
        return records

    def observe_altered(
        self,
        df: DataFrame,
        change: str,
        is_altered: Column,
        first: Column,
        locate: Callable[[str], str] = str,
        kind: NoticeKind = NoticeKind.VALUES,
    ) -> DataFrame:
        """See :meth:`localcdap.api.stage.SparkContext.observe_altered`."""
        # Names of observations become part of the SQL text of Spark's plans.
        name = re.sub(r"\W", "_", f"localcdap_{self.run_id}_altered_{next(self._run.numbers)}")
        altered = self._run.altered.get(self.stage_name)
        return altered.observe(df, name, change, is_altered, first, locate, kind)

    def in_batches(self, df: DataFrame, run: BatchFunction, schema: Schema) -> DataFrame:
        """Have a function of the plugin transform a DataFrame in Spark's Python workers, batch by batch."""
        function = create_batches_pass(
            self.stage_name,
            self._run.locate_for_workers(self._stage.plugin),
            schema,
            pickle_code(run),
            self._run.message_directory,
        )
        result: DataFrame = df.mapInArrow(function, spark_schema(schema, nullable=True))
        return result

    def join(self, inputs: Mapping[str, DataFrame], join: JoinDefinition) -> DataFrame:
        """See :meth:`localcdap.api.stage.SparkContext.join`."""
        self.lines.extend(explain_join(join))
        return join_frames(inputs, join)

    def explain(self, line: str) -> None:
        """Add a line to how the stage is run."""
        self.lines.append(line)

    def empty(self, schema: Schema) -> DataFrame:
        """Return a DataFrame without rows."""
        return self.spark.createDataFrame([], spark_schema(schema))

    def generate(self, schema: Schema, tasks: Sequence[Any], read: Any) -> DataFrame:
        """Return the batches that a function of the plugin makes of each task, in Spark's Python workers."""
        if not tasks:
            return self.empty(schema)
        function = create_generating_pass(
            self.stage_name,
            self._run.locate_for_workers(self._stage.plugin),
            schema,
            pickle_code((read, list(tasks))),
            self._run.message_directory,
        )
        numbers = self.spark.range(0, len(tasks), 1, min(len(tasks), _MOST_PARTITIONS))
        return numbers.mapInArrow(function, spark_schema(schema, nullable=True))

    def read_table(self, name: str) -> DataFrame:
        """Return the rows of a table.

        :raises NotFoundError: when the table does not exist.
        """
        self._run.note_table(self.stage_name, TableUse.READ, name)
        snapshot = self._run.tables.export(self.namespace, name)
        if not snapshot.files:
            return self.empty(snapshot.schema)
        if not self.is_remote:
            return self.spark.read.schema(spark_schema(snapshot.schema)).parquet(*snapshot.files)
        try:
            return upload_rows(self.spark, snapshot)
        except StageError as error:
            message = f"table '{name}' {error.message}"
            raise self.fail(message, error.corrective_action) from None

    def find_table(self, name: str) -> TableShape | None:
        """Return the columns of a table; None when it does not exist."""
        return self._run.find_table(name)

    def lookup(self, table: str) -> Lookup:
        """Return a lookup that works in this process and, pickled, in Spark's Python workers."""
        file = self._run.get_lookup_file(self.stage_name, table)
        return FileLookup(file, self._run.send_lookup_file(self.stage_name, table))

    def staging_directory(self, final: str, *, written_by_spark: bool = False) -> str:
        """Return a directory whose files appear in ``final`` when the run commits."""
        try:
            return self._run.staging.create_directory(final, written_by_spark=written_by_spark)
        except LocalcdapError as error:
            raise self.fail(error.message, error.corrective_action) from None

    def create_dataset(
        self, name: str, type: str, properties: Mapping[str, str]
    ) -> DatasetFiles | None:
        """Create a dataset now, unless it exists and has these properties already."""
        if self._run.declare is None:
            return None
        try:
            return self._run.declare(
                self.stage_name, DatasetDeclaration(name, type, dict(properties))
            )
        except LocalcdapError as error:
            raise self.fail(error.message, error.corrective_action) from None

    def add_partition(self, dataset: str, key: Mapping[str, str | int], path: str) -> None:
        """Add a partition to a file set when the run commits."""
        added = PartitionChange(self.namespace, dataset, dict(key), path)
        for each in self._run.partitions:
            if (each.dataset, each.key) == (dataset, added.key) and each.path is not None:
                raise self.fail(
                    f"two sinks write the partition {added.key} of dataset '{dataset}'."
                )
        self._run.partitions.append(added)

    def drop_partition(self, dataset: str, key: Mapping[str, str | int]) -> None:
        """Drop a partition of a file set, with its files, when the run commits."""
        self._run.partitions.append(PartitionChange(self.namespace, dataset, dict(key)))

    def write_table(self, name: str, df: DataFrame, schema: Schema, key: str) -> None:
        """Upsert rows into a table when the run commits."""
        self._require_fields(name, schema, [key])
        self._add_load(name, df, schema, key, TableWrite())

    def load_table(self, name: str, df: DataFrame, schema: Schema, how: TableWrite) -> None:
        """Write rows into a table without a primary key when the run commits."""
        self._require_fields(name, schema, how.keys)
        self._add_load(name, df, schema, None, how)

    def load_tables(self, df: DataFrame, loads: Sequence[TableLoading]) -> None:
        """Write rows into several tables when the run commits; the last column is the index of the table."""
        if self.is_remote:
            raise self.fail(
                "several tables cannot be written from a cluster.",
                "Run the pipeline on this machine.",
            )
        for load in loads:
            self._run.note_table(self.stage_name, TableUse.WRITE, load.name)
        directory = self._run.table_directory / str(next(self._run.numbers))
        make_job_directory(directory)
        rows = df.toDF(*df.columns[:-1], _TABLE).where(f"{_TABLE} IS NOT NULL")
        rows.write.mode("append").partitionBy(_TABLE).parquet(str(directory))
        self._run.table_loads += [
            TableLoad(
                self.namespace,
                load.name,
                load.schema,
                None,
                str(directory / f"{_TABLE}={number}"),
                load.how,
            )
            for number, load in enumerate(loads)
        ]

    def _require_fields(self, table: str, schema: Schema, keys: Sequence[str]) -> None:
        missing = next((key for key in keys if schema.field(key) is None), None)
        if missing is not None:
            raise self.fail(
                f"the key '{missing}' of table '{table}' is not a field; fields are: "
                f"{', '.join(schema.field_names)}."
            )

    def _add_load(
        self, name: str, df: DataFrame, schema: Schema, key: str | None, how: TableWrite
    ) -> None:
        self._check_new_table(name, schema, how)
        directory = self._run.table_directory / str(next(self._run.numbers))
        rows = df.select(*[quote_column(f.name) for f in schema])
        if self.is_remote:
            download_rows(rows, directory)
        else:
            make_job_directory(directory)
            rows.write.mode("append").parquet(str(directory))
        if how.keys and not how.dedupe_by:
            self._reject_repeated_keys(name, directory, how.keys)
        load = TableLoad(self.namespace, name, schema, key, str(directory), how)
        self._run.note_table(self.stage_name, TableUse.WRITE, name)
        self._run.table_loads.append(load)

    def _check_new_table(self, name: str, schema: Schema, how: TableWrite) -> None:
        """Fail while nothing of the run is visible, where another stage has begun to write the new table."""
        new = find_new_table(name, self._run.table_loads)
        if new is None or self._run.tables.find(self.namespace, name) is not None:
            return
        try:
            check_new_table(new, name, schema, how)
        except StoreError as error:
            use = (TableUse.WRITE, name)
            other = next(s for s, uses in self._run.tables_used.items() if use in uses)
            message = f"{error.message} Stage '{other}' creates the table."
            raise self.fail(message, error.corrective_action) from None

    def _reject_repeated_keys(self, name: str, directory: Path, keys: Sequence[str]) -> None:
        """Fail while nothing of the run is visible; the store would refuse the rows after the commit."""
        found = find_repeated_key(directory, keys)
        if found is not None:
            key, count = found
            values = ", ".join(f"{name} = {value!r}" for name, value in key.items())
            raise self.fail(
                f"{count} of the records for table '{name}' have the same key: {values}.",
                "Say which one counts by 'dedupeBy', or write each key once.",
            )
