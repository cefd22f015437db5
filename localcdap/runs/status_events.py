"""What the events about runs say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from localcdap.api.app.events import RunStageCounts, RunStatusChanged
from localcdap.engine.messages.spool import RunStatus
from localcdap.namespaces.connections import is_secret_name
from localcdap.pipeline.library.application_model import get_program
from localcdap.runs.model import Run, get_now

HIDDEN: Final = "********"
"""The value of an argument whose name suggests a secret."""
_BEFORE_RUNNING: Final = (RunStatus.PENDING, RunStatus.STARTING)


def describe_status(run: Run) -> RunStatusChanged:
    """Return the event for the current status of a run, without what only its end reveals."""
    program, type = get_program(run.artifact) if run.artifact is not None else (None, None)
    return RunStatusChanged(
        run.namespace,
        run.pipeline,
        run.run,
        run.status.value,
        get_now(),
        application_version=run.application_version,
        program=program,
        program_type=type,
        artifact=run.artifact,
        user=run.user,
        start_method=run.start_method,
        arguments=_hide_secrets(run.arguments) if run.status in _BEFORE_RUNNING else None,
    )


def describe_counts(run: Run) -> dict[str, RunStageCounts]:
    """Return the numbers of records of a run by stage."""
    return {
        stage: RunStageCounts(counts.records_in, counts.records_out, counts.errors)
        for stage, counts in run.stages.items()
    }


def _hide_secrets(arguments: Mapping[str, str]) -> dict[str, str]:
    return {name: HIDDEN if is_secret_name(name) else value for name, value in arguments.items()}
