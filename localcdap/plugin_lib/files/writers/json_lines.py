"""JSON files: an object on each line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, SinkContext, StageError
from localcdap.plugin_lib.json_texts import make_json_writer, to_json_column
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_LINE: Final = Schema.record("line", [("value", Schema.STRING)])


def write_json(
    df: DataFrame, context: SinkContext, schema: Schema, directory: str, *, former: bool
) -> None:
    """Write records into the files of an empty folder.

    Spark writes the types of which it makes the same JSON as CDAP, and Python all others.

    :param former: to write the form of earlier versions.
    """
    columns = []
    for field in schema:
        value = get_column(field.name)
        column = value if former else to_json_column(context, value, field.schema)
        columns += [] if column is None else [column.alias(field.name)]
    if len(columns) == len(schema.field_names):
        df.select(columns).write.mode("append").options(
            ignoreNullFields="false",
            timeZone="UTC",
            timestampFormat="yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
            timestampNTZFormat="yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
        ).json(directory)
        return
    # mapInArrow takes dots in names of columns for syntax.
    numbered = df.toDF(*(f"c{number}" for number in range(len(df.columns))))
    lines = context.in_batches(numbered, LineWriter(schema), _LINE)
    lines.write.mode("append").text(directory)
    if not context.is_remote:
        for file in Path(directory).glob("*.txt"):
            file.rename(file.with_suffix(".json"))


class LineWriter:
    """Makes the lines of batches of records."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the lines of each batch.

        :raises StageError: (without a stage) when a number is not finite.
        """
        from localcdap.api.arrow import RecordCodec

        records, lines = RecordCodec(self._schema), RecordCodec(_LINE)
        write = make_json_writer(self._schema)
        for batch in batches:
            named = batch.rename_columns(self._schema.field_names)
            try:
                yield lines.encode([{"value": write(record)} for record in records.decode(named)])
            except ValueError as error:
                raise StageError(str(error), "Make it null or another number before.") from None
