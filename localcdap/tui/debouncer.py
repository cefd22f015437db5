"""Work that waits until the user pauses, so that it does not delay the next key."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

from localcdap.tui.studio import get_studio


class Debouncer:
    """Calls a function when it was not scheduled again for a while.

    While it waits it counts as a pending call, because the screen is not up to date.

    :param widget: whose timer it is. It calls :meth:`drop` when it goes.
    :param after_s: the pause in seconds.
    """

    def __init__(self, widget: Widget, do: Callable[[], object], after_s: float) -> None:
        self._widget = widget
        self._do = do
        self._after_s = after_s
        self._timer: Timer | None = None

    def schedule(self) -> None:
        """Call the function after the pause."""
        if self._timer is None:
            get_studio(self._widget).calls.begin()
            self._timer = self._widget.set_timer(self._after_s, self.flush)
        else:
            self._timer.reset()

    def flush(self) -> None:
        """Call the function now if it is scheduled."""
        if self._timer is not None:
            try:
                self._do()
            finally:
                self.cancel()

    def cancel(self) -> None:
        """Cancel the scheduled call."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
            get_studio(self._widget).calls.end()
