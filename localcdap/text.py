"""Formats counts, times, sizes and untrusted text, splits pairs, and finds the most similar name.

Every front end and every service uses these functions, so that one number, name or byte looks the
same in the terminal studio, in a command's answer and in an error message. The module imports
nothing of localcdap.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

_ESCAPED_CATEGORIES: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories that control a terminal, reorder a line or have no width."""
_JOINERS: Final = "\u200c\u200d"
"""Zero-width (non-)joiners, which scripts such as Persian and families of emoji need."""
_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
"""SGR sequences. They only change how the text looks, and are common in the logs of tools."""
_JSON_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_SHORT: Final = 3
"""The most letters of a name that is found in much longer ones by chance."""
_MOST_LISTED: Final = 10
"""The most names that an error lists."""
_MOST_SIMILAR: Final = 5
"""The most similar names that an error lists when there are more names than ``_MOST_LISTED``."""
_MIN_SIMILARITY: Final = 60
"""The lowest similarity, 0 to 100, of a name that is worth suggesting. It finds a name with a letter
missing, doubled or exchanged, and leaves out names that share only an ending."""


def split_pair(text: str) -> tuple[str, str]:
    """Return key and value of a text ``KEY=VALUE``.

    :raises ValueError: for a text without a key or without ``=``.
    """
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise ValueError(f"'{text}' is not of the form KEY=VALUE.")
    return key, value


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 failure``, ``2,000 failures``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_time(milliseconds: int | None) -> str:
    """Return a time, in milliseconds since 1970, in the local time zone; an empty text for None."""
    if milliseconds is None:
        return ""
    moment = datetime.datetime.fromtimestamp(milliseconds / 1000).astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def format_duration(start: int | None, end: int | None) -> str:
    """Return the time between two points as ``1.2 s``, ``3 min 20 s`` or ``2 h 5 min``.

    :param start: milliseconds since 1970.
    :param end: milliseconds since 1970; an end before the start counts as no time.
    :return: an empty text when one of the points is not known.
    """
    if start is None or end is None:
        return ""
    seconds = max(0.0, (end - start) / 1000)
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min {int(seconds % _MINUTE)} s"
    return f"{int(seconds // _HOUR)} h {int(seconds % _HOUR // _MINUTE)} min"


def format_size(number: int) -> str:
    """Return a number of bytes in decimal units: ``512 B``, ``4.2 MB``, ``37 GB``."""
    amount, units = float(number), ["B", "kB", "MB", "GB", "TB"]
    while amount >= 999.5 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    digits = 1 if amount < 10 and units[0] != "B" else 0
    return f"{amount:.{digits}f} {units[0]}"


def format_count(number: int) -> str:
    """Return a count as it is read: ``9,999``, ``240,000``, ``2.4 M``, ``1.2 bn``."""
    if number < 1_000_000:
        return f"{number:,}"
    if number < 1_000_000_000:
        return f"{number / 1_000_000:.1f} M"
    return f"{number / 1_000_000_000:.1f} bn"


def nearest_names(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """Return the names that somebody who wrote ``name`` may have meant, the most similar first.

    Case, blanks and punctuation do not count.

    :param limit: the most names to return.
    """
    from rapidfuzz import fuzz, process, utils

    likely = {each for each in names if _is_comparable(name, each)}
    matches = process.extract(
        name,
        sorted(likely),
        scorer=fuzz.WRatio,
        processor=utils.default_process,
        score_cutoff=_MIN_SIMILARITY,
        limit=limit,
    )
    return [match[0] for match in matches]


def _is_comparable(name: str, other: str) -> bool:
    """Return whether the similarity of two names says something: the measure finds "at" in "unrelated"."""
    shorter, longer = sorted((len(name), len(other)))
    return shorter > _SHORT or 2 * shorter >= longer


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the name that somebody who wrote ``name`` most likely meant, or None."""
    return next(iter(nearest_names(name, names, limit=1)), None)


def format_available(name: str, names: Iterable[str]) -> str:
    """Return the names that an error lists because there is no ``name``: all if they are few, else the most
    similar ones.

    >>> format_available("x", []), format_available("ordres", ["orders", "people"])
    ('none', 'orders, people')
    """
    known = list(names)
    if len(known) <= _MOST_LISTED:
        return ", ".join(known) or "none"
    shown = nearest_names(name, known, limit=_MOST_SIMILAR) or known[:_MOST_LISTED]
    return f"{', '.join(shown)} and {len(known) - len(shown):,} more"


def sanitize_for_terminal(text: str, *, single_line: bool = False) -> str:
    r"""Return a text that does nothing to the terminal it is printed on.

    Colours (SGR sequences) and variation selectors are left out. Every other control, format, direction or
    surrogate character but the zero-width joiners, and the two line separators of Unicode, become their
    escapes, such as ``\x1b`` and ``\u202e``. Tabs stay; ``\r\n`` becomes ``\n``.

    :param single_line: escape line ends and tabs too.
    """
    if text.isprintable() and not _has_variation_selector(text):
        return text
    plain = _COLOURS.sub("", text)
    if single_line:
        return "".join(map(_escape, plain))
    plain = plain.replace("\r\n", "\n")
    return "".join(each if each in "\n\t" else _escape(each) for each in plain)


def escape_json_controls(text: str) -> str:
    r"""Return a JSON document that holds the same values and does nothing to a terminal.

    C0 and C1 controls, DEL, and the characters that reorder a line become escapes, such as ``\u009b``. They
    can only occur in strings; the blanks between the parts of a document stay.
    """
    return _JSON_CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _has_variation_selector(text: str) -> bool:
    return not text.isascii() and any("\ufe00" <= each <= "\ufe0f" for each in text)


def _escape(character: str) -> str:
    if "\ufe00" <= character <= "\ufe0f":
        return ""
    if character in _JOINERS or unicodedata.category(character) not in _ESCAPED_CATEGORIES:
        return character
    if character in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
