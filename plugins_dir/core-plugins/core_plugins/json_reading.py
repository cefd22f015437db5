"""JSON files: an object on each line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, SourceContext

from .columns import column, quoted
from .guards import required
from .lines import FILE, file_uri, spark_paths
from .spark_ddl import columns_ddl

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CORRUPT: Final = "__corrupt"
_SHOWN: Final = 200
_UNREAD: Final = "Values do not fit their fields: "
_NO_OBJECT: Final = "A line is not a JSON object."


def json_records(
    context: SourceContext, files: Sequence[str], schema: Schema, encoding: str
) -> DataFrame:
    """The fields of the schema, and the column ``file`` with the URI of the file.

    Fields that an object lacks are null, further ones are ignored. The run fails where a line is not an
    object or a value does not fit its field.
    """
    from pyspark.sql import functions as F  # noqa: N812

    reader = context.spark.read.schema(f"{columns_ddl(schema)}, {quoted(_CORRUPT)} string")
    reader = reader.options(
        mode="PERMISSIVE", columnNameOfCorruptRecord=_CORRUPT, timeZone="UTC", encoding=encoding
    )
    read = reader.json(spark_paths(files))
    where = file_uri()
    first = column(schema.field_names[0])
    # Spark refuses to read the corrupt records without any other column.
    corrupt = F.when(first.isNotNull(), F.col(_CORRUPT)).otherwise(F.col(_CORRUPT))
    sound = F.when(corrupt.isNull(), True).otherwise(
        context.raising(_problem(corrupt, schema, where))
    )
    columns = [
        required(context, column(f.name), f.name, f.schema, where).alias(f.name) for f in schema
    ]
    return read.filter(sound).select(file_uri().alias(FILE), *columns)


def _problem(line: Column, schema: Schema, where: Column) -> Column:
    """What is wrong with a line that Spark could not read whole."""
    from pyspark.sql import functions as F  # noqa: N812

    def unread(record: Column) -> Column:
        found = []
        for each in schema:
            given = F.get_json_object(line, f"$[{_path_key(each.name)}]")
            name = F.lit(f"'{each.name}' ({each.schema.display_name})")
            found.append(F.when(record[each.name].isNull() & given.isNotNull(), name))
        return F.concat_ws(", ", *found)

    parsed = F.from_json(line, columns_ddl(schema), {"timeZone": "UTC"})
    fields = F.element_at(F.transform(F.array(parsed), unread), 1)
    # Spark computes for every row what occurs twice in a condition, so that the fields must occur once.
    no_fields = F.lit(_UNREAD + ".")
    found = F.replace(F.concat(F.lit(_UNREAD), fields, F.lit(".")), no_fields, F.lit(_NO_OBJECT))
    shown = F.substring(line, 1, _SHOWN)
    return F.concat(found, F.lit(" File: "), where, F.lit("; line: "), shown)


def _path_key(name: str) -> str:
    return "'" + json.dumps(name, ensure_ascii=False)[1:-1].replace("'", "\\'") + "'"
