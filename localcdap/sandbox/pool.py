"""The pool of plugin workers of an instance: a slow plugin does not block the others."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Final, TypeVar

from localcdap.api.errors import HostLostError
from localcdap.artifacts.model import Inspection, PluginRef
from localcdap.sandbox.configure_cache import ConfigureCache, ConnectedCheckResult
from localcdap.sandbox.plugin_calls import JobRunner
from localcdap.sandbox.process_pool import ProcessPool
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult
from localcdap.sandbox.supervisor import PluginWorker

_R = TypeVar("_R")
_T = TypeVar("_T")
MOST: Final = 4
"""The most workers at once."""
QUICK_S: Final = 1.0
"""A plugin whose call ends within so many seconds, the start of its process included, counts as quick."""
_PATIENCE_S: Final = 0.1
"""Seconds that a call waits for a worker before the pool starts another one."""


class PluginWorkers(JobRunner):
    """A pool with the interface of :class:`PluginWorker`, for up to four calls at once. Threads may share it.

    There is one call at a time while that is enough. When it takes longer than most calls do, or for another
    inspection, the pool starts another one. One of the four serves only plugins whose last call was quick, so
    that plugins that hang cannot occupy all of them. All share the processes, of which each artifact has its
    own.

    :param time_limit_s: seconds that one call may take.
    :param memory_mb: memory of each process, in MiB.
    """

    def __init__(self, time_limit_s: float = 10.0, memory_mb: int = 1024) -> None:
        self._cache = ConfigureCache()
        self._processes = ProcessPool(memory_mb)
        self._new: Callable[[], PluginWorker] = lambda: PluginWorker(
            time_limit_s, cache=self._cache, processes=self._processes
        )
        self._changed = threading.Condition()
        self._idle = [self._new()]
        self._busy: dict[PluginWorker, bool] = {}
        """The workers that run a call, and whether that call may take long."""
        self._quick: set[Hashable] = set()
        self._closed = False

    def start(self) -> None:
        """Start the first process in the background, so that the first call need not wait for it."""
        with self._changed:
            for worker in self._idle:
                worker.start()

    def inspect(self, path: str, digest: str) -> Inspection:
        """See :meth:`PluginWorker.inspect`. Who calls it at the same time wants it done at the same time."""
        with self._use_worker(digest, patience_s=0) as worker:
            return worker.inspect(path, digest)

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        """See :meth:`PluginWorker.configure`."""
        kept = self._cache.find(request)
        if kept is not None:
            return kept
        key = (_get_class_key(request.plugin), request.locations is not None)
        with self._use_worker(key) as worker:
            return worker.configure(request)

    def find_remembered(self, request: ConfigureRequest) -> ConfigureResult | None:
        """Return the remembered result of the same request; None when the plugin must be called."""
        return self._cache.find(request)

    def find_connected(self, request: ConfigureRequest) -> ConnectedCheckResult | None:
        """Return the last result of connected checks of the same stage; None when there were none."""
        return self._cache.find_connected(request)

    def do(
        self,
        job: Callable[[_R], _T],
        request: _R,
        plugin: PluginRef,
        who: str,
        session: str = "",
    ) -> _T:
        """See :meth:`JobRunner.do`."""
        key = (_get_class_key(plugin), job, getattr(request, "method", None))
        with self._use_worker(key) as worker:
            return worker.do(job, request, plugin, who, session)

    def end_session(self, session: str) -> None:
        """End the processes of a session."""
        self._processes.end_session(session)

    def close(self) -> None:
        """End the processes, even while other threads wait for calls in them."""
        with self._changed:
            self._closed = True
            workers = [*self._idle, *self._busy]
            self._changed.notify_all()
        for worker in workers:
            worker.close()
        self._processes.close()

    @contextlib.contextmanager
    def _use_worker(
        self, key: Hashable, *, patience_s: float = _PATIENCE_S
    ) -> Iterator[PluginWorker]:
        """Take a worker for one call.

        :param key: what is called; the pool remembers for the next time whether it was quick.
        :param patience_s: how long to wait for other calls before there is another worker.
        """
        worker = self._take(may_be_long=key not in self._quick, patience_s=patience_s)
        start = time.monotonic()
        try:
            yield worker
        finally:
            is_quick = time.monotonic() - start < QUICK_S
            self._give_back(worker, key, is_quick=is_quick)

    def _take(self, *, may_be_long: bool, patience_s: float) -> PluginWorker:
        """Wait for a worker that runs no call, and take it.

        :raises HostLostError: when the pool is closed meanwhile.
        """
        since = time.monotonic()
        with self._changed:
            while True:
                has_room = not may_be_long or sum(self._busy.values()) < MOST - 1
                is_late = time.monotonic() - since >= patience_s
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
            # First in the list, so that the others can end; last after a slow call, which may have killed it.
            self._idle.insert(0 if is_quick else len(self._idle), worker)
            spare = [] if self._busy else self._idle[1:]
            self._idle = [each for each in self._idle if each not in spare]
            self._changed.notify_all()
        for each in spare:
            each.close()


def _get_class_key(plugin: PluginRef) -> Hashable:
    return plugin.digest, plugin.class_name
