"""The GCSMultiFiles sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from localcdap.api import (
    Capabilities,
    Schema,
    SinkContext,
    StageConfigurer,
    capability,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.files.sink_checks import check_format, find_unwritable
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.spark.conversion import conform_columns

from ..bigquery.values import convert_rows
from ..multi_sinks import SPLIT, check_split_field, find_destinations, flexible_field
from .paths import add_scheme, check_storage_path
from .sink import GcsSinkConfig

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class GcsMultiConfig(GcsSinkConfig):
    split_field: str = field(
        "Field that names the folder of a record, inside the path. The run argument 'multisink.NAME' is the "
        "schema of a folder's files; records of other folders are dropped.",
        default="tablename",
        macro=True,
        name=SPLIT,
        form="{input-field}",
    )
    flexible: str = flexible_field()


@plugin(
    name="GCSMultiFiles",
    description="Local: writes records into several local folders of a bucket, by a field's value.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsMultiFiles(FilesSink):
    """Writes the files of a folder, with the fields of its argument, into ``path/NAME/suffix``."""

    Config = GcsMultiConfig
    config: GcsMultiConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_format(stage, config)
        check_storage_path(stage, config, "path", config.path)
        config.warn_of_file_names(stage)
        check_split_field(stage, config, config.split_field)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        kept = df.persist()  # earlier stages are computed once for all folders
        try:
            schemas = find_destinations(
                kept, context, "folder", config.split_field, config.flexible
            )
            path = add_scheme(config.path).rstrip("/")
            places = {name: f"{path}/{name}" for name in schemas}
            write_folders(self, kept, context, config.split_field, schemas, places)
        finally:
            kept.unpersist()


def write_folders(
    sink: FilesSink,
    df: DataFrame,
    context: SinkContext,
    split_field: str,
    schemas: Mapping[str, Schema],
    places: Mapping[str, str],
) -> None:
    """Write the records of each folder with the fields of its schema.

    :param sink: what writes the files.
    :param split_field: the field that names the folder of a record.
    :param places: by name, the path of the folder in the form of a document.
    :raises StageError: when the format of the files cannot hold a field.
    """
    format = sink.config.format_name
    for name, schema in schemas.items():
        for each in schema:
            problem = find_unwritable(format, each)
            if problem is not None:
                raise context.fail(
                    f"field '{each.name}' of folder '{name}' {problem}, which the '{format}' format cannot "
                    "hold.",
                    f"Change the argument 'multisink.{name}', or use another format.",
                )
    split = get_column(split_field)
    for name, schema in schemas.items():
        files = df.where(split == name)
        rows = convert_rows(context, files, context.input_schema, schema, rounds=False)
        records = rows.select(conform_columns(context, rows, schema))
        sink.write_folder(records, context, places[name], schema)
