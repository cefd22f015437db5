"""The contract of a fused pass: the plan that the driver sends to the workers, and the batches that come
back.

Each stream that leaves a pass has an outlet. The fields of a single outlet are the columns; of several
outlets each is one struct column, and ``__outlet`` says which one a row belongs to. Reports of the tasks
travel between the data, on rows of their own: Spark delivers the reports of tasks that succeeded and of no
others, so that their sums are exact.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.api.arrow import to_arrow_schema
from localcdap.api.schema import Schema
from localcdap.api.stage import NoticeKind
from localcdap.artifacts.model import PluginRef
from localcdap.decoders import decode_msgpack
from localcdap.engine.messages.flow import Stream
from localcdap.engine.tasks.context import StageContextData

if TYPE_CHECKING:
    import pyarrow as pa

FED: Final = "fed"
"""The count of the records that feed a pass."""
OUTLET: Final = "__outlet"
REPORT: Final = "__report"
_REPORT_ROW: Final = -1


class PassStage(msgspec.Struct):
    """A record- or batch-grain stage of a pass."""

    plugin: PluginRef
    properties: dict[str, str]
    data: StageContextData
    inputs: list[Stream]
    """Streams of earlier stages of the pass, or :attr:`PassPlan.feed`."""
    has_error_reader: bool = True
    """Whether a stage reads the error records; else they are dropped."""

    @property
    def name(self) -> str:
        """The name of the stage."""
        return self.data.stage_name


class CountKey(msgspec.Struct, frozen=True):
    """Something that the tasks of a pass count."""

    stage: str
    what: str
    """:data:`FED`, ``out``, ``error``, ``alert`` or ``groups``; in counts so far also ``in``."""
    port: str | None = None


class PassPlan(msgspec.Struct):
    """Several stages whose records stay in one Python process from first to last."""

    feed: Stream
    """The stream that the incoming batches are."""
    feed_schema: Schema
    """The schema of the incoming batches: only the needed fields, in the order of the columns."""
    stages: list[PassStage]
    """In topological order."""
    outlets: list[Stream]
    """The streams that stages outside read, at least one."""
    counts: list[CountKey]
    """The counted streams, in the order of the values in a report; empty to report nothing."""
    grouped: bool = False
    """Whether the first stage is an aggregator and the batches come sorted by its groups."""
    message_directory: str | None = None
    """Directory for log lines and counts so far; None when the workers do not see it."""


ERROR_FIELDS = ("record", "code", "message", "stage")


def error_record_schema(schema: Schema) -> Schema:
    """Return the schema of error records outside a pass, for records of a schema."""
    parts = (schema, Schema.INT, Schema.STRING, Schema.STRING)
    nullable = [(name, part.as_nullable) for name, part in zip(ERROR_FIELDS, parts, strict=True)]
    return Schema.record("errorRecord", nullable)


def list_outlet_schemas(plan: PassPlan) -> list[Schema]:
    """Return the schemas of the outlets, in their order."""
    data = {stage.name: stage.data for stage in plan.stages}
    schemas = []
    for outlet in plan.outlets:
        known = data[outlet.stage]
        if outlet.errors:
            schema = known.error_schema or next(iter(known.input_schemas.values()))
            schemas.append(error_record_schema(schema))
        elif outlet.port is not None:
            schemas.append(known.port_schemas[outlet.port])
        else:
            assert known.output_schema is not None
            schemas.append(known.output_schema)
    return schemas


def get_outlet_column(index: int) -> str:
    """Return the name of the struct column of an outlet."""
    return f"o{index}"


class PassLayout:
    """The columns of the batches that leave a pass.

    :param schemas: of the outlets.
    :param reports: whether there are rows of reports.
    """

    def __init__(self, schemas: list[Schema], *, reports: bool) -> None:
        import pyarrow as pa

        self._reports: Final = reports
        self._is_single: Final = len(schemas) == 1
        if self._is_single:
            fields = [f.with_nullable(True) for f in to_arrow_schema(schemas[0])]
        else:
            fields = [pa.field(OUTLET, pa.int32())]
            for index, schema in enumerate(schemas):
                struct = pa.struct([f.with_nullable(True) for f in to_arrow_schema(schema)])
                fields.append(pa.field(get_outlet_column(index), struct))
        if reports:
            fields.append(pa.field(REPORT, pa.binary()))
        self.arrow: Final = pa.schema(fields)

    def wrap_records(self, outlet: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return records of an outlet in the columns of this layout."""
        import pyarrow as pa

        rows = batch.num_rows
        if self._is_single:
            if not self._reports:
                return batch
            return self._create_batch(
                [*batch.columns, _create_nulls(rows, self.arrow.field(REPORT).type)]
            )
        columns = [pa.repeat(pa.scalar(outlet, pa.int32()), rows)]
        for field in list(self.arrow)[1:]:
            if field.name == get_outlet_column(outlet):
                columns.append(pa.StructArray.from_arrays(batch.columns, fields=list(field.type)))
            else:
                columns.append(_create_nulls(rows, field.type))
        return self._create_batch(columns)

    def wrap_report(self, data: bytes) -> pa.RecordBatch:
        """Return a row that holds a report."""
        import pyarrow as pa

        columns = [_create_nulls(1, field.type) for field in list(self.arrow)[:-1]]
        if not self._is_single:
            columns[0] = pa.array([_REPORT_ROW], pa.int32())
        return self._create_batch([*columns, pa.array([data], pa.binary())])

    def _create_batch(self, columns: list[pa.Array]) -> pa.RecordBatch:
        import pyarrow as pa

        return pa.RecordBatch.from_arrays(columns, schema=self.arrow)


@lru_cache(maxsize=256)
def _create_nulls(rows: int, type: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(rows, type)


class StageAlert(msgspec.Struct, array_like=True, frozen=True):
    """An alert that a stage has emitted."""

    stage: str
    payload: dict[str, str | None]


class TaskReport(msgspec.Struct, array_like=True):
    """The counts of a task since its last report."""

    counts: list[int]
    """In the order of :attr:`PassPlan.counts`."""
    metrics: list[tuple[str, str, int]] = []
    """User metrics: stage, name, difference."""
    times: list[tuple[str, int]] = []
    """By stage, the microseconds that its code took."""
    alert_file: str = ""
    """The name of the file with the task's alerts; empty when it has emitted none since the last report."""
    alert_lines: int = 0
    """The number of alerts in the file that this report adds."""
    alerts: list[StageAlert] = []
    """The alerts themselves, where the run cannot read the files of workers."""
    altered: list[tuple[str, str, int, str, NoticeKind]] = []
    """Altered values: stage, change, difference, the first value and the kind."""


_ENCODER: Final = msgspec.msgpack.Encoder()


def encode_report(report: TaskReport) -> bytes:
    """Encode a report for its row."""
    return _ENCODER.encode(report)


def decode_report(data: bytes) -> TaskReport:
    """Decode a report of a row."""
    return decode_msgpack(data, TaskReport)
