"""Charts in characters: bars, histograms, confusion matrix, curve of the scores, residuals, progress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from localcdap.api.app.jobs import JobDetail
from localcdap.text import format_duration, plural
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.screens.analytics.calls import SplitBin

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_MOST_CLASSES: Final = 12
_CELL: Final = 7
_WIDEST_NAME: Final = 12
_BRAILLE: Final = 0x2800
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a Braille character, by row and column."""
Part = str | tuple[str, str]


def draw_bar(share: float, width: int) -> str:
    """Return a bar that fills a share of the width, from 0 to 1, in steps of an eighth of a cell."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest] if rest else "")).ljust(width)


def draw_levels(counts: Sequence[int]) -> str:
    """Return a histogram of one line; an empty bin is a blank."""
    most = max(counts, default=0)
    return "".join(_LEVELS[min(7, each * 8 // (most + 1))] if each else " " for each in counts)


def fit_name(name: str, width: int) -> str:
    """Return a name in so many cells."""
    shown = sanitize_name(name)
    if cell_len(shown) > width:
        shown = set_cell_size(shown, width - 1).rstrip() + "…"
    return set_cell_size(shown, width)


def draw_importance(importance: Mapping[str, float], width: int) -> Content:
    """Return a line for each column, the most important first."""
    ordered = sorted(importance.items(), key=lambda each: -each[1])
    most = ordered[0][1] if ordered else 1.0
    name = min(24, max((len(each) for each in importance), default=0))
    bar = max(8, min(40, width - name - 9))
    lines = [
        Content.assemble(
            f"{fit_name(column, name)} ",
            (draw_bar(weight / most if most else 0.0, bar), "$primary"),
            (f" {weight:>6.1%}", MUTED),
        )
        for column, weight in ordered
    ]
    return Content("\n").join(lines)


def draw_confusion(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> Content:
    """Return the matrix: a line for each class, with the numbers of records by predicted class.

    The diagonal is right. Of very many classes only the first are shown, with a note.
    """
    shown = min(len(labels), len(counts), _MOST_CLASSES)
    width = min(16, max((cell_len(each) for each in labels[:shown]), default=0) + 1)
    longest = max((cell_len(each) for each in labels[:shown]), default=0)
    numbers = max((len(f"{count:,}") for row in counts for count in row), default=0)
    cell = max(_CELL, numbers + 2, min(_WIDEST_NAME, longest) + 2)
    head = "".join(
        fit_name(each, cell - 2).rstrip().rjust(cell - 1) + " " for each in labels[:shown]
    )
    above = Content.styled(f"{'':{width}}{'predicted':>{cell}}", MUTED)
    lines = [above, Content.styled(f"{'is':{width}}{head}  recall", MUTED)]
    for place in range(shown):
        row = counts[place]
        total = sum(row)
        parts: list[Part] = [fit_name(labels[place], width)]
        parts += [_draw_cell(row[other], total, cell, place == other) for other in range(shown)]
        recall = f"{row[place] / total:>8.1%}" if total else f"{'':>8}"
        lines.append(Content.assemble(*parts, (recall, MUTED)))
    precisions = []
    for place in range(shown):
        total = sum(row[place] for row in counts)
        precisions.append((f"{counts[place][place] / total:.1%}" if total else "").rjust(cell))
    lines.append(Content.styled("precision"[:width].ljust(width) + "".join(precisions), MUTED))
    if len(labels) > shown:
        lines.append(Content.styled(f"the first {shown} of {len(labels)} classes", MUTED))
    return Content("\n").join(lines)


def _draw_cell(count: int, total: int, width: int, is_right: bool) -> Part:
    """Return a number on a background that is the deeper, the larger its part of the class is."""
    text = f"{count:,} ".rjust(width)
    if not count:
        return text, "$foreground 30%"
    share = max(0.15, count / total) if total else 0.0
    return (
        text,
        f"{'bold ' if is_right else ''}$text on {'$success' if is_right else '$error'} {share * 60:.0f}%",
    )


def draw_curve(
    points: Sequence[Sequence[float]], width: int, height: int, area: float | None
) -> Content:
    """Return the receiver operating characteristic in Braille dots, with the diagonal of a guess.

    :param width: cells of the drawing without its axis; ``height``: lines.
    """
    columns, rows = width * 2, height * 4
    grid = [[0] * width for _ in range(height)]

    def set_dot(x: float, y: float) -> None:
        column = min(columns - 1, int(x * columns))
        row = min(rows - 1, int((1 - y) * rows))
        grid[row // 4][column // 2] |= _DOTS[row % 4][column % 2]

    for place in range(0, columns, 4):
        set_dot(place / columns, place / columns)
    for (x0, y0), (x1, y1) in pairwise(points):
        steps = max(1, int(max(abs(x1 - x0) * columns, abs(y1 - y0) * rows) * 2))
        for step in range(steps + 1):
            set_dot(x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps)
    lines = []
    for place, row in enumerate(grid):
        label = "1 " if not place else "0 " if place == height - 1 else "  "
        cells = "".join(chr(_BRAILLE + each) for each in row)
        lines.append(Content.assemble((f"{label}│", MUTED), (cells, "$primary")))
    foot = "  └" + "─" * width
    lines.append(Content.styled(foot, MUTED))
    under = f"   0{'false positive rate':^{max(0, width - 2)}}1"
    lines.append(Content.styled(under, MUTED))
    found = "" if area is None else f"area {area:.3f}; a guess has 0.5"
    return Content("\n").join([Content.styled(f"true positive rate   {found}", MUTED), *lines])


def draw_residuals(bins: Sequence[Sequence[float]], width: int) -> Content:
    """Return a line for each bin of outcome less prediction; where zero is, the line is marked."""
    most = max((int(each[2]) for each in bins), default=1) or 1
    ends = [(_format_number(each[0]), _format_number(each[1])) for each in bins]
    side = max((len(text) for pair in ends for text in pair), default=1)
    bar = max(8, min(48, width - 2 * side - 12))
    lines = []
    for place, ((low, high, count), (start, end)) in enumerate(zip(bins, ends, strict=True)):
        has_zero = low <= 0 < high or (place == len(bins) - 1 and high == 0)
        mark: Part = (" 0 ", "bold $success") if has_zero else ("   ", "")
        lines.append(
            Content.assemble(
                (f"{start:>{side}} … {end:>{side}}", MUTED),
                mark,
                (draw_bar(count / most, bar), "$primary" if has_zero else "$secondary"),
                (f" {int(count):,}", MUTED),
            )
        )
    return Content("\n").join(lines)


def draw_parts(histo: Sequence[SplitBin], width: int, most: int = 12) -> Content:
    """Return a histogram of a column: a line for each bin, with bars of the training and the test data.

    Bars are shares of their part, so that parts of different sizes can be compared.
    """
    train = sum(each.count.train for each in histo) or 1
    test = sum(each.count.test for each in histo) or 1
    shown = histo[:most]
    highest = (
        max((max(e.count.train / train, e.count.test / test) for e in shown), default=1.0) or 1.0
    )
    name = min(20, max((cell_len(each.bin) for each in shown), default=1))
    bar = max(6, min(24, (width - name - 18) // 2))
    lines = [
        Content.styled(f"{'':{name}} {'training':{bar + 7}} test", MUTED),
    ]
    for each in shown:
        parts: list[Part] = [f"{fit_name(each.bin, name)} "]
        for count, total, style in (
            (each.count.train, train, "$primary"),
            (each.count.test, test, "$secondary"),
        ):
            parts += [
                (draw_bar(count / total / highest, bar), style),
                (f"{count:>6,} ", MUTED),
            ]
        lines.append(Content.assemble(*parts))
    if len(histo) > most:
        lines.append(Content.styled(f"and {len(histo) - most:,} more", MUTED))
    return Content("\n").join(lines)


def _format_number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1e5 else f"{value:.2e}"


def format_metric(value: float | None) -> str:
    """Return a metric for people: four digits, more only for great numbers."""
    if value is None:
        return "-"
    return (
        f"{value:.3f}"
        if abs(value) < 100
        else f"{value:,.4g}"
        if abs(value) < 1e6
        else f"{value:.3e}"
    )


_BAR = 24


def format_progress(job: JobDetail) -> str:
    """Return the state of a job that has not ended: its place in the queue, or what it does."""
    if job.position:
        return f"waits, {job.position} in the queue"
    if job.status == "PENDING":
        return "waits for Spark"
    if job.status in ("STARTING", "STOPPING"):
        return job.status.lower()
    fraction = job.progress.fraction
    share = "" if fraction is None else f" {fraction:.0%}"
    return f"{job.progress.message or 'running'}{share}"


def draw_progress(job: JobDetail) -> Content:
    """Return the lines of a job that has not ended: a bar, what it does, and the tasks of Spark."""
    progress = job.progress
    lines = [
        Content.assemble(
            (draw_bar(progress.fraction or 0.0, _BAR), "$primary on $foreground 10%"),
            f" {sanitize_name(format_progress(job))}",
        )
    ]
    if progress.tasks:
        lines.append(
            Content.styled(
                f"{progress.tasks_done:,} of {plural(progress.tasks, 'task')} of Spark", MUTED
            )
        )
    lines.append(
        Content.styled("It goes on when the studio is closed. L shows its log, X stops it.", MUTED)
    )
    return Content("\n").join(lines)


def format_took(job: JobDetail) -> str:
    """Return how long a job has taken; empty before its end."""
    return format_duration(job.started, job.ended)
