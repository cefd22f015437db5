"""Directives for amounts: of money in the notation of a locale, and numbers that labels of ranges replace.

The notation is that of Java's ``NumberFormat.getCurrencyInstance``, from CLDR.
"""

from __future__ import annotations

import functools
import math
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.directive.argument import NumberRange
from localcdap.api.schema import Schema
from localcdap.java.numbers import NumberFormatError, parse_double
from localcdap.plugin_lib.spark.conversion import read_real
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    describe_value,
    find_column,
    is_text,
    make_error_row,
    report_missing_column,
    require_column,
)

_NAME: Final = re.compile(r"[a-z]{2,3}(?:_[A-Z]{2}|_[0-9]{3})?(?:_\w+)?")
_SPACES: Final = "[ \u00a0\u202f]"
_NO_CURRENCY: Final = "XXX"
_EXACT: Final = Context(prec=400, rounding=ROUND_HALF_EVEN)


class LocaleError(ValueError):
    """A locale is unknown; the message names it."""


class CurrencyFormat:
    """The notation of amounts in a locale.

    >>> CurrencyFormat("en_US").format(-1234.5)
    '-$1,234.50'

    :param name: language and country, ``en_US``.
    :raises LocaleError: for a name that is not a locale.
    """

    def __init__(self, name: str) -> None:
        from babel.numbers import (
            get_currency_precision,
            get_currency_symbol,
            get_decimal_symbol,
            get_group_symbol,
        )

        locale = _parse_locale(name)
        currency = _find_currency(locale)
        symbol = get_currency_symbol(currency, locale)
        pattern = locale.currency_formats["standard"]
        self._around: Final = [
            tuple(each.replace("¤", symbol) for each in sides)
            for sides in zip(pattern.prefix, pattern.suffix, strict=True)
        ]
        self._group: Final = get_group_symbol(locale)
        self._point: Final = get_decimal_symbol(locale)
        self._places: Final = get_currency_precision(currency) if currency != _NO_CURRENCY else 2
        self._readers: Final = [re.compile(self._build_regex(*sides)) for sides in self._around]

    def format(self, amount: float) -> str:
        """Format an amount, rounded to the digits of the currency, halves to the even digit."""
        before, after = self._around[math.copysign(1, amount) < 0]
        if not math.isfinite(amount):
            return f"{before}{'NaN' if amount != amount else '∞'}{after}"
        exact = abs(Decimal(amount))
        rounded = exact.quantize(Decimal((0, (1,), -self._places)), context=_EXACT)
        whole, _, part = f"{rounded:,f}".partition(".")
        number = whole.replace(",", self._group) + (self._point + part if part else "")
        return f"{before}{number}{after}"

    def parse(self, text: str) -> float:
        """Parse the amount at the start of a text; the rest of the text is ignored.

        :raises ValueError: when there is none.
        """
        for sign, reader in zip((1.0, -1.0), self._readers, strict=True):
            match = reader.match(text)
            if match is not None:
                digits = re.sub(r"[^0-9]", "", match["whole"])
                return sign * float(f"{digits or 0}.{match['part'] or 0}")
        raise ValueError(f'Unparseable number: "{text}"')

    def _build_regex(self, before: str, after: str) -> str:
        group = _SPACES if self._group in "\u00a0\u202f" else re.escape(self._group)
        point = re.escape(self._point)
        number = (
            rf"(?=[0-9]|{point}[0-9])(?P<whole>(?:[0-9]|{group}(?=[0-9{re.escape(self._group)}]))*)"
        )
        fraction = f"(?:{point}(?P<part>[0-9]*))?"
        return f"{_build_literal_regex(before)}{number}{fraction}{_build_literal_regex(after)}"


def _build_literal_regex(text: str) -> str:
    """Return a pattern of a text in which every space matches all kinds of spaces: CLDR uses special ones."""
    return "".join(_SPACES if each in " \u00a0\u202f" else re.escape(each) for each in text)


@functools.lru_cache(maxsize=64)
def load_currency_format(name: str) -> CurrencyFormat:
    """Return the format of a locale, see :class:`CurrencyFormat`."""
    return CurrencyFormat(name)


def _parse_locale(name: str) -> Any:
    from babel import Locale, UnknownLocaleError

    if not _NAME.fullmatch(name):
        raise LocaleError(f"'{name}' is not a locale, such as en_US or de_DE")
    try:
        return Locale.parse(name)
    except (UnknownLocaleError, ValueError):
        raise LocaleError(f"there is no locale '{name}'") from None


def _find_currency(locale: Any) -> str:
    from babel.numbers import get_territory_currencies

    found = get_territory_currencies(locale.territory) if locale.territory else []
    return str(found[0]) if found else _NO_CURRENCY


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


@plugin(name="quantize", description="Replaces ranges of numbers by their labels.")
class Quantize(Directive):
    categories = ("transform",)
    examples = ("quantize :age :group 0:17='minor',18:120='adult'",)
    makes = ("destination",)
    source: str = argument.column("The column with doubles, or texts that are numbers.")
    destination: str = argument.column("The column for the label; null outside all ranges.")
    ranges: list[NumberRange] = argument.ranges(
        "From, to and label; both ends belong to a range, and the later of two that overlap counts."
    )

    def propagate(self, columns: Columns) -> None:
        report_missing_column(columns, self.source, "quantize")
        columns.put(self.destination, Schema.STRING.as_nullable)

    def change(self, row: Row, context: RowContext) -> None:
        value = row[find_column(row, self.source)]
        if isinstance(value, str):
            try:
                value = parse_double(value)
            except NumberFormatError:
                raise DirectiveError(
                    f"column '{self.source}' is '{value[:80]}', not a number"
                ) from None
        if not isinstance(value, float):
            raise DirectiveError(self._format_type_error(describe_value(value)))
        row.put(self.destination, self._find_label(value))

    def native(self, frame: Frame) -> None:
        from pyspark.sql import functions as f

        schema = require_column(frame, self.source)
        given = value = frame.column(self.source)
        frame.fail_where(given.isNull(), self._format_type_error("null"))
        if is_text(schema):
            value = read_real(given)
            shown = f.concat(f.lit("'"), f.substring(given, 1, 80), f.lit("', not a number"))
            frame.fail_where(
                given.isNotNull() & value.isNull(),
                f.concat(f.lit(f"column '{self.source}' is "), shown),
            )
        elif schema.non_nullable != Schema.DOUBLE:
            raise NoNativeFormError("only texts and doubles are quantized by Spark")
        label = f.lit(None).cast("string")
        for each in self.ranges:
            is_within = (value >= float(each.start)) & (value <= float(each.end))
            label = f.when(is_within, f.lit(each.value)).otherwise(label)
        frame.put(self.destination, label, Schema.STRING.as_nullable)

    def _format_type_error(self, what: str) -> str:
        return f"column '{self.source}' is {what}; a text or a number with a point is needed"

    def _find_label(self, value: float) -> str | None:
        for each in reversed(self.ranges):
            if float(each.start) <= value <= float(each.end):
                return each.value
        return None
