"""Reports of pipeline tests as lines of text and as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from localcdap.api.record_json import format_json_value
from localcdap.pipeline_tests.comparison import MOST_LETTERS, RecordDifference
from localcdap.pipeline_tests.report import Outcome, OutputDifference, PipelineTestReport

_MOST_RECORDS: Final = 20
"""The most records of one output that are shown."""
MARKS: Final = {"missing": "-", "unexpected": "+", "changed": "~"}


def format_details(report: PipelineTestReport) -> list[str]:
    """Return the reasons of a failed test and a diff: ``-`` missing, ``+`` unexpected, ``~`` changed."""
    lines = [line for reason in report.reasons for line in reason.splitlines()]
    for output in report.outputs:
        lines += _format_output(output)
    return lines


def _format_output(output: OutputDifference) -> Iterator[str]:
    counts = ""
    if output.expected_count != output.actual_count:
        counts = f": expected {output.expected_count:,} records, got {output.actual_count:,}"
    yield f"{output.output}{counts or ': records differ'}"
    for record in output.records[:_MOST_RECORDS]:
        yield from _format_record(record)
    if len(output.records) > _MOST_RECORDS:
        yield f"  … and {len(output.records) - _MOST_RECORDS:,} more"


def _format_record(record: RecordDifference) -> Iterator[str]:
    yield f"  {MARKS[record.kind]} {record.label}"
    for field in record.fields:
        sides = (format_json_value(side, MOST_LETTERS) for side in (field.expected, field.actual))
        yield f"      {field.field}: {' → '.join(sides)}"


_UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain."""


def write_junit(file: Path, reports: Sequence[PipelineTestReport]) -> None:
    """Write a JUnit report; an existing file is replaced."""
    counted = {
        "tests": str(len(reports)),
        "failures": str(sum(each.outcome is Outcome.FAILED for each in reports)),
        "skipped": str(sum(each.outcome is Outcome.STOPPED for each in reports)),
        "errors": "0",
        "time": _format_seconds(sum(each.took_ms for each in reports)),
    }
    suite = ET.Element("testsuite", {"name": "localcdap", **counted})
    for each in reports:
        case = ET.SubElement(
            suite,
            "testcase",
            name=_replace_unwritable(each.test),
            classname=_replace_unwritable(str(Path(each.file).parent)),
            file=_replace_unwritable(each.file),
            time=_format_seconds(each.took_ms),
        )
        lines = format_details(each)
        if each.outcome is Outcome.FAILED:
            failure = ET.SubElement(case, "failure", message=_replace_unwritable(lines[0]))
            failure.text = _replace_unwritable("\n".join(lines))
        elif each.outcome is Outcome.STOPPED:
            ET.SubElement(case, "skipped", message="stopped")
    file.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _format_seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def _replace_unwritable(text: str) -> str:
    return _UNWRITABLE.sub("�", text)
