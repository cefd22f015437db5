"""What is done once its user has come to rest, so that it is not in the way of the next key."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

from localcdap.tui.studio import get_studio


class Debouncer:
    """Does something when it was not asked for again for a while.

    While it waits it counts among the calls under way: the screen does not show yet what was asked for.

    :param widget: whose timer it is. It calls :meth:`drop` when it goes.
    :param after_s: how long nothing must have been asked for, in seconds.
    """

    def __init__(self, widget: Widget, do: Callable[[], object], after_s: float) -> None:
        self._widget = widget
        self._do = do
        self._after_s = after_s
        self._timer: Timer | None = None

    def schedule(self) -> None:
        """Have it done soon."""
        if self._timer is None:
            get_studio(self._widget).calls.begin()
            self._timer = self._widget.set_timer(self._after_s, self.flush)
        else:
            self._timer.reset()

    def flush(self) -> None:
        """Do it at once if it was asked for."""
        if self._timer is not None:
            try:
                self._do()
            finally:
                self.cancel()

    def cancel(self) -> None:
        """Do not do it any more."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
            get_studio(self._widget).calls.end()
