"""A run that is watched until it has ended, for whoever shows something of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from textual.message import Message
from textual.widget import Widget

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.engine.messages import RunStatus
from localcdap.host.cdap import Cdap
from localcdap.runs.model import Run, RunProgress, StageCounts
from localcdap.tui.calls import Calling, Following

_WAIT_S: Final = 1.0


class Counts(Message):
    """The numbers of a run as they stand."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run_id: Final = run.run
        self.status: Final[RunStatus] = run.status
        self.stages: Final[dict[str, StageCounts]] = {
            name: shown_counts(run, name) for name in run.stages
        }
        """By stage: exact ones where there are, else those so far; None where they are not counted."""
        self.progress: Final[RunProgress | None] = run.progress


class RunWatch(Calling, Widget):
    """Follows a run until it has ended or this is removed; it is never seen itself.

    Posts :class:`RunWatch.Changed` and :class:`Counts` for each change, and :class:`RunWatch.Missing` when
    there is no such run.
    """

    DEFAULT_CSS = "RunWatch { display: none; }"

    class Changed(Message):
        """The run is another than before: its status, its counts, its error."""

        def __init__(self, run: Run) -> None:
            super().__init__()
            self.run: Final = run

    class Missing(Message):
        """There is no such run, or not any more."""

        def __init__(self, run_id: str) -> None:
            super().__init__()
            self.run_id: Final = run_id

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.run_id: Final = run_id
        self.run: Run | None = None
        """As it stood last; None before it is known."""
        self._following: Following | None = None

    def on_mount(self) -> None:
        self._following = self.follow(self._source, self._take, failed=self._fail)

    def on_unmount(self) -> None:
        if self._following is not None:
            self._following.stop()

    def _source(self, cdap: Cdap) -> Iterator[Run]:
        run = cdap.runs.wait(self.run_id, -1, 0.0)
        yield run
        while not run.status.is_end:
            run = cdap.runs.wait(self.run_id, run.version, _WAIT_S)
            yield run

    def _take(self, run: Run) -> None:
        if self.run is None or run.version != self.run.version:
            self.run = run
            self.post_message(self.Changed(run))
            self.post_message(Counts(run))

    def _fail(self, error: LocalcdapError) -> None:
        if isinstance(error, NotFoundError) and self._following is not None:
            self._following.stop()
            self.post_message(self.Missing(self.run_id))


def shown_counts(run: Run, stage: str) -> StageCounts:
    """The counts of a stage: exact ones where there are, else those so far."""
    exact = run.stages[stage]
    if exact.records_out is None and run.progress is not None:
        return run.progress.stages.get(stage, exact)
    return exact
