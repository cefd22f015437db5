"""The directive that reads lines of web server logs."""

from __future__ import annotations

from localcdap.api.directive import (
    Columns,
    Directive,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.directives.columns import report_missing_column
from localcdap.plugin_lib.wrangler.directives.error_messages import make_type_error
from localcdap.plugin_lib.wrangler.formats.http_logs import LineError, LogFormat, LogFormatError


@plugin(
    name="parse-as-log",
    description="Parses lines of web server logs to columns such as ip_connection_client_host. Lines of "
    "another format only get the column log.parse.error.",
)
class ParseAsLog(Directive):
    categories = ("parser", "logs")
    examples = (
        "parse-as-log :body 'common'",
        "parse-as-log :body '%h %l %u %t \"%r\" %>s %b'",
    )
    keeps_values = True
    column: str = argument.column("The column with lines, texts or bytes.")
    format: str = argument.text(
        "common, combined, combinedio, referer, agent, or a format of Apache httpd or nginx."
    )

    def problem(self) -> str | None:
        try:
            LogFormat(self.format)
        except LogFormatError as error:
            return str(error)
        return None

    def propagate(self, columns: Columns) -> None:
        if report_missing_column(columns, self.column, "parse", fails=False):
            return
        for name in LogFormat(self.format).columns:
            columns.put(name, Schema.STRING.as_nullable)
        columns.open = True

    def start(self, context: RowContext) -> None:
        self._format = LogFormat(self.format)

    def change(self, row: Row, context: RowContext) -> None:
        found = row.find(self.column)
        if found is None:
            return
        line = row[found]
        if isinstance(line, bytes):
            line = line.decode("utf-8", "replace")
        if not isinstance(line, str):
            raise make_type_error(self.column, line, "a text or bytes are needed")
        try:
            values = self._format.read(line)
        except (LineError, TimeoutError):
            row.put("log.parse.error", 1)
            return
        present = {name.lower(): name for name in row}
        for name, value in values.items():
            row[present.get(name, name)] = value
