"""An invisible widget that follows a run until it has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from textual.message import Message
from textual.widget import Widget

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.host.cdap import Cdap
from localcdap.runs.model import Run
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import StudioNode

_WAIT_S: Final = 1.0
"""The longest wait for a change, in seconds; the thread then sees whether the widget is still there."""


class RunFollower(StudioNode, Widget):
    """Follows a run until the run has ended or the widget is removed.

    It posts :class:`RunFollower.Changed` for each change.
    """

    DEFAULT_CSS = "RunFollower { display: none; }"

    class Changed(Message):
        """The status, the counts or the error of the run have changed."""

        def __init__(self, run: Run) -> None:
            super().__init__()
            self.run: Final = run

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.run_id: Final = run_id
        self._posted: tuple[int, int] | None = None
        """The version and the position of the run that was posted last."""
        self._following: FollowedSource | None = None

    def on_mount(self) -> None:
        self._following = self.follow(
            self._wait_for_changes, self._post, on_error=self._handle_error
        )

    def on_unmount(self) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._following is not None:
            self._following.stop()

    def _wait_for_changes(self, cdap: Cdap) -> Iterator[Run]:
        run = cdap.runs.wait(self.run_id, -1, 0.0)
        yield run
        while not run.status.is_end:
            run = cdap.runs.wait(self.run_id, run.version, _WAIT_S)
            yield run

    def _post(self, run: Run) -> None:
        if (run.version, run.position) != self._posted:
            self._posted = run.version, run.position
            self.post_message(self.Changed(run))

    def _handle_error(self, error: LocalcdapError) -> None:
        # Other errors pass: the source is opened again a second later.
        if isinstance(error, NotFoundError):
            self._stop()
