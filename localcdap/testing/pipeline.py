"""The pipeline tester: runs the stages of a test with the planner, Spark and commit of the engine.

A single stage runs on Spark in the same way, and all its output is collected.
"""

from __future__ import annotations

import functools
import itertools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.locations import Locations
from localcdap.api.pipeline import StageConnection
from localcdap.api.plugin import Plugin
from localcdap.api.schema import Schema
from localcdap.api.stage import Record
from localcdap.artifacts.model import PluginRef
from localcdap.engine.commit import Staging
from localcdap.engine.driver.execution import execute_plan, prepare_plans
from localcdap.engine.messages.flow import DATA_TYPES, ERROR_TRANSFORM, SINKS, Flow, Stage, Stream
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.error_attribution import add_record
from localcdap.engine.plan.expectations import explain_failures
from localcdap.engine.plan.planner import plan_flow
from localcdap.engine.plan.preparation import can_find_schema, find_source_schema, finish_stages
from localcdap.engine.plan.streams import Plan
from localcdap.engine.plan.tables import TableSource
from localcdap.engine.tasks.pass_plan import error_record_schema
from localcdap.expectations.results import RuleResult
from localcdap.expectations.rules import Expectation
from localcdap.testing import record_plugins
from localcdap.testing.records import TableData, TableDataSource, build_find_table
from localcdap.testing.references import START, file_ref, plugin_ref, raise_failures, validate_stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_numbers = itertools.count()
Tables = Mapping[str, TableData] | TableSource | None


