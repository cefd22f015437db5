"""Java's ``DateTimeFormatter.ofPattern`` with English names: dates and times written and read by a pattern.

Weeks begin on Sunday and the first one holds January 1st, as in the United States. Pattern letters for
eras and week-based years can be written but not read.
"""

from __future__ import annotations

from localcdap.java.date_time.format import TimeFormat
from localcdap.java.date_time.pattern import PatternError

__all__ = ["PatternError", "TimeFormat"]
