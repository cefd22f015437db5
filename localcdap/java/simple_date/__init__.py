"""Java's ``SimpleDateFormat`` with English names, in the Gregorian calendar of all times."""

from __future__ import annotations

from localcdap.java.simple_date.pattern import check_simple_date
from localcdap.java.simple_date.reading import read_simple_date
from localcdap.java.simple_date.writing import format_date

__all__ = ["check_simple_date", "format_date", "read_simple_date"]
