"""Opening the studio on an instance, and leaving it with the terminal as it was."""

from __future__ import annotations

from typing import Final

from localcdap.home import Home
from localcdap.tui.app import StudioApp
from localcdap.tui.connection import Connection
from localcdap.tui.places import Place

_LEAVE_S: Final = 0.5
"""Seconds that calls under way may still take once the studio is left."""


def open_studio(home: Home, namespace: str = "default", place: Place | None = None) -> int:
    """Run the studio in this terminal until it is left. Returns the exit code.

    :raises Exception: what ended it, when that was a fault of its own; the terminal is restored by then.
    """
    connection = Connection(home)
    app = StudioApp(connection, namespace, place)
    try:
        app.run()
    finally:
        connection.close()
        app.calls.leave(_LEAVE_S)
    if app.fault is not None:
        raise app.fault
    return app.return_code or 0
