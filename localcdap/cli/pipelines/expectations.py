"""``localcdap expectations FILE|NAME``: show the rules for a pipeline's records, and what runs found."""

from __future__ import annotations

from typing import Any, Final

import click

from localcdap.cli.files import NamedPipeline
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import StyledText, echo, secho
from localcdap.expectations.results import RuleResult, RuleTrend, format_share
from localcdap.expectations.rules import Expectation, to_json
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.runs.model import RECENT_RUNS, collect_run_trends

_SHOWN_RUNS: Final = 8
"""The newest results that the line of a rule shows."""


@click.command("expectations")
@click.argument("pipeline", metavar="FILE|NAME[@VERSION]")
@click.option(
    "--limit",
    default=RECENT_RUNS,
    show_default=True,
    type=click.IntRange(1),
    help="The newest runs that are looked at.",
)
@instance_options
def expectations_command(instance: Instance, pipeline: str, limit: int) -> None:
    """Show the expectations of the pipeline in FILE ('-' is standard input), or of the deployed pipeline
    NAME, and the violations that its newest runs found, the oldest first.

    A rule that a run has checked, and the pipeline has no more, is shown too.
    """
    named = NamedPipeline(pipeline)
    with instance.connect() as cdap:
        document = read_document(named.get_document(cdap, instance.namespace), named.file)
        name = document.name or named.name
        runs = cdap.runs.list_runs(instance.namespace, pipeline=name, limit=limit)
    trends = collect_run_trends(runs)
    if instance.print_json({"stages": _list_stages(document), "trends": trends}):
        return
    _print(document, trends)


def _list_stages(document: PipelineDocument) -> dict[str, Any]:
    return {s.name: to_json(list(s.expectations)) for s in document.stages if s.expectations}


def _print(document: PipelineDocument, trends: list[RuleTrend]) -> None:
    for failure in document.problems:
        if failure.field == "expectations":
            secho(f"✗ {failure.full_message}", fg="red")
    by_rule = {(trend.stage, trend.label): trend for trend in trends}
    for stage in document.stages:
        if stage.expectations:
            secho(stage.name, fg="cyan", bold=True)
        for rule in stage.expectations:
            _print_rule(rule, by_rule.pop((stage.name, rule.label), None))
    for (name, label), trend in by_rule.items():
        secho(name, fg="cyan", bold=True)
        _print_line(label, "no longer in the pipeline", trend)
    if not any(stage.expectations for stage in document.stages) and not trends:
        echo("The pipeline has no expectations. See docs/expectations.md.", err=True)


def _print_rule(rule: Expectation, trend: RuleTrend | None) -> None:
    allowed = f" above {rule.allowed_percent:g} %" if rule.allowed_percent else ""
    _print_line(rule.label, f"{rule.action}{allowed}", trend)


def _print_line(label: str, action: str, trend: RuleTrend | None) -> None:
    echo("  ", label, StyledText(f"  ({action})", "bright_black"))
    if trend is None:
        echo("    not checked yet")
        return
    shown = [_format_result(each) for each in trend.results[-_SHOWN_RUNS:]]
    change = trend.describe_change()
    echo(f"    {'  '.join(shown)}", f"  {change}" if change else "")


def _format_result(result: RuleResult) -> str:
    return f"{result.rows:,}" if result.rows is not None else format_share(result.share)
