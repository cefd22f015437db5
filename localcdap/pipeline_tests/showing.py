"""Verdicts as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from localcdap.pipeline_tests.comparison import RecordDifference, shown
from localcdap.pipeline_tests.verdict import OutputDifference, Verdict

_MOST_RECORDS: Final = 20
"""Records of one output that are shown."""
MARKS: Final = {"missing": "-", "unexpected": "+", "changed": "~"}


def detail_lines(verdict: Verdict) -> list[str]:
    """What is wrong, as a diff: ``-`` missing, ``+`` unexpected, ``~`` changed."""
    lines = [line for reason in verdict.reasons for line in reason.splitlines()]
    for output in verdict.outputs:
        lines += _output(output)
    return lines


def _output(output: OutputDifference) -> Iterator[str]:
    counts = ""
    if output.expected_count != output.actual_count:
        counts = f": expected {output.expected_count:,} records, got {output.actual_count:,}"
    yield f"{output.output}{counts or ': other records'}"
    for record in output.records[:_MOST_RECORDS]:
        yield from _record(record)
    if len(output.records) > _MOST_RECORDS:
        yield f"  … and {len(output.records) - _MOST_RECORDS:,} more"


def _record(record: RecordDifference) -> Iterator[str]:
    yield f"  {MARKS[record.kind]} {record.label}"
    for field in record.fields:
        yield f"      {field.field}: {shown(field.expected)} → {shown(field.actual)}"
