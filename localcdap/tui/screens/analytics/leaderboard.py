"""The list of an experiment: its models, the best first, its searches and its splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from localcdap.api.app.jobs import JobDetail
from localcdap.tui.labels import format_age, sanitize_name
from localcdap.tui.lists.filtered_list import ListEntry
from localcdap.tui.screens.analytics.answers import (
    BUSY,
    FAILED,
    LESS_IS_BETTER,
    Algorithm,
    Model,
    Split,
)
from localcdap.tui.screens.analytics.calls import Contents
from localcdap.tui.screens.analytics.charts import fit_name, format_metric
from localcdap.tui.screens.analytics.job_text import format_progress

MODELS: Final = "models"
SPLITS: Final = "splits"
SEARCHES: Final = "searches"
_KIND: Final = 18
"""The most cells for an algorithm beside the metric."""


def order_models(models: Sequence[Model], metric: str) -> list[Model]:
    """Return models by a metric, the best first; last those that have none, the newest first."""

    def rank(model: Model) -> tuple[bool, float]:
        value = model.evaluation_metrics.get(metric)
        if value is None:
            return True, -model.createtime
        return False, value if metric in LESS_IS_BETTER else -value

    return sorted(models, key=rank)


def build_entries(
    contents: Contents,
    metric: str,
    jobs: Mapping[str, JobDetail],
    algorithms: Mapping[str, Algorithm],
) -> list[ListEntry]:
    """Return the entries of an experiment. The key of each is its kind and its id."""
    direction = "lowest" if metric in LESS_IS_BETTER else "highest"
    heading = f"models, {direction} {metric} first"
    found = [
        _build_model(each, metric, jobs, algorithms, heading)
        for each in order_models(contents.models, metric)
    ]
    found += [_build_search(jobs.get(each.id, each)) for each in contents.searches]
    newest = sorted(contents.splits, key=lambda each: -each.start)
    return found + [_build_split(each, jobs) for each in newest]


def _build_model(
    model: Model,
    metric: str,
    jobs: Mapping[str, JobDetail],
    algorithms: Mapping[str, Algorithm],
    heading: str,
) -> ListEntry:
    algorithm = algorithms.get(model.algorithm or "")
    kind = algorithm.label if algorithm is not None else model.algorithm or ""
    value = model.evaluation_metrics.get(metric)
    hint = model.status.lower()
    if value is not None:
        is_named = kind.lower() in model.name.lower()
        hint = f"{'' if is_named else fit_name(kind, _KIND).rstrip()}  {format_metric(value):>7}"
    if model.status in BUSY:
        hint = _get_progress(jobs, model.job) or hint
    mark = "★" if model.status == "Deployed" else _get_mark(model.status)
    return ListEntry(
        f"{MODELS}/{model.id}",
        sanitize_name(model.name),
        mark,
        hint,
        heading,
        f"{kind} {model.status}",
    )


def _build_search(job: JobDetail) -> ListEntry:
    algorithm = str(job.arguments["request"]["algorithm"])
    hint = format_age(job.ended) if job.ended is not None else format_progress(job)
    marks = {"COMPLETED": "✓", "FAILED": "✗", "KILLED": "■"}
    mark = marks.get(job.status, "▶")
    return ListEntry(f"{SEARCHES}/{job.id}", algorithm, mark, hint, "searches of parameters")


def _build_split(split: Split, jobs: Mapping[str, JobDetail]) -> ListEntry:
    hint = f"{split.rows.get('train', 0):,} + {split.rows.get('test', 0):,} records"
    if split.status in BUSY:
        hint = _get_progress(jobs, split.job) or "splitting"
    elif split.status in FAILED:
        hint = split.status.lower()
    return ListEntry(
        f"{SPLITS}/{split.id}", sanitize_name(split.title), _get_mark(split.status), hint, "splits"
    )


def _get_progress(jobs: Mapping[str, JobDetail], id: str | None) -> str:
    job = jobs.get(id or "")
    return "" if job is None or job.has_ended else format_progress(job)


def _get_mark(status: str) -> str:
    if status in BUSY:
        return "▶"
    if status in FAILED:
        return "✗"
    return "◌" if status in ("Preparing", "Data Ready") else "✓"
