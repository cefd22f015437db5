"""The GCSMultiFiles sink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.api import Capabilities, SinkContext, StageConfigurer, capability, field, plugin
from localcdap.api.rules import check_reference_name
from localcdap.plugin_lib.files.sink import FilesSink
from localcdap.plugin_lib.files.sink_checks import check_format, find_unwritable
from localcdap.plugin_lib.spark.columns import get_column
from localcdap.plugin_lib.spark.conversion import conform_columns

from ..multi_sinks import (
    SPLIT,
    check_flexible,
    check_split_field,
    flexible_field,
    parse_schema_arguments,
)
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
        check_flexible(stage, config, config.flexible, "FOLDER")
        check_split_field(stage, config, config.split_field)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        schemas = parse_schema_arguments(context, "folder")
        for name, schema in schemas.items():
            for each in schema:
                problem = find_unwritable(self.config.format_name, each)
                if problem is not None:
                    raise context.fail(
                        f"field '{each.name}' of folder '{name}' {problem}, which the "
                        f"'{self.config.format_name}' format cannot hold.",
                        f"Change the argument 'multisink.{name}', or use another format.",
                    )
        path = add_scheme(self.config.path).rstrip("/")
        # Earlier stages are computed once for all folders.
        kept = df.persist() if len(schemas) > 1 else df
        split = get_column(self.config.split_field)
        try:
            for name, schema in schemas.items():
                files = kept.where(split == name)
                records = files.select(conform_columns(context, files, schema))
                self.write_folder(records, context, f"{path}/{name}", schema)
        finally:
            kept.unpersist()
