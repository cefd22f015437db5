"""``dq:``: the original's ``DataQuality``, and the type that a text seems to have."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any, Final

from localcdap.java.dates.simple_date_format import parse_simple_date
from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.java.text_units import count_units
from localcdap.plugin_lib.jexl.functions.registry import FunctionNamespace

_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN: Final = re.compile(rf"(?:{_LABEL}\.)+([a-zA-Z](?:[a-zA-Z0-9-]{{0,61}}[a-zA-Z0-9])?)\.?")
_USER: Final = re.compile(
    r"""(?:"(?:\\"|[^"])*"|(?:[^\s\x00-\x1f\x7f()<>@,;:'\\".\[\]]|')+"""
    r"""(?:\.(?:[^\s\x00-\x1f\x7f()<>@,;:'\\".\[\]]|')+)*)"""
)
_URL: Final = re.compile(
    r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_AUTHORITY: Final = re.compile(
    r"(?:[a-zA-Z0-9%._~!$&'()*+,;=-]+(?::[a-zA-Z0-9%._~!$&'()*+,;=-]*)?@)?"
    r"(?:\[([0-9a-fA-F:]+)\]|([\w.-]*))(?::(\d*))?"
)
_PATH: Final = re.compile(r"(?:/[-\w:@&?=+,.!*'%$_;()~]*)*(?:/)?", re.ASCII)


@functools.cache
def list_top_levels() -> frozenset[str]:
    """Return the top-level domains, in lower case."""
    document = resources.files(__package__).joinpath("top_level_domains.txt")
    return frozenset(document.read_text("ascii").split())


def _ascii(name: str) -> str:
    try:
        return name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError:
        return name


def _level(name: str | None) -> str:
    return _ascii((name or "").removeprefix(".")).lower()


def is_top_level(name: str | None) -> bool:
    """Return whether a name is a top-level domain; a leading dot is accepted."""
    return _level(name) in list_top_levels()


def is_country(name: str | None) -> bool:
    return is_top_level(name) and len(_level(name)) == 2


def is_generic(name: str | None) -> bool:
    return is_top_level(name) and not is_country(name) and _level(name) != "arpa"


def is_domain(name: str | None) -> bool:
    if name is None:
        return False
    plain = _ascii(name)
    found = _DOMAIN.fullmatch(plain) if len(plain) <= 253 else None
    return found is not None and is_top_level(found.group(1))


def is_ipv4(address: str | None) -> bool:
    return address is not None and _IPV4.fullmatch(address) is not None


def is_ipv6(address: str | None) -> bool:
    if address is None or "::" in address.replace("::", "", 1) or "%" in address:
        return False
    head, _, tail = address.rpartition(":")
    if "." in tail:
        if not is_ipv4(tail):
            return False
        address = f"{head}:0:0"
    groups = address.split("::")
    parts = [part for group in groups for part in (group.split(":") if group else ())]
    if not all(re.fullmatch(r"[0-9a-fA-F]{1,4}", part) for part in parts):
        return False
    return len(parts) == 8 if len(groups) == 1 else len(parts) < 8


def is_email(address: str | None) -> bool:
    user, at, host = (address or "").rpartition("@")
    if not at or len(user) > 64 or _USER.fullmatch(user) is None:
        return False
    if host.startswith("[") and host.endswith("]"):
        return is_ipv4(host[1:-1]) or is_ipv6(host[1:-1])
    return is_domain(host) and not host.endswith(".")


def is_url(url: str | None) -> bool:
    """Return whether a text is an ``http``, ``https`` or ``ftp`` URL with a known top-level domain or an
    IP address.
    """
    found = _URL.fullmatch(url or "")
    if found is None or (found.group(1) or "").lower() not in ("http", "https", "ftp"):
        return False
    authority, path = found.group(2) or "", found.group(3)
    return _is_authority(authority) and _PATH.fullmatch(path) is not None and not _climbs(path)


def _is_authority(text: str) -> bool:
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return False
    six, host, port = found.groups()
    if port and not 0 <= int(port) <= 65_535:
        return False
    return is_ipv6(six) if six else is_ipv4(host) or is_domain(host)


def _climbs(path: str) -> bool:
    """Return whether a path has empty parts or leads above its root."""
    depth = 0
    for part in path.split("/")[1:]:
        depth += -1 if part == ".." else 1 if part not in ("", ".") else 0
        if depth < 0:
            return True
    return "//" in path


# ruff: noqa: N802 - functions have the names that expressions call them by

_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_DOUBLE: Final = re.compile(
    r"[-+]?(?:[0-9]+(?:[,.][0-9]+)?"
    r"|[0-9]{1,3}(?:(?:,[0-9]{3})*(?:\.[0-9]+)?"
    r"|(?:(?:\.[0-9]{3})*|(?:[ \u00a0\u2007\u202f][0-9]{3})*)(?:,[0-9]+)?))"
    r"(?: ?[eE][-+]?[0-9]+)?"
)
_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.")
_LETTERS: Final = {
    "d": "(?:0?[1-9]|[12][0-9]|3[01])",
    "dd": "(?:0[1-9]|[12][0-9]|3[01])",
    "M": "(?:0?[1-9]|1[0-2])",
    "MM": "(?:0[1-9]|1[0-2])",
    "MMMM": r"[^\W\d_]{3,10}",
    "MMM": r"(?:[A-Z][^\W\d_]{2}|[a-z][^\W\d_]{2,3}\.?)",
    "yy": "[0-9]{2}",
    "yyyy": "[0-9]{4}",
    "EEE": r"[^\W\d_]{3,5}",
    "EEEE": r"[^\W\d_]{3,10}",
    "H": "(?:[01]?[0-9]|2[0-3])",
    "HH": "(?:[01][0-9]|2[0-3])",
    "h": "(?:0?[1-9]|1[0-2])",
    "hh": "(?:0[1-9]|1[0-2])",
    "mm": "[0-5][0-9]",
    "ss": "[0-5][0-9]",
    "a": r"[^\W\d_]{2}",
    "z": "[A-Z]{2,5}",
    "Z": "[+-](?:0[0-9]|1[0-2])00",
    "XXX": "[+-](?:0[0-9]|1[0-2]):00",
    "S": "[0-9]",
    "SSS": "[0-9]{3}",
    "nnnnnnnnn": "[0-9]{9}",
    "VV": r"[^\W\d_]{4,10}/[^\W\d_]{4,15}",
    "DDD": "[0-9]{1,3}",
    "W": "[1-7]",
    "w": "(?:[1-4]?[0-9]|5[0-2])",
}
"""The regular expression of each group of letters of a date pattern."""


def is_empty(text: str | None) -> bool:
    return text is None or not text.strip(TRIM_CHARACTERS)


def is_integer(text: str | None) -> bool:
    return text is not None and _INTEGER.fullmatch(text) is not None


def is_double(text: str | None) -> bool:
    """Return whether a text is a number with a decimal point or comma, English or European grouping, or an
    exponent.
    """
    return text is not None and not is_empty(text) and _DOUBLE.fullmatch(text) is not None


def is_number_text(text: str | None) -> bool:
    return is_double(text) or is_integer(text)


def is_boolean(text: str | None) -> bool:
    return text is not None and text.lower() in ("true", "false")


def is_date(text: str | None) -> bool:
    """Return whether a text has the form of a date, with or without a time; the day need not exist."""
    return text is not None and 6 <= len(text) <= 64 and _looks_like(text, "dates")


def is_time(text: str | None) -> bool:
    return text is not None and 4 <= len(text) <= 24 and _looks_like(text, "times")


def _looks_like(text: str, kind: str) -> bool:
    if sum("0" <= char <= "9" for char in text) < 3:
        return False
    return _formats()[kind].fullmatch(text) is not None


@functools.cache
def _formats() -> dict[str, re.Pattern[str]]:
    document = resources.files(__package__).joinpath("moments.txt").read_text("utf-8")
    dates, _, times = document.partition("\n\n")
    return {"dates": _any(dates.splitlines()), "times": _any(times.splitlines())}


def _any(formats: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(_expression, formats)))


def _expression(pattern: str) -> str:
    out = []
    for piece in _PIECE.finditer(pattern):
        quoted, letter = piece.group(1), piece.group(2)
        text = piece.group()
        if quoted is not None:
            out.append(re.escape(quoted.replace("''", "'")))
        else:
            out.append(_LETTERS[text] if letter else re.escape(text))
    return "".join(out)


quality = FunctionNamespace("dq")

CARDS = {
    "isAmex": r"3[47]\d{13}",
    "isVisa": r"4(?:\d{12}|\d{15})",
    "isMaster": r"5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}",
    "isDiner": r"30[0-5]\d{11}|3095\d{10}|36\d{12}|3[8-9]\d{12}",
    "isDiscover": r"6011\d{12}|64[4-9]\d{13}|65\d{14}|62[2-8]\d{13}",
    "isVPay": r"4\d{12,18}",
}
"""The numbers of cards by function, each a pattern that Python and JavaScript read alike."""


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
        raise ValueError(f"the range from {lower} to {upper} is empty")
    return lower <= value <= upper


@quality("S -> I")
def strlen(text: str | None) -> int:
    return count_units(text or "")


@quality("O -> B")
def isnull(value: Any) -> bool:
    return value is None


@quality("S -> B")
def isempty(text: str | None) -> bool:
    return text == ""


def _declare_everywhere() -> None:
    """Declare the functions that early versions and the plugin Conditional have without namespace."""
    everywhere = FunctionNamespace("")
    everywhere("S -> I", "strlen")(strlen)
    everywhere("O -> B", "isnull")(isnull)
    everywhere("S -> B", "isempty")(isempty)


_declare_everywhere()

# -- guesses ----------------------------------------------------------------------------------------

quality("S -> B", "isNumber")(is_number_text)
quality("S -> B", "isDouble")(is_double)
quality("S -> B", "isInteger")(is_integer)
quality("S -> B", "isBoolean")(is_boolean)
quality("S -> B", "isEmpty")(is_empty)
quality("S -> B", "isTime")(is_time)


@quality("S -> B", "isDate")
def is_short_date(text: str | None) -> bool:
    """Return whether a text is a date in the short form of the English locale: ``2/28/17``."""
    return isDate(text, "M/d/yy")


@quality("S S -> B")
def isDate(text: str | None, pattern: str | None) -> bool:
    """Parse strictly by a pattern of ``SimpleDateFormat``; surrounding white space is allowed."""
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
    for name, pattern in CARDS.items():
        quality("S -> B", name)(_card(re.compile(pattern, re.ASCII)))


def _card(pattern: re.Pattern[str]) -> Any:
    def check(number: str | None) -> bool:
        return bool(number) and pattern.fullmatch(number or "") is not None and _luhn(number or "")

    return check


_declare_cards()


@quality("S -> B")
def isCreditCard(number: str | None) -> bool:
    """Accept any number of 12 to 19 digits with a valid check digit."""
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

quality("S -> B", "isIPv4")(is_ipv4)
quality("S -> B", "isIPv6")(is_ipv6)
quality("S -> B", "isDomainName")(is_domain)
quality("S -> B", "isDomainTld")(is_top_level)
quality("S -> B", "isGenericTld")(is_generic)
quality("S -> B", "isCountryTld")(is_country)
quality("S -> B", "isEmail")(is_email)
quality("S -> B", "isUrl")(is_url)


@quality("S -> B")
def isIP(address: str | None) -> bool:
    return is_ipv4(address) or is_ipv6(address)
