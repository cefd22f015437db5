"""Ids of runs at given times, and runs as lineage asks for them."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Collection, Mapping

from localcdap.metadata.lineage.relations import ProgramId, ProgramRunId
from localcdap.metadata.lineage.time_range import TimeRange

_SEQUENCE = itertools.count()


def make_run(milliseconds: int) -> str:
    """A new id of a run that was asked for at this time."""
    time = milliseconds * 10_000 + 0x01B21DD213814000
    return str(
        uuid.UUID(
            fields=(
                time & 0xFFFFFFFF,
                time >> 32 & 0xFFFF,
                time >> 48 & 0x0FFF | 0x1000,
                0x80,
                0,
                next(_SEQUENCE),
            )
        )
    )


class Runs:
    """Runs by their id; those without an end go on."""

    def __init__(self) -> None:
        self._ends: dict[str, int | None] = {}
        self._workflows: dict[ProgramRunId, ProgramRunId] = {}
        self._inner: dict[ProgramRunId, list[ProgramRunId]] = {}

    def add(self, program: ProgramId, start: int, end: int | None = None) -> ProgramRunId:
        run = ProgramRunId(program, make_run(start))
        self._ends[run.run] = end
        return run

    def put_inside(self, workflow: ProgramRunId, *inner: ProgramRunId) -> None:
        for run in inner:
            self._workflows[run] = workflow
            self._inner.setdefault(workflow, []).append(run)

    def find_running(self, times: TimeRange) -> set[str]:
        return {
            run
            for run, end in self._ends.items()
            if ProgramRunId(None, run).start <= times.end and (end is None or end >= times.start)
        }

    def find_workflows(self, runs: Collection[ProgramRunId]) -> Mapping[ProgramRunId, ProgramRunId]:
        return {run: self._workflows[run] for run in runs if run in self._workflows}

    def list_inner_runs(self, workflow: ProgramRunId) -> list[ProgramRunId]:
        return self._inner.get(workflow, [])
