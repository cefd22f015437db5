"""Opening the studio on an instance, and leaving it with the terminal as it was."""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
from typing import Final

from localcdap.home import Home
from localcdap.tui.app import StudioApp
from localcdap.tui.host_connection import HostConnection
from localcdap.tui.routes import NavigationTarget
from localcdap.tui.system import idle_gc as garbage

_LEAVE_S: Final = 2.0
"""Seconds that calls under way may still take once the studio is left."""
_LOOK_S: Final = 1.0
"""Seconds between looks at whether the terminal is still there."""
_END_S: Final = 5.0
"""Seconds that a studio without a terminal may take to end."""


def open_studio(
    home: Home, namespace: str = "default", target: NavigationTarget | None = None
) -> int:
    """Run the studio in this terminal until it is left. Returns the exit code.

    :raises Exception: what ended it, when that was a fault of its own; the terminal is restored by then.
    """
    connection = HostConnection(home)
    app = StudioApp(connection, namespace, target)
    over = threading.Event()
    watch = threading.Thread(target=_end_with_terminal, args=(app, over), daemon=True)
    watch.start()
    garbage.configure()
    try:
        app.run()
    finally:
        connection.close()
        app.calls.shut_down(_LEAVE_S)
        over.set()
    if app.fault is not None:
        raise app.fault
    return app.return_code or 0


def _end_with_terminal(app: StudioApp, over: threading.Event) -> None:
    """End the studio when its terminal has gone without a word, as behind ``setsid`` or ``nohup``.

    Nobody could end it any more: it would wait to write what nobody reads, and stay the host for ever.
    """
    while not over.wait(_LOOK_S):
        if not _has_terminal():
            app.call_later(app.exit_on_signal, signal.SIGHUP)
            if not over.wait(_END_S):
                app.connection.close()
                os._exit(128 + signal.SIGHUP)


def _has_terminal() -> bool:
    try:
        termios.tcgetattr(sys.__stdin__.fileno() if sys.__stdin__ is not None else 0)
    except termios.error:
        return False
    return True
