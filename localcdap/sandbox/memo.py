"""Remembered results of configure calls, so that an edit costs only the stages that it changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from localcdap.sandbox.configuring import ConfigureRequest, ConfigureResult

_CRASH_KEPT_S: Final = 60.0
"""Seconds for which a stage whose plugin hung or crashed is not tried again unchanged."""


class ConfigureMemo:
    """The most recently used results, by everything that a result depends on. Threads may share it.

    Results of connected checks are never kept: they depend on the world outside.

    :param size: number of results kept.
    """

    def __init__(self, size: int = 4096) -> None:
        self._size = size
        self._results: OrderedDict[Hashable, tuple[float, ConfigureResult]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, request: ConfigureRequest) -> ConfigureResult | None:
        key = _key(request)
        with self._lock:
            kept = self._results.get(key)
            if kept is None or kept[0] < time.monotonic():
                return None
            self._results.move_to_end(key)
            return kept[1]

    def keep(self, request: ConfigureRequest, result: ConfigureResult, crashed: bool) -> None:
        """:param crashed: whether the plugin did not come to an end, which another time it may."""
        if request.locations is not None:
            return
        expiry = time.monotonic() + _CRASH_KEPT_S if crashed else float("inf")
        with self._lock:
            self._results[_key(request)] = (expiry, result)
            self._results.move_to_end(_key(request))
            while len(self._results) > self._size:
                self._results.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._results.clear()

    def __len__(self) -> int:
        return len(self._results)


def _key(request: ConfigureRequest) -> Hashable:
    """Everything that a result depends on; the stage's name is in its messages."""
    return (
        request.plugin.digest,
        request.plugin.class_name,
        request.stage,
        tuple(request.properties.items()),
        tuple(request.macros),
        tuple(request.input_schemas.items()),
        tuple(request.output_ports),
        request.locations is not None,
    )
