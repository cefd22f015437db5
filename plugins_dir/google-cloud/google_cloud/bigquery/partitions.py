"""By what the tables that stand for BigQuery's are parted, as the sink's properties say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from localcdap.api import LogicalType, Schema, StageConfigurer, TableShape, Type
from localcdap.api.tables import Partitioning

if TYPE_CHECKING:
    from .sink_config import BigQuerySinkConfig

_TIMES: Final = (
    LogicalType.TIMESTAMP_MICROS,
    LogicalType.TIMESTAMP_MILLIS,
    LogicalType.DATETIME,
)
_KINDS: Final[dict[str, Literal["time", "integer"]]] = {"TIME": "time", "INTEGER": "integer"}
_HOURS: Final = ("HOUR", "HOURLY")
"""Units of partitions that need a field with a time of day."""
_MOST_CLUSTERED: Final = 4


def partitioning_of(config: BigQuerySinkConfig) -> Partitioning | None:
    """By what a table that the sink makes is parted; None for one that is not."""
    kind = _KINDS.get("TIME" if config.create_partitioned_table else config.partitioning_type)
    return None if kind is None else Partitioning(kind, config.partition_by_field)


def check_partitioning(stage: StageConfigurer, config: BigQuerySinkConfig, schema: Schema) -> None:
    """Add failures for a field to part a table by that there is not, or of another type, and wrong ranges."""
    deciding = ("partitionByField", "partitioningType", "createPartitionedTable")
    if any(map(config.contains_macro, deciding)):
        return
    parted = partitioning_of(config)
    if parted is None:
        return
    if parted.field is not None:
        _check_field(stage, config, parted, schema)
    if parted.kind == "integer":
        if parted.field is None:
            stage.failures.add(
                "Partition column not provided.", "Set the column for integer partitioning."
            ).with_config_property("partitionByField")
        else:
            _check_ranges(stage, config)
    _check_clustering(stage, config, schema)


def check_held_partitioning(
    stage: StageConfigurer, config: BigQuerySinkConfig, table: str, held: TableShape
) -> None:
    """Compare what the properties say with what a table that is there is parted by."""
    deciding = ("partitionByField", "partitioningType", "createPartitionedTable")
    if held.partitioning is None or any(map(config.contains_macro, deciding)):
        return
    wanted, column = partitioning_of(config), held.partitioning.field
    if wanted is None or wanted.kind != held.partitioning.kind:
        stage.warnings.add(
            f"Destination table '{table}' is partitioned by {_shown(held.partitioning)}, and remains so.",
            "Set 'partitioningType' and 'partitionByField' to what the table has.",
        ).with_config_property("partitioningType")
    elif column is not None and wanted.field != column:
        stage.failures.add(
            f"Destination table '{table}' is partitioned by column '{column}'.",
            f"Set the partition field to '{column}'.",
        ).with_config_property("partitionByField")


def _shown(parted: Partitioning) -> str:
    return f"column '{parted.field}'" if parted.field is not None else "the time rows came in"


def _check_field(
    stage: StageConfigurer, config: BigQuerySinkConfig, parted: Partitioning, schema: Schema
) -> None:
    name = str(parted.field)
    field = schema.field(name)
    if field is None:
        stage.failures.add(
            f"Partition column '{name}' must be present in the schema.",
            f"Change the Partition column to be one of the schema fields: {', '.join(schema.field_names)}.",
        ).with_config_property("partitionByField")
        return
    type = field.schema.non_nullable
    if parted.kind == "integer":
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
        ).with_config_property("partitionByField").with_input_field(name)


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


def _check_clustering(stage: StageConfigurer, config: BigQuerySinkConfig, schema: Schema) -> None:
    names = config.clustering_order
    if len(names) > _MOST_CLUSTERED:
        stage.failures.add(
            f"Found '{len(names)}' number of clustering fields.",
            f"Expected at most '{_MOST_CLUSTERED}' clustering fields.",
        ).with_config_property("clusteringOrder")
        return
    for name in names:
        if schema.field(name) is None:
            stage.failures.add(
                f"Clustering field '{name}' does not exist in the schema.",
                "Ensure all clustering fields exist in the schema.",
            ).with_config_property("clusteringOrder", element=name)
