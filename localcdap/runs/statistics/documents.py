"""Overviews of runs as documents: CSV, Markdown, and HTML that prints well."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final

from localcdap.files.writers import format_delimited
from localcdap.runs.statistics.model import PipelineOverview, RunOverview, RunTotals
from localcdap.text import format_duration, format_time, plural, sanitize_for_terminal

FORMATS: Final = ("csv", "markdown", "html")
ENDINGS: Final = {
    ".csv": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
}
"""The format of a file by the end of its name."""
_BARS: Final = "▁▂▃▄▅▆▇█"
_CSV: Final = (
    *("namespace", "pipeline", "runs", "completed", "failed", "killed", "active", "success_rate"),
    *("median_seconds", "p95_seconds", "records_read", "newest_run", "newest_status"),
)
_COLUMNS: Final = (
    *("pipeline", "runs", "success", "failed", "median", "95 %", "records", "durations", "last"),
)
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
"""The beginnings of what spreadsheets calculate."""
_STYLE: Final = """
body { font: 14px/1.45 system-ui, sans-serif; color: #1b1f24; margin: 2rem auto; max-width: 66rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p.window { color: #59636e; margin: 0 0 1.5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d8dee4; vertical-align: top; }
th { font-weight: 600; color: #59636e; }
td.chart { font-family: ui-monospace, monospace; color: #0969da; white-space: pre; }
.days { display: grid; grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr)); gap: .4rem; }
.day { border: 1px solid #d8dee4; border-radius: 4px; padding: .3rem .5rem; }
.day.bad { background: #fdecea; } .day.good { background: #e9f7ef; }
@media print {
  body { margin: 0; max-width: none; font-size: 10pt; }
  h2 { break-after: avoid; } tr, .day { break-inside: avoid; } thead { display: table-header-group; }
  .day.bad, .day.good { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
@page { margin: 15mm; }
""".strip()


def format_document(overview: RunOverview, format: str, title: str) -> str:
    """Return an overview as a document of one of :data:`FORMATS`."""
    match format:
        case "csv":
            return format_csv(overview)
        case "markdown":
            return format_markdown(overview, title)
        case _:
            return format_html(overview, title)


def format_csv(overview: RunOverview) -> str:
    """Return a line for each pipeline; durations are in seconds, an unknown value is empty.

    A name that a spreadsheet would calculate is kept from that by an apostrophe.
    """
    rows = [
        (
            *(_keep_text(each.namespace), _keep_text(each.pipeline)),
            *(each.runs, each.completed, each.failed, each.killed, each.active),
            None if each.success_rate is None else f"{each.success_rate:.4f}",
            *(_to_seconds(each.median_ms), _to_seconds(each.p95_ms)),
            *(each.records, each.newest, each.status),
        )
        for each in overview.pipelines
    ]
    return format_delimited([_CSV, *rows])


def _keep_text(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula (OWASP, "CSV Injection")."""
    return f"'{text}" if text.startswith(_FORMULAS) else text


def format_markdown(overview: RunOverview, title: str) -> str:
    """Return the overview with its tables."""
    parts = [f"# {_clean(title)}", _describe_window(overview), format_totals(overview.totals)]
    if overview.pipelines:
        rows = [_list_cells(each) for each in overview.pipelines]
        parts.append("## Pipelines\n\n" + _format_table(_COLUMNS, rows))
    if overview.failures:
        parts.append("## Failures\n\n" + _format_table(*_list_failures(overview)))
    if overview.slow_stages:
        parts.append("## Slowest stages\n\n" + _format_table(*_list_stages(overview)))
    if overview.alerting_stages:
        parts.append("## Alerts\n\n" + _format_table(*list_alerting_stages(overview)))
    days = [
        (each.day, f"{each.runs:,}", f"{each.failed:,}", format_rate(each.success_rate))
        for each in overview.days
        if each.runs
    ]
    if days:
        parts.append("## Days\n\n" + _format_table(("day", "runs", "failed", "success"), days))
    return "\n\n".join(parts) + "\n"


def format_html(overview: RunOverview, title: str) -> str:
    """Return a page without scripts and without anything from elsewhere, with a style for printing."""
    name = html.escape(title)
    body = [
        f"<h1>{name}</h1>",
        f'<p class="window">{html.escape(_describe_window(overview))}</p>',
        f"<p>{html.escape(format_totals(overview.totals))}</p>",
        "<h2>Days</h2>",
        _format_days(overview),
    ]
    if overview.pipelines:
        rows = [_list_cells(each) for each in overview.pipelines]
        body += ["<h2>Pipelines</h2>", _format_html_table(_COLUMNS, rows, chart=7)]
    if overview.failures:
        body += ["<h2>Failures</h2>", _format_html_table(*_list_failures(overview))]
    if overview.slow_stages:
        body += ["<h2>Slowest stages</h2>", _format_html_table(*_list_stages(overview))]
    if overview.alerting_stages:
        body += ["<h2>Alerts</h2>", _format_html_table(*list_alerting_stages(overview))]
    content = "\n".join(body)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{name}</title>\n'
        f"<style>\n{_STYLE}\n</style>\n</head>\n<body>\n{content}\n</body>\n</html>\n"
    )


def format_totals(totals: RunTotals) -> str:
    """Return the numbers of runs as a sentence."""
    if not totals.runs:
        return "No runs."
    parts = [
        f"{number:,} {what}"
        for number, what in (
            (totals.completed, "completed"),
            (totals.failed, "failed"),
            (totals.killed, "were stopped"),
            (totals.active, "have not ended"),
        )
        if number
    ]
    rate = format_rate(totals.success_rate)
    return f"{plural(totals.runs, 'run')}: {', '.join(parts)}." + (
        f" Success rate {rate}." if rate else ""
    )


def format_stage_time(milliseconds: int) -> str:
    """Return the time that the code of a stage took, which may be far below a second."""
    return f"{milliseconds} ms" if milliseconds < 1000 else format_duration(0, milliseconds)


def format_rate(rate: float | None) -> str:
    """Return a share in percent: 100 % only when nothing failed, and 0 % only when nothing completed."""
    if rate is None:
        return ""
    shown = round(rate * 100)
    if shown == 100 and rate < 1:
        return "> 99 %"
    return "< 1 %" if shown == 0 and rate > 0 else f"{shown} %"


def draw_bars(values: Iterable[int | None]) -> str:
    """Return a character for each value, as high as the value; a blank for None."""
    given = list(values)
    highest = max((each for each in given if each is not None), default=0)
    return "".join(" " if each is None else draw_bar(each, highest) for each in given)


def draw_bar(value: int, highest: int) -> str:
    """Return the character of a value."""
    step = round(value / highest * (len(_BARS) - 1)) if highest else 0
    return _BARS[step]


def _describe_window(overview: RunOverview) -> str:
    return f"{format_time(overview.start)} until {format_time(overview.end)}"


def _list_cells(each: PipelineOverview) -> Sequence[str]:
    durations = [point.median_ms if point is not None else None for point in each.points]
    return (
        each.pipeline,
        f"{each.runs:,}",
        format_rate(each.success_rate),
        f"{each.failed:,}",
        "" if each.median_ms is None else format_duration(0, each.median_ms),
        "" if each.p95_ms is None else format_duration(0, each.p95_ms),
        "" if each.records is None else f"{each.records:,}",
        draw_bars(durations).rstrip(),
        each.status.lower(),
    )


def list_alerting_stages(overview: RunOverview) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the table of the stages with alerts: its header, and its rows."""
    rows: list[Sequence[str]] = [
        (f"{each.alerts:,}", each.stage, each.pipeline, f"{each.runs:,}")
        for each in overview.alerting_stages
    ]
    return ("alerts", "stage", "pipeline", "runs"), rows


def _list_failures(overview: RunOverview) -> tuple[Sequence[str], list[Sequence[str]]]:
    rows: list[Sequence[str]] = [
        (
            each.reason,
            each.category,
            f"{each.runs:,}",
            each.pipeline,
            each.stage or "",
            each.message or "",
        )
        for each in overview.failures
    ]
    return ("reason", "category", "runs", "last pipeline", "stage", "message"), rows


def _list_stages(overview: RunOverview) -> tuple[Sequence[str], list[Sequence[str]]]:
    rows: list[Sequence[str]] = [
        (
            each.pipeline,
            each.stage,
            f"{each.runs:,}",
            format_stage_time(each.average_ms),
            format_stage_time(each.longest_ms),
        )
        for each in overview.slow_stages
    ]
    return ("pipeline", "stage", "runs", "average", "longest"), rows


def _format_days(overview: RunOverview) -> str:
    cells = []
    for each in overview.days:
        style = "bad" if each.failed else "good" if each.completed else ""
        counts = f"{each.runs:,}" + (f", {each.failed:,} failed" if each.failed else "")
        cells.append(f'<div class="day {style}">{each.day}<br>{counts if each.runs else "–"}</div>')
    return f'<div class="days">{"".join(cells)}</div>'


def _format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_clean, line)) + " |" for line in lines)


def _format_html_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], chart: int | None = None
) -> str:
    heads = "".join(f"<th>{html.escape(each)}</th>" for each in head)
    lines = []
    for row in rows:
        cells = (
            f"<td{' class=chart' if place == chart else ''}>{html.escape(cell)}</td>"
            for place, cell in enumerate(row)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{chr(10).join(lines)}\n</tbody>\n</table>"


def _clean(text: str) -> str:
    """Return a text for a cell of Markdown, on one line and without marks that would end the cell."""
    plain = sanitize_for_terminal(text, single_line=True)
    for mark in "\\|<>`*_[":
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def _to_seconds(milliseconds: int | None) -> str:
    return "" if milliseconds is None else f"{milliseconds / 1000:.3f}"
