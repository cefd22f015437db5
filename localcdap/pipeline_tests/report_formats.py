"""Reports of pipeline tests as lines of text and as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from localcdap.pipeline_tests.comparison import RecordDifference, format_value
from localcdap.pipeline_tests.report import Outcome, OutputDifference, PipelineTestReport

_MOST_RECORDS: Final = 20
"""Records of one output that are shown."""
MARKS: Final = {"missing": "-", "unexpected": "+", "changed": "~"}


def format_details(report: PipelineTestReport) -> list[str]:
    """What is wrong, as a diff: ``-`` missing, ``+`` unexpected, ``~`` changed."""
    lines = [line for reason in report.reasons for line in reason.splitlines()]
    for output in report.outputs:
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
        yield f"      {field.field}: {format_value(field.expected)} → {format_value(field.actual)}"


_UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def write_junit(file: Path, reports: Sequence[PipelineTestReport]) -> None:
    """Write a report; a file that is there is replaced."""
    counted = {
        "tests": str(len(reports)),
        "failures": str(sum(each.outcome is Outcome.FAILED for each in reports)),
        "skipped": str(sum(each.outcome is Outcome.STOPPED for each in reports)),
        "errors": "0",
        "time": _seconds(sum(each.took_ms for each in reports)),
    }
    suite = ET.Element("testsuite", {"name": "localcdap", **counted})
    for each in reports:
        case = ET.SubElement(
            suite,
            "testcase",
            name=_writable(each.test),
            classname=_writable(str(Path(each.file).parent)),
            file=_writable(each.file),
            time=_seconds(each.took_ms),
        )
        lines = format_details(each)
        if each.outcome is Outcome.FAILED:
            failure = ET.SubElement(case, "failure", message=_writable(lines[0]))
            failure.text = _writable("\n".join(lines))
        elif each.outcome is Outcome.STOPPED:
            ET.SubElement(case, "skipped", message="stopped")
    file.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(suite).write(file, encoding="utf-8", xml_declaration=True)


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def _writable(text: str) -> str:
    return _UNWRITABLE.sub("�", text)
