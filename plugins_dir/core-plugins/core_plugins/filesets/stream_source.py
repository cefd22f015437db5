"""The Stream source: events of CDAP's streams, which are lines of files here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    BatchSource,
    PluginConfig,
    Schema,
    SourceContext,
    StageConfigurer,
    StageError,
    Type,
    field,
    plugin,
)
from localcdap.plugin_lib.files.inputs import FilesNotFoundError, find_input_files
from localcdap.plugin_lib.files.readers.lines import PathField
from localcdap.plugin_lib.files.readers.records import read_files
from localcdap.plugin_lib.files.source_config import FileSourceConfig
from localcdap.plugin_lib.spark.columns import get_column, to_ddl

from . import file_sets
from .file_sets import get_time_range

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TS: Final = ("ts", Schema.LONG)
_HEADERS: Final = ("headers", Schema.map(Schema.STRING, Schema.STRING))
_BODY: Final = "body"
_FILE: Final = "__file"
_LINES: Final = ("text", "clf")
_DELIMITED: Final = ("csv", "tsv")
FORMATS: Final = (*_LINES, *_DELIMITED)
_DELIMITER: Final = "format.setting.delimiter"
_TEXTS: Final = ("remote_host", "remote_login", "auth_user", "request_time", "request")
_NUMBERS: Final = ("status", "content_length")
_AGENTS: Final = ("referrer", "user_agent")
_PARTS: Final = (*_TEXTS, *_NUMBERS, *_AGENTS)
COMBINED_LOG: Final = Schema.record(
    "log",
    [(name, (Schema.INT if name in _NUMBERS else Schema.STRING).as_nullable) for name in _PARTS],
)
_LINE: Final = r'^(\S+) (\S+) (\S+) \[([^\]]+)\] "([^"]*)" (\S+) (\S+)(?: "([^"]*)" "([^"]*)")?\s*$'


@plugin(
    name="Stream",
    description="Reads events of a stream of CDAP 3 to 5: the lines of the files in the stream's folder.",
)
class StreamSource(BatchSource):
    """Each line is an event. Its time is the modification time of the file, its headers are empty.

    The folder is ``streams/NAMESPACE/name`` in the instance's folder, or the folder that ``[locations]``
    names for ``stream://name``. Only files that were modified in the time range are read.
    """

    class Config(PluginConfig):
        name: str = field(
            "Name of the stream. Its folder is 'streams/NAMESPACE/name' in the instance's folder, or the one "
            'that [locations] in localcdap.toml names: "stream://name" = "folder".',
            macro=True,
        )
        duration: str = field(
            "Length of the time range of the events to read, as 1d. It ends at the logical start time.",
            macro=True,
        )
        delay: str = field(
            "Duration from the end of this time range to the logical start time, as 1h.",
            default="",
            macro=True,
        )
        format: str | None = field(
            f"Format of the lines: {', '.join(FORMATS)} (combined log format). If not set, the line is the "
            "field 'body', as bytes.",
            default=None,
            form="{format:" + "|".join(FORMATS) + "}",
        )
        schema: Schema | None = field(
            "Fields of the line, after 'ts' and 'headers'. The format text has one string field.",
            default=None,
        )
        delimiter: str | None = field(
            "Text between two values (csv).", default=None, name=_DELIMITER
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        file_sets.check_duration(stage, "duration", config.duration)
        file_sets.check_duration(stage, "delay", config.delay)
        format = (config.format or "").lower()
        if format and format not in FORMATS:
            stage.failures.add(
                f"Format '{config.format}' of streams is not supported here.",
                f"Use one of {', '.join(FORMATS)}.",
            ).with_config_property("format")
            return
        body = self._find_body_schema(stage, format)
        if body is not None:
            stage.output_schema = Schema.record("event", [_TS, _HEADERS, *body])

    def _find_body_schema(self, stage: StageConfigurer, format: str) -> Schema | None:
        """Return the fields of a line; None if they are not known."""
        given = self.config.schema
        if not format:
            return Schema.record(_BODY, [(_BODY, Schema.BYTES)])
        if format == "clf":
            return given or COMBINED_LOG
        if format == "text":
            given = given or Schema.record(_BODY, [(_BODY, Schema.STRING)])
            if [each.schema.non_nullable.type for each in given] != [Type.STRING]:
                stage.failures.add(
                    "The schema of format 'text' must have one field, a string."
                ).with_config_property("schema")
                return None
        if given is None:
            stage.failures.add(
                f"Schema must be specified for format '{format}'.",
                "Set it to the fields of a line.",
            ).with_config_property("schema")
        return given

    def read(self, context: SourceContext) -> DataFrame:
        assert context.output_schema is not None
        times = self._find_files(context)
        if not times:
            return context.empty(context.output_schema)
        format = (self.config.format or "").lower()
        body = Schema.record(_BODY, list(context.output_schema)[2:])
        read = body if format in _DELIMITED else Schema.record(_BODY, [(_BODY, Schema.STRING)])
        properties = {"path": "-", "format": "text" if format not in _DELIMITED else format}
        if self.config.delimiter:
            properties |= {"format": "delimited", "delimiter": self.config.delimiter}
        config = FileSourceConfig.build(
            properties | {"pathField": _FILE}, file_sets.ignore_failures()
        )
        lines = read_files(
            context, config, list(times), Schema.record(_BODY, [*read, (_FILE, Schema.STRING)])
        )
        return lines.select(
            _build_time(times).alias("ts"),
            _build_headers().alias("headers"),
            *_build_values(format, body),
        )

    def _find_files(self, context: SourceContext) -> dict[str, int]:
        """Return the files to read, with their times in milliseconds since 1970."""
        folder = self._resolve_folder(context)
        try:
            found = find_input_files(folder, recursive=True)
        except FilesNotFoundError:
            raise context.fail(
                f"stream '{self.config.name}' has no files in '{folder}'.",
                "Put files with one event in each line there, or name another folder under [locations] in "
                f'localcdap.toml: "stream://{self.config.name}" = "data/folder"',
            ) from None
        first, end = get_time_range(self.config.duration, self.config.delay, context)
        times = {file: Path(file).stat().st_mtime_ns // 1_000_000 for file in found}
        chosen = {file: time for file, time in times.items() if first <= time < end}
        if len(chosen) < len(times):
            context.logger.warning(
                "Stream '%s': %d of %d files were not modified in the time range",
                self.config.name,
                len(times) - len(chosen),
                len(times),
            )
        return chosen

    def _resolve_folder(self, context: SourceContext) -> str:
        if context.is_remote:
            raise context.fail(
                "streams are folders of this machine.", "Use a File source on a cluster."
            )
        try:
            return context.resolve_path(f"stream://{self.config.name}")
        except StageError:
            return context.resolve_path(f"streams/{context.namespace}/{self.config.name}")


def _build_time(times: dict[str, int]) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    shown = PathField(_FILE, filename_only=False).format_path
    entries = [F.lit(part) for file, ms in times.items() for part in (shown(file), ms)]
    return F.coalesce(F.element_at(F.create_map(*entries), get_column(_FILE)), F.lit(0)).cast(
        "bigint"
    )


def _build_headers() -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.create_map().cast("map<string,string>")


def _build_values(format: str, body: Schema) -> list[Column]:
    """Build the columns of the fields of a line."""
    from pyspark.sql import functions as F  # noqa: N812

    line = get_column(_BODY)
    if not format:
        return [F.encode(line, "UTF-8").alias(_BODY)]
    if format == "clf":
        return build_combined_log_columns(line, body)
    names = body.field_names
    return [line.alias(names[0])] if format == "text" else [get_column(name) for name in names]


def build_combined_log_columns(line: Column, schema: Schema) -> list[Column]:
    """Build the fields of a line of the combined log format (CDAP ``CombinedLogRecordFormat``).

    A field is null if the line has ``-`` there, or the line does not have the format.
    """
    from pyspark.sql import functions as F  # noqa: N812

    columns = []
    for number, each in enumerate(schema, start=1):
        if number > len(_PARTS):
            columns.append(F.lit(None).cast(to_ddl(each.schema)).alias(each.name))
            continue
        text = F.regexp_extract(line, _LINE, number)
        value = F.when(~text.isin("", "-"), text)
        columns.append(value.try_cast(to_ddl(each.schema)).alias(each.name))
    return columns
