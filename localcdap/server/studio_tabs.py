"""The studios of a browser's tabs. A page that is reloaded finds its studio as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from localcdap.server.studio_process import Page, StudioProcess
from localcdap.text import plural

MOST_TABS: Final = 4
"""The most studios at a time; each takes about 110 MB of memory."""


class TabLimitError(Exception):
    """There are as many studios as may be open."""

    def __init__(self) -> None:
        super().__init__(
            f"{plural(MOST_TABS, 'studio')} are open in other tabs. Close one of them, and reload this page."
        )


class _Tab:
    """A studio, and whether a page shows it."""

    def __init__(self) -> None:
        self.studio: StudioProcess | None = None
        self.pages = 0
        self.end: asyncio.TimerHandle | None = None


class StudioTabs:
    """Starts a studio for each tab, and ends it when the tab has been closed for some time.

    :param command: the program of the studio and its arguments.
    :param kept_s: seconds for which a studio without a page is kept.
    """

    def __init__(self, command: Sequence[str], kept_s: float) -> None:
        self._command = command
        self._kept_s = kept_s
        self._tabs: Final[dict[str, _Tab]] = {}
        self._ending: Final[set[asyncio.Task[None]]] = set()
        self._starting: Final = asyncio.Lock()

    async def attach(self, tab: str, page: Page, width: int, height: int) -> StudioProcess:
        """Show the studio of a tab on a page; it is started if there is none.

        :param tab: the id that the page has for its tab.
        :raises TabLimitError: when there are too many studios.
        """
        async with self._starting:
            found = self._tabs.get(tab)
            if found is None:
                if len(self._tabs) >= MOST_TABS:
                    raise TabLimitError
                found = self._tabs[tab] = _Tab()
            found.pages += 1
            if found.end is not None:
                found.end.cancel()
                found.end = None
            if found.studio is None:
                found.studio = await StudioProcess.start(
                    self._command, width, height, lambda: self._forget(tab)
                )
                found.studio.attach(page)
            else:
                await found.studio.move(page, width, height)
            return found.studio

    def detach(self, tab: str, page: Page) -> None:
        """Note that a page of a tab was closed or is reloaded."""
        found = self._tabs.get(tab)
        if found is None or found.studio is None:
            return
        found.studio.detach(page)
        found.pages -= 1
        if not found.pages:
            loop = asyncio.get_running_loop()
            found.end = loop.call_later(self._kept_s, self._end_soon, tab)

    async def close(self) -> None:
        """End all studios."""
        for tab in list(self._tabs):
            self._end_soon(tab)
        await asyncio.gather(*self._ending)

    def _end_soon(self, tab: str) -> None:
        found = self._tabs.get(tab)
        if found is not None and found.studio is not None:
            task = asyncio.get_running_loop().create_task(found.studio.end())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def _forget(self, tab: str) -> None:
        found = self._tabs.pop(tab, None)
        if found is not None and found.end is not None:
            found.end.cancel()
