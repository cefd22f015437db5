"""Directives that read and write amounts of money."""

from __future__ import annotations

from localcdap.api.directive import Columns, Directive, Row, RowContext, argument, plugin
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.directives.error_messages import make_error_row
from localcdap.plugin_lib.wrangler.values.currency import LocaleError, load_currency_format


class _CurrencyDirective(Directive):
    """Rows without a value of the right type are left as they are, as in the original."""

    makes = ("destination",)
    overwrites = False
    drops_rows = True

    source: str = argument.column("The column to read.")
    destination: str = argument.column("The column for the result.")
    locale: str = argument.text("The locale, such as en_US.", default="en_US")

    def problem(self) -> str | None:
        try:
            load_currency_format(self.locale)
        except LocaleError as error:
            return str(error)
        return None


@plugin(
    name="parse-as-currency", description="Reads amounts of money, such as $1,234.56, as numbers."
)
class ParseAsCurrency(_CurrencyDirective):
    categories = ("currency",)
    examples = ("parse-as-currency :price :amount 'en_US'",)

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.source):
            columns.put(self.destination, Schema.DOUBLE.as_nullable)

    def change(self, row: Row, context: RowContext) -> None:
        text = row.value(self.source)
        if not isinstance(text, str) or not text.strip():
            return
        try:
            row.put(self.destination, load_currency_format(self.locale).parse(text))
        except ValueError as error:
            raise make_error_row(str(error), 1, self.directive_name()) from None


@plugin(name="format-as-currency", description="Writes floating-point numbers as amounts of money.")
class FormatAsCurrency(_CurrencyDirective):
    categories = ("currency",)
    examples = ("format-as-currency :amount :price 'en_US'",)

    def propagate(self, columns: Columns) -> None:
        if not columns.is_missing(self.source):
            columns.put(self.destination, Schema.STRING.as_nullable)

    def change(self, row: Row, context: RowContext) -> None:
        amount = row.value(self.source)
        if isinstance(amount, float):
            row.put(self.destination, load_currency_format(self.locale).format(amount))
