"""The CSVFormatter transform: a record as a line of CSV (Apache Commons CSV)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

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
_QUOTE: Final = '"'


class Style(NamedTuple):
    """How values are written side by side."""

    delimiter: str
    end: str
    is_quoted: bool
    """Whether values are put in quotes where need be; else their special characters are escaped."""
    null: str = ""


_STYLES: Final = {
    "excel": Style(",", "\r\n", is_quoted=True),
    "rfc4180": Style(",", "\r\n", is_quoted=True),
    "tdf": Style("\t", "\r\n", is_quoted=True),
    "mysql": Style("\t", "\n", is_quoted=False, null="\\N"),
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
        if chosen and chosen.lower() not in (_DELIMITED, *_STYLES):
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
        named = Style(_DELIMITERS[self.config.delimiter], "\r\n", is_quoted=True)
        self._style = _STYLES.get(self.config.format.lower(), named)
        self._special = re.compile(f"[\r\n{_QUOTE}{re.escape(self._style.delimiter)}]")
        self._escaped = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\\"): "\\\\"}
        self._escaped[ord(self._style.delimiter)] = "\\" + self._style.delimiter

    def format_record(self, record: Record) -> str:
        values = (record[name] for name in self._given)
        style = self._style
        texts = [
            style.null if v is None else self._format_value(to_java_string(v), i)
            for i, v in enumerate(values)
        ]
        return style.delimiter.join(texts) + style.end

    def _format_value(self, text: str, index: int) -> str:
        if not self._style.is_quoted:
            return text.translate(self._escaped)
        needs_quotes = (
            (not text and index == 0)
            or (text and index == 0 and not (text[0].isascii() and text[0].isalnum()))
            or (text[:1] <= "#" and text != "")
            or (text[-1:] <= " " and text != "")
            or self._special.search(text) is not None
        )
        return _QUOTE + text.replace(_QUOTE, _QUOTE * 2) + _QUOTE if needs_quotes else text
