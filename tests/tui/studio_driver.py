"""The studio driven by tests: opened on real services, waited for, looked at."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

from textual._context import active_app
from textual.app import App
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.screen import Screen

from localcdap.home import Home
from localcdap.host.cdap import Cdap
from localcdap.tui.app import StudioApp
from localcdap.tui.document.editor import Editor
from localcdap.tui.inspector.properties.form import Form
from localcdap.tui.routes import NavigationTarget
from localcdap.tui.service_calls import HostConnection

SMALL = (80, 24)
LARGE = (160, 48)


class Driver:
    """A studio that is open, and the pilot that presses its keys."""

    def __init__(self, app: StudioApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other, each when what the one before asked for is on the screen."""
        for key in keys:
            await self.pilot.press(key)
            await self.settled()

    async def burst(self, *keys: str) -> None:
        """Press keys as a slow line hands them over: all at once, the last before the first is handled."""
        assert self.app._driver is not None
        for key in keys:
            event = Key(key, key if len(key) == 1 else None)
            event.set_sender(self.app)
            self.app._driver.send_message(event)
        await self.pilot.pause()
        await self.settled()

    async def type(self, text: str) -> None:
        """Type a text where the focus is, without a wait between its characters."""
        await self.pilot.press(*(_KEYS.get(character, character) for character in text))
        await self.settled()

    async def paste(self, text: str) -> None:
        """Paste a text where the focus is, which is quicker than to type a long one."""
        self.app.post_message(Paste(text))
        await self.pilot.pause()
        await self.settled()

    async def resize(self, width: int, height: int) -> None:
        """Give the terminal another size, and wait until the screen has it."""
        await self.pilot.resize_terminal(width, height)
        await self.until(lambda: self.app.screen._compositor.size == (width, height))
        await self.settled()

    async def settled(self, timeout_s: float = 60) -> None:
        """Wait until every call of a service has been answered and drawn."""
        await self.until(lambda: self.app.calls.pending_count == 0, timeout_s)
        await self.pilot.pause()

    async def editor(self) -> Editor:
        """That of the pipeline that is being opened, when everything is known of it and shown."""
        await self.until(lambda: getattr(self.app.screen, "editor", None) is not None)
        editor: Editor = self.app.screen.editor  # type: ignore[attr-defined]
        await self.validated(editor)
        await self.until(lambda: self.app.screen.query_one(Form).is_ready)
        await self.settled()
        return editor

    async def validated(self, editor: Editor) -> None:
        """Wait until all plugins have answered to a pipeline as it is, and the screen says so."""
        await self.until(lambda: editor.is_validated)
        session, cdap = editor._session.id, self.app.connection.cdap
        assert session is not None
        assert cdap is not None
        change = await asyncio.to_thread(cdap.editing.wait_until_checked, session)
        await self.until(lambda: editor.revision >= change.revision)
        await self.settled()

    async def until(self, holds: Callable[[], object], timeout_s: float = 60) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + timeout_s
        pause_s = 0.01
        await self.pilot.pause()
        while not holds():
            assert time.monotonic() < deadline, "the condition did not become true in time"
            await asyncio.sleep(pause_s)
            # Drawing a run's progress each time would take half of the processor while the run needs it.
            pause_s = min(1.2 * pause_s, 0.1)
            await self.pilot.pause()


@contextlib.asynccontextmanager
async def studio(
    cdap: Cdap,
    home: Home,
    *,
    size: tuple[int, int] = LARGE,
    namespace: str = "default",
    target: NavigationTarget | None = None,
) -> AsyncIterator[Driver]:
    """The studio, open and connected to services that outlive it."""
    connection = HostConnection(home, lent=cdap)
    app = StudioApp(connection, namespace, target)
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.connected)
        await driver.settled()
        yield driver
        app.screen._compositor.render_strips()
        app.workers.cancel_all()  # as when its user leaves it
    connection.close()
    app.calls.shut_down(0)  # who waits for events goes on until the module ends


async def at_rest(*_: float) -> None:
    """Wait until all messages are handled and what they changed is drawn: only timers and threads bring more.

    Frames are drawn here and not by the clock, so that what is looked at never depends on how long it took.
    It takes the place of the waits of Textual's pilots, whose arguments come to nothing. A studio that has
    something to do for longer than :data:`_PATIENCE_S` is looked at as it is.
    """
    app = active_app.get()
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _PATIENCE_S
    await asyncio.sleep(0)
    while loop.time() < deadline and (loop._ready or _draw(app)):  # type: ignore[attr-defined]
        await asyncio.sleep(0)


def leave_unpainted(screen: Screen[object]) -> None:
    """Take what waits for the next frame as painted. It takes the place of a method of Textual's screens."""
    if screen in screen.app._background_screens and screen._compositor._dirty_regions:
        screen.app.screen.refresh(*screen._compositor._dirty_regions)
    screen._compositor._dirty_regions.clear()
    screen._dirty_widgets.clear()
    screen.app._update_mouse_over(screen)


def _draw(app: App[object]) -> bool:
    """Draw what waits for the next frame. False when nothing does."""
    waiting = [screen for screen in app._screen_stack if screen._update_timer._active.is_set()]
    for screen in waiting:
        with screen._context():
            screen._on_timer_update()
    return bool(waiting)


_PATIENCE_S = 60
_KEYS = {" ": "space", "\n": "enter", "\t": "tab"}
