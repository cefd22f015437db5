"""How the streams that leave a pass share one sequence of batches.

Each stream has its outlet: alone, its fields are the columns; of several, each is one struct column
and ``__outlet`` says which one a row belongs to. Reports travel between them, on rows of their own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from localcdap.api.arrow import to_arrow_schema
from localcdap.api.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

OUTLET: Final = "__outlet"
REPORT: Final = "__report"
_REPORT_ROW: Final = -1


def outlet_column(index: int) -> str:
    return f"o{index}"


class Layout:
    """The columns of the batches that leave a pass.

    :param schemas: of the outlets.
    :param reported: whether there are rows of reports.
    """

    def __init__(self, schemas: list[Schema], *, reported: bool) -> None:
        import pyarrow as pa

        self.schemas: Final = schemas
        self.reported: Final = reported
        self._alone: Final = len(schemas) == 1
        if self._alone:
            fields = [f.with_nullable(True) for f in to_arrow_schema(schemas[0])]
        else:
            fields = [pa.field(OUTLET, pa.int32())]
            for index, schema in enumerate(schemas):
                struct = pa.struct([f.with_nullable(True) for f in to_arrow_schema(schema)])
                fields.append(pa.field(outlet_column(index), struct))
        if reported:
            fields.append(pa.field(REPORT, pa.binary()))
        self.arrow: Final = pa.schema(fields)

    def data(self, outlet: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Some records of an outlet."""
        import pyarrow as pa

        rows = batch.num_rows
        if self._alone:
            if not self.reported:
                return batch
            return self._batch([*batch.columns, _nulls(rows, self.arrow.field(REPORT).type)])
        columns = [pa.repeat(pa.scalar(outlet, pa.int32()), rows)]
        for field in list(self.arrow)[1:]:
            if field.name == outlet_column(outlet):
                columns.append(pa.StructArray.from_arrays(batch.columns, fields=list(field.type)))
            else:
                columns.append(_nulls(rows, field.type))
        return self._batch(columns)

    def report(self, data: bytes) -> pa.RecordBatch:
        """A row with a report."""
        import pyarrow as pa

        columns = [_nulls(1, field.type) for field in list(self.arrow)[:-1]]
        if not self._alone:
            columns[0] = pa.array([_REPORT_ROW], pa.int32())
        return self._batch([*columns, pa.array([data], pa.binary())])

    def _batch(self, columns: list[pa.Array]) -> pa.RecordBatch:
        import pyarrow as pa

        return pa.RecordBatch.from_arrays(columns, schema=self.arrow)


@lru_cache(maxsize=256)
def _nulls(rows: int, type: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(rows, type)
