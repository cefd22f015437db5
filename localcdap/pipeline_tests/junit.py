"""Verdicts as JUnit XML, which continuous integration shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from localcdap.pipeline_tests.showing import detail_lines
from localcdap.pipeline_tests.verdict import Outcome, Verdict

_UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def write_junit(file: Path, verdicts: Sequence[Verdict]) -> None:
    """Write a report; a file that is there is replaced."""
    counted = {
        "tests": str(len(verdicts)),
        "failures": str(sum(each.outcome is Outcome.FAILED for each in verdicts)),
        "skipped": str(sum(each.outcome is Outcome.STOPPED for each in verdicts)),
        "errors": "0",
        "time": _seconds(sum(each.took_ms for each in verdicts)),
    }
    suite = ET.Element("testsuite", {"name": "localcdap", **counted})
    for each in verdicts:
        case = ET.SubElement(
            suite,
            "testcase",
            name=_writable(each.test),
            classname=_writable(str(Path(each.file).parent)),
            file=_writable(each.file),
            time=_seconds(each.took_ms),
        )
        lines = detail_lines(each)
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
