"""The stage contexts of plugin code that runs on the driver side."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import LocalcdapError, StageError
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.api.stage import FindPlugin
from localcdap.api.tables import Lookup, TableLoading, TableShape, TableWrite
from localcdap.artifacts.loading import UsedPlugins
from localcdap.artifacts.model import PluginRef
from localcdap.engine.cluster.shipping import Shipment
from localcdap.engine.cluster.transfer import download, uploaded
from localcdap.engine.driver.blame import marked
from localcdap.engine.driver.commit import Staging
from localcdap.engine.driver.lookups import lookup_file
from localcdap.engine.driver.tables import TableLoad, TableSource, repeated_key
from localcdap.engine.local.lost_task_errors import recover_task_error
from localcdap.engine.plan.flow import Stage
from localcdap.engine.plan.spark_types import spark_schema
from localcdap.engine.tasks.context import CountingMetrics, FactsContext, StageFacts
from localcdap.engine.tasks.generating import BatchFunction, batches_pass, generating_pass
from localcdap.engine.tasks.lookups import FileLookup, LookupFile
from localcdap.engine.tasks.plan import ERROR_FIELDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_MOST_PARTITIONS: Final = 1024
_TABLE: Final = "__localcdap_table__"
"""Column by which rows for several tables are kept apart."""


@dataclasses.dataclass
class Surroundings:
    """What all stages of a run have in common."""

    spark: SparkSession
    namespace: str
    run_id: str
    arguments: Mapping[str, str]
    logical_start_time: datetime.datetime
    locations: Locations
    tables: TableSource
    staging: Staging
    table_directory: Path
    """Where rows for tables wait for the end of the run."""
    home: str | None = None
    """The instance's folder, where the host is found; None when there is none."""
    shipment: Shipment | None = None
    """What the workers of a cluster are sent; None on this machine, where they find everything."""
    table_loads: list[TableLoad] = dataclasses.field(default_factory=list)
    numbers: Iterator[int] = dataclasses.field(default_factory=itertools.count)
    metrics: dict[str, CountingMetrics] = dataclasses.field(default_factory=dict)
    """By stage, what plugin code counts in this process."""
    lookups: dict[str, LookupFile] = dataclasses.field(default_factory=dict)
    """By name, the tables that were made ready for lookups."""
    channel: str | None = None
    """Folder through which workers tell what they log and print; None where they do not see it."""

    def metrics_of(self, stage: str) -> CountingMetrics:
        return self.metrics.setdefault(stage, CountingMetrics())

    def for_workers(self, plugin: PluginRef) -> PluginRef:
        """A plugin as Spark's Python workers find it.

        :raises EngineError: when the workers of a cluster cannot run plugins.
        """
        return plugin if self.shipment is None else self.shipment.relocated(plugin)

    def lookup_file(self, stage: str, table: str) -> LookupFile:
        """The rows of a table, for lookups on this machine; every stage of the run sees the same ones.

        :raises NotFoundError: when there is no such table.
        :raises StageError: when it cannot be looked into.
        """
        if table not in self.lookups:
            snapshot = self.tables.export(self.namespace, table)
            directory = self.table_directory.with_name("lookups") / str(next(self.numbers))
            try:
                self.lookups[table] = lookup_file(table, snapshot, directory)
            except StageError as error:
                text = f"Stage '{stage}': {error.message}"
                raise StageError(text, error.corrective_action, stage=stage) from None
        return self.lookups[table]

    def sent_lookup(self, stage: str, table: str) -> LookupFile:
        """:meth:`lookup_file` as Spark's Python workers find it."""
        file = self.lookup_file(stage, table)
        return file if self.shipment is None else self.shipment.lookup(file)

    def facts(self, stage: Stage, lookups: Iterable[str] = (), *, here: bool = False) -> StageFacts:
        """What a stage may know.

        :param lookups: the tables that its plugin names.
        :param here: whether its code runs in this process, wherever Spark is.
        """
        find = self.lookup_file if here else self.sent_lookup
        return StageFacts(
            stage_name=stage.name,
            namespace=self.namespace,
            run_id=self.run_id,
            arguments=dict(self.arguments),
            logical_start_time=self.logical_start_time,
            input_schemas=stage.input_schemas,
            output_schema=stage.output_schema,
            error_schema=stage.error_schema,
            port_schemas=stage.port_schemas,
            lookups=[find(stage.name, table) for table in dict.fromkeys(lookups)],
        )


