"""The CSVFormatter transform: a record as a line of CSV (Apache Commons CSV)."""

from __future__ import annotations

from typing import Final

from localcdap.api import (
    PluginConfig,
    Record,
    Schema,
    StageConfigurer,
    StageContext,
    Type,
    field,
    plugin,
)
from localcdap.java import commons_csv
from localcdap.java.commons_csv import CsvFormat
from localcdap.java.strings import to_java_string

from ..formatted_record import FormattedRecord

_DELIMITERS: Final = {
    "COMMA": ",",
    "CTRL-A": "\x01",
    "TAB": "\t",
    "VBAR": "|",
    "STAR": "*",
    "CARET": "^",
    "DOLLAR": "$",
    "HASH": "#",
    "TILDE": "~",
    "CTRL-B": "\x02",
    "CTRL-C": "\x03",
    "CTRL-D": "\x04",
    "CTRL-E": "\x05",
    "CTRL-F": "\x06",
}
_DELIMITED: Final = "delimited"
_CSV_FORMATS: Final = {
    "excel": commons_csv.EXCEL,
    "rfc4180": commons_csv.RFC4180,
    "tdf": commons_csv.TDF,
    "mysql": commons_csv.MYSQL,
}
_FORMATS: Final = ("DELIMITED", "EXCEL", "MYSQL", "RFC4180", "TDF")


@plugin(
    type="transform",
    name="CSVFormatter",
    description="Writes each record as a line of CSV into one field.",
)
class CSVFormatter(FormattedRecord):
    """The line has its end: CR LF, in the format MYSQL LF. Null is empty, in MYSQL backslash N.

    The delimiter need not be given for formats that have their own.
    """

    class Config(PluginConfig):
        format: str = field(
            description="The format: DELIMITED, EXCEL, MYSQL, RFC4180 or TDF. Case does not matter."
        )
        delimiter: str = field(
            description=(
                f"What stands between values in the format DELIMITED: {', '.join(_DELIMITERS)}."
            ),
            default="COMMA",
        )
        schema: Schema = field(
            description="The output schema: one field of type string, which takes the line."
        )

    config: Config
    types_of_text = (Type.STRING,)

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        chosen, delimiter = self.config.format, self.config.delimiter
        if chosen and chosen.lower() not in (_DELIMITED, *_CSV_FORMATS):
            stage.failures.add(
                "Format specified is not one of the allowed values.",
                f"Please specify one of the following: {', '.join(_FORMATS)}.",
            ).with_config_property("format")
        if delimiter and delimiter not in _DELIMITERS:
            stage.failures.add(
                f"Unknown delimiter '{delimiter}' specified.",
                f"Please specify one of the following: {', '.join(_DELIMITERS)}.",
            ).with_config_property("delimiter")

    def initialize(self, context: StageContext) -> None:
        super().initialize(context)
        delimited = CsvFormat(_DELIMITERS[self.config.delimiter])
        self._format = _CSV_FORMATS.get(self.config.format.lower(), delimited)

    def format_record(self, record: Record) -> str:
        values = (record[name] for name in self._given)
        texts = (None if value is None else to_java_string(value) for value in values)
        return self._format.format_row(texts) + self._format.record_separator
