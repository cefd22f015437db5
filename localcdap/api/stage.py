"""What a plugin is given: its stage when it is configured, its surroundings when it runs."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from localcdap.api.errors import ConflictError
from localcdap.api.failures import FailureCollector
from localcdap.api.locations import Locations
from localcdap.api.schema import Schema
from localcdap.api.tables import Lookup, TableLoading, TableShape, TableWrite

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

Record = dict[str, Any]
"""A record: field values by name, in schema order.

Values are ``bool``, ``int``, ``float``, ``bytes``, ``str`` (also for enums), ``list``, ``dict`` (for maps
and nested records), ``datetime.date``, ``datetime.time``, ``datetime.datetime`` (with UTC for timestamps,
naive for ``datetime``), ``decimal.Decimal``, or None.
"""


FindPlugin = Callable[[str, str], "type[Any] | None"]
"""The class of a plugin by its type and name; None when there is none."""

FindTable = Callable[[str], "TableShape | None"]
"""The columns of a structured dataset by its name; None when there is none."""


class StageConfigurer:
    """A stage while it is being configured: input schemas in, failures and output schemas out.

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
        """By input stage, in connection order. None where the schema is not known (yet)."""
        self.output_ports: tuple[str, ...] = tuple(output_ports)
        """Ports of a splitter that something is connected to."""
        self.failures = FailureCollector(name, list(self.input_schemas))
        self.warnings = FailureCollector(name, list(self.input_schemas))
        """What is probably a mistake, though it makes nothing invalid; filled as :attr:`failures`."""
        self.output_schema: Schema | None = None
        """Set it; stays None when it is not known before the run."""
        self.error_schema: Schema | None = None
        """Schema of the records given to ``emit.error``; None means the input schema."""
        self.port_schemas: dict[str, Schema] = {}
        """A splitter sets these instead of :attr:`output_schema`."""
        self.joined_stages: Sequence[str] | None = None
        """A joiner whose configuration says which stages it joins sets them: they must be its inputs."""
        self.pipeline_properties: dict[str, str] = {}
        self.foreign_paths: dict[str, list[str]] = {}
        """By property, the paths that :meth:`requires_location` was told of."""
        self.locations: Locations | None = None
        """Where paths lie; None until ``configure_connected`` is called."""
        self.find_table: FindTable = lambda _: None
        """Finds the columns of a structured dataset of this namespace, in ``configure_connected`` only."""
        self.find_plugin: FindPlugin = lambda *_: None
        """Finds the class of another plugin, which a property of the form ``{plugin:TYPE}`` names, by type
        and name; None when it is not there.
        """

    @property
    def input_schema(self) -> Schema | None:
        """The schema common to all inputs; None for a source or when it is not known."""
        return next((schema for schema in self.input_schemas.values() if schema is not None), None)

    def resolve_path(self, path: str) -> str:
        """Where a path of the document lies, as :meth:`SparkContext.resolve_path` will say in the run.

        Only for ``configure_connected``: what ``configure`` says must not depend on the machine.

        :raises StageError: for a foreign path that no location is given for.
        :raises ConflictError: outside of ``configure_connected``.
        """
        if self.locations is None:
            raise ConflictError(
                f"Stage '{self.name}' asks where a path lies before it may.",
                "Call resolve_path in configure_connected only.",
            )
        return self.locations.resolve(path)

    def requires_location(self, name: str, path: str) -> None:
        """Say that the path in a property must lie on this machine, though it names another place.

        Where ``[locations]`` of the settings does not say where, that becomes a failure of the property.
        Plugins call it that stand in for one of the cloud; what they configure stays the same everywhere.
        """
        self.foreign_paths.setdefault(name, []).append(path)

    def set_pipeline_property(self, key: str, value: str) -> None:
        """Ask for an engine property; two stages must not ask for different values.

        :raises ConflictError: when this stage asks for two different values itself.
        """
        if self.pipeline_properties.setdefault(key, value) != value:
            raise ConflictError(f"Stage '{self.name}' sets pipeline property '{key}' twice.")


class Emitter(Protocol):
    """Where a record-at-a-time plugin puts its results.

    The record given away must not be changed afterwards.
    """

    def __call__(self, record: Record) -> None:
        """Emit an output record."""

    def error(self, record: Record, code: int, message: str) -> None:
        """Emit an error record; it goes to the error collectors behind this stage."""

    def alert(self, payload: Mapping[str, str]) -> None:
        """Emit an alert; it goes to the alert publishers behind this stage."""


