"""Overviews as documents: hostile names change nothing around them, and numbers are the same everywhere."""

from __future__ import annotations

import csv
import html.parser
import io

import pytest

from localcdap.engine.messages.spool import RunStatus
from localcdap.runs.statistics.documents import (
    draw_bars,
    format_document,
    format_rate,
    format_totals,
)
from localcdap.runs.statistics.model import (
    AlertingStage,
    ChartPoint,
    DayTotals,
    FailureReason,
    PipelineOverview,
    RunOverview,
    RunTotals,
    SlowStage,
)

HOSTILE = "a|b<script>`x`\n\x1b[31m"


def make_overview(name: str = HOSTILE) -> RunOverview:
    pipeline = PipelineOverview(
        12,
        9,
        2,
        1,
        namespace="default",
        pipeline=name,
        median_ms=1500,
        p95_ms=None,
        records=1234,
        newest="r1",
        status=RunStatus.FAILED,
        points=[None, ChartPoint(12, 2, 1500, 1234)],
    )
    return RunOverview(
        0,
        86_400_000,
        RunTotals(12, 9, 2, 1),
        [pipeline],
        1,
        [DayTotals(12, 9, 2, 1, day="1970-01-01"), DayTotals(day="1970-01-02")],
        [FailureReason("a value does not fit", "Plugin", 2, 1, "r1", "default", name, name, name)],
        [SlowStage("default", name, name, 3, 900, 1200)],
        [],
        [AlertingStage("default", name, name, 3, 4321)],
    )


class Checker(html.parser.HTMLParser):
    """Counts tags, and notices what is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_is_whole_and_runs_nothing():
    page = format_document(make_overview(), "html", HOSTILE)
    checker = Checker()
    checker.feed(page)

    assert not checker.open
    assert "script" not in checker.seen
    assert "@media print" in page
    assert "http" not in page  # nothing from elsewhere
    assert "1,234" in page


def test_tables_of_markdown_keep_their_columns():
    text = format_document(make_overview(), "markdown", "Runs of default")
    lines = [line for line in text.splitlines() if line.startswith("|")]

    assert {line.replace("\\|", "").count("|") for line in lines} == {10, 7, 6, 5}
    assert "\x1b" not in text
    assert "| 12 | 82 % | 2 | 1.5 s |" in text


def test_csv_has_a_line_for_each_pipeline():
    rows = list(csv.DictReader(io.StringIO(format_document(make_overview(), "csv", ""))))

    assert len(rows) == 1
    assert rows[0] == {
        "namespace": "default",
        "pipeline": HOSTILE,
        "runs": "12",
        "completed": "9",
        "failed": "2",
        "killed": "1",
        "active": "0",
        "success_rate": "0.8182",
        "median_seconds": "1.500",
        "p95_seconds": "",
        "records_read": "1234",
        "newest_run": "r1",
        "newest_status": "FAILED",
    }


def test_rates_and_bars():
    assert [format_rate(each) for each in (None, 0.0, 0.001, 0.5, 0.999, 1.0)] == [
        "",
        "0 %",
        "< 1 %",
        "50 %",
        "> 99 %",
        "100 %",
    ]
    assert draw_bars([None, 0, 5, 10]) == " ▁▅█"
    assert draw_bars([]) == ""
    assert format_totals(RunTotals()) == "No runs."
    assert format_totals(RunTotals(3, 2, 1)) == (
        "3 runs: 2 completed, 1 failed. Success rate 67 %."
    )


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_csv_gives_a_spreadsheet_nothing_to_calculate(name):
    assert f"'{name}" in format_document(make_overview(name), "csv", "")
