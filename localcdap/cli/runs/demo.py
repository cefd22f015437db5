"""``localcdap demo``: set up, validate and run a sample pipeline."""

from __future__ import annotations

from pathlib import Path

import click

from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_failures, print_json, print_table, secho
from localcdap.cli.runs.run import show_result, start
from localcdap.engine.messages.spool import RunStatus
from localcdap.host import demo
from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.model import RunRequest
from localcdap.text import plural


@click.command("demo")
@instance_options
def command(instance: Instance) -> int:
    """Copy a sample pipeline and its data into the instance's folder, validate it and run it."""
    file = demo.install_demo(instance.home)
    document = file.read_text(encoding="utf-8")
    arguments = demo.get_arguments(file)
    with instance.connect(expects_run=True) as cdap:
        request = PipelineRequest(document, instance.namespace, arguments, file=str(file))
        answer = cdap.studio.validate_pipeline(request)
        if answer.errors:
            print_failures(answer.errors)
            return NO
        echo(
            f"{file}: valid, {plural(len(answer.spec.stages if answer.spec else []), 'stage')}",
            err=True,
        )
        echo("Running on local Spark; the first start takes some seconds …", err=True)
        run = start(cdap, RunRequest(document, instance.namespace, demo.NAME, arguments))
        if instance.json:
            print_json(run)
            return NO if run.status is not RunStatus.COMPLETED else 0
        show_result(run)
        if run.status is not RunStatus.COMPLETED:
            return NO
        secho("\nThe table 'spending':", bold=True)
        rows = cdap.tables.read_rows(instance.namespace, "spending", 10)
        print_table(rows.columns, rows.rows)
    _print_next_steps(file.parent)
    return 0


def _print_next_steps(folder: Path) -> None:
    echo(
        f"""
The pipeline, its input and its output are in {folder}
Try next:
  localcdap logs last                          the log of this run
  localcdap plugins                            the plugins for pipelines
  localcdap validate {folder / "pipeline.json"}
  localcdap run FILE -a key=value              a pipeline exported from CDAP or Data Fusion
  localcdap doctor                             check this machine"""
    )
