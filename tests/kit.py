"""Runs one stage with given records through the real planner, Spark and commit.

>>> run = run_stage(spark, "plugins_dir/transform-plugins", "transform", "Hasher",
...                 {"hash": "MD5", "fields": "name"}, {"in": (schema, [{"name": "x"}])})
>>> run.records, run.errors, run.counts.out
"""

from __future__ import annotations

import datetime
import hashlib
import inspect
import itertools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import InvalidPipelineError
from localcdap.api.failures import ArtifactId
from localcdap.api.pipeline import Connection
from localcdap.api.plugin import PLUGIN_MARK, Plugin
from localcdap.api.schema import Schema
from localcdap.api.stage import Record
from localcdap.artifacts.loading import file_module_name, load_artifact
from localcdap.artifacts.model import PluginRef
from localcdap.engine.commit import Staging
from localcdap.engine.contexts import Surroundings
from localcdap.engine.counting import StageCounts
from localcdap.engine.execution import execute
from localcdap.engine.flow import ERROR_TRANSFORM, SINKS, SOURCE, Flow, Stage
from localcdap.engine.paths import Locations
from localcdap.engine.planner import plan
from localcdap.engine.tables import TableFiles, TableLoad, TableSource
from localcdap.engine.tasks.plan import error_record_schema
from localcdap.sandbox.configuring import ConfigureRequest, configure_stage
from tests import kit_plugins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Inputs = Mapping[str, tuple[Schema, Sequence[Record]]]
_numbers = itertools.count()


class NoTables:
    """A table source without tables."""

    def export(self, namespace: str, name: str) -> TableFiles:
        raise AssertionError(f"the stage reads table '{name}', but the test gives no tables")


class StageRun(msgspec.Struct):
    """What came of a stage."""

    output_schema: Schema | None
    records: list[Record]
    errors: list[dict[str, Any]]
    """Error records, each with ``record``, ``code``, ``message`` and ``stage``."""
    ports: dict[str, list[Record]]
    counts: StageCounts
    all_counts: dict[str, StageCounts]
    table_loads: list[TableLoad]


def plugin_ref(cls: type[Plugin]) -> PluginRef:
    """A reference to a plugin class that stands at the top level of some file.

    The file is loaded again, as an artifact of its own; it must not import relatively.
    """
    file = Path(inspect.getfile(cls))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    type, name, _ = vars(cls)[PLUGIN_MARK]
    class_name = f"{file_module_name(file)}.{cls.__qualname__}"
    return PluginRef(ArtifactId("kit", "1.0.0", "USER"), str(file), digest, type, name, class_name)


def artifact_ref(path: str | Path, type: str, name: str) -> PluginRef:
    """A reference to a plugin of an artifact folder or file."""
    place = Path(path).resolve()
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    for cls in load_artifact(str(place), digest):
        if vars(cls)[PLUGIN_MARK][:2] == (type, name):
            module = cls.__module__.split(".", 1)[1]
            identity = ArtifactId(place.stem, "1.0.0", "USER")
            class_name = f"{module}.{cls.__qualname__}"
            return PluginRef(identity, str(place), digest, type, name, class_name)
    raise AssertionError(f"{place} has no {type} plugin '{name}'")


def run_stage(
    spark: SparkSession,
    plugin: type[Plugin] | str | Path,
    type: str | None = None,
    name: str | None = None,
    properties: Mapping[str, str] | None = None,
    inputs: Inputs | None = None,
    *,
    directory: Path | None = None,
    locations: Mapping[str, str] | None = None,
    tables: TableSource | None = None,
    arguments: Mapping[str, str] | None = None,
    ports: Sequence[str] | None = None,
    counts: bool = True,
) -> StageRun:
    """Configure a stage, plan it, check its schema against the propagated one, and run it.

    :param plugin: a class at the top level of a file, or the folder or file of an artifact; then
        ``type`` and ``name`` say which plugin.
    :param inputs: schema and records by input stage. To an error transform each record is a dict with
        ``record``, ``code`` and ``message``, and the schema is that of ``record``.
    :param directory: what relative paths are relative to; a new temporary one by default.
    :param ports: ports to connect; all by default.
    :raises InvalidPipelineError: when configuring gives failures.
    :raises StageError: when the run fails.
    """
    ref = _ref(plugin, type, name)
    folder = directory or Path(tempfile.mkdtemp(prefix="localcdap-kit-"))
    builder = _Pipeline(folder, dict(arguments or {}))
    stage = builder.around(ref, dict(properties or {}), inputs or {}, ports)
    surroundings = builder.surroundings(spark, locations or {}, tables or NoTables())
    made = plan(builder.flow, surroundings, counts=counts)
    totals = execute(made, builder.flow, spark, tag=surroundings.run_id, running=lambda: None)
    surroundings.staging.commit([])
    return builder.result(stage, totals, surroundings.table_loads)


def _ref(plugin: type[Plugin] | str | Path, type: str | None, name: str | None) -> PluginRef:
    if isinstance(plugin, str | Path):
        assert type is not None
        assert name is not None
        return artifact_ref(plugin, type, name)
    return plugin_ref(plugin)


