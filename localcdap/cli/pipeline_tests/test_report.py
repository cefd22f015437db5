"""Results of pipeline tests, printed for a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from localcdap.cli.output import echo, secho
from localcdap.cli.runs.recordings import print_stand_ins
from localcdap.pipeline_tests.report import MARKS, Outcome, PipelineTestReport, format_details

_COLOURS: Final = {"missing": "red", "unexpected": "green", "changed": "yellow"}


def print_report(report: PipelineTestReport, *, updated: bool = False) -> None:
    mark, colour = {
        Outcome.PASSED: ("✓", "green"),
        Outcome.FAILED: ("✗", "red"),
        Outcome.STOPPED: ("-", "yellow"),
    }[report.outcome]
    if updated:
        mark, colour = "↻", "yellow"
    note = "  updated" if updated else ""
    secho(mark, fg=colour, bold=True, nl=False)
    echo(f" {report.file}  {report.took_ms / 1000:.1f} s{note}")
    print_stand_ins(report.stand_ins)
    for line in format_details(report):
        kind = next(
            (k for k, each in MARKS.items() if re.match(rf" +{re.escape(each)} ", line)), ""
        )
        secho(f"    {line}", fg=_COLOURS.get(kind))


def print_summary(reports: Sequence[PipelineTestReport]) -> None:
    counts = {each: sum(v.outcome is each for v in reports) for each in Outcome}
    parts = [f"{count} {outcome}" for outcome, count in counts.items() if count]
    colour = "green" if counts[Outcome.PASSED] == len(reports) else "red"
    secho(", ".join(parts), fg=colour, bold=True)
