"""Two models beside each other: metrics, parameters that differ, importance of the columns."""

from __future__ import annotations

from textual.content import Content

from localcdap.text import format_duration, sanitize_for_terminal
from localcdap.tui.screens.analytics.answers import LESS_IS_BETTER
from localcdap.tui.screens.analytics.charts import fit_name, format_metric
from localcdap.tui.screens.analytics.model_text import ModelView
from localcdap.tui.screens.details import MUTED

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
    return sanitize_for_terminal(name, single_line=True)


def _format_took(view: ModelView) -> str:
    return format_duration(view.model.trainingtime, view.model.trainedtime)
