"""The card of a model as Markdown: what it predicts, how good it is, on which data, and what to mind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from localcdap.text import format_time
from localcdap.tui.screens.analytics.answers import Experiment, Split
from localcdap.tui.screens.analytics.charts import format_metric
from localcdap.tui.screens.analytics.model_text import ModelView, list_parameters

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
