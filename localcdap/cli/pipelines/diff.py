"""``localcdap diff`` and ``impact``: what differs between pipelines, and what a change of one breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.cli.errors import NO
from localcdap.cli.files import get_deployed, is_file, read_pipeline, read_text
from localcdap.cli.options import Instance, arguments_option, instance_options, parse_pairs
from localcdap.cli.output import StyledText, echo, print_failures, print_json, secho
from localcdap.pipeline.comparison import (
    Difference,
    PipelineComparison,
    StageDifference,
    compare_lines,
    compare_pipelines,
)
from localcdap.pipeline.document.reader import read_document
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.api.failures import ValidationFailure
    from localcdap.api.pipeline import StageConnection
    from localcdap.host import Cdap
    from localcdap.metadata.lineage.impact_service import ImpactReport
    from localcdap.pipeline.document.model import PipelineDocument


_DRAFT: Final = "draft:"
"""The prefix that marks the name of a draft."""
_MARKS = {
    "added": ("+", "green"),
    "removed": ("-", "red"),
    "renamed": ("→", "cyan"),
    "changed": ("~", "yellow"),
}


@click.command("diff")
@click.argument("a")
@click.argument("b")
@instance_options
def diff_command(instance: Instance, a: str, b: str) -> int:
    """Show the differences between the pipelines A and B, by stage, property and connection.

    A and B are files ('-' is standard input), deployed pipelines NAME or NAME@VERSION, or drafts
    draft:NAME or draft:NAME@REVISION. Schemas are compared field by field, recipes and other long
    texts line by line; layout and order do not
    count. Differences in properties that Data Fusion ignores are listed on standard error. The exit code is 1
    when the pipelines differ.
    """
    first, second = _read_both(instance, a, b)
    comparison = compare_pipelines(first, second)
    if instance.json:
        print_json(comparison)
    elif comparison.is_equal:
        echo("No differences.")
    else:
        _print_comparison(comparison)
    if comparison.stages:
        _print_ignored_differences(instance, comparison, first, second)
    return 0 if comparison.is_equal else NO


def _read_both(instance: Instance, *names: str) -> list[PipelineDocument]:
    """Return the documents. The instance is opened only if one of them is not a file."""
    files = {name: read_pipeline(name) for name in names if _is_file(name)}
    if len(files) == len(set(names)):
        return [files[name] for name in names]
    with instance.connect() as cdap:
        return [files.get(name) or _read_stored(cdap, instance.namespace, name) for name in names]


def _is_file(name: str) -> bool:
    return is_file(name) and not name.startswith(_DRAFT)


def _read_stored(cdap: Cdap, namespace: str, name: str) -> PipelineDocument:
    """Return a draft or a deployed pipeline."""
    if not name.startswith(_DRAFT):
        return read_document(get_deployed(cdap, namespace, name)[1], name)
    draft, revision = name.removeprefix(_DRAFT), None
    before, _, number = draft.rpartition("@")
    if before and number.isdecimal():
        draft, revision = before, int(number)
    return read_document(cdap.drafts.export(namespace, draft, revision), name)


def _print_ignored_differences(
    instance: Instance,
    comparison: PipelineComparison,
    first: PipelineDocument,
    second: PipelineDocument,
) -> None:
    """Print a warning for each property that differs, or is in an added or removed stage, and that Data
    Fusion ignores. The instance has the plugins; without one, two files can still be compared.
    """
    try:
        with instance.connect() as cdap:
            before, after = (
                cdap.studio.find_ignored_properties(document.source, instance.namespace)
                for document in (first, second)
            )
    except LocalcdapError as error:
        message = f"Not checked for properties that Data Fusion ignores: {error.message}"
        secho(message, fg="yellow", err=True)
        return
    sides: tuple[tuple[list[ValidationFailure], dict[str | None, StageDifference]], ...] = (
        (before, {stage.before: stage for stage in comparison.stages}),
        (after, {stage.name: stage for stage in comparison.stages if stage.kind != "removed"}),
    )
    warnings = {
        (warning.stage, warning.field): warning
        for side, stages in sides
        for warning in side
        if _is_different(stages.get(warning.stage), warning.field)
    }
    print_failures(list(warnings.values()), to_stderr=True, warnings=True)


def _is_different(stage: StageDifference | None, property: str | None) -> bool:
    """Return whether a property of a stage differs; of an added or removed stage, all do."""
    if stage is None or stage.kind in ("added", "removed"):
        return stage is not None
    return any(change.what == property for change in stage.changes)


def _print_comparison(comparison: PipelineComparison) -> None:
    if comparison.settings:
        secho("pipeline", bold=True)
        _print_changes(comparison.settings)
    for stage in comparison.stages:
        _print_stage(stage)
    if comparison.added_connections or comparison.removed_connections:
        secho("connections", bold=True)
        for kind, connections in (
            ("removed", comparison.removed_connections),
            ("added", comparison.added_connections),
        ):
            for connection in connections:
                echo("  ", _mark(kind), f" {_format_connection(connection)}")


def _print_stage(stage: StageDifference) -> None:
    name = f"{stage.before} → {stage.name}" if stage.kind == "renamed" else stage.name
    echo(_mark(stage.kind), " ", StyledText(name, bold=True), f"  {stage.plugin}")
    _print_changes(stage.changes)


def _print_changes(changes: list[Difference]) -> None:
    for change in changes:
        kind = (
            "added" if change.before is None else "removed" if change.after is None else "changed"
        )
        if _has_lines(change.before) or _has_lines(change.after):
            echo("  ", _mark(kind), f" {change.what}:")
            _print_lines(change.before or "", change.after or "")
            continue
        values = [_format_line(v) for v in (change.before, change.after) if v is not None]
        echo("  ", _mark(kind), f" {change.what}: {' → '.join(values)}")


def _has_lines(value: Any) -> bool:
    """Return whether a value, such as a recipe, is a text of several lines."""
    return isinstance(value, str) and "\n" in value.strip("\n")


def _print_lines(before: Any, after: Any) -> None:
    """Print the lines that differ, with their numbers, and some equal lines around them."""
    for line in compare_lines(str(before), str(after)):
        if line is None:
            echo("       …")
        else:
            mark = _mark(line.kind) if line.kind in _MARKS else StyledText(" ")
            echo(f"    {line.number:4} ", mark, f" {line.text}")


def _mark(kind: str) -> StyledText:
    mark, colour = _MARKS[kind]
    return StyledText(mark, colour)


def _format_connection(connection: StageConnection) -> str:
    branch = connection.branch
    return f"{connection} ({branch})" if branch else str(connection)


def _format_line(value: Any) -> str:
    """Return a value on one line; a text with line breaks is written as in JSON."""
    if isinstance(value, str) and value and value == value.strip() and "\n" not in value:
        return value
    return msgspec.json.encode(value).decode()


@click.command("impact")
@click.argument("file")
@click.option(
    "--against",
    metavar="PIPELINE",
    help="The deployed pipeline NAME or NAME@VERSION, or the file, to compare with; default: the deployed "
    "pipeline of the same name.",
)
@arguments_option
@instance_options
def impact_command(
    instance: Instance, file: str, against: str | None, arguments: tuple[str, ...]
) -> int:
    """Compare the pipeline in FILE with the deployed one of its name, before it is deployed or run.

    The answer lists changed fields of stages, changed fields of the datasets that the pipeline writes, and
    the other pipelines that depend on these fields; also the fields that it reads and does not use, and the
    fields of its datasets that no pipeline writes. A dataset is a table, a file or what else a source or sink
    reads or writes.

    The exit code is 1 when a dataset loses or changes a field, or when another pipeline depends on one.
    """
    from localcdap.metadata.lineage.impact_service import ImpactRequest

    request = ImpactRequest(
        read_text(file), instance.namespace, file, against, None, parse_pairs(arguments)
    )
    if against is not None and is_file(against):
        request.against_document = read_text(against)
    with instance.connect() as cdap:
        report = cdap.impact.assess(request)
    instance.print(report, _print_report)
    return NO if report.breaks else 0


def _print_report(report: ImpactReport) -> None:
    from localcdap.metadata.lineage.impact_text import describe_impact, summarize_impact

    echo(summarize_impact(report))
    if report.against is None:
        echo("Compare it with another one, or with a file: --against PIPELINE.")
    if report.errors:
        secho(
            f"The pipeline has {plural(len(report.errors), 'failure')}: what follows may be incomplete.",
            fg="yellow",
        )
    for title, lines in describe_impact(report):
        echo(StyledText(title, bold=True))
        for line in lines:
            echo(f"  {line}")
