"""``dq:``: the original's ``DataQuality`` and ``Types``; what commons-validator checks."""
# ruff: noqa: N802 - functions have the names that expressions call them by

from __future__ import annotations

import re
from typing import Any

from localcdap.java.dates.simple_date_format import parse_simple_date
from localcdap.plugin_lib.jexl.functions import type_inference as inference
from localcdap.plugin_lib.jexl.functions import web_addresses as web
from localcdap.plugin_lib.jexl.functions.registry import Namespace

quality = Namespace("dq")

_CARDS = {
    "isAmex": r"3[47]\d{13}",
    "isVisa": r"4(?:\d{12}|\d{15})",
    "isMaster": r"5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}",
    "isDiner": r"30[0-5]\d{11}|3095\d{10}|36\d{12}|3[8-9]\d{12}",
    "isDiscover": r"6011\d{12}|64[4-9]\d{13}|65\d{14}|62[2-8]\d{13}",
    "isVPay": r"4\d{12,18}",
}


# -- rows and plain values --------------------------------------------------------------------------


@quality("O -> I")
def columns(row: Any) -> int:
    return len(row)


@quality("O S -> B")
def hascolumn(row: Any, column: str | None) -> bool:
    return column is not None and any(name.lower() == column.lower() for name in row)


@quality("D D D -> B")
def inrange(value: float, lower: float, upper: float) -> bool:
    if lower > upper:
        raise ValueError(f"the range from {lower} to {upper} is none")
    return lower <= value <= upper


@quality("S -> I")
def strlen(text: str | None) -> int:
    return len(text or "")


@quality("O -> B")
def isnull(value: Any) -> bool:
    return value is None


@quality("S -> B")
def isempty(text: str | None) -> bool:
    return text == ""


# -- guesses ----------------------------------------------------------------------------------------

quality("S -> B", "isNumber")(inference.is_number)
quality("S -> B", "isDouble")(inference.is_double)
quality("S -> B", "isInteger")(inference.is_integer)
quality("S -> B", "isBoolean")(inference.is_boolean)
quality("S -> B", "isEmpty")(inference.is_empty)
quality("S -> B", "isTime")(inference.is_time)


@quality("S -> B", "isDate")
def is_short_date(text: str | None) -> bool:
    """In the short form of the English locale: ``2/28/17``."""
    return isDate(text, "M/d/yy")


@quality("S S -> B")
def isDate(text: str | None, pattern: str | None) -> bool:
    """Strictly in a pattern of ``SimpleDateFormat``, white space around allowed."""
    if not text or pattern is None:
        return False
    try:
        parse_simple_date(text.strip(), pattern, lenient=False, whole=True)
    except ValueError:
        return False
    return True


# -- codes with check digits ------------------------------------------------------------------------


def _luhn(digits: str) -> bool:
    values = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in values) % 10 == 0


def _declare_cards() -> None:
    for name, pattern in _CARDS.items():
        quality("S -> B", name)(_card(re.compile(pattern, re.ASCII)))


def _card(pattern: re.Pattern[str]) -> Any:
    def check(number: str | None) -> bool:
        return bool(number) and pattern.fullmatch(number or "") is not None and _luhn(number or "")

    return check


_declare_cards()


@quality("S -> B")
def isCreditCard(number: str | None) -> bool:
    """Any number of 12 to 19 digits whose check digit is right."""
    return (
        number is not None and re.fullmatch(r"[0-9]{12,19}", number) is not None and _luhn(number)
    )


def _plain_isbn(isbn: str | None) -> str:
    text = (isbn or "").strip()
    grouped = re.fullmatch(
        r"(?:97[89][ -]?)?\d{1,5}[ -]\d{1,7}[ -]\d{1,6}[ -][0-9X]", text, re.ASCII
    )
    return re.sub("[ -]", "", text) if grouped else text


@quality("S -> B")
def isISBN10(isbn: str | None) -> bool:
    code = _plain_isbn(isbn)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", code):
        return False
    return sum((10 - at) * (10 if c == "X" else int(c)) for at, c in enumerate(code)) % 11 == 0


@quality("S -> B")
def isISBN13(isbn: str | None) -> bool:
    code = _plain_isbn(isbn)
    if not re.fullmatch(r"97[89][0-9]{10}", code):
        return False
    return sum(int(c) * (3 if at % 2 else 1) for at, c in enumerate(code)) % 10 == 0


@quality("S -> B")
def isISBN(isbn: str | None) -> bool:
    return isISBN10(isbn) or isISBN13(isbn)


# -- addresses --------------------------------------------------------------------------------------

quality("S -> B", "isIPv4")(web.is_ipv4)
quality("S -> B", "isIPv6")(web.is_ipv6)
quality("S -> B", "isDomainName")(web.is_domain)
quality("S -> B", "isDomainTld")(web.is_top_level)
quality("S -> B", "isGenericTld")(web.is_generic)
quality("S -> B", "isCountryTld")(web.is_country)
quality("S -> B", "isEmail")(web.is_email)
quality("S -> B", "isUrl")(web.is_url)


@quality("S -> B")
def isIP(address: str | None) -> bool:
    return web.is_ipv4(address) or web.is_ipv6(address)