class PortEmitter(Protocol):
    """Where a record-at-a-time splitter puts its results."""

    def __call__(self, port: str, record: Record) -> None:
        """Emit a record to one port; a port that nothing is connected to drops it."""


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
    """A stage at run time, as every plugin sees it, wherever its code runs."""

    stage_name: str
    namespace: str
    run_id: str
    arguments: Mapping[str, str]
    """The run's arguments, those set by earlier actions included."""
    logical_start_time: datetime.datetime
    """When the run was meant to start, in UTC."""
    input_schemas: Mapping[str, Schema]
    output_schema: Schema | None
    error_schema: Schema | None
    port_schemas: Mapping[str, Schema]
    logger: logging.Logger
    metrics: Metrics

    @property
    def input_schema(self) -> Schema: ...

    def lookup(self, table: str) -> Lookup:
        """The rows of a structured dataset of this namespace, found by key.

        A transform of record or batch grain names its tables in ``lookup_tables``.

        :raises NotFoundError: when there is no such table.
        :raises StageError: when the table has no key, is too large, or was not named.
        """


class SparkContext(StageContext, Protocol):
    """A stage of DataFrame grain at run time, on the driver side."""

    spark: SparkSession
    is_remote: bool
    """Whether Spark is a cluster, whose files this process does not see."""

    def resolve_path(self, path: str) -> str:
        """The place on this machine (or cluster) of a path in a pipeline document.

        Applies the ``[locations]`` of the settings, or those of the compute profile on a cluster; a
        relative path is relative to the instance's folder, and refused on a cluster; ``file:`` prefixes are
        removed.
        """

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        """An error to raise that names this stage."""

    def read_error_text(self, error: Exception) -> str:
        """Return the message of Spark's error with its causes.

        Spark loses the exception of a task whose class comes from a session's jar, such as a JDBC driver's;
        on this machine it is read from the log of the Spark server.
        """

    def raising(self, message: Column) -> Column:
        """A column that fails the run where it is computed, as a failure of this stage.

        :param message: what is wrong, as a column of text; it may quote the row's values.
        """

    wants_errors: bool
    """Whether something reads the error records of this stage."""

    def without_errors(
        self, df: DataFrame, *, code: Column, message: Column, record: Column
    ) -> DataFrame:
        """The rows of a DataFrame that are no errors; the others become error records of this stage.

        Call it once at most, in a transform's ``apply``.

        :param code: the error code, as an int.
        :param message: the error message; null on the rows that are no errors.
        :param record: the error record, a struct of the columns of the error schema; only asked for when
            :attr:`wants_errors`.
        """

    def in_batches(
        self,
        df: DataFrame,
        run: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        schema: Schema,
    ) -> DataFrame:
        """What a function makes of the Arrow batches of a DataFrame, in parallel.

        What it raises is a failure of this stage.

        :param run: picklable; called once in each task. Its batches have the columns of ``schema``.
        """

    find_plugin: FindPlugin
    """As :attr:`StageConfigurer.find_plugin`; can be pickled into what :meth:`in_batches` runs."""

    def explain(self, line: str) -> None:
        """Say how the stage is run; ``localcdap run --explain`` shows the lines."""

    def empty(self, schema: Schema) -> DataFrame:
        """A DataFrame without rows."""

    def read_table(self, name: str) -> DataFrame:
        """The rows of a structured dataset of this namespace, in a snapshot taken now.

        :raises NotFoundError: when there is no such table.
        """

    def find_table(self, name: str) -> TableShape | None:
        """The columns of a structured dataset of this namespace as they are now; None when there is none."""

    def lookup(self, table: str) -> Lookup:
        """As :meth:`StageContext.lookup`; can be pickled into what :meth:`in_batches` runs."""

    def generate(self, schema: Schema, tasks: Sequence[Any], read: Any) -> DataFrame:
        """A DataFrame of what ``read(task)`` yields for each task, in parallel.

        :param read: a picklable function from a task to an iterator of ``pyarrow.RecordBatch`` whose
            columns are ``localcdap.api.arrow.arrow_schema(schema)``.
        """


class SourceContext(SparkContext, Protocol):
    """A source at run time."""


class SinkContext(SparkContext, Protocol):
    """A sink at run time. What it writes appears when the whole run has succeeded, or not at all."""

    def staging_directory(self, final: str) -> str:
        """A new directory to write into; its files appear in the directory ``final`` at the end.

        ``final`` is a path from :meth:`resolve_path`. It must not exist, or be an empty directory.
        """

    def write_table(self, name: str, df: DataFrame, schema: Schema, key: str) -> None:
        """Upsert the rows of ``df`` into the table ``name`` by the column ``key`` at the end."""

    def load_table(self, name: str, df: DataFrame, schema: Schema, how: TableWrite) -> None:
        """Write the rows of ``df`` into the table ``name``, which has no key of its own, at the end.

        :raises StageError: for a key that is no field of the schema.
        """

    def load_tables(self, df: DataFrame, loads: Sequence[TableLoading]) -> None:
        """:meth:`load_table` for several tables at once; the rows of each are inserted.

        :param df: its last column is an int, the place of the row's table in ``loads``; rows where it is null
            are left out. The others hold the fields of every table.
        :raises StageError: on a cluster.
        """