class _Pipeline:
    """The stage under test with sources before it and sinks behind it."""

    def __init__(self, folder: Path, arguments: dict[str, str]) -> None:
        self.flow = Flow([], [])
        self._folder = folder
        self._arguments = arguments
        self._run = folder / f".kit-{next(_numbers)}"
        self._run.mkdir(parents=True)

    def around(
        self,
        ref: PluginRef,
        properties: dict[str, str],
        inputs: Inputs,
        ports: Sequence[str] | None,
    ) -> Stage:
        for source, (schema, records) in inputs.items():
            self._source(source, schema, records, failing=ref.type == ERROR_TRANSFORM)
        stage = self.add(ref, "stage", properties, list(inputs), ports=ports)
        if ref.type in SINKS:
            return stage
        for port in stage.port_schemas if ports is None else ports:
            self._sink(f"port {port}", "stage", port)
        if stage.output_schema is not None:
            self._sink("records", "stage", None)
        if ref.type != SOURCE and not stage.port_schemas:
            self._errors(stage)
        return stage

    def add(
        self,
        ref: PluginRef,
        name: str,
        properties: dict[str, str],
        inputs: Sequence[str],
        *,
        port: str | None = None,
        ports: Sequence[str] | None = None,
    ) -> Stage:
        """Configure a stage and connect it."""
        schemas = {i: self._given(i, ref, port) for i in inputs}
        request = ConfigureRequest(
            ref, name, properties, input_schemas=dict(schemas), output_ports=list(ports or ())
        )
        result = configure_stage(request)
        if result.failures:
            texts = [failure.full_message for failure in result.failures]
            raise InvalidPipelineError(
                "; ".join(texts), failures=[msgspec.to_builtins(f) for f in result.failures]
            )
        output, error, made = result.output_schema, result.error_schema, result.port_schemas
        stage = Stage(name, ref, properties, schemas, output, error, made)
        self.flow.stages.append(stage)
        self.flow.connections += [Connection(i, name, port) for i in inputs]
        return stage

    def _given(self, source: str, ref: PluginRef, port: str | None) -> Schema:
        stage = self.flow.stage(source)
        if ref.type == ERROR_TRANSFORM:
            schema = stage.error_schema or stage.input_schema
        else:
            schema = stage.output_schema if port is None else stage.port_schemas[port]
        assert schema is not None
        return schema

    def _source(self, name: str, schema: Schema, records: Sequence[Record], failing: bool) -> None:
        import pyarrow as pa

        if failing:
            schema = error_record_schema(schema)
        file = self._run / f"{name}.arrows"
        batch = RecordCodec(schema).encode(records)
        with pa.ipc.new_stream(str(file), batch.schema) as stream:
            stream.write_batch(batch)
        properties = {"schema": str(schema), "path": str(file) if records else ""}
        first = f"{name}.source" if failing else name
        self.add(plugin_ref(kit_plugins.KitSource), first, properties, [])
        if failing:
            self.add(plugin_ref(kit_plugins.KitFailer), name, {}, [first])

    def _sink(self, name: str, source: str, port: str | None) -> None:
        properties = {"path": str(self._run / name)}
        self.add(plugin_ref(kit_plugins.KitSink), name, properties, [source], port=port)

    def _errors(self, stage: Stage) -> None:
        schema = stage.error_schema or stage.input_schema
        if schema is None or stage.type not in ("transform", "batchaggregator", "errortransform"):
            return
        properties = {"schema": str(error_record_schema(schema))}
        self.add(plugin_ref(kit_plugins.KitErrors), "collector", properties, ["stage"])
        self._sink("errors", "collector", None)

    def surroundings(
        self, spark: SparkSession, locations: Mapping[str, str], tables: TableSource
    ) -> Surroundings:
        run_id = f"kit-{self._folder.name}-{self._run.name}"
        return Surroundings(
            spark=spark,
            namespace="default",
            run_id=run_id,
            arguments=self._arguments,
            logical_start_time=datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
            locations=Locations(locations, self._folder),
            tables=tables,
            staging=Staging(self._run, run_id.replace("/", "-")),
            table_directory=self._run / "tables",
        )

    def result(
        self, stage: Stage, totals: dict[str, StageCounts], loads: list[TableLoad]
    ) -> StageRun:
        return StageRun(
            output_schema=stage.output_schema,
            records=self._written("records", stage.output_schema),
            errors=self._written("errors", self._error_schema(stage)),
            ports={p: self._written(f"port {p}", s) for p, s in stage.port_schemas.items()},
            counts=totals.get(stage.name, StageCounts()),
            all_counts=totals,
            table_loads=loads,
        )

    def _error_schema(self, stage: Stage) -> Schema | None:
        schema = stage.error_schema or stage.input_schema
        return error_record_schema(schema) if schema is not None else None

    def _written(self, name: str, schema: Schema | None) -> list[Record]:
        file = self._run / name / "records.arrows"
        if schema is None or not file.exists():
            return []
        codec = RecordCodec(schema)
        return [r for b in kit_plugins.read_stream(str(file)) for r in codec.decode(b)]
