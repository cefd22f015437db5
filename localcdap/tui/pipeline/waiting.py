"""Calls of services that a dialog waits for."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from localcdap.tui.service_calls import Work
from localcdap.tui.studio import StudioNode

_T = TypeVar("_T")


async def result_of(node: StudioNode, work: Work[_T]) -> _T:
    """The result of a call, for code that runs in a worker of the screen.

    :raises LocalcdapError: when the call does.
    """
    answer: asyncio.Future[_T] = asyncio.get_running_loop().create_future()

    def done(result: _T) -> None:
        if not answer.done():
            answer.set_result(result)

    def failed(error: Exception) -> None:
        if not answer.done():
            answer.set_exception(error)

    node.call(work, done, on_error=failed)
    return await answer
