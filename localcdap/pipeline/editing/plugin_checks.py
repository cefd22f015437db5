"""Configures stages in the background, with one thread per plugin: a plugin that hangs delays no other."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial
from typing import Final

import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.api.failures import FailureCollector
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult

_LOG: Final = logging.getLogger(__name__)
LATE_S: Final = 0.5
"""Seconds after which a plugin is late: stages after its stage stop waiting for it."""
_IDLE_S: Final = 5.0
"""Seconds for which a thread waits for more checks of its plugin before it ends."""


class PluginCheck(msgspec.Struct, eq=False):
    """A stage to configure, and the callbacks for its result."""

    request: ConfigureRequest
    answer: Callable[[ConfigureRequest, ConfigureResult], None]
    """Called with the result, in another thread."""
    late: Callable[[], None]
    """Called when the result takes more than :data:`LATE_S` seconds, in another thread."""
    since: float = 0.0
    """When the check was submitted (``time.monotonic``)."""


class PluginCheckQueue:
    """Runs checks. Threads may share it.

    The checks of one plugin run one by one, in the order in which they were submitted. A check replaces one
    with the same key that has not started.

    :param configure: such as ``PluginWorkers.configure``, which serves several plugins in parallel.
    """

    def __init__(self, configure: Callable[[ConfigureRequest], ConfigureResult]) -> None:
        self._configure = configure
        self._queues: dict[Hashable, _PluginQueue] = {}
        self._condition = threading.Condition()
        self._open: dict[Hashable, PluginCheck] = {}
        """Checks that have neither finished nor been reported late, by key."""
        self._watch: threading.Thread | None = None
        self._closed = False

    def submit(self, key: Hashable, check: PluginCheck) -> None:
        """Run a check in the background.

        :param key: identifies its stage, such as a session and a stage name.
        """
        plugin = check.request.plugin
        check.since = time.monotonic()
        with self._condition:
            if self._closed:
                return
            self._open[key] = check
            queue = self._queues.setdefault((plugin.digest, plugin.class_name), _PluginQueue())
            queue.waiting[key] = check
            if queue.thread is None:
                queue.thread = _start_thread(lambda: self._serve(queue))
            if self._watch is None:
                self._watch = _start_thread(self._watch_late)
            self._condition.notify_all()

    def close(self) -> None:
        """Start no more checks."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _serve(self, queue: _PluginQueue) -> None:
        while True:
            with self._condition:
                while not queue.waiting and not self._closed:
                    if not self._condition.wait(_IDLE_S) and not queue.waiting:
                        queue.thread = None
                        return
                if self._closed:
                    return
                key, check = queue.waiting.popitem(last=False)
            try:
                result = self._configure(check.request)
            except LocalcdapError as error:
                result = _create_failed_result(
                    check.request, error.message, error.corrective_action
                )
            except Exception as error:  # such as a text that cannot be sent to a process
                _LOG.warning("a stage could not be configured", exc_info=True)
                result = _create_failed_result(
                    check.request, f"The plugin could not be asked: {error}.", None
                )
            with self._condition:
                if self._open.get(key) is check:
                    del self._open[key]
            _call(partial(check.answer, check.request, result))

    def _watch_late(self) -> None:
        """Report late checks to their owners."""
        while True:
            with self._condition:
                if self._closed or (not self._open and not self._condition.wait(_IDLE_S)):
                    self._watch = None
                    return
                before = time.monotonic() - LATE_S
                late = {key: check for key, check in self._open.items() if check.since < before}
                for key in late:
                    del self._open[key]
            for check in late.values():
                _call(check.late)
            # A sleeping thread would keep the services open while the process ends.
            with self._condition:
                self._condition.wait_for(lambda: self._closed, LATE_S / 5)


class _PluginQueue:
    """The open checks of one plugin, and the thread that runs them."""

    def __init__(self) -> None:
        self.waiting: OrderedDict[Hashable, PluginCheck] = OrderedDict()
        self.thread: threading.Thread | None = None


def _start_thread(target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, name="localcdap-editing-check", daemon=True)
    thread.start()
    return thread


def _call(function: Callable[[], object]) -> None:
    try:
        function()
    except Exception:  # an error in one session must not end the thread that serves all
        _LOG.exception("a session could not take the result of a plugin")


def _create_failed_result(
    request: ConfigureRequest, message: str, action: str | None
) -> ConfigureResult:
    failures = FailureCollector(request.stage)
    failures.add(message, action)
    return ConfigureResult(list(failures))
