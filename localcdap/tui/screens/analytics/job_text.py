"""How far a job is, for people."""

from __future__ import annotations

from textual.content import Content

from localcdap.api.app.jobs import JobDetail
from localcdap.text import format_duration, plural
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.screens.analytics.charts import draw_bar

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
