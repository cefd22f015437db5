"""Amounts of money as a country writes them (``NumberFormat.getCurrencyInstance``), by the data of CLDR."""

from __future__ import annotations

import functools
import math
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Final

_NAME: Final = re.compile(r"[a-z]{2,3}(?:_[A-Z]{2}|_[0-9]{3})?(?:_\w+)?")
_SPACES: Final = "[ \u00a0\u202f]"
_NO_CURRENCY: Final = "XXX"
_EXACT: Final = Context(prec=400, rounding=ROUND_HALF_EVEN)


class LocaleError(ValueError):
    """There is no locale of a name; the text says so."""


class CurrencyFormat:
    """The way one locale writes amounts.

    >>> CurrencyFormat("en_US").write(-1234.5)
    '-$1,234.50'

    :param name: language and country, ``en_US``.
    :raises LocaleError: for a name that is none.
    """

    def __init__(self, name: str) -> None:
        from babel.numbers import (
            get_currency_precision,
            get_currency_symbol,
            get_decimal_symbol,
            get_group_symbol,
        )

        locale = _locale(name)
        currency = _currency(locale)
        symbol = get_currency_symbol(currency, locale)
        pattern = locale.currency_formats["standard"]
        self._around: Final = [
            tuple(each.replace("¤", symbol) for each in sides)
            for sides in zip(pattern.prefix, pattern.suffix, strict=True)
        ]
        self._group: Final = get_group_symbol(locale)
        self._point: Final = get_decimal_symbol(locale)
        self._places: Final = get_currency_precision(currency) if currency != _NO_CURRENCY else 2
        self._readers: Final = [re.compile(self._regex(*sides)) for sides in self._around]

    def write(self, amount: float) -> str:
        """An amount, rounded to the places of the currency, halves to the even digit."""
        before, after = self._around[math.copysign(1, amount) < 0]
        if not math.isfinite(amount):
            return f"{before}{'NaN' if amount != amount else '∞'}{after}"
        exact = abs(Decimal(amount))
        rounded = exact.quantize(Decimal((0, (1,), -self._places)), context=_EXACT)
        whole, _, part = f"{rounded:,f}".partition(".")
        number = whole.replace(",", self._group) + (self._point + part if part else "")
        return f"{before}{number}{after}"

    def read(self, text: str) -> float:
        """The amount at the start of a text; what stands behind it does not count.

        :raises ValueError: when there is none.
        """
        for sign, reader in zip((1.0, -1.0), self._readers, strict=True):
            match = reader.match(text)
            if match is not None:
                digits = re.sub(r"[^0-9]", "", match["whole"])
                return sign * float(f"{digits or 0}.{match['part'] or 0}")
        raise ValueError(f'Unparseable number: "{text}"')

    def _regex(self, before: str, after: str) -> str:
        group = _SPACES if self._group in "\u00a0\u202f" else re.escape(self._group)
        point = re.escape(self._point)
        number = (
            rf"(?=[0-9]|{point}[0-9])(?P<whole>(?:[0-9]|{group}(?=[0-9{re.escape(self._group)}]))*)"
        )
        return f"{_literal(before)}{number}(?:{point}(?P<part>[0-9]*))?{_literal(after)}"


def _literal(text: str) -> str:
    """A text whose spaces may be any kind of space: CLDR's are not those of keyboards."""
    return "".join(_SPACES if each in " \u00a0\u202f" else re.escape(each) for each in text)


@functools.lru_cache(maxsize=64)
def currency_format(name: str) -> CurrencyFormat:
    """The format of a locale, see :class:`CurrencyFormat`."""
    return CurrencyFormat(name)


def _locale(name: str) -> Any:
    from babel import Locale, UnknownLocaleError

    if not _NAME.fullmatch(name):
        raise LocaleError(f"'{name}' is no locale, such as en_US or de_DE")
    try:
        return Locale.parse(name)
    except (UnknownLocaleError, ValueError):
        raise LocaleError(f"there is no locale '{name}'") from None


def _currency(locale: Any) -> str:
    from babel.numbers import get_territory_currencies

    found = get_territory_currencies(locale.territory) if locale.territory else []
    return str(found[0]) if found else _NO_CURRENCY
