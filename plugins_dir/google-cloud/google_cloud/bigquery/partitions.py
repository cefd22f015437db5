"""Partitioning of tables: the sink's properties, and the range of dates that a source reads."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Final, Literal

from localcdap.api import LogicalType, Schema, SourceContext, StageConfigurer, TableShape, Type
from localcdap.api.tables import Partitioning
from localcdap.plugin_lib.spark.columns import get_column

from .sink_rules import check_clustering

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .sink_config import BigQuerySinkConfig
    from .source_config import BigQuerySourceConfig

_TIMES: Final = (
    LogicalType.TIMESTAMP_MICROS,
    LogicalType.TIMESTAMP_MILLIS,
    LogicalType.DATETIME,
)
_KINDS: Final[dict[str, Literal["time", "integer"]]] = {"TIME": "time", "INTEGER": "integer"}
_HOURS: Final = ("HOUR", "HOURLY")
"""Units of partitions that need a field with a time of day."""
_FROM: Final = "partitionFrom"
_TO: Final = "partitionTo"
_NO_TIMES: Final = "is partitioned by ingestion time, which is not stored here"
_FILTER: Final = f"Remove '{_FROM}' and '{_TO}', and write a condition on a column into 'filter'."


def get_partitioning(config: BigQuerySinkConfig) -> Partitioning | None:
    """Return the partitioning of the table that a sink creates; None for an unpartitioned table."""
    kind = _KINDS.get("TIME" if config.create_partitioned_table else config.partitioning_type)
    return None if kind is None else Partitioning(kind, config.partition_by_field)


def check_partitioning(stage: StageConfigurer, config: BigQuerySinkConfig, schema: Schema) -> None:
    """Add failures for an invalid partition field, invalid ranges and invalid clustering fields."""
    deciding = ("partitionByField", "partitioningType", "createPartitionedTable")
    if any(map(config.contains_macro, deciding)):
        return
    partitioning = get_partitioning(config)
    if partitioning is None:
        return
    if partitioning.field is not None:
        _check_field(stage, config, partitioning, schema)
    if partitioning.kind == "integer":
        if partitioning.field is None:
            stage.failures.add(
                "Partition column not provided.", "Set the column for integer partitioning."
            ).with_config_property("partitionByField")
        else:
            _check_ranges(stage, config)
    check_clustering(stage, schema, config.clustering_order, config.partition_by_field)


def check_held_partitioning(
    stage: StageConfigurer, config: BigQuerySinkConfig, table: str, held: TableShape
) -> None:
    """Compare the partitioning of the properties with that of the existing table."""
    deciding = ("partitionByField", "partitioningType", "createPartitionedTable")
    if held.partitioning is None or any(map(config.contains_macro, deciding)):
        return
    wanted, column = get_partitioning(config), held.partitioning.field
    if wanted is None or wanted.kind != held.partitioning.kind:
        stage.warnings.add(
            f"Destination table '{table}' is partitioned by {_describe(held.partitioning)}, and stays so.",
            "Set 'partitioningType' and 'partitionByField' to what the table has.",
        ).with_config_property("partitioningType")
    elif column is not None and wanted.field != column:
        stage.failures.add(
            f"Destination table '{table}' is partitioned by column '{column}'.",
            f"Set the partition field to '{column}'.",
        ).with_config_property("partitionByField")


def _describe(partitioning: Partitioning) -> str:
    return f"column '{partitioning.field}'" if partitioning.field is not None else "ingestion time"


def _check_field(
    stage: StageConfigurer, config: BigQuerySinkConfig, partitioning: Partitioning, schema: Schema
) -> None:
    name = str(partitioning.field)
    field = schema.field(name)
    if field is None:
        stage.failures.add(
            f"Partition column '{name}' must be present in the schema.",
            f"Change the Partition column to be one of the schema fields: {', '.join(schema.field_names)}.",
        ).with_config_property("partitionByField")
        return
    type = field.schema.non_nullable
    if partitioning.kind == "integer":
        fits = type.logical_type is None and type.type in (Type.INT, Type.LONG)
        wanted = "an int or long"
    elif config.time_partitioning_type in _HOURS:
        fits, wanted = type.logical_type in _TIMES, "a timestamp"
    else:
        fits = type.logical_type in (LogicalType.DATE, *_TIMES)
        wanted = "a date or timestamp"
    if not fits:
        stage.failures.add(
            f"Partition column '{name}' is of invalid type '{type.display_name}'.",
            f"Partition column must be {wanted}.",
        ).with_config_property("partitionByField").with_input_field(name).with_output_field(name)


def _check_ranges(stage: StageConfigurer, config: BigQuerySinkConfig) -> None:
    ranges = (
        ("rangeStart", "Range Start", config.range_start),
        ("rangeEnd", "Range End", config.range_end),
        ("rangeInterval", "Range Interval", config.range_interval),
    )
    for name, label, value in ranges:
        if value is None and not config.contains_macro(name):
            stage.failures.add(
                f"{label} is not defined.", f"For Integer Partitioning, {label} must be defined."
            ).with_config_property(name)
    start, end, interval = (value for _, _, value in ranges)
    if start is not None and end is not None and end <= start:
        stage.failures.add(
            "Range End is less than or equal to Range Start.",
            "Range End must be greater than Range Start.",
        ).with_config_property("rangeEnd")
    if interval is not None and interval <= 0:
        stage.failures.add(
            "Range Interval is not a positive number.",
            "Range interval must be a valid positive integer.",
        ).with_config_property("rangeInterval")


def check_dates(stage: StageConfigurer, config: BigQuerySourceConfig) -> None:
    """Add failures for invalid dates, and for a start date after the end date."""
    found = []
    for name, label, text in (
        (_FROM, "start", config.partition_from),
        (_TO, "end", config.partition_to),
    ):
        if not text or config.contains_macro(name):
            continue
        try:
            found.append(_parse_date(text))
        except ValueError:
            stage.failures.add(
                f"Invalid partition {label} date '{text}'.",
                "Ensure the date exists and has the format 'yyyy-MM-dd'.",
            ).with_config_property(name)
    if len(found) == 2 and found[0] > found[1]:
        stage.failures.add(
            f"The partition start date {found[0]} is after the end date {found[1]}.",
            "Swap them, or remove one.",
        ).with_config_property(_FROM).with_config_property(_TO)


def check_ingestion_time(
    stage: StageConfigurer, config: BigQuerySourceConfig, table: str, held: TableShape | None
) -> None:
    """Add a failure for dates if the table is partitioned by ingestion time, which is not stored."""
    partitioning = held.partitioning if held is not None else None
    if (
        partitioning is not None
        and partitioning.kind == "time"
        and partitioning.field is None
        and _parse_bounds(config)
    ):
        failure = stage.failures.add(f"Table '{table}' {_NO_TIMES}.", _FILTER)
        for name in _parse_bounds(config):
            failure.with_config_property(name)


def select_partitions(
    context: SourceContext, config: BigQuerySourceConfig, table: str, rows: DataFrame
) -> DataFrame:
    """Select the rows from the first date to before the last one; all of a table without partitions by time.

    Days begin at midnight UTC, days of datetimes at their local midnight.

    :raises StageError: when the table is partitioned by ingestion time.
    """
    bounds, held = _parse_bounds(config), context.find_table(table)
    if not bounds or held is None or held.partitioning is None or held.partitioning.kind != "time":
        return rows
    if held.partitioning.field is None:
        raise context.fail(f"table '{table}' {_NO_TIMES}.", _FILTER)
    # Column names of BigQuery ignore case. The session's time zone is UTC.
    wanted = held.partitioning.field.lower()
    field = next(name for name in held.schema.field_names if name.lower() == wanted)
    day = get_column(field).cast("date")
    for name, date in bounds.items():
        rows = rows.where(day >= date if name == _FROM else day < date)
    return rows


def _parse_bounds(config: BigQuerySourceConfig) -> dict[str, datetime.date]:
    """Return the dates that are set, by property."""
    given = ((_FROM, config.partition_from), (_TO, config.partition_to))
    return {name: _parse_date(text) for name, text in given if text}


def _parse_date(text: str) -> datetime.date:
    """Parse a date of the form ``yyyy-MM-dd``.

    :raises ValueError: for any other text.
    """
    date = datetime.date.fromisoformat(text.strip())
    if date.isoformat() != text.strip():
        raise ValueError(text)
    return date
