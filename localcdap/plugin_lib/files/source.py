"""The base class of sources that read files, and the detection of the schema from their contents."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from localcdap.api import (
    BatchSource,
    FailureCollector,
    Schema,
    SourceContext,
    SourceSampleContext,
    StageConfigurer,
    StageError,
    Type,
)
from localcdap.api.errors import LocalcdapError, describe_reason
from localcdap.api.rules import check_reference_name
from localcdap.files.delimited import DELIMITED, join_quoted_lines, split_values
from localcdap.files.encodings import open_text
from localcdap.files.schemas import read_schema
from localcdap.files.titles import make_safe_names
from localcdap.files.types import detect_column_type, infer_value_type, merge_types, replace_unknown
from localcdap.java.charsets import find_encoding
from localcdap.plugin_lib.files.formats import detect_format_schema
from localcdap.plugin_lib.files.inputs import (
    FilesNotFoundError,
    find_cluster_files,
    find_input_files,
    is_remote,
)
from localcdap.plugin_lib.files.readers.columnar import detect_sheet_schema
from localcdap.plugin_lib.files.readers.records import read_files, sample_files
from localcdap.plugin_lib.files.source_config import (
    FileSourceConfig,
    add_path_field,
    check_properties,
    find_format,
    find_output_schema,
)
from localcdap.plugin_lib.json_values import make_json_reader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def detect_schema(stage: StageConfigurer, config: FileSourceConfig, path: str) -> Schema | None:
    """Detect the schema from the first file of a path; None, with a failure, when that is impossible."""
    file = ""
    try:
        file = _find_first_file(stage, config, path)
        format = find_format(stage, config)
        if format is not None:
            return detect_format_schema(format, file)
        if config.format_name in DELIMITED:
            return _detect_delimited(stage.failures, config, file)
        if config.format_name == "json":
            return _detect_json(config, file)
        if config.format_name == "xls":
            return detect_sheet_schema(config, file)
        return read_schema(file, config.format_name)
    except FilesNotFoundError as error:
        stage.failures.add(
            f"The schema cannot be taken from the file: {error}", "Set the 'schema' property."
        ).with_config_property("path")
    except StageError as error:
        stage.failures.add(error.message, error.corrective_action).with_config_property("path")
    except Exception as error:
        reason = error.message if isinstance(error, LocalcdapError) else str(error)
        stage.failures.add(
            f"The schema cannot be taken from the file: {reason.rstrip('.')}. File: {file}",
            "Set the 'schema' property.",
        ).with_config_property("schema")
    return None


def _find_first_file(stage: StageConfigurer, config: FileSourceConfig, written: str) -> str:
    path = stage.resolve_path(written)
    if is_remote(path):
        raise FilesNotFoundError(f"'{path}' does not lie on this machine.", "")
    found = find_input_files(
        path, recursive=config.recursive, file_regex=config.file_regex, document_path=written
    )
    return found[0]


def _read_lines(config: FileSourceConfig, file: str) -> Iterator[str]:
    encoding = find_encoding(config.file_encoding) or "utf-8"
    with open_text(file, encoding, "replace") as text:
        for line in itertools.islice(text, config.sample_size):
            yield line.rstrip("\r\n")


def _detect_delimited(
    failures: FailureCollector, config: FileSourceConfig, file: str
) -> Schema | None:
    """Detect numbers and booleans; the rest are strings, also values in quotes, as in CDAP.

    Names are those of hydrator-plugins ``DataTypeDetectorUtils.setColumnNames``: of the first line, valid
    and unique then, or ``body_0``, ``body_1`` ….
    """
    lines = [line for line in _read_records(config, file) if line]
    rows = [
        _split_line(line, config, bare=config.skip_header and not number)
        for number, line in enumerate(lines)
    ]
    if len(rows) < (2 if config.skip_header else 1):
        failures.add(
            "Failed to perform automated data type detection! Check if the data file has any rows. "
            'If one single row is present, make sure to set the property "Skip Header" to False.'
        ).with_config_property("path")
        return None
    if config.skip_header:
        names, data = make_safe_names(rows[0]), rows[1:]
    else:
        first = config.first_column_number
        names, data = [f"body_{first + index}" for index in range(len(rows[0]))], rows
    given = _parse_overrides(config.override)
    for name in given.keys() - set(names):
        failures.add(f"Field {name} is not present in the input schema!").with_config_property(
            "override", element=name
        )
    return _build_schema(names, data, given)


def _read_records(config: FileSourceConfig, file: str) -> Iterator[str]:
    lines = _read_lines(config, file)
    if not config.enable_multiline_support:
        yield from lines
        return
    # The sample may end within quotes.
    with contextlib.suppress(ValueError):
        yield from join_quoted_lines(lines, doubled=config.doubled_quotes)


def _build_schema(
    names: Sequence[str], data: Sequence[Sequence[str]], given: Mapping[str, Schema]
) -> Schema:
    fields = []
    for index, name in enumerate(names):
        column = [row[index] if index < len(row) else "" for row in data]
        fields.append((name, given.get(name) or detect_column_type(column)))
    return Schema.record("text", fields)


def _split_line(line: str, config: FileSourceConfig, *, bare: bool) -> list[str]:
    quoted, doubled = config.enable_quoted_values, config.doubled_quotes
    return split_values(line, config.value_delimiter, quoted=quoted, doubled=doubled, bare=bare)


def _parse_overrides(text: str | None) -> dict[str, Schema]:
    named = {"date": Schema.DATE, "time": Schema.TIME, "timestamp": Schema.TIMESTAMP}
    found: dict[str, Schema] = {}
    for part in (text or "").split(","):
        if part.strip():
            name, _, type = (piece.strip() for piece in part.partition(":"))
            found[name] = named.get(type.lower()) or Schema.of(Type(type.lower()))
    return found


def _detect_json(config: FileSourceConfig, file: str) -> Schema:
    merged: dict[str, Schema] = {}
    lines = [line for line in _read_lines(config, file) if line.strip()]
    for seen, line in enumerate(lines):
        record = json.loads(line)
        if not isinstance(record, dict):
            raise ValueError(f"line {seen + 1} is not a JSON object")
        for name, value in record.items():
            schema = infer_value_type(value, name, by_path=True)
            # A field that an earlier object lacks is nullable.
            known = merged.get(name, Schema.NULL if seen else schema)
            merged[name] = merge_types(known, schema)
        for name in merged.keys() - record.keys():
            merged[name] = merged[name].as_nullable
    fields = [(name, replace_unknown(schema)) for name, schema in merged.items()]
    if not fields:
        raise ValueError("it contains no object with fields")
    schema = Schema.record("json", fields)
    read = make_json_reader(schema, lambda _: None)
    for line in lines:
        read(line)  # fails for a field whose values no type holds
    return schema


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
                f"Input path '{path}' cannot be read: {describe_reason(error)}.",
                "Check the path's permissions.",
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
                f"input path '{path}' cannot be read: {describe_reason(error)}.",
                "Check the path's permissions.",
            ) from None
