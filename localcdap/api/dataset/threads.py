"""Threads that a method of a dataset starts continue its stack of calls, as in the original.

Python passes context variables on to tasks of asyncio but, before version 3.14, not to threads.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from localcdap.api.dataset.access import is_in_method

_installed = threading.Lock()


def pass_calls_to_threads() -> None:
    """Let threads and thread pools take the stack of calls from where they are started or used.

    Only threads that are started inside a method of a dataset are affected. Later calls do nothing.
    """
    if not _installed.acquire(blocking=False):
        return
    setattr(threading.Thread, "start", _wrap_start(threading.Thread.start))  # noqa: B010
    setattr(ThreadPoolExecutor, "submit", _wrap_submit(ThreadPoolExecutor.submit))  # noqa: B010


def _wrap_start(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    @functools.wraps(start)
    def start_in_context(self: threading.Thread) -> None:
        if is_in_method():
            self.run = functools.partial(copy_context().run, self.run)  # type: ignore[method-assign]
        start(self)

    return start_in_context


def _wrap_submit(submit: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    @functools.wraps(submit)
    def submit_in_context(
        self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        # Outside of methods too: a worker that a method has started keeps the context of that method.
        return submit(self, copy_context().run, fn, *args, **kwargs)

    return submit_in_context
