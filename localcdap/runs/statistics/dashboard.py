"""The dashboard: the runs of a window of time, and those that are planned.

Rules, texts and JSON are those of CDAP 6: ``OperationsDashboardHttpHandler``, ``DashboardProgramRunRecord``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId
from localcdap.decoders import decode_json
from localcdap.pipeline.library.application_model import get_program
from localcdap.store.store import Store


class DashboardApplication(msgspec.Struct):
    """The application of a run."""

    name: str
    version: str | None


class DashboardRun(msgspec.Struct, rename="camel"):
    """A run in a window; a planned one has neither ``run`` nor ``status``. Times are seconds since 1970."""

    namespace: str
    artifact: ArtifactId | None
    application: DashboardApplication
    type: str | None
    program: str | None
    run: str | None
    user: str | None
    start_method: str
    start: int
    running: int | None = None
    suspend: int | None = None
    resume: int | None = None
    end: int | None = None
    status: str | None = None


class PlannedRuns(Protocol):
    """Knows the runs that schedules will start."""

    def list_planned(self, namespaces: Sequence[str], start: int, end: int) -> list[DashboardRun]:
        """Return the runs that are planned from ``start`` until before ``end``, in seconds since 1970."""
        ...


class NoPlannedRuns:
    """No schedules: for services without them."""

    def list_planned(self, namespaces: Sequence[str], start: int, end: int) -> list[DashboardRun]:
        return []


_RUNS: Final = """
    SELECT namespace, pipeline, run, username, start_method, starting // 1000, begun // 1000,
        finish // 1000, status, application_version, artifact
    FROM runs
    WHERE list_contains(?::VARCHAR[], namespace) AND starting < ? AND (finish IS NULL OR finish >= ?)
    ORDER BY starting, run
"""


class Dashboard:
    """Reads the runs of windows. Threads may share it."""

    def __init__(self, store: Store, planned: PlannedRuns) -> None:
        self._store = store
        self._planned = planned

    def read(self, start: int, duration: int, namespaces: Sequence[str]) -> list[DashboardRun]:
        """Return the runs that were active in a window, in the order of their start, and the planned ones.

        :param start: seconds since 1970; ``duration`` is in seconds.
        :raises BadRequestError: when a number is negative, or there is no namespace.
        """
        if start < 0:
            raise BadRequestError("'start' time cannot be smaller than 0.")
        if duration < 0:
            raise BadRequestError("'duration' cannot be smaller than 0.")
        if not namespaces:
            raise BadRequestError(
                "'namespace' cannot be empty, please provide at least one namespace."
            )
        end = start + duration + 1  # as in the original, the second of the end counts
        rows = self._store.read(_RUNS, (list(namespaces), end * 1000, start * 1000))
        found = [_build(row) for row in rows]
        now = int(time.time())
        if end - 1 > now:
            found += self._planned.list_planned(namespaces, max(start, now), end)
        return found


def _build(row: tuple[Any, ...]) -> DashboardRun:
    namespace, pipeline, run, user, method, start, running, end, status, version, artifact = row
    named, program, type = _read_artifact(artifact)
    return DashboardRun(
        namespace,
        named,
        DashboardApplication(pipeline, version),
        type,
        program,
        run,
        user,
        method,
        start,
        running,
        end=end,
        status=status,
    )


@lru_cache(maxsize=1024)
def _read_artifact(text: str | None) -> tuple[ArtifactId | None, str | None, str | None]:
    """Return the artifact of an application, and its program with the type."""
    if text is None:
        return None, None, None
    artifact = decode_json(text, ArtifactId)
    return artifact, *get_program(artifact)
