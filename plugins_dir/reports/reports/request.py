"""Requests for reports, and what is wrong with them.

Rules and texts are those of CDAP 6: ``ReportGenerationRequest``, ``Filter``, ``ValueFilter``, ``RangeFilter``
and ``Sort``.

Names, order and rules are those of CDAP 6 ``ReportField``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from localcdap.api.app import (
    BadRequestError,
    ExportRequest,
    FieldCondition,
    FieldType,
    SortOrder,
    decode_body,
)

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


_ORDERS: Final = {"ASCENDING": SortOrder.ASC, "DESCENDING": SortOrder.DESC}


class Range(msgspec.Struct, omit_defaults=True):
    """The values from ``min`` on that are below ``max``; None: no limit."""

    min: int | None = None
    max: int | None = None


class Filter(msgspec.Struct, rename="camel", omit_defaults=True):
    """A condition on a field; one with the key ``range`` filters by range, any other by value.

    A null meets no filter. A whitelist that is not empty is all that counts.
    """

    field_name: str | None = None
    whitelist: list[str] | None = None
    blacklist: list[str] | None = None
    range: Range | UnsetType | None = UNSET

    def find_errors(self) -> list[str]:
        """Return the texts of what is wrong."""
        errors = list(_find_field_errors(self.field_name))
        kind = VALUE if self.range is UNSET else RANGE
        field = FIELDS.get(self.field_name or "")
        if field is not None and field.filtered_by != kind:
            errors.append(
                f"Field '{self.field_name}' cannot be filtered by {kind}. It can only be filtered by: "
                f"[{field.filtered_by or ''}]"
            )
        errors += _find_range_errors(self.range) if kind == RANGE else self._find_value_errors()
        return errors

    def _find_value_errors(self) -> Iterator[str]:
        wanted, unwanted = self.whitelist or [], self.blacklist or []
        if not wanted and not unwanted:
            yield "'whitelist' and 'blacklist' cannot both be empty"
        if set(wanted) & set(unwanted):
            yield "'whitelist' and 'blacklist' should not contain duplicated elements"

    def to_condition(self) -> FieldCondition:
        """Return the condition on the history of runs."""
        field = str(self.field_name)
        if isinstance(self.range, Range):
            return FieldCondition(field=field, minimum=self.range.min, maximum=self.range.max)
        if self.whitelist:
            return FieldCondition(field=field, values=list(self.whitelist))
        return FieldCondition(field=field, excluded=list(self.blacklist or ()))


class Sort(msgspec.Struct, rename="camel"):
    """The field by which the details are sorted."""

    field_name: str | None = None
    order: str | None = None
    """``ASCENDING`` or ``DESCENDING``."""

    def find_errors(self) -> list[str]:
        """Return the texts of what is wrong."""
        errors = list(_find_field_errors(self.field_name))
        field = FIELDS.get(self.field_name or "")
        if field is not None and not field.is_sortable:
            errors.append(
                f"Field '{self.field_name}' in sort is not sortable. Only fields: "
                f"[{', '.join(SORTABLE)}] are sortable"
            )
        if self.order not in _ORDERS:
            errors.append("'order' cannot be null, it can only be ASCENDING or DESCENDING")
        return errors


class ReportRequest(msgspec.Struct, rename="camel", omit_defaults=True):
    """The runs and the fields that a report shows."""

    name: str | None = None
    start: int | None = None
    """Seconds since 1970: runs that ended earlier are left out."""
    end: int | None = None
    """Seconds since 1970: runs that started then or later are left out."""
    fields: list[str | None] | None = None
    filters: list[Filter] | None = None
    """All of them must be met; they may be on other fields than ``fields``."""
    sort: list[Sort] | None = None
    """At most one."""

    @property
    def columns(self) -> list[str]:
        """The fields of its details."""
        wanted = {PROGRAM, *(self.fields or ())}
        return [name for name in FIELDS if name in wanted]

    @property
    def namespaces(self) -> list[str]:
        """The namespaces that it asks for by name."""
        for each in self.filters or ():
            if each.field_name == "namespace" and each.whitelist:
                return list(dict.fromkeys(each.whitelist))
        return []

    def check(self) -> None:
        """Check everything.

        :raises BadRequestError: with all that is wrong.
        """
        errors = list(self._find_errors())
        if errors:
            raise BadRequestError(
                "Please fix the following errors in the report generation request: "
                + "; ".join(errors)
            )

    def _find_errors(self) -> Iterator[str]:
        if self.start is None:
            yield "'start' must be specified."
        if self.end is None:
            yield "'end' must be specified."
        if self.start is not None and self.end is not None and self.start >= self.end:
            yield "'start' must be smaller than 'end'."
        if not self.fields:
            yield "'fields' must be specified."
        for name in self.fields or ():
            yield from _find_field_errors(name)
        for each in self.filters or ():
            yield from _wrap("Filter", each.field_name, each.find_errors())
        if len(self.sort or ()) > 1:
            yield "Currently only one field is supported in sort."
        for sort in self.sort or ():
            yield from _wrap("Sort", sort.field_name, sort.find_errors())

    def to_export(self, table: str) -> ExportRequest:
        """Return what is to be exported from the history of runs, without groupings."""
        where = [
            [FieldCondition(field="start", maximum=self.end)],
            [
                FieldCondition(field="end", is_null=True),
                FieldCondition(field="end", minimum=self.start),
            ],
            *([each.to_condition()] for each in self.filters or ()),
        ]
        sort = self.sort[0] if self.sort else None
        return ExportRequest(
            table=table,
            columns=self.columns,
            where=where,
            order_by=sort.field_name if sort else None,
            order=_ORDERS[str(sort.order)] if sort else SortOrder.ASC,
        )


def decode_request(body: bytes | None) -> ReportRequest:
    """Return the request of a body, checked.

    :raises BadRequestError: when it is empty, no JSON, or wrong.
    """
    try:
        request: ReportRequest | None = decode_body(body, ReportRequest | None)
    except BadRequestError as error:
        raise BadRequestError(f"Request body is invalid json: {error}") from None
    if request is None:
        raise BadRequestError("Request body cannot be empty.")
    request.check()
    return request


def _find_field_errors(name: Any) -> Iterator[str]:
    if name not in FIELDS:
        yield (
            f"Invalid field name '{name}' in fields. Field name must be one of: [{', '.join(FIELDS)}]"
        )


def _find_range_errors(range: Range | UnsetType | None) -> Iterator[str]:
    if not isinstance(range, Range):
        yield "'range' cannot be null"
    elif range.min is None and range.max is None:
        yield "'min' and 'max' cannot both be null'"
    elif range.min is not None and range.max is not None and range.min >= range.max:
        yield "'min' must be smaller than 'max'"


def _wrap(what: str, name: str | None, errors: list[str]) -> Iterator[str]:
    if errors:
        yield f"{what} {name} contains these errors: {'; '.join(errors)}"