class PipelineTester:
    """A pipeline that a test builds stage by stage, each after its inputs, and then runs.

    >>> pipeline.source("people", PEOPLE, [{"name": "ada"}])           # doctest: +SKIP
    >>> pipeline.stage("shout", Shout, {"field": "name"}, ["people"])  # doctest: +SKIP
    >>> pipeline.sink("out", "shout")                                  # doctest: +SKIP
    >>> pipeline.run()["shout"].out, pipeline.read("out")              # doctest: +SKIP
    (1, [{'name': 'ADA'}])

    :param folder: the folder that relative paths are relative to.
    :param locations: the locations of foreign paths, as ``[locations]`` in the settings.
    :param tables: tables by name, or another source of tables.
    :param arguments: the values of macros.
    """

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        *,
        locations: Mapping[str, str] | None = None,
        tables: Tables = None,
        arguments: Mapping[str, str] | None = None,
    ) -> None:
        self.flow = Flow([], [])
        self.table_loads: list[TableLoad] = []
        """The rows to upsert into tables after a run, as directories of Parquet files."""
        self.altered: list[AlteredValues] = []
        """The values that stages altered in the last run."""
        self.results: list[RuleResult] = []
        """The results of the expectations, after a run."""
        self.arguments = dict(arguments or {})
        self._spark = spark
        self._folder = folder
        self._locations = Locations(dict(locations or {}), str(folder.absolute()))
        self._run = folder / f".pipeline-{next(_numbers)}"
        if tables is None or isinstance(tables, Mapping):
            tables = TableDataSource(tables or {}, self._run / "snapshots")
        self._tables = tables
        self._prepared: dict[str, tuple[Stage, Any]] = {}
        self._run.mkdir(parents=True)

    def table(
        self, name: str, schema: Schema, rows: Sequence[Record], key: str | None = None
    ) -> None:
        """Add a table for stages that are added later.

        :param key: the key field.
        :raises BadRequestError: when the tester was created with another source of tables.
        """
        if not isinstance(self._tables, TableDataSource):
            raise BadRequestError(
                "This pipeline has another source of tables.", "Add the table to that source."
            )
        self._tables.add(name, TableData(schema, rows, key))

    def stage(
        self,
        name: str,
        plugin: type[Plugin] | PluginRef,
        properties: Mapping[str, str] | None = None,
        inputs: Sequence[str] = (),
        *,
        ports: Sequence[str] = (),
        expectations: Sequence[Expectation] = (),
    ) -> Stage:
        """Configure a stage and connect it to its inputs, each a stage or ``splitter.port``.

        :param plugin: a class at the top level of a module, or a reference such as that of
            :func:`localcdap.testing.artifact_ref`.
        :param ports: the ports of a splitter that will be connected.
        :param expectations: rules for the records that leave the stage; for a sink, for those that reach it.
        :returns: the stage with its schemas.
        :raises InvalidPipelineError: when the stage has failures, or a macro has no value.
        :raises StageError: when a source cannot find its schema.
        :raises BadRequestError: when the name is used already, an input does not exist, or the plugin does
            not handle records, such as an action or a condition.
        """
        if name in self._names:
            raise BadRequestError(f"There is a stage '{name}' already.", "Choose another name.")
        ref = plugin if isinstance(plugin, PluginRef) else plugin_ref(plugin)
        if ref.type not in (*DATA_TYPES, *SINKS):
            raise BadRequestError(
                f"Stage '{name}': a plugin of type {ref.type} handles no records.",
                "Run its pipeline in an instance: with the fixture cdap_instance.",
            )
        connections = [self._parse_connection(each, name) for each in inputs]
        schemas = {c.source: self._find_input_schema(c, ref) for c in connections}
        outcome = validate_stage(
            name,
            ref,
            properties or {},
            schemas,
            ports=ports,
            arguments=self.arguments,
            runtime=True,
            locations=self._locations,
            find_table=build_find_table(self._tables),
        )
        raise_failures(outcome.failures)
        assert outcome.request is not None
        result, evaluated = outcome.result, outcome.request.properties
        output, error, made = result.output_schema, result.error_schema, result.port_schemas
        stage = Stage(name, ref, evaluated, schemas, output, error, made)
        if can_find_schema(stage):
            around = self.build_run_context()
            found = find_source_schema(stage, around, self.arguments.__setitem__)
            stage.output_schema = found
        stage.expectations = list(expectations)
        self.flow.stages.append(stage)
        self.flow.connections += connections
        return stage

    def source(self, name: str, schema: Schema, records: Sequence[Record]) -> None:
        """Add a source of records.

        :raises StageError: (without a stage) when a record does not fit the schema.
        """
        import pyarrow as pa

        file = self._get_record_path(name)
        batch = RecordCodec(schema).encode(records)
        with pa.ipc.new_stream(str(file), batch.schema) as stream:
            stream.write_batch(batch)
        properties = {"schema": str(schema), "path": str(file) if records else ""}
        self.stage(name, file_ref(record_plugins.RecordFileSource), properties)

    def failing(self, name: str, schema: Schema, records: Sequence[Record]) -> None:
        """Add a stage that emits error records, each with ``record``, ``code`` and ``message``."""
        self.source(f"{name} source", error_record_schema(schema), records)
        self.stage(name, file_ref(record_plugins.ErrorEmitter), {}, [f"{name} source"])

    def sink(self, name: str, source: str) -> None:
        """Add a sink whose records :meth:`read` returns after the run.

        :param source: a stage, or ``splitter.port``.
        """
        properties = {"path": str(self._get_record_path(name))}
        self.stage(name, file_ref(record_plugins.RecordFileSink), properties, [source])

    def collect_errors(self, name: str, source: str) -> None:
        """Add a sink of error records, each with ``record``, ``code``, ``message`` and ``stage``."""
        schema = self._stage(source).get_schema(Stream(source, errors=True))
        properties = {"schema": str(error_record_schema(schema))}
        self.stage(
            f"{name} collector", file_ref(record_plugins.ErrorCollector), properties, [source]
        )
        self.sink(name, f"{name} collector")

    def run(self, *, counts: bool = True) -> dict[str, RecordCounts]:
        """Plan the pipeline, compare its schemas with Spark's, write its sinks, and commit.

        :returns: the numbers of input, output and error records by stage; empty without ``counts``.
        :raises StageError: when the run fails, also because of an expectation.
        """
        around = self.build_run_context()
        try:
            made = plan_flow(self.flow, around, counts=counts)
            prepare_plans([made], made.checks)
            totals = execute_plan(
                made, self.flow, self._spark, tag=around.run_id, block=around.block
            )
            counted = made.counter.altered if made.counter is not None else ()
            self.altered = around.altered.take(self._names, counted)
            self._check_results(made)
        except StageError as error:
            around.staging.roll_back()
            finish_stages(around, succeeded=False)
            raise add_record(error) from error
        except BaseException:
            around.staging.roll_back()
            raise
        around.staging.commit(around.table_loads)
        finish_stages(around, succeeded=True)
        self.table_loads = around.table_loads
        return totals

    def _check_results(self, plan: Plan) -> None:
        self.results = plan.expectations.get_results() if plan.expectations is not None else []
        error = explain_failures(self.results)
        if error is not None:
            raise error

    def read(self, sink: str) -> list[dict[str, Any]]:
        """Return the records of a :meth:`sink`, in no particular order after a shuffle.

        :raises BadRequestError: when there is no such sink, or the pipeline has not run yet.
        """
        schema = self._stage(sink).input_schema
        file = self._get_record_path(sink) / record_plugins.FILE
        if schema is None or not file.exists():
            raise BadRequestError(
                f"No records were collected in '{sink}'.",
                "Add a sink after the stage with 'sink', run the pipeline, and read that sink.",
            )
        codec = RecordCodec(schema)
        return [r for batch in record_plugins.read_stream(str(file)) for r in codec.decode(batch)]

    def plan(self, *, counts: bool = True) -> Plan:
        """Return the plan of the run, without running it."""
        return plan_flow(self.flow, self.build_run_context(), counts=counts)

    def build_run_context(self) -> RunContext:
        """Return the context that all stages of a run share."""
        run_id = f"test-{self._folder.name}-{self._run.name}"
        return RunContext(
            spark=self._spark,
            namespace="default",
            pipeline="test",
            run_id=run_id,
            arguments=self.arguments,
            logical_start_time=START,
            locations=self._locations,
            tables=self._tables,
            staging=Staging(self._run, run_id),
            table_directory=self._run / "tables",
            prepared=self._prepared,
        )

    def _get_record_path(self, stage: str) -> Path:
        """Return the path of the records of a source or sink."""
        return self._run / quote(stage, safe="")

    @property
    def _names(self) -> list[str]:
        return [stage.name for stage in self.flow.stages]

    def _stage(self, name: str) -> Stage:
        if name not in self._names:
            raise BadRequestError(
                f"There is no stage '{name}'.",
                f"Stages so far: {', '.join(self._names) or 'none'}.",
            )
        return self.flow.get_stage(name)

    def _parse_connection(self, source: str, target: str) -> StageConnection:
        named = source in self._names
        stage, _, port = (source, "", "") if named else source.rpartition(".")
        return StageConnection(stage or source, target, port or None)

    def _find_input_schema(self, connection: StageConnection, ref: PluginRef) -> Schema:
        """Return the schema of the records of a connection."""
        stage = self._stage(connection.source)
        if ref.type == ERROR_TRANSFORM:
            return stage.get_schema(Stream(stage.name, errors=True))
        if connection.port is not None:
            schema = stage.port_schemas.get(connection.port)
        else:
            schema = stage.output_schema
        if schema is None:
            port = f" on port '{connection.port}'" if connection.port is not None else ""
            ports = ", ".join(stage.port_schemas)
            raise BadRequestError(
                f"Stage '{stage.name}' gives no records with a known schema{port}.",
                f"Connect one of its ports: {ports}." if ports else "Connect another stage.",
            )
        return schema


