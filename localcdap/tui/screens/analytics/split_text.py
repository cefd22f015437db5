"""The details of a split, and of a search of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual.content import Content

from localcdap.api.app.jobs import JobDetail
from localcdap.text import format_duration, plural, sanitize_for_terminal
from localcdap.tui.labels import MUTED, format_age, format_title, join_parts, sanitize_name
from localcdap.tui.screens.analytics.answers import ColumnStats, Experiment, FoundParameters, Split
from localcdap.tui.screens.analytics.charts import (
    draw_levels,
    draw_parts,
    fit_name,
    format_metric,
)
from localcdap.tui.screens.analytics.job_text import draw_progress, format_took

_DIFFERENT: Final = 0.1
"""The divergence from which training and test data differ, as the application warns."""
_LITTLE: Final = 0.8
"""An overlap below this is marked."""
_MOST_CHARTS: Final = 40


def draw_experiment(experiment: Experiment, counts: tuple[int, int, int]) -> Content:
    """Return what an experiment is.

    :param counts: of splits, models and searches.
    """
    splits, models, searches = counts
    searched = f"{searches:,} {'search' if searches == 1 else 'searches'}"
    lines = [
        ("predicts", f"{experiment.outcome} ({experiment.outcome_type.lower()})"),
        ("from", experiment.srcpath),
        ("has", f"{plural(models, 'model')}, {plural(splits, 'split')}, {searched}"),
    ]
    facts = Content("\n").join(
        Content.assemble((f"{name:9} ", MUTED), sanitize_name(value)) for name, value in lines
    )
    steps = Content("\n").join(
        Content.styled(f"  {sanitize_name(each)}", MUTED) for each in experiment.directives
    )
    recipe = Content("\n").join([Content.styled("recipe", MUTED), steps])
    return join_parts(
        format_title(sanitize_name(experiment.name), "experiment"),
        sanitize_for_terminal(experiment.description),
        facts,
        recipe if experiment.directives else "",
        "" if splits else Content.styled("s makes a split: training and test data.", MUTED),
    )


def draw_split(split: Split, outcome: str, job: JobDetail | None, width: int) -> Content:
    """Return the details of a split: its rows, and each column in training and test data."""
    params = ", ".join(f"{name} {value}" for name, value in split.params.items())
    head = [
        format_title(sanitize_name(split.title), f"{split.type} split"),
        Content.styled(_describe_state(split, params), MUTED),
    ]
    if split.error:
        head.append(Content.styled(sanitize_for_terminal(split.error), "$text-error"))
    if job is not None and not job.has_ended:
        head.append(draw_progress(job))
    ordered = sorted(split.stats, key=lambda each: each.field != outcome)
    charts = [draw_column(each, each.field == outcome, width) for each in ordered[:_MOST_CHARTS]]
    left = len(ordered) - len(charts)
    return join_parts(
        Content("\n").join(head),
        _draw_rows(split.rows),
        _draw_overlaps(ordered, width) if ordered else "",
        *charts,
        f"and {plural(left, 'more column')}" if left > 0 else "",
    )


def _describe_state(split: Split, params: str) -> str:
    words = [split.status.lower()]
    if split.status == "Complete":
        words.append(f"made {format_age(split.end)} in {format_duration(split.start, split.end)}")
    words += [params] if params else []
    words.append(f"used by {plural(len(split.models), 'model')}")
    return ", ".join(words)


def _draw_rows(rows: dict[str, int]) -> Content:
    if not rows:
        return Content("")
    read, prepared = rows.get("read", 0), rows.get("prepared", 0)
    parts = [f"{read:,} records read"]
    if prepared != read:
        parts.append(f"{prepared:,} after the recipe")
    parts.append(f"{rows.get('train', 0):,} to train, {rows.get('test', 0):,} to test")
    return Content(" · ".join(parts))


def _draw_overlaps(stats: Sequence[ColumnStats], width: int) -> Content:
    """Return a table: for each column the distributions of both parts, and how much of them they share."""
    name = min(24, max(len(each.field) for each in stats))
    lines = [
        Content.styled(
            f"{'column':{name}} {'training':10} {'test':10} {'overlap':>8}  {'':10}"[: width + 20],
            MUTED,
        )
    ]
    for each in stats:
        train = [e.count.train for e in each.histo[:10]]
        test = [e.count.test for e in each.histo[:10]]
        overlap = each.overlap
        is_odd = each.divergence > _DIFFERENT or (overlap is not None and overlap < _LITTLE)
        notes = [f"divergence {each.divergence:.2f}"] if each.divergence > _DIFFERENT else []
        if each.unknown:
            notes.append(f"{plural(each.unknown, 'value')} only in test")
        lines.append(
            Content.assemble(
                f"{fit_name(each.field, name)} ",
                (f"{draw_levels(train):10} ", "$primary"),
                (f"{draw_levels(test):10} ", "$secondary"),
                (
                    f"{'' if overlap is None else f'{overlap:.0%}':>8}",
                    "$text-warning" if is_odd else "",
                ),
                ("  " + ", ".join(notes), "$text-warning" if is_odd else MUTED),
            )
        )
    title = Content.styled("overlap of training and test data", "$foreground 60% italic")
    return Content("\n").join([title, *lines])


def draw_column(stats: ColumnStats, is_outcome: bool, width: int) -> Content:
    """Return the statistics of a column, and its histogram in both parts."""
    kind = "outcome, " if is_outcome else ""
    known = stats.num_total.total - stats.num_null.total
    facts = [f"{kind}{known:,} values"]
    if stats.num_null.total:
        facts.append(f"{stats.num_null.total:,} null")
    if stats.unique is not None:
        facts.append(f"{stats.unique.total:,} different")
    lines = [
        Content.assemble(
            (sanitize_name(stats.field), "bold"),
            (f"  {', '.join(facts)}", MUTED),
        )
    ]
    if stats.mean is not None and stats.stddev is not None and stats.min is not None:
        lines += [_draw_numbers(stats, part) for part in ("train", "test")]
    if stats.histo:
        lines.append(draw_parts(stats.histo, width))
    return Content("\n").join(lines)


def _draw_numbers(stats: ColumnStats, part: str) -> Content:
    values = [
        (name, None if found is None else getattr(found, part))
        for name, found in (
            ("min", stats.min),
            ("mean", stats.mean),
            ("max", stats.max),
            ("deviation", stats.stddev),
        )
    ]
    shown = "  ".join(f"{name} {format_metric(value)}" for name, value in values)
    return Content.styled(f"{'training' if part == 'train' else 'test':9}{shown}", MUTED)


def draw_search(job: JobDetail, result: FoundParameters | None) -> Content:
    """Return a search: its combinations, the best first."""
    head = [format_title("search of parameters", str(job.arguments["request"]["algorithm"]))]
    if job.has_ended:
        head.append(Content.styled(f"{job.status.lower()} in {format_took(job)}", MUTED))
    else:
        head.append(draw_progress(job))
    if job.error:
        head.append(Content.styled(sanitize_for_terminal(job.error), "$text-error"))
    return join_parts(Content("\n").join(head), "" if result is None else _draw_result(result))


def _draw_result(result: FoundParameters) -> Content:
    tried = len(result.candidates)
    of = f" of {result.combinations:,}" if result.combinations > tried else ""
    title = f"{tried:,}{of} combinations on {result.folds} folds of the training data, by {result.metric}"
    lines = [Content.styled(title, "$foreground 60% italic")]
    for place, each in enumerate(result.candidates):
        values = "  ".join(f"{name} {value}" for name, value in each.hyperparameters.items())
        shown = sanitize_name(values or "all defaults")
        if each.error:
            text = sanitize_name(each.error)
            lines.append(
                Content.assemble((f"{'failed':>17}  ", "$text-error"), shown, (f"  {text}", MUTED))
            )
            continue
        mean = format_metric(each.metrics.get(result.metric))
        spread = "" if each.spread is None else f"± {format_metric(each.spread)}"
        style = "bold $success" if place == 0 else ""
        lines.append(
            Content.assemble((f"{mean:>8} ", style), (f"{spread:8}  ", MUTED), (shown, style))
        )
    lines.append(Content.styled("t trains a model with the best ones.", MUTED))
    return Content("\n").join(lines)
