"""Dates in texts as people write them: ``12/10/2016``, ``next friday at 5pm``, ``two days after easter``.

The rules are those of Natty 0.13 (joestelmach/natty), which Wrangler's ``parse-as-date`` uses: its
``DateLexer.g`` (:mod:`.combinators`), ``DateParser.g`` (:mod:`.grammar`, :mod:`.relative`, :mod:`.times`),
``WalkerState.java`` and ``Parser.java`` (:mod:`.evaluation`).
"""

from localcdap.plugin_lib.wrangler.natural_dates.evaluation import (
    UnreadableDateError,
    find_dates,
    read_dates,
)

__all__ = ["UnreadableDateError", "find_dates", "read_dates"]
