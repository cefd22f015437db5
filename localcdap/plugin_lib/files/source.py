"""The base class of sources that read files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from localcdap.api import (
    BatchSource,
    SourceContext,
    SourceSampleContext,
    StageConfigurer,
    StageError,
)
from localcdap.api.rules import check_reference_name
from localcdap.plugin_lib.files.inputs import (
    FilesNotFoundError,
    find_cluster_files,
    find_input_files,
    is_remote,
)
from localcdap.plugin_lib.files.readers.records import read_files
from localcdap.plugin_lib.files.readers.samples import sample_files
from localcdap.plugin_lib.files.schema_detection import detect_schema
from localcdap.plugin_lib.files.source_checks import (
    add_path_field,
    check_properties,
    find_format,
    find_output_schema,
)
from localcdap.plugin_lib.files.source_config import FileSourceConfig

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_IGNORE: Final = "Or set 'ignoreNonExistingFolders' to true."


class FilesSource(BatchSource):
    """Reads files of many formats.

    A plugin derives from this class, and its ``Config`` from :class:`FileSourceConfig`; it may override
    :meth:`get_path`.
    """

    Config = FileSourceConfig
    config: FileSourceConfig

    def get_path(self) -> str:
        """Return the path of a file, a folder or a pattern in the form of the pipeline document."""
        return self.config.path

    def configure(self, stage: StageConfigurer) -> None:
        check_reference_name(stage, self.config.reference_name)
        format = find_format(stage, self.config)
        check_properties(stage, self.config)
        stage.output_schema = find_output_schema(stage, self.config, format)

    def configure_connected(self, stage: StageConfigurer) -> None:
        """Find the files, and take the schema from the first one where the properties do not say it."""
        if stage.output_schema is not None:
            self._check_files(stage)
            return
        deciding = (
            *("path", "format", "schema", "delimiter", "skipHeader", "pathField", "override"),
            *("sheet", "sheetValue", "firstColumnNumber"),
        )
        unknown = any(self.config.contains_macro(name) for name in deciding)
        if unknown or len(stage.failures):
            return
        detected = detect_schema(stage, self.config, self.get_path())
        if detected is not None:
            stage.output_schema = add_path_field(detected, self.config.path_field)

    def _check_files(self, stage: StageConfigurer) -> None:
        """Add a failure if there is no file to read. Files of a cluster are looked for when it runs."""
        config = self.config
        deciding = ("path", "recursive", "fileRegex", "ignoreNonExistingFolders")
        is_open = any(map(config.contains_macro, deciding)) or config.ignore_non_existing_folders
        if is_open or stage.in_run or stage.locations is None or stage.locations.remote:
            return
        try:
            path = stage.resolve_path(self.get_path())
            if not is_remote(path):
                find_input_files(
                    path,
                    recursive=config.recursive,
                    file_regex=config.file_regex,
                    document_path=self.get_path(),
                )
        except FilesNotFoundError as error:
            stage.failures.add(str(error), f"{error.action} {_IGNORE}").with_config_property("path")
        except StageError as error:
            stage.failures.add(error.message, error.corrective_action).with_config_property("path")
        except OSError as error:
            stage.failures.add(
                f"Input path '{path}' cannot be read: {error}.", "Check the path's permissions."
            ).with_config_property("path")

    def read(self, context: SourceContext) -> DataFrame:
        schema = context.output_schema
        if schema is None:
            raise context.fail(
                f"the schema of format '{self.config.format_name}' is not known.",
                "Set the 'schema' property.",
            )
        files = self._find_files(context)
        if not files:
            return context.empty(schema)
        return read_files(context, self.config, files, schema, document_path=self.get_path())

    def sample(self, context: SourceSampleContext, limit: int) -> Iterable[pa.RecordBatch] | None:
        schema = context.output_schema
        if schema is None or type(self).read is not FilesSource.read:
            return None
        # On this machine the files are found without Spark.
        files = self._find_files(cast("SourceContext", context))
        if not files:
            return []
        return sample_files(context, self.config, files, schema, limit, self.get_path())

    def _find_files(self, context: SourceContext) -> list[str]:
        config = self.config
        path = context.resolve_path(self.get_path())
        if is_remote(path) and not context.is_remote:
            raise context.fail(
                f"'{path}' does not lie on this machine.",
                "Name a local folder for it under [locations] in localcdap.toml.",
            )
        try:
            find = partial(find_cluster_files, context) if context.is_remote else find_input_files
            return find(
                path,
                recursive=config.recursive,
                file_regex=config.file_regex,
                document_path=self.get_path(),
            )
        except FilesNotFoundError as error:
            if config.ignore_non_existing_folders:
                return []
            raise context.fail(str(error), f"{error.action} {_IGNORE}") from None
        except OSError as error:
            raise context.fail(
                f"input path '{path}' cannot be read: {error}.", "Check the path's permissions."
            ) from None
