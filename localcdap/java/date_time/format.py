"""A pattern of ``DateTimeFormatter`` that writes and reads."""

from __future__ import annotations

import datetime
import functools
from typing import Final

from localcdap.java.date_time.pattern import parts_of
from localcdap.java.date_time.reading import Reader
from localcdap.java.date_time.writing import NoFieldError, written


class TimeFormat:
    """A pattern.

    :raises PatternError: for a text that is none.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern: Final = pattern
        self._parts: Final = parts_of(pattern)

    def write(self, moment: datetime.datetime) -> str:
        """A moment, with a zone or without, in the pattern.

        :raises ValueError: when the pattern shows a zone and the moment has none.
        """
        try:
            return written(self._parts, moment)
        except NoFieldError as error:
            raise ValueError(f"'{self.pattern}' shows {error}, which there is none of") from None

    def read(self, text: str) -> datetime.datetime:
        """The date and time of a text, without its zone.

        :raises ValueError: when the text is not in the pattern, or holds no whole date and hour.
        """
        moment = self._reader.read(text)
        if moment is None:
            raise ValueError(f"'{text}' is not in the pattern '{self.pattern}'")
        return moment

    @functools.cached_property
    def _reader(self) -> Reader:
        return Reader(self._parts)