Inputs = Mapping[str, tuple[Schema, Sequence[Record]]]
_STAGE: Final = "stage"
_WITH_ERRORS: Final = ("transform", "batchaggregator", "errortransform")


class StageRun(msgspec.Struct):
    """The output of a stage. Records are in no particular order after a shuffle."""

    output_schema: Schema | None
    records: list[Record]
    errors: list[dict[str, Any]]
    """Error records, each with ``record``, ``code``, ``message`` and ``stage``."""
    ports: dict[str, list[Record]]
    counts: RecordCounts
    """Zeros when counting is off."""
    table_loads: list[TableLoad]
    """The rows that a sink upserts into tables, as directories of Parquet files."""
    altered: list[AlteredValues]
    """The values that the stage altered; those of its code in Python only when counting is on."""


def run_stage(
    spark: SparkSession,
    plugin: type[Plugin] | PluginRef,
    properties: Mapping[str, str] | None = None,
    inputs: Inputs | None = None,
    *,
    directory: Path | None = None,
    locations: Mapping[str, str] | None = None,
    tables: Tables = None,
    arguments: Mapping[str, str] | None = None,
    ports: Sequence[str] | None = None,
    counts: bool = True,
) -> StageRun:
    """Configure a stage, plan it, compare its schema with the propagated one, and run it.

    >>> run = run_stage(spark, Shout, {"field": "name"}, {"in": (PEOPLE, [{"name": "x"}])})  # doctest: +SKIP
    >>> run.records, run.errors, run.counts.out  # doctest: +SKIP

    The stage is called ``stage``.

    :param plugin: a class at the top level of a module, or a reference such as that of
        :func:`localcdap.testing.artifact_ref`.
    :param inputs: schema and records by input stage, in connection order. For an error transform each
        record is a dict with ``record``, ``code`` and ``message``, and the schema is that of ``record``.
    :param directory: the folder that relative paths are relative to; a new temporary one by default.
    :param tables: as for :class:`~localcdap.testing.pipeline.PipelineTester`.
    :param ports: the ports to connect; all by default.
    :raises InvalidPipelineError: when the stage has failures.
    :raises StageError: when the run fails.
    """
    ref = plugin if isinstance(plugin, PluginRef) else plugin_ref(plugin)
    folder = directory or Path(tempfile.mkdtemp(dir=_create_scratch_directory().name))
    pipeline = PipelineTester(
        spark, folder, locations=locations, tables=tables, arguments=arguments
    )
    for source, (schema, records) in (inputs or {}).items():
        add = pipeline.failing if ref.type == ERROR_TRANSFORM else pipeline.source
        add(source, schema, records)
    stage = pipeline.stage(_STAGE, ref, properties, list(inputs or {}), ports=ports or ())
    connected = [] if ref.type in SINKS else list(stage.port_schemas if ports is None else ports)
    sinks = _connect(pipeline, stage, connected)
    totals = pipeline.run(counts=counts)
    return StageRun(
        output_schema=stage.output_schema,
        records=pipeline.read("records") if "records" in sinks else [],
        errors=pipeline.read("errors") if "errors" in sinks else [],
        ports={port: pipeline.read(f"port {port}") for port in connected},
        counts=totals.get(_STAGE, RecordCounts()),
        table_loads=pipeline.table_loads,
        altered=[each for each in pipeline.altered if each.stage == _STAGE],
    )


@functools.cache
def _create_scratch_directory() -> tempfile.TemporaryDirectory[str]:
    """Return the directory for stages without one; it is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="localcdap-test-", ignore_cleanup_errors=True)


def _connect(pipeline: PipelineTester, stage: Stage, ports: list[str]) -> set[str]:
    """Add sinks for all outputs of the stage, and return their names."""
    sinks = set()
    for port in ports:
        pipeline.sink(f"port {port}", f"{stage.name}.{port}")
    if stage.output_schema is not None and stage.type not in SINKS:
        pipeline.sink("records", stage.name)
        sinks.add("records")
    if stage.type in _WITH_ERRORS:
        pipeline.collect_errors("errors", stage.name)
        sinks.add("errors")
    return sinks
