"""The studio: its areas, its connection, its namespace."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
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
from localcdap.host import crash_reports as reports
from localcdap.host.cdap import Cdap
from localcdap.tui.area_screen import AreaScreen
from localcdap.tui.areas import AREAS, Area
from localcdap.tui.base_app import BaseApp
from localcdap.tui.dialogs.open_failed import OpenFailedDialog
from localcdap.tui.host_connection import HostConnection
from localcdap.tui.routes import NavigationTarget, find_area
from localcdap.tui.service_calls import ServiceCalls
from localcdap.tui.system import idle_gc as garbage
from localcdap.tui.system.external_editor import edit_file
from localcdap.tui.textual_internals.app import is_usable

_BUSY_S: Final = 0.3


def _create_screen(area: Area) -> AreaScreen:
    """Import the screen of an area, when the area is first opened."""
    module, _, name = area.screen.partition(":")
    screen: type[AreaScreen] = getattr(importlib.import_module(module), name)
    return screen()


class StudioApp(BaseApp):
    """The terminal studio on one instance.

    :param connection: to the instance; it is opened behind the first paint.
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
    """The process in which the services run; 0 while there is no connection."""
    busy: reactive[bool] = reactive(False)
    """Whether an answer is being waited for that takes its time."""

    def __init__(
        self,
        connection: HostConnection,
        namespace: str = "default",
        target: NavigationTarget | None = None,
    ) -> None:
        super().__init__()
        self.set_reactive(StudioApp.namespace, namespace)
        self.connection = connection
        self.calls = ServiceCalls(connection, self.report_error, self._made)
        self._target = target
        self._was_open = False

    def on_mount(self) -> None:
        self._end_with_signals()
        self.load_keymap()
        self.call_after_refresh(self._connect)
        self.set_interval(_BUSY_S, self._look_busy)
        if not self.is_headless:  # tests have much that is not the studio's
            self.set_interval(garbage.TIDY_S, garbage.IdleGarbageCollector().collect_if_idle)

    @property
    def is_host(self) -> bool:
        """Whether the services run in this process."""
        return self.host_pid == os.getpid()

    def reopen(self) -> None:
        """Leave the instance and open it again, so that changed settings are in force. Runs go on."""
        self.connected = False
        self.connection.reopen(self._later(self._opened), self._later(self._unopened))

    def navigate(self, target: NavigationTarget) -> None:
        """Show a place in its area."""
        self._go(target)

    async def action_quit(self) -> None:
        self._quit()

    @work(group="quit", exclusive=True)
    async def _quit(self) -> None:
        """Leave, unless something would be lost that its user wants to keep."""
        for screen in self.list_base_screens(area.name for area in AREAS):
            if isinstance(screen, AreaScreen) and not await screen.confirm_leave():
                return
        self.exit()

    async def action_area(self, name: str) -> None:
        await self.switch_mode(name)

    def report_error(self, error: Exception) -> None:
        """Tell of an error that nobody took; one that is a fault of localcdap leaves a report."""
        if isinstance(error, LocalcdapError):
            self.show_notice(error.message, error.corrective_action or "", "error")
            return
        try:
            text = reports.format_report(error, "the terminal studio, in a call of a service")
            where = f"A report is in {reports.write_report(self.connection.home.reports, text)}"
        except OSError as unwritable:
            where = f"No report could be written: {unwritable}"
        self.show_notice(
            f"This is a fault of localcdap: {type(error).__name__}: {error}", where, "error"
        )

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """As Textual's, but for what is not whole yet or any more: its keys come to nothing."""
        if not is_usable(default_namespace):
            return False
        return await super().run_action(action, default_namespace, namespaces)

    def _end_with_signals(self) -> None:
        """Leave in order, the terminal restored, when the process is asked to end or its terminal goes."""
        if threading.current_thread() is not threading.main_thread():
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit_on_signal, number)

    def exit_on_signal(self, number: int) -> None:
        """Leave without a question, as a signal wants it."""
        self.exit(return_code=128 + number)

    @work(group="go", exclusive=True)
    async def _go(self, target: NavigationTarget) -> None:
        await self.switch_mode(find_area(target))
        screen = self.screen_stack[0]
        assert isinstance(screen, AreaScreen)
        screen.show_target(target)

    def _connect(self) -> None:
        self.connection.open(self._later(self._opened), self._later(self._unopened))

    def _later(self, callback: Callable[..., object]) -> Callable[..., object]:
        """The same to be called from any thread."""
        return lambda *arguments: self.call_later(callback, *arguments)

    def _opened(self) -> None:
        cdap = self.connection.cdap
        if cdap is None:
            return
        self.host_pid = cdap.host_pid
        self.connected = True
        target, self._target = self._target, None
        if target is not None:
            self.navigate(target)

    @work(group="unopened", exclusive=True)
    async def _unopened(self, error: Exception) -> None:
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

    def _made(self, cdap: Cdap) -> None:
        """In the thread of a call: whether another process has the services by now."""
        pid = cdap.host_pid
        if pid != self.host_pid and self.host_pid:
            self.call_later(self._host_changed, pid)

    def _host_changed(self, pid: int) -> None:
        before, self.host_pid = self.host_pid, pid
        if pid == before:
            return
        now = "This studio serves it now." if self.is_host else f"Process {pid} serves it now."
        self.show_notice(f"Process {before}, which served the instance, has gone.", now, "warning")

    def _look_busy(self) -> None:
        self._was_open, was_open = self.calls.pending_count > 0, self._was_open
        self.busy = was_open and self._was_open
