"""JSON files: an object on each line."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Final

from localcdap.api import Schema, SourceContext
from localcdap.api.sql_names import quote_column
from localcdap.plugin_lib.files.readers.lines import FILE, VALUE
from localcdap.plugin_lib.spark.checks import build_failure, require_value
from localcdap.plugin_lib.spark.columns import to_columns_ddl, to_ddl

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PARSED: Final = "parsed"
_OBJECT: Final = "object"
_CORRUPT: Final = "corrupt"
_SHOWN: Final = 200
_UNREAD: Final = "Values do not fit their fields: "
_NO_OBJECT: Final = "A line is not one JSON object."


def parse_json_lines(context: SourceContext, lines: DataFrame, schema: Schema) -> DataFrame:
    """Parse lines (columns ``value`` and ``file``) into the fields of the schema and the column ``file``.

    Fields that an object lacks are null. Other fields and blank lines are ignored. The run fails if a line is
    not exactly one object, or a value does not fit its field, even if no stage reads that field.
    """
    from pyspark.sql import functions as F  # noqa: N812

    end = f"end-{secrets.token_hex(8)}"
    filled = lines.filter(F.col(VALUE).rlike(r"\S"))
    parsed = filled.select(VALUE, FILE, _parse_line(schema, end).alias(_PARSED))
    found = F.col(_PARSED)[_OBJECT]
    # Object and check are one column, so that Spark cannot skip the check.
    is_valid = F.col(_PARSED)[end] & F.col(_PARSED)[_CORRUPT].isNull() & found.isNotNull()
    problem = build_failure(context, _describe_problem(F.col(VALUE), schema, F.col(FILE)), schema)
    valid = parsed.select(FILE, F.when(is_valid, found).otherwise(problem).alias(_OBJECT))
    columns = [
        require_value(
            context, F.col(f"{_OBJECT}.{quote_column(f.name)}"), f.name, f.schema, F.col(FILE)
        ).alias(f.name)
        for f in schema
    ]
    return valid.select(FILE, *columns)


def _parse_line(schema: Schema, end: str) -> Column:
    """Parse a line as the field ``object``; the field ``end`` after it proves that the whole line was read.

    Spark stops after the first value of a line and drops the rest, and it reads an array as one row for each
    element, which may be none. Inside another object both cases are detected.

    :param end: a random name, so that no line can contain it and close the outer object.
    """
    from pyspark.sql import functions as F  # noqa: N812

    whole = F.concat(F.lit(f'{{"{_OBJECT}":'), F.col(VALUE), F.lit(f',"{end}":true}}'))
    columns = f"{_OBJECT} {to_ddl(schema)}, {quote_column(end)} boolean, {_CORRUPT} string"
    options = {"timeZone": "UTC", "columnNameOfCorruptRecord": _CORRUPT}
    return F.from_json(whole, columns, options)


def _describe_problem(line: Column, schema: Schema, where: Column) -> Column:
    """Build the message for a line that Spark could not parse completely."""
    from pyspark.sql import functions as F  # noqa: N812

    def find_unread_fields(record: Column) -> Column:
        found = []
        for each in schema:
            given = F.get_json_object(line, f"$[{_quote_path_key(each.name)}]")
            name = F.lit(f"'{each.name}' ({each.schema.display_name})")
            found.append(F.when(record[each.name].isNull() & given.isNotNull(), name))
        return F.concat_ws(", ", *found)

    parsed = F.from_json(line, to_columns_ddl(schema), {"timeZone": "UTC"})
    fields = F.element_at(F.transform(F.array(parsed), find_unread_fields), 1)
    # ``fields`` occurs once: Spark would compute an expression that occurs twice for every row.
    no_fields = F.lit(_UNREAD + ".")
    found = F.replace(F.concat(F.lit(_UNREAD), fields, F.lit(".")), no_fields, F.lit(_NO_OBJECT))
    shown = F.substring(line, 1, _SHOWN)
    return F.concat(found, F.lit(" File: "), where, F.lit("; line: "), shown)


def _quote_path_key(name: str) -> str:
    return "'" + json.dumps(name, ensure_ascii=False)[1:-1].replace("'", "\\'") + "'"
