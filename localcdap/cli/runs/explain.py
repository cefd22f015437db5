"""``localcdap run --explain``: plan each stage and show how Spark would compute it, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localcdap.cli.errors import NO
from localcdap.cli.output import echo, print_failures, print_json, secho
from localcdap.cli.runs.preview import run_preview
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import PreviewRequest, PreviewStatus

if TYPE_CHECKING:
    from localcdap.host import Cdap


def explain(cdap: Cdap, request: RunRequest, *, as_json: bool) -> int:
    """Plan a pipeline and print how each stage would run. Return the exit code.

    ``native`` stages run in Spark alone; ``batch`` and ``records`` stages run in Python workers.
    """
    preview = run_preview(
        cdap,
        PreviewRequest(
            document=request.document,
            file=request.file,
            namespace=request.namespace,
            name=request.name,
            arguments=request.arguments,
            use_suggested=request.use_suggested,
            recordings=request.recordings,
            explains=True,
        ),
    )
    done = preview.status is PreviewStatus.COMPLETED
    if as_json:
        print_json({"stages": preview.explained, "errors": preview.errors, "error": preview.error})
        return 0 if done else NO
    for stage, lines in preview.explained.items():
        secho(stage, fg="cyan", bold=True)
        for line in lines:
            echo(f"  {line}")
    print_failures(preview.errors)
    if preview.error is not None:
        secho(preview.error.message, fg="red")
        if preview.error.corrective_action:
            echo(preview.error.corrective_action)
    return 0 if done else NO
