"""The delimiters of formats whose lines hold values."""

from __future__ import annotations

from typing import Final

DELIMITED: Final = {"csv": ",", "tsv": "\t", "delimited": ","}
"""Default delimiters by format; a property can change the delimiter of ``delimited``."""


def get_format_of_delimiter(delimiter: str) -> str:
    r"""Return the format whose values a delimiter separates: ``csv``, ``tsv`` or ``delimited``.

    >>> get_format_of_delimiter("\t"), get_format_of_delimiter(";")
    ('tsv', 'delimited')
    """
    return {",": "csv", "\t": "tsv"}.get(delimiter, "delimited")


def find_delimiter(format_name: str, delimiter: str | None) -> str:
    """Return the text between two values of a line; empty for a format without a delimiter.

    :param delimiter: that of the property, which counts for the format ``delimited`` only.
    """
    if format_name == "delimited" and delimiter:
        return delimiter
    return DELIMITED.get(format_name, "")
