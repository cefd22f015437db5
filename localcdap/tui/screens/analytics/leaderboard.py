"""The list of an experiment: its models, the best first, its searches and splits with details."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from textual.content import Content

from localcdap.api.app.jobs import JobDetail
from localcdap.text import format_duration, plural, sanitize_for_terminal
from localcdap.tui.labels import MUTED, format_age, format_title, join_parts, sanitize_name
from localcdap.tui.lists import ListEntry
from localcdap.tui.screens.analytics.calls import (
    BUSY,
    FAILED,
    LESS_IS_BETTER,
    Algorithm,
    ColumnStats,
    Contents,
    Experiment,
    FoundParameters,
    Model,
    Split,
)
from localcdap.tui.screens.analytics.charts import (
    draw_levels,
    draw_parts,
    draw_progress,
    fit_name,
    format_metric,
    format_progress,
    format_took,
)

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
