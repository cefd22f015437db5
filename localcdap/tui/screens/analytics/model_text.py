"""The details of a model: its state, metrics, charts, warnings and parameters; two models side by side.

The card of a model is Markdown: what it predicts, how good it is, on which data, and what to mind. What
a model with two classes does at another threshold is computed from the counts by score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from textual.content import Content

from localcdap.api.app.jobs import JobDetail
from localcdap.text import format_duration, format_time, plural, sanitize_for_terminal
from localcdap.tui.labels import MUTED, format_age, format_title, join_parts, sanitize_name
from localcdap.tui.screens.analytics.calls import (
    LESS_IS_BETTER,
    Algorithm,
    Experiment,
    Look,
    Model,
    Parameter,
    Report,
    Split,
)
from localcdap.tui.screens.analytics.charts import (
    draw_confusion,
    draw_curve,
    draw_importance,
    draw_progress,
    draw_residuals,
    fit_name,
    format_metric,
)


@dataclass(frozen=True)
class ThresholdCounts:
    """The records of the test data by outcome and prediction, where the second class is the positive one."""

    threshold: float
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int

    @property
    def precision(self) -> float | None:
        """The part of the predicted ones that are right; None when none is predicted."""
        return _divide(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float | None:
        """The part of the positive ones that are found; None when there are none."""
        return _divide(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float | None:
        both = 2 * self.true_positives + self.false_positives + self.false_negatives
        return _divide(2 * self.true_positives, both)

    @property
    def accuracy(self) -> float | None:
        right = self.true_positives + self.true_negatives
        return _divide(right, right + self.false_positives + self.false_negatives)

    @property
    def matrix(self) -> list[list[int]]:
        """The confusion matrix: negative, positive."""
        return [
            [self.true_negatives, self.false_positives],
            [self.false_negatives, self.true_positives],
        ]


def count_at(scores: Sequence[Sequence[int]], step: int) -> ThresholdCounts:
    """Return the counts when every record is positive whose score is not below a step.

    :param scores: for each step from 0 on, the records of the negative and of the positive class.
    """
    below, above = scores[:step], scores[step:]
    return ThresholdCounts(
        threshold=step / (len(scores) - 1),
        true_positives=sum(each[1] for each in above),
        false_positives=sum(each[0] for each in above),
        true_negatives=sum(each[0] for each in below),
        false_negatives=sum(each[1] for each in below),
    )


def find_best(scores: Sequence[Sequence[int]]) -> int:
    """Return the step with the greatest F1 of the positive class; the lowest of several."""
    return max(range(len(scores)), key=lambda step: (count_at(scores, step).f1 or 0.0, -step))


def _divide(part: int, whole: int) -> float | None:
    return part / whole if whole else None


_SLIDER: Final = 41
_CURVE: Final = (44, 9)
_HEADING: Final = "$foreground 60% italic"


@dataclass(frozen=True)
class ModelView:
    """What is shown of a model.

    :param job: of its training; None when there is none, or it is not kept any more.
    :param test_rows: the records of the test data; None when the split was deleted.
    """

    model: Model
    report: Report
    job: JobDetail | None
    algorithm: Algorithm | None
    test_rows: int | None


def draw_model(view: ModelView, width: int, step: int) -> Content:
    """Return the details of a model, in so many cells.

    :param step: the hundredth of the score that the slider is at.
    """
    model = view.model
    return join_parts(
        _draw_head(view),
        _draw_warnings(view.report.warnings),
        *(
            _draw_results(model.evaluation_metrics, view.report, width, step)
            if model.is_trained
            else ()
        ),
        _draw_skipped(model, view.test_rows) if model.is_trained else "",
        _draw_parameters(model.hyperparameters, view.algorithm),
        _draw_features(model),
    )


def draw_look(look: Look, algorithm: Algorithm, source: str, width: int, step: int) -> Content:
    """Return a first look, which says that it is none of the recorded models."""
    label = f"a first look at a sample, by {look.by} in {look.seconds:.1f} s; nothing is recorded"
    rows = look.rows
    skipped = rows.get("skipped", 0)
    note = (
        f"{plural(rows['train'], 'record')} to learn from, {rows['test']:,} to test"
        + (f", of which {skipped:,} have unknown categories" if skipped else "")
        + f"; from {sanitize_name(source)}. t trains the model on Spark."
    )
    return join_parts(
        Content("\n").join(
            [
                format_title(algorithm.label, ""),
                Content.styled(label, "$warning"),
                Content.styled(note, MUTED),
            ]
        ),
        *_draw_results(look.metrics, look.report, width, step),
    )


def _draw_head(view: ModelView) -> Content:
    model = view.model
    kind = view.algorithm.label if view.algorithm is not None else model.algorithm or "no algorithm"
    parts = [format_title(sanitize_name(model.name), kind)]
    if model.description:
        parts.append(Content(sanitize_for_terminal(model.description)))
    parts.append(_draw_state(model))
    if model.error:
        parts.append(Content.styled(sanitize_for_terminal(model.error), "$text-error"))
    if view.job is not None and not view.job.has_ended:
        parts.append(draw_progress(view.job))
    return Content("\n").join(parts)


def _draw_state(model: Model) -> Content:
    words = model.status.lower()
    if model.is_trained:
        took = format_duration(model.trainingtime, model.trainedtime)
        deployed = "deployed, " if model.status == "Deployed" else ""
        words = f"{deployed}trained {format_age(model.trainedtime)} in {took}"
    return Content.styled(words, MUTED)


def _draw_warnings(warnings: Sequence[str]) -> Content:
    lines = [Content.styled(f"⚠ {sanitize_name(each)}", "$text-warning") for each in warnings]
    return Content("\n").join(lines)


def _draw_results(
    metrics: Mapping[str, float | None], report: Report, width: int, step: int
) -> Iterator[Content]:
    yield format_metrics(metrics, report.area_under_roc)
    if report.confusion:
        yield _head(
            "confusion matrix of the test data", draw_confusion(report.labels, report.confusion)
        )
    if report.scores:
        yield _draw_threshold(report, step)
    if report.roc:
        cells, lines = _CURVE
        yield _head(
            "receiver operating characteristic",
            draw_curve(report.roc, min(cells, width - 6), lines, report.area_under_roc),
        )
    if report.residuals:
        yield _head("residuals: outcome less prediction", draw_residuals(report.residuals, width))
    if report.importance:
        yield _head("importance of the columns", draw_importance(report.importance, width))


def _head(title: str, body: Content) -> Content:
    return Content("\n").join([Content.styled(title, _HEADING), body])


def format_metrics(metrics: Mapping[str, float | None], area: float | None = None) -> Content:
    """Return the metrics that there are, in one line."""
    found = {name: value for name, value in metrics.items() if value is not None}
    if area is not None:
        found["area under ROC"] = area
    parts: list[str | tuple[str, str]] = []
    for name, value in found.items():
        parts += [(f"{name} ", MUTED), (f"{format_metric(value)}   ", "bold")]
    return Content.assemble(*parts)


def _draw_threshold(report: Report, step: int) -> Content:
    """Return the slider, and what the model does there."""
    counts = count_at(report.scores, step)
    place = round(counts.threshold * (_SLIDER - 1))
    slider = Content.assemble(
        ("├" + "─" * place, MUTED),
        ("●", "bold $primary"),
        ("─" * (_SLIDER - 1 - place) + "┤", MUTED),
    )
    positive = sanitize_name(report.labels[1])
    line = Content.assemble(
        slider, f" {counts.threshold:.2f}", ("   - and + move it, = finds the greatest f1", MUTED)
    )
    values = {
        "precision": counts.precision,
        "recall": counts.recall,
        "f1": counts.f1,
        "accuracy": counts.accuracy,
    }
    title = f"threshold of the score of '{positive}'; the values are of this class"
    return _head(
        title,
        Content("\n").join(
            [line, format_metrics(values), draw_confusion(report.labels, counts.matrix)]
        ),
    )


def _draw_skipped(model: Model, test_rows: int | None) -> Content:
    count = model.skipped_rows.get("test", 0)
    whole = "" if test_rows is None else f" of {test_rows:,}"
    if not count:
        return Content.styled("No test record was left out.", MUTED)
    advice = "Train again with unknown categories kept, to evaluate them too."
    text = (
        f"{count:,}{whole} test records were left out: no outcome, or an unknown category. {advice}"
    )
    return Content.styled(text, "$text-warning")


def list_parameters(
    given: Mapping[str, str], algorithm: Algorithm | None
) -> list[tuple[str, str, bool]]:
    """Return name, value, and whether it is the default, of each parameter in the order of the algorithm."""
    specs: Sequence[Parameter] = algorithm.hyperparameters if algorithm is not None else ()
    defaults = {each.name: each.default for each in specs}
    names = [name for name in defaults if name in given]
    names += [name for name in given if name not in defaults]
    return [(name, given[name], given[name] == defaults.get(name)) for name in names]


def _draw_parameters(given: Mapping[str, str], algorithm: Algorithm | None) -> Content:
    found = list_parameters(given, algorithm)
    if not found:
        return Content("")
    width = max(len(name) for name, _, _ in found)
    lines = []
    for name, value, is_default in found:
        shown = sanitize_name(value)
        lines.append(
            Content.styled(f"{name:{width}}  {shown}  default", "$foreground 40%")
            if is_default
            else Content.assemble((f"{name:{width}}  ", MUTED), (shown, "bold"))
        )
    return _head("parameters", Content("\n").join(lines))


def _draw_features(model: Model) -> Content:
    if not model.features:
        return Content("")
    words = dict.fromkeys(model.categorical_features, " (category)")
    shown = ", ".join(f"{sanitize_name(each)}{words.get(each, '')}" for each in model.features)
    kept = "kept" if model.handle_invalid == "keep" else "left out"
    text = f"{shown}. Records with unknown categories are {kept}."
    return _head("features", Content.styled(text, MUTED))


_LABEL = 26
_CELL = 22


def draw_comparison(first: ModelView, second: ModelView) -> Content:
    """Return the lines of a comparison; the better value of each metric is marked."""
    views = (first, second)
    names = [f"{letter} {each.model.name}" for letter, each in zip("AB", views, strict=True)]
    lines: list[Content | str] = [
        Content.styled(
            " " * _LABEL + "".join(f"{fit_name(each, _CELL - 1)} " for each in names), "bold"
        )
    ]
    lines.append(_row("algorithm", *[_get_algorithm(each) for each in views]))
    lines.append(_row("took", *[_format_took(each) for each in views]))
    lines += _compare_metrics(first, second)
    lines.append(_row("left out", *[str(e.model.skipped_rows.get("test", 0)) for e in views]))
    if first.model.split != second.model.split:
        text = "They were tested on different splits: their metrics are of different records."
        lines.append(Content.styled(text, "$text-warning"))
    lines += ["", *_compare_parameters(first, second), "", *_compare_importance(first, second)]
    return Content("\n").join(Content(each) if isinstance(each, str) else each for each in lines)


def _compare_metrics(first: ModelView, second: ModelView) -> list[Content]:
    found = []
    ours, theirs = first.model.evaluation_metrics, second.model.evaluation_metrics
    pairs = [(name, ours[name], theirs.get(name)) for name in ours]
    pairs.append(("area under ROC", first.report.area_under_roc, second.report.area_under_roc))
    for name, one, other in pairs:
        if one is None and other is None:
            continue
        sign = -1 if name in LESS_IS_BETTER else 1
        styles = ["", ""]
        if one is not None and other is not None and one != other:
            styles[0 if sign * one > sign * other else 1] = "bold $success"
        found.append(
            Content.assemble(
                (f"{name:{_LABEL}}", MUTED),
                (f"{format_metric(one):{_CELL}}", styles[0]),
                (f"{format_metric(other):{_CELL}}", styles[1]),
            )
        )
    return found


def _compare_parameters(first: ModelView, second: ModelView) -> list[Content]:
    ours, theirs = first.model.hyperparameters, second.model.hyperparameters
    names = [each for each in {**ours, **theirs} if ours.get(each) != theirs.get(each)]
    if not names:
        return [Content.styled("The parameters are the same.", MUTED)]
    head = Content.styled("parameters that differ", "$foreground 60% italic")
    return [head, *(_row(each, ours.get(each, "-"), theirs.get(each, "-")) for each in names)]


def _compare_importance(first: ModelView, second: ModelView) -> list[Content]:
    ours, theirs = first.report.importance, second.report.importance
    names = sorted({*ours, *theirs}, key=lambda n: -max(ours.get(n, 0.0), theirs.get(n, 0.0)))
    if not names:
        return []
    head = Content.styled("importance of the columns", "$foreground 60% italic")
    return [
        head,
        *(_row(n, *[f"{e[n]:.1%}" if n in e else "-" for e in (ours, theirs)]) for n in names[:20]),
    ]


def _row(label: str, one: str, other: str) -> Content:
    return Content.assemble(
        (fit_name(label, _LABEL), MUTED), f"{fit_name(one, _CELL - 1)} ", fit_name(other, _CELL)
    )


def _get_algorithm(view: ModelView) -> str:
    name = view.algorithm.label if view.algorithm is not None else view.model.algorithm or "-"
    return sanitize_name(name)


def _format_took(view: ModelView) -> str:
    return format_duration(view.model.trainingtime, view.model.trainedtime)


_MOST_CLASSES = 30


def write_card(experiment: Experiment, split: Split | None, view: ModelView) -> str:
    """Return the card.

    :param split: the data that the model was trained on; None when it was deleted.
    """
    return "\n".join(_write_lines(experiment, split, view)).rstrip() + "\n"


def _write_lines(experiment: Experiment, split: Split | None, view: ModelView) -> Iterator[str]:
    model, report = view.model, view.report
    kind = view.algorithm.label if view.algorithm is not None else str(model.algorithm)
    yield f"# {_escape(model.name)}"
    yield ""
    yield (
        f"A model of the experiment {_escape(experiment.name)} that predicts `{experiment.outcome}` "
        f"({experiment.outcome_type.lower()}): {kind}, trained on Spark on "
        f"{format_time(model.trainedtime)}. State: {model.status.lower()}."
    )
    if model.description or experiment.description:
        yield ""
        yield _escape(model.description or experiment.description)
    yield from _write_metrics(view)
    if report.warnings:
        yield from ("", "## Mind", "")
        yield from (f"- {_escape(each)}" for each in report.warnings)
    yield from _write_data(experiment, split, view)
    yield from ("", "## Parameters", "")
    rows = [
        (name, value, "default" if is_default else "")
        for name, value, is_default in list_parameters(model.hyperparameters, view.algorithm)
    ]
    yield from _write_table(("parameter", "value", ""), rows)
    if report.importance:
        yield from ("", "## Importance of the columns", "")
        ordered = sorted(report.importance.items(), key=lambda each: -each[1])
        yield from _write_table(("column", "share"), [(n, f"{w:.1%}") for n, w in ordered])


def _write_metrics(view: ModelView) -> Iterator[str]:
    model, report = view.model, view.report
    found = [
        (name, format_metric(value))
        for name, value in model.evaluation_metrics.items()
        if value is not None
    ]
    if report.area_under_roc is not None:
        found.append(("area under ROC", format_metric(report.area_under_roc)))
    yield from ("", "## Quality on the test data", "")
    yield from _write_table(("metric", "value"), found)
    skipped = model.skipped_rows.get("test", 0)
    if skipped:
        yield ""
        yield (
            f"{skipped:,} test records were left out, without an outcome or with an unknown category: the "
            "metrics do not count them."
        )
    labels = report.labels[:_MOST_CLASSES]
    if report.confusion:
        yield from ("", "Records by class (rows) and predicted class (columns):", "")
        rows = [
            (label, *(f"{count:,}" for count in row[: len(labels)]))
            for label, row in zip(labels, report.confusion, strict=False)
        ]
        yield from _write_table(("", *labels), rows)


def _write_data(experiment: Experiment, split: Split | None, view: ModelView) -> Iterator[str]:
    yield from ("", "## Data", "")
    yield f"- source: `{experiment.srcpath}`"
    model = view.model
    if split is not None:
        rows = split.rows
        yield f"- split: {split.type}, {', '.join(f'{k} {v}' for k, v in split.params.items())}"
        yield f"- records: {rows.get('train', 0):,} to train, {rows.get('test', 0):,} to test"
    names = ", ".join(f"`{each}`" for each in model.features)
    yield f"- features: {names}"
    kept = "kept" if model.handle_invalid == "keep" else "left out"
    yield f"- records with unknown categories are {kept}"
    if split is not None and split.directives:
        yield from ("", "Recipe:", "", "```text", *split.directives, "```")


def _write_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_escape, head))} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    yield from (f"| {' | '.join(map(_escape, row))} |" for row in rows)


def _escape(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
