"""The CSVFormatter transform: formats a record as a line of CSV."""

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
from localcdap.plugin_lib.record_texts import former_texts_field, make_text_writer

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


@plugin(name="CSVFormatter", description="Formats each record as a line of CSV in one field.")
class CSVFormatter(FormattedRecord):
    r"""The line ends with CR LF, in the format MYSQL with LF. Null is empty, in MYSQL ``\\N``.

    Only the format DELIMITED uses the property ``delimiter``. :mod:`localcdap.plugin_lib.record_texts`
    describes the texts of values.
    """

    class Config(PluginConfig):
        format: str = field("Format: DELIMITED, EXCEL, MYSQL, RFC4180 or TDF, in any case.")
        delimiter: str = field(
            f"Delimiter of the format DELIMITED: {', '.join(_DELIMITERS)}.", default="COMMA"
        )
        schema: Schema = field("The output schema: one string field for the line.")
        former_texts: bool = former_texts_field()

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
        self._write = make_text_writer(context.input_schema, former=self.config.former_texts)

    def format_record(self, record: Record) -> str:
        texts = self._write(record)
        line = self._format.format_row(texts[name] for name in self._given)
        return line + self._format.record_separator
