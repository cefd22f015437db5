"""Run the studio in a terminal, and restore the terminal afterwards."""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
import termios
import threading
from typing import Final

from localcdap.home import Home
from localcdap.tui.app import StudioApp
from localcdap.tui.host_connection import HostConnection
from localcdap.tui.routes import NavigationTarget
from localcdap.tui.system import idle_gc

_SHUT_DOWN_S: Final = 2.0
"""Seconds that running calls get when the studio exits."""
_CHECK_S: Final = 1.0
"""Seconds between checks whether the terminal still exists."""
_EXIT_S: Final = 5.0
"""Seconds that a studio without a terminal gets to exit."""


def open_studio(
    home: Home, namespace: str = "default", target: NavigationTarget | None = None
) -> int:
    """Run the studio in this terminal until the user exits. Return the exit code.

    :raises Exception: the internal error that ended the studio; the terminal is restored before.
    """
    connection = HostConnection(home)
    app = StudioApp(connection, namespace, target)
    is_over = threading.Event()
    watch = threading.Thread(target=_exit_with_terminal, args=(app, is_over), daemon=True)
    watch.start()
    idle_gc.configure()
    try:
        app.run()
    finally:
        connection.close()
        app.calls.shut_down(_SHUT_DOWN_S)
        is_over.set()
    if app.fault is not None:
        raise app.fault
    return app.return_code or 0


def _exit_with_terminal(app: StudioApp, is_over: threading.Event) -> None:
    """Exit when the terminal has gone without a signal, as after ``setsid`` or ``nohup``.

    Nobody could end such a studio: it would block on a write, and keep the host for ever.
    """
    while not is_over.wait(_CHECK_S):
        if not _has_terminal():
            app.call_later(app.exit_on_signal, signal.SIGHUP)
            if not is_over.wait(_EXIT_S):
                app.connection.close()
                os._exit(128 + signal.SIGHUP)


def _has_terminal() -> bool:
    """Return whether the terminal exists, or the process at the other end of the pipe in its place."""
    stdin = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
    if stat.S_ISFIFO(os.fstat(stdin).st_mode) or stat.S_ISSOCK(os.fstat(stdin).st_mode):
        pipe = select.poll()
        pipe.register(stdin, 0)
        return not pipe.poll(0)
    try:
        termios.tcgetattr(stdin)
    except termios.error:
        return False
    return True
