"""What the events about runs say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from localcdap.api.app.events import RunStageCounts, RunStatusChanged
from localcdap.engine.messages.spool import RunStatus
from localcdap.namespaces.connections import is_secret_name
from localcdap.pipeline.library.application_model import get_program
from localcdap.runs.model import Run, count_records_written, get_now

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
        arguments=hide_secrets(run.arguments) if run.status in _BEFORE_RUNNING else None,
    )


def describe_end(run: Run, event: RunStatusChanged, warnings: int, errors: int) -> RunStatusChanged:
    """Return an event with what the end of a run reveals.

    :param warnings: the number of warnings in the log; ``errors`` that of errors.
    """
    return msgspec.structs.replace(
        event,
        counts=describe_counts(run),
        records_out=count_records_written(run),
        log_warnings=warnings,
        log_errors=errors,
    )


def describe_counts(run: Run) -> dict[str, RunStageCounts]:
    """Return the numbers of records of a run by stage."""
    return {
        stage: RunStageCounts(counts.records_in, counts.records_out, counts.errors)
        for stage, counts in run.stages.items()
    }


def hide_secrets(arguments: Mapping[str, str]) -> dict[str, str]:
    """Return arguments without the values of those whose names suggest a secret."""
    return {name: HIDDEN if is_secret_name(name) else value for name, value in arguments.items()}
