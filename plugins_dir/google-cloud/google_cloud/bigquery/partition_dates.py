"""The partitions that a source reads: from a date, to a date."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Final

from localcdap.api import SourceContext, StageConfigurer, TableShape
from localcdap.plugin_lib.spark.columns import column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .source import BigQuerySourceConfig

_FROM: Final = "partitionFrom"
_TO: Final = "partitionTo"
_NO_TIMES: Final = "is partitioned by the time at which its rows came in, which is not kept here"
_FILTER: Final = f"Remove '{_FROM}' and '{_TO}', and write a condition on a column into 'filter'."


def check_dates(stage: StageConfigurer, config: BigQuerySourceConfig) -> None:
    """Add failures for what is no date, and a beginning behind the end."""
    found = []
    for name, told, text in (
        (_FROM, "start", config.partition_from),
        (_TO, "end", config.partition_to),
    ):
        if not text or config.contains_macro(name):
            continue
        try:
            found.append(_date(text))
        except ValueError:
            stage.failures.add(
                f"Invalid partition {told} date '{text}'.",
                "Ensure the date exists and has the format 'yyyy-MM-dd'.",
            ).with_config_property(name)
    if len(found) == 2 and found[0] > found[1]:
        stage.failures.add(
            f"The partition start date {found[0]} is after the end date {found[1]}.",
            "Exchange them, or leave one out.",
        ).with_config_property(_FROM).with_config_property(_TO)


def check_kept(
    stage: StageConfigurer, config: BigQuerySourceConfig, table: str, held: TableShape | None
) -> None:
    """Add a failure for dates where the table does not keep what they are compared with."""
    parted = held.partitioning if held is not None else None
    if parted is not None and parted.kind == "time" and parted.field is None and _bounds(config):
        failure = stage.failures.add(f"Table '{table}' {_NO_TIMES}.", _FILTER)
        for name in _bounds(config):
            failure.with_config_property(name)


def parts_between(
    context: SourceContext, config: BigQuerySourceConfig, table: str, rows: DataFrame
) -> DataFrame:
    """The rows of the partitions between the dates, the last one excluded; all of a table that has none.

    Midnight is that of UTC, and the time of day of a datetime its own.

    :raises StageError: when the table does not keep what the dates are compared with.
    """
    bounds, held = _bounds(config), context.find_table(table)
    if not bounds or held is None or held.partitioning is None or held.partitioning.kind != "time":
        return rows
    if held.partitioning.field is None:
        raise context.fail(f"table '{table}' {_NO_TIMES}.", _FILTER)
    # Case tells no columns of BigQuery apart. The session's time zone is UTC.
    wanted = held.partitioning.field.lower()
    field = next(name for name in held.schema.field_names if name.lower() == wanted)
    day = column(field).cast("date")
    for name, date in bounds.items():
        rows = rows.where(day >= date if name == _FROM else day < date)
    return rows


def _bounds(config: BigQuerySourceConfig) -> dict[str, datetime.date]:
    """The dates that are known, by property."""
    given = ((_FROM, config.partition_from), (_TO, config.partition_to))
    return {name: _date(text) for name, text in given if text}


def _date(text: str) -> datetime.date:
    """:raises ValueError: when it is no date of the form ``yyyy-MM-dd``."""
    date = datetime.date.fromisoformat(text.strip())
    if date.isoformat() != text.strip():
        raise ValueError(text)
    return date
