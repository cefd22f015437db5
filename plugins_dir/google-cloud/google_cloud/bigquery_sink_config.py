"""The properties of the BigQueryTable sink."""

from __future__ import annotations

from localcdap.api import Schema, field

from .account import TablesConfig

_GROUP = "Google Cloud, without effect here"
_PARTITIONS = "partitions, without effect here"
OPERATIONS = ("Insert", "Update", "Upsert")


class BigQuerySinkConfig(TablesConfig):
    dataset: str = field(
        "Dataset of the table. The table of this namespace called 'dataset.table' stands for it.",
        macro=True,
    )
    table: str = field("Table to write into; it is made when it does not exist.", macro=True)
    schema: Schema | None = field(
        "Columns of the table: fields of the input. All fields of the input by default.",
        default=None,
        macro=True,
    )
    operation: str = field(
        "Whether records are inserted, or update rows with the same key, or both (upsert).",
        default="Insert",
        choices=OPERATIONS,
        macro=True,
    )
    table_key: list[str] = field(
        "Fields whose values tell rows apart, for an update or upsert.",
        default=[],
        macro=True,
        name="relationTableKey",
        form="{input-field}",
    )
    dedupe_by: list[str] = field(
        "Which of several records with one key counts: fields to sort by, the first wins, as "
        "'updated_at desc, version asc'.",
        default=[],
        macro=True,
        name="dedupeBy",
        form="{input-field} {order:asc|desc}",
    )
    truncate: bool = field(
        "Whether the rows and columns of the table are removed first. Only for inserts.",
        default=False,
        macro=True,
        name="truncateTable",
    )
    relaxes: bool = field(
        "Whether the table may get new columns, and its columns may become nullable.",
        default=False,
        macro=True,
        name="allowSchemaRelaxation",
    )
    partition_filter: str | None = field(
        "Must be empty: there are no partitions here.",
        default=None,
        macro=True,
        name="partitionFilter",
        group=_PARTITIONS,
    )
    partitioning_type: str | None = field(
        "How the table would be partitioned: Time, Integer or None.",
        default=None,
        macro=True,
        name="partitioningType",
        group=_PARTITIONS,
    )
    create_partitioned_table: bool = field(
        "Whether the table would be partitioned.",
        default=False,
        macro=True,
        name="createPartitionedTable",
        group=_PARTITIONS,
    )
    time_partitioning_type: str | None = field(
        "Unit of the partitions: HOUR, DAY, MONTH or YEAR.",
        default=None,
        macro=True,
        name="timePartitioningType",
        group=_PARTITIONS,
    )
    range_start: str | None = field(
        "First integer partition.", default=None, macro=True, name="rangeStart", group=_PARTITIONS
    )
    range_end: str | None = field(
        "Last integer partition.", default=None, macro=True, name="rangeEnd", group=_PARTITIONS
    )
    range_interval: str | None = field(
        "Size of integer partitions.",
        default=None,
        macro=True,
        name="rangeInterval",
        group=_PARTITIONS,
    )
    partition_by_field: str | None = field(
        "Field to partition by.",
        default=None,
        macro=True,
        name="partitionByField",
        form="{input-field}",
        group=_PARTITIONS,
    )
    partition_filter_required: bool = field(
        "Whether queries would have to filter by partition.",
        default=False,
        macro=True,
        name="partitionFilterRequired",
        group=_PARTITIONS,
    )
    clustering_order: str | None = field(
        "Fields to cluster by.",
        default=None,
        macro=True,
        name="clusteringOrder",
        form="{input-field}",
        group=_PARTITIONS,
    )
    location: str | None = field("Region of the dataset.", default=None, macro=True, group=_GROUP)
    bucket: str | None = field(
        "Bucket for temporary files.", default=None, macro=True, group=_GROUP
    )
    chunk_size: str | None = field(
        "Size of uploads.", default=None, macro=True, name="gcsChunkSize", group=_GROUP
    )
    json_fields: str | None = field(
        "Fields that hold JSON; they stay strings here.",
        default=None,
        macro=True,
        name="jsonStringFields",
        form="{input-field}",
        group=_GROUP,
    )
    job_labels: str | None = field(
        "Labels of the job.", default=None, macro=True, name="jobLabelKeyValue", group=_GROUP
    )
    cmek_key: str | None = field(
        "Key that encrypts the table.", default=None, macro=True, name="cmekKey", group=_GROUP
    )
