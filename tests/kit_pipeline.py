"""A pipeline of test stages, run through the real planner, Spark and commit."""

from __future__ import annotations

import datetime
import hashlib
import inspect
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import InvalidPipelineError
from localcdap.api.failures import ArtifactId
from localcdap.api.locations import Locations
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
from localcdap.engine.flow import ERROR_TRANSFORM, Flow, Stage
from localcdap.engine.planner import Plan, plan
from localcdap.engine.tables import TableFiles, TableLoad, TableSource
from localcdap.engine.tasks.plan import error_record_schema
from localcdap.sandbox.configuring import ConfigureRequest, configure_stage
from tests import kit_plugins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_numbers = itertools.count()


class NoTables:
    """A table source without tables."""

    def export(self, namespace: str, name: str) -> TableFiles:
        raise AssertionError(f"the stage reads table '{name}', but the test gives no tables")


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


class Pipeline:
    """Stages in the order of their connections.

    :param folder: what relative paths are relative to.
    """

    def __init__(
        self,
        folder: Path,
        *,
        locations: Mapping[str, str] | None = None,
        tables: TableSource | None = None,
        arguments: Mapping[str, str] | None = None,
    ) -> None:
        self.flow = Flow([], [])
        self.table_loads: list[TableLoad] = []
        self._folder = folder
        self._locations = Locations(dict(locations or {}), str(folder))
        self._tables = tables or NoTables()
        self._arguments = dict(arguments or {})
        self._run = folder / f".kit-{next(_numbers)}"
        self._run.mkdir(parents=True)

    def stage(
        self,
        name: str,
        plugin: type[Plugin] | PluginRef,
        properties: Mapping[str, str],
        inputs: Sequence[str] = (),
        *,
        ports: Sequence[str] = (),
    ) -> Stage:
        """Configure a stage and connect it to its inputs, each a stage or ``splitter.port``.

        :param ports: ports of a splitter that will be connected.
        :raises InvalidPipelineError: when configuring gives failures.
        """
        ref = plugin if isinstance(plugin, PluginRef) else plugin_ref(plugin)
        connections = [self._connection(each, name) for each in inputs]
        schemas = {c.source: self._given(c, ref) for c in connections}
        given = dict(properties)
        request = ConfigureRequest(
            ref, name, given, input_schemas=dict(schemas), output_ports=list(ports)
        )
        result = configure_stage(request)
        if result.failures:
            texts = [failure.full_message for failure in result.failures]
            plain = [msgspec.to_builtins(failure) for failure in result.failures]
            raise InvalidPipelineError("; ".join(texts), failures=plain)
        output, error, made = result.output_schema, result.error_schema, result.port_schemas
        stage = Stage(name, ref, given, schemas, output, error, made)
        self.flow.stages.append(stage)
        self.flow.connections += connections
        return stage

    def _connection(self, source: str, target: str) -> Connection:
        names = {stage.name for stage in self.flow.stages}
        stage, _, port = (source, "", "") if source in names else source.rpartition(".")
        return Connection(stage, target, port or None)

    def _given(self, connection: Connection, ref: PluginRef) -> Schema:
        stage = self.flow.stage(connection.source)
        if ref.type == ERROR_TRANSFORM:
            schema = stage.error_schema or stage.input_schema
        elif connection.port is None:
            schema = stage.output_schema
        else:
            schema = stage.port_schemas[connection.port]
        assert schema is not None
        return schema

    def source(self, name: str, schema: Schema, records: Sequence[Record]) -> None:
        """A source of given records."""
        import pyarrow as pa

        file = self._run / f"{name}.arrows"
        batch = RecordCodec(schema).encode(records)
        with pa.ipc.new_stream(str(file), batch.schema) as stream:
            stream.write_batch(batch)
        properties = {"schema": str(schema), "path": str(file) if records else ""}
        self.stage(name, kit_plugins.KitSource, properties)

    def failing(self, name: str, schema: Schema, records: Sequence[Record]) -> None:
        """A stage whose error records are given, each with ``record``, ``code`` and ``message``."""
        self.source(f"{name} source", error_record_schema(schema), records)
        self.stage(name, kit_plugins.KitFailer, {}, [f"{name} source"])

    def sink(self, name: str, source: str) -> None:
        """A sink whose records :meth:`read` gives after the run."""
        path = str(self._run / name)
        self.stage(name, kit_plugins.KitSink, {"path": path}, [source])

    def collect_errors(self, name: str, source: str) -> None:
        """A sink of the error records of a stage."""
        stage = self.flow.stage(source)
        schema = stage.error_schema or stage.input_schema
        assert schema is not None
        properties = {"schema": str(error_record_schema(schema))}
        self.stage(f"{name} collector", kit_plugins.KitErrors, properties, [source])
        self.sink(name, f"{name} collector")

    def surroundings(self, spark: SparkSession) -> Surroundings:
        run_id = f"kit-{self._folder.name}-{self._run.name}"
        return Surroundings(
            spark=spark,
            namespace="default",
            run_id=run_id,
            arguments=self._arguments,
            logical_start_time=datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
            locations=self._locations,
            tables=self._tables,
            staging=Staging(self._run, run_id),
            table_directory=self._run / "tables",
        )

    def plan(self, spark: SparkSession, *, counts: bool = True) -> Plan:
        return plan(self.flow, self.surroundings(spark), counts=counts)

    def run(self, spark: SparkSession, *, counts: bool = True) -> dict[str, StageCounts]:
        """Plan, check, execute, commit.

        :returns: the counts of each stage.
        :raises StageError: when the run fails.
        """
        around = self.surroundings(spark)
        try:
            made = plan(self.flow, around, counts=counts)
            totals = execute(made, self.flow, spark, tag=around.run_id, running=lambda: None)
        except BaseException:
            around.staging.roll_back()
            raise
        around.staging.commit(around.table_loads)
        self.table_loads = around.table_loads
        return totals

    def read(self, sink: str) -> list[dict[str, Any]]:
        """The records that came to a :meth:`sink`."""
        file = self._run / sink / "records.arrows"
        schema = self.flow.stage(sink).input_schema
        assert schema is not None
        codec = RecordCodec(schema)
        return [r for b in kit_plugins.read_stream(str(file)) for r in codec.decode(b)]
