"""The studio driven by tests: opened on real services, waited for, looked at."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

from textual.events import Paste
from textual.pilot import Pilot

from localcdap.home import Home
from localcdap.host.link import Cdap
from localcdap.tui.app import StudioApp
from localcdap.tui.connection import Connection
from localcdap.tui.places import Place

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

    async def type(self, text: str) -> None:
        """Type a text where the focus is, without a wait between its characters."""
        await self.pilot.press(*(_KEYS.get(character, character) for character in text))
        await self.settled()

    async def paste(self, text: str) -> None:
        """Paste a text where the focus is, which is quicker than to type a long one."""
        self.app.post_message(Paste(text))
        await self.pilot.pause()
        await self.settled()

    async def settled(self, timeout_s: float = 20) -> None:
        """Wait until every call of a service has been answered and drawn."""
        await self.until(lambda: self.app.calls.open == 0, timeout_s)
        await self.pilot.pause()

    async def until(self, holds: Callable[[], object], timeout_s: float = 20) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + timeout_s
        await self.pilot.pause()
        while not holds():
            assert time.monotonic() < deadline, "it did not come to hold in time"
            await asyncio.sleep(0.01)
            await self.pilot.pause()


@contextlib.asynccontextmanager
async def studio(
    cdap: Cdap,
    home: Home,
    *,
    size: tuple[int, int] = LARGE,
    namespace: str = "default",
    place: Place | None = None,
) -> AsyncIterator[Driver]:
    """The studio, open and connected to services that outlive it."""
    connection = Connection(home, lent=cdap)
    app = StudioApp(connection, namespace, place)
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: app.connected)
        await driver.settled()
        yield driver
        app.workers.cancel_all()  # as when its user leaves it
    connection.close()
    app.calls.leave(0)  # who waits for events goes on until the module ends


async def at_rest(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Wait until no task can go on: all messages are handled, but for what timers and threads will bring.

    :param min_sleep: is as Textual calls it; seconds to wait at least.
    :param max_sleep: after so many seconds of work the wait is given up.
    """
    loop = asyncio.get_running_loop()
    begin = loop.time()
    while True:
        await asyncio.sleep(0)
        if loop.time() > begin + max_sleep or not loop._ready:
            break
    await asyncio.sleep(begin + min_sleep - loop.time())


_KEYS = {" ": "space", "\n": "enter", "\t": "tab"}
