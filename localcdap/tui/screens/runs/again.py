"""Running again what ran before."""

from __future__ import annotations

from collections.abc import Mapping

from localcdap.host.cdap import Cdap
from localcdap.runs.arguments import GIVEN
from localcdap.runs.model import Run, RunRequest


def what_ran(cdap: Cdap, run: Run) -> tuple[str, dict[str, str]]:
    """The document of a run, and what has to be given to a new run for it to have the same arguments: what
    was given to it, and those preferences that are others now.

    :raises NotFoundError: when the document was not kept.
    """
    document = cdap.runs.document(run.run)
    present = cdap.runs.arguments(run.namespace, document, run.pipeline)
    values = {each.name: each.value for each in present.arguments}
    given = {
        name: value
        for name, value in run.arguments.items()
        if run.origins.get(name, GIVEN) == GIVEN or values.get(name) != value
    }
    return document, given


def request_again(run: Run, document: str, arguments: Mapping[str, str]) -> RunRequest:
    """The request for another run of what a run ran, in the same profile."""
    deployed = run.application_version is not None
    return RunRequest(
        document=document,
        namespace=run.namespace,
        name=run.pipeline,
        arguments=dict(arguments),
        profile=run.profile,
        use_suggested=bool(run.repairs),
        application=run.pipeline if deployed else None,
        application_version=run.application_version,
    )


def run_again(cdap: Cdap, run: Run, arguments: Mapping[str, str] | None = None) -> Run:
    """Start a run of what a run ran.

    :param arguments: None for those that it had.
    :raises InvalidPipelineError: when the pipeline has failures now.
    :raises NotFoundError: when its document was not kept.
    """
    document, same = what_ran(cdap, run)
    return cdap.runs.start(request_again(run, document, same if arguments is None else arguments))
