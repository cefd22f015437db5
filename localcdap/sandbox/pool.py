"""The plugin workers of an instance: while a plugin takes long, others are not kept waiting."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Final, TypeVar

from localcdap.api.errors import HostLostError
from localcdap.artifacts.model import Inspection, PluginRef
from localcdap.sandbox.configure_cache import ConfigureCache, ConnectedCheckResult
from localcdap.sandbox.plugin_calls import CallRequest, TransformRequest, TransformResult
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult
from localcdap.sandbox.supervisor import PluginWorker

_R = TypeVar("_R")
_T = TypeVar("_T")
MOST: Final = 4
"""Workers at once."""
QUICK_S: Final = 1.0
"""Seconds within which a plugin must come to an end, and its process start, to be taken for a quick one."""
_PATIENCE_S: Final = 0.1
"""Seconds for which a call waits for a worker before another one is started."""


class PluginWorkers:
    """What :class:`PluginWorker` does, in up to four processes. Threads may share it.

    There is one process while that is enough. When it is busy for longer than most calls take, another
    one is started; when no call is under way, all but one end. One of the four is only for plugins that
    have been quick the last time, so that those that hang cannot take all.

    :param time_limit_s: seconds that one call may take.
    :param memory_mb: memory of each process, in MiB.
    """

    def __init__(self, time_limit_s: float = 10.0, memory_mb: int = 1024) -> None:
        self._memo = ConfigureCache()
        self._new: Callable[[], PluginWorker] = lambda: PluginWorker(
            time_limit_s, memory_mb, self._memo
        )
        self._changed = threading.Condition()
        self._idle = [self._new()]
        self._busy: dict[PluginWorker, bool] = {}
        """With whether it is at a call that may take long."""
        self._quick: set[Hashable] = set()
        self._closed = False

    def start(self) -> None:
        """Start the first process in the background, so that the first call need not wait for it."""
        with self._changed:
            for worker in self._idle:
                worker.start()

    def inspect(self, path: str, digest: str) -> Inspection:
        """See :meth:`PluginWorker.inspect`."""
        with self._worker(digest) as worker:
            return worker.inspect(path, digest)

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        """See :meth:`PluginWorker.configure`."""
        kept = self._memo.find(request)
        if kept is not None:
            return kept
        key = (_class(request.plugin), request.locations is not None)
        with self._worker(key) as worker:
            return worker.configure(request)

    def remembered(self, request: ConfigureRequest) -> ConfigureResult | None:
        """What configuring gave before; None when the plugin would have to be asked."""
        return self._memo.find(request)

    def detected(self, request: ConfigureRequest) -> ConnectedCheckResult | None:
        """What the connected checks of the same stage gave the last time; None when there were none."""
        return self._memo.detected(request)

    def call(self, request: CallRequest) -> bytes:
        """See :meth:`PluginWorker.call`."""
        with self._worker((_class(request.plugin), request.method)) as worker:
            return worker.call(request)

    def transform(self, request: TransformRequest) -> TransformResult:
        """See :meth:`PluginWorker.transform`."""
        with self._worker((_class(request.plugin), "transform")) as worker:
            return worker.transform(request)

    def do(self, job: Callable[[_R], _T], request: _R, plugin: PluginRef, who: str) -> _T:
        """See :meth:`PluginWorker.do`."""
        with self._worker((_class(plugin), job)) as worker:
            return worker.do(job, request, plugin, who)

    def close(self) -> None:
        """End the processes, also from under calls that other threads wait for."""
        with self._changed:
            self._closed = True
            workers = [*self._idle, *self._busy]
            self._changed.notify_all()
        for worker in workers:
            worker.close()

    @contextlib.contextmanager
    def _worker(self, key: Hashable) -> Iterator[PluginWorker]:
        """A worker for one call.

        :param key: what is called; how long it takes now is remembered for the next time.
        """
        worker = self._taken(may_be_long=key not in self._quick)
        start = time.monotonic()
        try:
            yield worker
        finally:
            is_quick = time.monotonic() - start < QUICK_S
            self._give_back(worker, key, is_quick=is_quick)

    def _taken(self, *, may_be_long: bool) -> PluginWorker:
        """A worker that nobody else has; waits for one.

        :raises HostLostError: when this is closed meanwhile.
        """
        since = time.monotonic()
        with self._changed:
            while True:
                has_room = not may_be_long or sum(self._busy.values()) < MOST - 1
                is_late = time.monotonic() - since >= _PATIENCE_S
                if has_room and is_late and not self._idle and len(self._busy) < MOST:
                    self._idle.append(self._new())
                if self._closed:
                    raise HostLostError("The plugin worker was closed.")
                if has_room and self._idle:
                    worker = self._idle.pop(0)
                    self._busy[worker] = may_be_long
                    return worker
                self._changed.wait(_PATIENCE_S)

    def _give_back(self, worker: PluginWorker, key: Hashable, *, is_quick: bool) -> None:
        with self._changed:
            (self._quick.add if is_quick else self._quick.discard)(key)
            del self._busy[worker]
            # In front, so that the others can end, but behind them after a call that may have killed it.
            self._idle.insert(0 if is_quick else len(self._idle), worker)
            spare = [] if self._busy else self._idle[1:]
            self._idle = [each for each in self._idle if each not in spare]
            self._changed.notify_all()
        for each in spare:
            each.close()


def _class(plugin: PluginRef) -> Hashable:
    return plugin.digest, plugin.class_name
