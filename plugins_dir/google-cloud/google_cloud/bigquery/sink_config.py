"""The properties of the BigQueryTable sink."""

from __future__ import annotations

from localcdap.api import Schema, field

from ..account import WITHOUT_EFFECT, BigQueryConfig

_PARTITIONS = "partitions"
_UNITS = ("DAY", "HOUR", "MONTH", "YEAR", "DAILY", "HOURLY", "MONTHLY", "YEARLY")
OPERATIONS = ("Insert", "Update", "Upsert")


class BigQuerySinkConfig(BigQueryConfig, macros=True, rename="camel"):
    dataset: str = field(
        "Dataset of the table. The table 'dataset.table' of this namespace stands for it."
    )
    table: str = field("Table to write into; it is created if it does not exist.")
    schema: Schema | None = field(
        "Columns of the table: fields of the input, by default all of them.", default=None
    )
    operation: str = field(
        "Whether records are inserted, update rows with the same key, or do both (upsert).",
        default="Insert",
        choices=OPERATIONS,
    )
    table_key: list[str] = field(
        "Fields whose values identify a row, for an update or upsert.",
        default=[],
        name="relationTableKey",
        form="{input-field}",
    )
    dedupe_by: list[str] = field(
        "Which of several records with the same key is used: the first one after sorting by these fields, as "
        "'updated_at desc, version asc'.",
        default=[],
        form="{input-field} {order:asc|desc}",
    )
    truncate: bool = field(
        "Whether the table is emptied and its columns replaced first. Only for inserts.",
        default=False,
        name="truncateTable",
    )
    relaxes: bool = field(
        "Whether columns may be added to the table and made nullable.",
        default=False,
        name="allowSchemaRelaxation",
    )
    partition_filter: str | None = field(
        "Which rows of the table an update or upsert may change: a condition in BigQuery's SQL on its "
        "columns, as day >= '2026-01-01'. Records that match no such row are new.",
        default=None,
        syntax="sql",
        group=_PARTITIONS,
    )
    partitioning_type: str = field(
        "Partitioning of the table when it is created: by time (of the field below or, without a field, the "
        "ingestion time), by integers, or none. Sources can select partitions by date.",
        default="TIME",
        choices=("TIME", "INTEGER", "NONE"),
        group=_PARTITIONS,
    )
    create_partitioned_table: bool = field(
        "Former property for partitioning by time.", default=False, group=_PARTITIONS
    )
    time_partitioning_type: str = field(
        "Unit of partitions by time; of no effect on storage here.",
        default="DAY",
        choices=_UNITS,
        group=_PARTITIONS,
    )
    range_start: int | None = field(
        "First integer of the first partition.", default=None, group=_PARTITIONS
    )
    range_end: int | None = field(
        "First integer after the last partition.", default=None, group=_PARTITIONS
    )
    range_interval: int | None = field(
        "How many integers each partition contains.", default=None, group=_PARTITIONS
    )
    partition_by_field: str | None = field(
        "Field to partition by: a date or timestamp for time, an int or long for integers.",
        default=None,
        form="{input-field}",
        group=_PARTITIONS,
    )
    partition_filter_required: bool = field(
        "Whether queries must filter by partition; not enforced here.",
        default=False,
        group=_PARTITIONS,
    )
    clustering_order: list[str] = field(
        "Fields to cluster by, at most four; of no effect here.",
        default=[],
        form="{input-field}",
        group=_PARTITIONS,
    )
    location: str | None = field("Region of the dataset.", default=None, group=WITHOUT_EFFECT)
    bucket: str | None = field("Bucket for temporary files.", default=None, group=WITHOUT_EFFECT)
    chunk_size: str | None = field(
        "Size of uploads.", default=None, name="gcsChunkSize", group=WITHOUT_EFFECT
    )
    json_fields: str | None = field(
        "Fields that contain JSON; they stay strings here.",
        default=None,
        name="jsonStringFields",
        form="{input-field}",
        group=WITHOUT_EFFECT,
    )
    job_labels: str | None = field("Labels of the job.", default=None, group=WITHOUT_EFFECT)
    cmek_key: str | None = field("Key that encrypts the table.", default=None, group=WITHOUT_EFFECT)