class DriverContext(FactsContext):
    """A :class:`localcdap.api.stage.SparkContext`, source and sink context, whatever the stage is.

    :param shared: counts the rows of a DataFrame that are errors, and has it computed once for both its
        records and its errors.
    """

    def __init__(
        self,
        stage: Stage,
        run: Surroundings,
        *,
        wants_errors: bool = False,
        shared: Callable[[DataFrame, Column], DataFrame] = lambda df, _: df,
    ) -> None:
        super().__init__(run.facts(stage), run.metrics_of(stage.name))
        self.spark: SparkSession = run.spark
        self.is_remote: bool = run.shipment is not None
        self.find_plugin: FindPlugin = UsedPlugins(
            stage.plugin.uses, [run.for_workers(used) for used in stage.plugin.uses]
        )
        self.wants_errors: bool = wants_errors
        self.errors: DataFrame | None = None
        """The error records that the stage gives, once it has said so."""
        self.lines: Final[list[str]] = []
        """How the stage is run."""
        self._stage: Final = stage
        self._run: Final = run
        self._shared: Final = shared

    @property
    def metrics_of_run(self) -> Mapping[str, CountingMetrics]:
        """By stage, what plugin code has counted in this process, this stage's included."""
        return self._run.metrics

    def resolve_path(self, path: str) -> str:
        try:
            return self._run.locations.resolve(path)
        except StageError as error:
            raise self.fail(error.message, error.corrective_action) from None

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        text = f"Stage '{self.stage_name}': {message}"
        return StageError(text, corrective_action, stage=self.stage_name)

    def read_error_text(self, error: Exception) -> str:
        return recover_task_error(str(error), self.spark)

    def raising(self, message: Column) -> Column:
        from pyspark.sql import functions as f

        return f.raise_error(f.concat(f.lit(marked(self.stage_name)), message))

    def without_errors(
        self, df: DataFrame, *, code: Column, message: Column, record: Column
    ) -> DataFrame:
        from pyspark.sql import functions as f

        df = self._shared(df, message.isNotNull())
        parts = (record, code.cast("int"), message, f.lit(self.stage_name))
        if self.wants_errors:
            named = [part.alias(name) for name, part in zip(ERROR_FIELDS, parts, strict=True)]
            self.errors = df.where(message.isNotNull()).select(*named)
        records: DataFrame = df.where(message.isNull())
        return records

    def in_batches(self, df: DataFrame, run: BatchFunction, schema: Schema) -> DataFrame:
        from pyspark import cloudpickle

        function = batches_pass(
            self.stage_name,
            self._run.for_workers(self._stage.plugin),
            schema,
            cloudpickle.dumps(run),
            self._run.channel,
        )
        made: DataFrame = df.mapInArrow(function, spark_schema(schema, nullable=True))
        return made

    def explain(self, line: str) -> None:
        self.lines.append(line)

    def empty(self, schema: Schema) -> DataFrame:
        return self.spark.createDataFrame([], spark_schema(schema))

    def generate(self, schema: Schema, tasks: Sequence[Any], read: Any) -> DataFrame:
        from pyspark import cloudpickle

        if not tasks:
            return self.empty(schema)
        code = cloudpickle.dumps((read, list(tasks)))
        run = generating_pass(
            self.stage_name,
            self._run.for_workers(self._stage.plugin),
            schema,
            code,
            self._run.channel,
        )
        numbers = self.spark.range(0, len(tasks), 1, min(len(tasks), _MOST_PARTITIONS))
        return numbers.mapInArrow(run, spark_schema(schema, nullable=True))

    def read_table(self, name: str) -> DataFrame:
        snapshot = self._run.tables.export(self.namespace, name)
        if not snapshot.files:
            return self.empty(snapshot.schema)
        if not self.is_remote:
            return self.spark.read.schema(spark_schema(snapshot.schema)).parquet(*snapshot.files)
        try:
            return uploaded(self.spark, snapshot)
        except StageError as error:
            message = f"table '{name}' {error.message}"
            raise self.fail(message, error.corrective_action) from None

    def find_table(self, name: str) -> TableShape | None:
        return self._run.tables.find(self.namespace, name)

    def lookup(self, table: str) -> Lookup:
        here = self._run.lookup_file(self.stage_name, table)
        return FileLookup(here, self._run.sent_lookup(self.stage_name, table))

    def staging_directory(self, final: str) -> str:
        try:
            return self._run.staging.directory(final)
        except LocalcdapError as error:
            raise self.fail(error.message, error.corrective_action) from None

    def write_table(self, name: str, df: DataFrame, schema: Schema, key: str) -> None:
        if schema.field(key) is None:
            raise self.fail(
                f"the key '{key}' of table '{name}' is not a field; fields are: "
                f"{', '.join(schema.field_names)}."
            )
        self._load(name, df, schema, key, TableWrite())

    def load_table(self, name: str, df: DataFrame, schema: Schema, how: TableWrite) -> None:
        lacking = [key for key in how.keys if schema.field(key) is None]
        if lacking:
            raise self.fail(
                f"the key '{lacking[0]}' of table '{name}' is not a field; fields are: "
                f"{', '.join(schema.field_names)}."
            )
        self._load(name, df, schema, None, how)

    def load_tables(self, df: DataFrame, loads: Sequence[TableLoading]) -> None:
        if self.is_remote:
            raise self.fail(
                "several tables cannot be written from a cluster.",
                "Run the pipeline on this machine.",
            )
        directory = self._run.table_directory / str(next(self._run.numbers))
        rows = df.toDF(*df.columns[:-1], _TABLE).where(f"{_TABLE} IS NOT NULL")
        rows.write.partitionBy(_TABLE).parquet(str(directory))
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

    def _load(
        self, name: str, df: DataFrame, schema: Schema, key: str | None, how: TableWrite
    ) -> None:
        directory = self._run.table_directory / str(next(self._run.numbers))
        rows = df.select(*[quoted(f.name) for f in schema])
        if self.is_remote:
            download(rows, directory)
        else:
            rows.write.parquet(str(directory))
        if how.keys and not how.dedupe_by:
            self._refuse_repeated(name, directory, how.keys)
        load = TableLoad(self.namespace, name, schema, key, str(directory), how)
        self._run.table_loads.append(load)

    def _refuse_repeated(self, name: str, directory: Path, keys: Sequence[str]) -> None:
        """Fail while nothing of the run is visible yet; the store would refuse these rows at its end."""
        found = repeated_key(directory, keys)
        if found is not None:
            key, count = found
            shown = ", ".join(f"{name} = {value!r}" for name, value in key.items())
            raise self.fail(
                f"{count} of the records for table '{name}' have the same key: {shown}.",
                "Say which one counts by 'dedupeBy', or write each key once.",
            )


def quoted(name: str) -> str:
    """A column name in which dots and backticks mean themselves."""
    return "`" + name.replace("`", "``") + "`"


def addressable(frame: DataFrame, names: list[str]) -> DataFrame:
    """The columns under names that ``mapInArrow`` can handle: it takes dots and backticks for syntax.

    Those behind it go by position, see :class:`localcdap.engine.tasks.plan.PassPlan`.
    """
    if not any("." in name or "`" in name for name in names):
        return frame
    return frame.toDF(*(f"c{index}" for index in range(len(names))))
