"""The fields of reports: their types, and how they can be filtered and sorted.

Names, order and rules are those of CDAP 6 ``ReportField``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.app import FieldType

VALUE: Final = "value"
RANGE: Final = "range"


class ReportField(msgspec.Struct, frozen=True):
    """A field of reports, which is a field of the history of runs too."""

    name: str
    type: FieldType
    filtered_by: str | None
    """``value``, ``range``, or None: it cannot be filtered."""

    @property
    def is_sortable(self) -> bool:
        return self.filtered_by == RANGE


def _list_fields() -> list[ReportField]:
    texts = (
        *("namespace", "artifactScope", "artifactName", "artifactVersion", "applicationName"),
        *("applicationVersion", "programType", "program", "run", "status"),
    )
    return [
        *(ReportField(each, FieldType.STRING, VALUE) for each in texts),
        *(
            ReportField(each, FieldType.LONG, RANGE)
            for each in ("start", "running", "end", "duration")
        ),
        ReportField("user", FieldType.STRING, VALUE),
        ReportField("startMethod", FieldType.STRING, VALUE),
        ReportField("runtimeArgs", FieldType.STRING, None),
        *(
            ReportField(each, FieldType.LONG, RANGE)
            for each in ("numLogWarnings", "numLogErrors", "numRecordsOut")
        ),
    ]


FIELDS: Final[Mapping[str, ReportField]] = {each.name: each for each in _list_fields()}
"""By name; times and durations are in seconds."""
SORTABLE: Final = [each.name for each in FIELDS.values() if each.is_sortable]
ARGUMENTS: Final = "runtimeArgs"
"""The field with the runtime arguments: a JSON object of texts."""
PROGRAM: Final = "program"
"""The field that every detail of a report has."""
