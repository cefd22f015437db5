"""Waiting for widgets to be removed, in a way that can be given up."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

from textual._callback import invoke
from textual.await_remove import AwaitRemove


class PatientRemove(AwaitRemove):
    """What :meth:`Widget.remove` returns here.

    Who waits for Textual's own and is cancelled meanwhile, as an exclusive worker is, cancels the tasks of
    the widgets, for which the app waits too: it would end without a word. Here only the waiting ends.
    """

    def __await__(self) -> Generator[None, None, None]:
        waiting = [task for task in self._tasks if task is not asyncio.current_task()]

        async def wait() -> None:
            if waiting:
                await asyncio.wait(waiting)
            if self._post_remove is not None:
                await invoke(self._post_remove)

        return wait().__await__()
