"""Lines of the combined log format as columns (CDAP ``CombinedLogRecordFormat``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import Schema
from localcdap.plugin_lib.spark.ddl import type_ddl

if TYPE_CHECKING:
    from pyspark.sql import Column

_TEXTS: Final = ("remote_host", "remote_login", "auth_user", "request_time", "request")
_NUMBERS: Final = ("status", "content_length")
_AGENTS: Final = ("referrer", "user_agent")
_PARTS: Final = (*_TEXTS, *_NUMBERS, *_AGENTS)
COMBINED_LOG: Final = Schema.record(
    "log",
    [(name, (Schema.INT if name in _NUMBERS else Schema.STRING).as_nullable) for name in _PARTS],
)
_LINE: Final = r'^(\S+) (\S+) (\S+) \[([^\]]+)\] "([^"]*)" (\S+) (\S+)(?: "([^"]*)" "([^"]*)")?\s*$'


def combined_log_columns(line: Column, schema: Schema) -> list[Column]:
    """The fields of a line, by their order; null where the line has ``-``, or is none of the format."""
    from pyspark.sql import functions as F  # noqa: N812

    columns = []
    for number, each in enumerate(schema, start=1):
        if number > len(_PARTS):
            columns.append(F.lit(None).cast(type_ddl(each.schema)).alias(each.name))
            continue
        text = F.regexp_extract(line, _LINE, number)
        value = F.when(~text.isin("", "-"), text)
        columns.append(value.try_cast(type_ddl(each.schema)).alias(each.name))
    return columns
