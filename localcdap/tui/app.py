"""The app of the terminal studio: its areas, its connection, its namespace; and its run in a terminal."""

from __future__ import annotations

import asyncio
import importlib
import os
import select
import signal
import stat
import sys
import termios
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, Final

from textual import work
from textual.actions import ActionParseResult
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.reactive import reactive

from localcdap.api.errors import LocalcdapError
from localcdap.home import Home
from localcdap.host import crash_reports as reports
from localcdap.host.cdap import Cdap
from localcdap.tui import machine
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.base_app import BaseApp
from localcdap.tui.dialogs.dialog_screen import OpenFailedDialog
from localcdap.tui.machine import edit_file
from localcdap.tui.routes import AREAS, Area, AreaTarget, NavigationTarget
from localcdap.tui.service_calls import HostConnection, ServiceCalls
from localcdap.tui.textual_internals.app import is_usable

_BUSY_S: Final = 0.3


def _create_screen(area: Area) -> AreaScreen:
    """Import the screen of an area, when the area is first opened."""
    module, name = area.locate_screen()
    screen: type[AreaScreen] = getattr(importlib.import_module(module), name)
    return screen()


class StudioApp(BaseApp):
    """The terminal studio on one instance.

    :param connection: the connection to the instance; it is opened after the first frame.
    :param place: what to show first; None for the home screen.
    """

    TITLE = "localcdap"
    CSS_PATH = "app.tcss"
    MODES = {area.name: partial(_create_screen, area) for area in AREAS}
    DEFAULT_MODE = "home"
    ENABLE_COMMAND_PALETTE = False  # BaseApp has its own
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(area.key, f"area('{area.name}')", area.title, id=f"go.{area.name}", show=False)
            for area in AREAS
        ),
        Binding("ctrl+q", "quit", "leave", id="studio.leave", show=False, priority=True),
    ]

    namespace: reactive[str] = reactive("default")
    """The namespace that all screens show."""
    connected: reactive[bool] = reactive(False)
    """Whether the instance is open; calls wait until it is."""
    host_pid: reactive[int] = reactive(0)
    """The process of the host; 0 while there is no connection."""
    busy: reactive[bool] = reactive(False)
    """Whether a call has been pending for a noticeable time."""

    def __init__(
        self,
        connection: HostConnection,
        namespace: str = "default",
        target: NavigationTarget | None = None,
    ) -> None:
        super().__init__()
        self.set_reactive(StudioApp.namespace, namespace)
        self.connection = connection
        self.calls = ServiceCalls(connection, self.report_error, self._check_host)
        self._target = target
        self._was_pending = False

    def on_mount(self) -> None:
        self._handle_signals()
        self.load_keymap()
        self.call_after_refresh(self._connect)
        self.set_interval(_BUSY_S, self._update_busy)
        if self.is_web:
            self.show_notice(
                "The browser keeps some keys for itself: ctrl+t, ctrl+n and ctrl+w.",
                "The command palette (:) has every command. There is no $EDITOR and no shell here.",
            )
        if not self.is_headless:  # a test process has many objects besides the studio
            self.set_interval(machine.CHECK_S, machine.IdleGarbageCollector().collect_if_idle)

    def reopen(self, on_refused: Callable[[], object] | None = None) -> None:
        """Have the host replaced, so that changed settings apply. Runs go on.

        :param on_refused: called when others use the host, which then stays; a notice says who.
        """

        def refuse(users: list[str]) -> None:
            self._take_connection()
            self.show_notice(
                "The host of the instance keeps its settings: others use it.",
                f"Apply the settings when these have ended: {', '.join(users)}.",
                "warning",
            )
            if on_refused is not None:
                on_refused()

        self.connected = False
        self.connection.reopen(
            self._call_later(self._take_connection),
            self._call_later(self._show_open_error),
            self._call_later(refuse),
        )

    def navigate(self, target: NavigationTarget) -> None:
        """Show a target in its area."""
        self._go(target)

    async def action_quit(self) -> None:
        self._quit()

    @work(group="quit", exclusive=True)
    async def _quit(self) -> None:
        """Exit, unless the user wants to keep unsaved changes."""
        for screen in self.list_base_screens(area.name for area in AREAS):
            if isinstance(screen, AreaScreen) and not await screen.confirm_leave():
                return
        self.exit()

    async def action_area(self, name: str) -> None:
        await self.switch_mode(name)

    def report_error(self, error: Exception) -> None:
        """Show an error that no caller handled; write a report when it is an internal error."""
        if isinstance(error, LocalcdapError):
            self.show_notice(error.message, error.corrective_action or "", "error")
            return
        try:
            text = reports.format_report(error, "the terminal studio, in a call of a service")
            detail = f"A report is in {reports.write_report(self.connection.home.reports, text)}"
        except OSError as unwritable:
            detail = f"No report could be written: {unwritable}"
        self.show_notice(f"Internal error: {type(error).__name__}: {error}", detail, "error")

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run an action, unless its widget is not mounted yet or is being removed."""
        if not is_usable(default_namespace):
            return False
        return await super().run_action(action, default_namespace, namespaces)

    def _handle_signals(self) -> None:
        """Exit in order on SIGTERM and SIGHUP; stop and go on, on SIGTSTP and SIGCONT, between two events."""
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit_on_signal, number)
        # Textual's handlers write to the queue of its writer thread. Python calls them between any two
        # instructions, so also while the same thread holds the lock of that queue, and waits forever.
        for number in (signal.SIGTSTP, signal.SIGCONT):
            if callable(handler := signal.getsignal(number)):
                loop.add_signal_handler(number, handler, number, None)

    def exit_on_signal(self, number: int) -> None:
        """Exit on a signal, without a question."""
        self.exit(return_code=128 + number)

    @work(group="go", exclusive=True)
    async def _go(self, target: NavigationTarget) -> None:
        await self.switch_mode(target.name if isinstance(target, AreaTarget) else target.area)
        screen = self.screen_stack[0]
        assert isinstance(screen, AreaScreen)
        if not isinstance(target, AreaTarget):
            screen.show_target(target)

    def _connect(self) -> None:
        self.connection.open(
            self._call_later(self._take_connection), self._call_later(self._show_open_error)
        )

    def _call_later(self, callback: Callable[..., object]) -> Callable[..., object]:
        """Return a callback that any thread may call."""
        return lambda *arguments: self.call_later(callback, *arguments)

    def _take_connection(self) -> None:
        cdap = self.connection.cdap
        if cdap is None:
            return
        self.host_pid = cdap.host_pid
        self.connected = True
        target, self._target = self._target, None
        if target is not None:
            self.navigate(target)

    @work(group="unopened", exclusive=True)
    async def _show_open_error(self, error: Exception) -> None:
        match await self.push_screen_wait(OpenFailedDialog(error)):
            case "again":
                self._connect()
            case "edit":
                await self._edit_settings()
                self._connect()
            case _:
                self.exit(return_code=1)

    async def _edit_settings(self) -> None:
        file = self.connection.home.settings_file
        try:
            with self.suspend():
                edit_file(file)
        except LocalcdapError as error:
            self.show_notice(error.message, error.corrective_action or "", "error")
        except Exception as error:  # such as a terminal that cannot be suspended
            self.show_notice("The editor could not be opened.", str(error), "error")

    def _check_host(self, cdap: Cdap) -> None:
        """Note after a call which process is the host now; runs in the thread of the call."""
        pid = cdap.host_pid
        if pid != self.host_pid and self.host_pid:
            self.call_later(self._show_host_change, pid)

    def _show_host_change(self, pid: int) -> None:
        before, self.host_pid = self.host_pid, pid
        if pid == before:
            return
        self.show_notice(
            f"Process {before}, the host of the instance, has ended.",
            f"Process {pid} is now the host.",
            "warning",
        )

    def _update_busy(self) -> None:
        self._was_pending, was_pending = self.calls.pending_count > 0, self._was_pending
        self.busy = was_pending and self._was_pending


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
    machine.configure()
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
