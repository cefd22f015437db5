"""The plugins before and after the stages under test, which read and write files of records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    BatchSink,
    BatchSource,
    Emitter,
    ErrorRecord,
    ErrorTransform,
    PluginConfig,
    Record,
    Schema,
    SinkContext,
    SourceContext,
    StageConfigurer,
    Transform,
    field,
    plugin,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


FILE: Final = "records.arrows"


def read_stream(path: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an Arrow stream file."""
    import pyarrow as pa

    with pa.ipc.open_stream(path) as stream:
        yield from stream


@plugin(name="RecordFileSource", description="Reads an Arrow stream file.")
class RecordFileSource(BatchSource):
    """Reads the records of a test."""

    class Config(PluginConfig):
        path: str = field("The file; empty for no records.", default="")
        schema: Schema = field("Schema of the records.")

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = self.config.schema

    def read(self, context: SourceContext) -> DataFrame:
        tasks = [self.config.path] if self.config.path else []
        return context.generate(self.config.schema, tasks, read_stream)


@plugin(name="RecordFileSink", description="Writes an Arrow stream file.")
class RecordFileSink(BatchSink):
    """Collects the output of a stage."""

    class Config(PluginConfig):
        path: str = field("The directory that will hold the file.")

    def write(self, df: DataFrame, context: SinkContext) -> None:
        import pyarrow as pa

        staging = Path(context.staging_directory(context.resolve_path(self.config.path)))
        table = df.toArrow()
        with pa.ipc.new_stream(str(staging / FILE), table.schema) as stream:
            stream.write_table(table)


@plugin(name="ErrorEmitter", description="Emits its input as error records.")
class ErrorEmitter(Transform):
    """Emits the error records of a test."""

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        record = stage.input_schema.field("record") if stage.input_schema else None
        stage.error_schema = record.schema.non_nullable if record else None

    def transform(self, record: Record, emit: Emitter) -> None:
        emit.error(record["record"], record["code"], record["message"])


@plugin(name="ErrorCollector", description="Wraps error records as records.")
class ErrorCollector(ErrorTransform):
    """Turns the error records of a stage into records with ``record``, ``code``, ``message``, ``stage``."""

    class Config(PluginConfig):
        schema: Schema = field("Schema of the wrapped records.")

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = self.config.schema

    def transform(self, record: ErrorRecord, emit: Emitter) -> None:
        row: dict[str, Any] = {"code": record.code, "message": record.message}
        emit(row | {"record": record.record, "stage": record.stage})
