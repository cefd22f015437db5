"""Plugins asked in the background: a thread for each plugin, so that one that hangs holds up no other."""

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
"""Seconds after which a plugin is late: what waits for its stage goes on without it."""
_IDLE_S: Final = 5.0
"""Seconds for which a thread waits for more to ask its plugin."""


class PluginCheck(msgspec.Struct, eq=False):
    """A question to a plugin, and who wants the answer."""

    request: ConfigureRequest
    answer: Callable[[ConfigureRequest, ConfigureResult], None]
    """Called with the result, in another thread."""
    late: Callable[[], None]
    """Called when the answer takes more than half a second, in another thread."""
    since: float = 0.0
    """When it was asked (``time.monotonic``)."""


class PluginCheckQueue:
    """Asks plugins. Threads may share it.

    Questions to one plugin are asked one by one, in the order in which they came. One that comes under the
    key of another that was not asked yet takes its place.

    :param configure: such as ``PluginWorkers.configure``, which serves several plugins side by side.
    """

    def __init__(self, configure: Callable[[ConfigureRequest], ConfigureResult]) -> None:
        self._configure = configure
        self._queues: dict[Hashable, _PluginQueue] = {}
        self._asked = threading.Condition()
        self._open: dict[Hashable, PluginCheck] = {}
        """Checks that nobody knows to be late, by key."""
        self._watch: threading.Thread | None = None
        self._closed = False

    def submit(self, key: Hashable, check: PluginCheck) -> None:
        """Ask a plugin in the background.

        :param key: whose question it is, such as a session and a stage.
        """
        plugin = check.request.plugin
        check.since = time.monotonic()
        with self._asked:
            if self._closed:
                return
            self._open[key] = check
            queue = self._queues.setdefault((plugin.digest, plugin.class_name), _PluginQueue())
            queue.waiting[key] = check
            if queue.thread is None:
                queue.thread = _start_thread(lambda: self._serve(queue))
            if self._watch is None:
                self._watch = _start_thread(self._watch_late)
            self._asked.notify_all()

    def close(self) -> None:
        """Ask nothing more."""
        with self._asked:
            self._closed = True
            self._asked.notify_all()

    def _serve(self, queue: _PluginQueue) -> None:
        while True:
            with self._asked:
                while not queue.waiting and not self._closed:
                    if not self._asked.wait(_IDLE_S) and not queue.waiting:
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
            except Exception as error:  # such as a text that no process can be sent
                _LOG.warning("a plugin could not be asked", exc_info=True)
                result = _create_failed_result(
                    check.request, f"The plugin could not be asked: {error}.", None
                )
            with self._asked:
                if self._open.get(key) is check:
                    del self._open[key]
            _call(partial(check.answer, check.request, result))

    def _watch_late(self) -> None:
        """Tell who waits for a late plugin that it is late."""
        while True:
            with self._asked:
                if self._closed or (not self._open and not self._asked.wait(_IDLE_S)):
                    self._watch = None
                    return
                before = time.monotonic() - LATE_S
                late = {key: check for key, check in self._open.items() if check.since < before}
                for key in late:
                    del self._open[key]
            for check in late.values():
                _call(check.late)
            with (
                self._asked
            ):  # a thread that slept on would hold the services while the process ends
                self._asked.wait_for(lambda: self._closed, LATE_S / 5)


class _PluginQueue:
    """The questions to one plugin."""

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
    except Exception:  # a fault in one session must not end the thread that serves all
        _LOG.exception("an answer of a plugin could not be taken")


def _create_failed_result(
    request: ConfigureRequest, message: str, action: str | None
) -> ConfigureResult:
    failures = FailureCollector(request.stage)
    failures.add(message, action)
    return ConfigureResult(list(failures))
