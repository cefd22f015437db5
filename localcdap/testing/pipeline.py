"""The pipeline tester: stages given by a test, run by the real planner, Spark and commit."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError
from localcdap.api.locations import Locations
from localcdap.api.pipeline import StageConnection
from localcdap.api.plugin import Plugin
from localcdap.api.schema import Schema
from localcdap.api.stage import Record
from localcdap.artifacts.model import PluginRef
from localcdap.engine.commit import Staging
from localcdap.engine.driver.execution import execute_plan
from localcdap.engine.messages.flow import DATA_TYPES, ERROR_TRANSFORM, SINKS, Flow, Stage, Stream
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.spool import RecordCounts
from localcdap.engine.plan.contexts import RunContext
from localcdap.engine.plan.planner import plan_flow
from localcdap.engine.plan.streams import Plan
from localcdap.engine.plan.tables import TableSource
from localcdap.engine.tasks.pass_plan import error_record_schema
from localcdap.testing import record_plugins
from localcdap.testing.configuration import START, raise_failures, validate_stage
from localcdap.testing.references import file_ref, plugin_ref
from localcdap.testing.tables import TableData, TableDataSource, build_find_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()
Tables = Mapping[str, TableData] | TableSource | None


class PipelineTester:
    """A pipeline that is built stage by stage, each after its inputs, and then run.

    >>> pipeline.source("people", PEOPLE, [{"name": "ada"}])           # doctest: +SKIP
    >>> pipeline.stage("shout", Shout, {"field": "name"}, ["people"])  # doctest: +SKIP
    >>> pipeline.sink("out", "shout")                                  # doctest: +SKIP
    >>> pipeline.run()["shout"].out, pipeline.read("out")              # doctest: +SKIP
    (1, [{'name': 'ADA'}])

    :param folder: what relative paths are relative to.
    :param locations: where foreign paths lie, as ``[locations]`` in the settings.
    :param tables: structured tables by name; or whatever else plugins shall get their rows from.
    :param arguments: values of macros.
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
        """After a run: rows that wait to be upserted into tables, as directories of Parquet files."""
        self.arguments = dict(arguments or {})
        self._spark = spark
        self._folder = folder
        self._locations = Locations(dict(locations or {}), str(folder.absolute()))
        self._run = folder / f".pipeline-{next(_numbers)}"
        if tables is None or isinstance(tables, Mapping):
            tables = TableDataSource(tables or {}, self._run / "snapshots")
        self._tables = tables
        self._run.mkdir(parents=True)

    def table(
        self, name: str, schema: Schema, rows: Sequence[Record], key: str | None = None
    ) -> None:
        """Give the pipeline a structured table, for stages that are added behind it.

        :param key: the field that tells rows apart.
        :raises BadRequestError: when the tester has a table source of its own.
        """
        if not isinstance(self._tables, TableDataSource):
            raise BadRequestError(
                "This pipeline has a table source of its own.", "Give the table to that."
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
    ) -> Stage:
        """Configure a stage and connect it to its inputs, each a stage or ``splitter.port``.

        :param plugin: a class at the top level of a module, or a reference such as
            :func:`localcdap.testing.artifact_ref` gives.
        :param ports: ports of a splitter that will be connected.
        :returns: the stage with its schemas.
        :raises InvalidPipelineError: when it has failures, or a macro has no value.
        :raises BadRequestError: when the name is taken, an input is not there, or the plugin is an action,
            condition or the like.
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
        self.flow.stages.append(stage)
        self.flow.connections += connections
        return stage

    def source(self, name: str, schema: Schema, records: Sequence[Record]) -> None:
        """A source of given records.

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
        """A stage whose error records are given, each with ``record``, ``code`` and ``message``."""
        self.source(f"{name} source", error_record_schema(schema), records)
        self.stage(name, file_ref(record_plugins.ErrorEmitter), {}, [f"{name} source"])

    def sink(self, name: str, source: str) -> None:
        """A sink whose records :meth:`read` gives after the run.

        :param source: a stage, or ``splitter.port``.
        """
        properties = {"path": str(self._get_record_path(name))}
        self.stage(name, file_ref(record_plugins.RecordFileSink), properties, [source])

    def collect_errors(self, name: str, source: str) -> None:
        """A sink of the error records of a stage, each with ``record``, ``code``, ``message`` and
        ``stage``.
        """
        schema = self._stage(source).get_schema(Stream(source, errors=True))
        properties = {"schema": str(error_record_schema(schema))}
        self.stage(
            f"{name} collector", file_ref(record_plugins.ErrorCollector), properties, [source]
        )
        self.sink(name, f"{name} collector")

    def run(self, *, counts: bool = True) -> dict[str, RecordCounts]:
        """Plan the pipeline, check its schemas against Spark's, write its sinks, commit.

        :returns: the records in and out of each stage, and its error records; empty without ``counts``.
        :raises StageError: when the run fails.
        """
        around = self.build_run_context()
        try:
            made = plan_flow(self.flow, around, counts=counts)
            totals = execute_plan(made, self.flow, self._spark, tag=around.run_id)
        except BaseException:
            around.staging.roll_back()
            raise
        around.staging.commit(around.table_loads)
        self.table_loads = around.table_loads
        return totals

    def read(self, sink: str) -> list[dict[str, Any]]:
        """The records that came to a :meth:`sink`; those that were shuffled come in no certain order.

        :raises BadRequestError: when it is none, or nothing was run yet.
        """
        schema = self._stage(sink).input_schema
        file = self._get_record_path(sink) / record_plugins.FILE
        if schema is None or not file.exists():
            raise BadRequestError(
                f"No records were collected behind '{sink}'.",
                "Add a sink behind the stage with 'sink', run the pipeline, and read that sink.",
            )
        codec = RecordCodec(schema)
        return [r for batch in record_plugins.read_stream(str(file)) for r in codec.decode(batch)]

    def plan(self, *, counts: bool = True) -> Plan:
        """The plan of the run, without running it."""
        return plan_flow(self.flow, self.build_run_context(), counts=counts)

    def build_run_context(self) -> RunContext:
        """What the stages of a run have in common."""
        run_id = f"test-{self._folder.name}-{self._run.name}"
        return RunContext(
            spark=self._spark,
            namespace="default",
            run_id=run_id,
            arguments=self.arguments,
            logical_start_time=START,
            locations=self._locations,
            tables=self._tables,
            staging=Staging(self._run, run_id),
            table_directory=self._run / "tables",
        )

    def _get_record_path(self, stage: str) -> Path:
        """Where the records of a given source or sink lie."""
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
        return self.flow.stage(name)

    def _parse_connection(self, source: str, target: str) -> StageConnection:
        named = source in self._names
        stage, _, port = (source, "", "") if named else source.rpartition(".")
        return StageConnection(stage or source, target, port or None)

    def _find_input_schema(self, connection: StageConnection, ref: PluginRef) -> Schema:
        """The schema of the records that a connection carries."""
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
