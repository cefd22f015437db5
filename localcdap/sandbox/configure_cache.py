"""Remembered results of configure calls, so that an edit costs only the stages that it changes."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, TypeVar

import msgspec

from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult

_T = TypeVar("_T")
_CRASH_KEPT_S: Final = 60.0
"""Seconds for which a stage whose plugin hung or crashed is not tried again unchanged."""


class ConnectedCheckResult(msgspec.Struct):
    """What connected checks found, and when."""

    at_ms: int
    """Milliseconds since 1970."""
    result: ConfigureResult


class ConfigureCache:
    """The most recently used results, by everything that a result depends on. Threads may share it.

    Results of connected checks depend on the world outside too: :meth:`find` never gives one, and
    :meth:`detected` tells how old it is.

    :param size: number of results kept.
    """

    def __init__(self, size: int = 4096) -> None:
        self._size = size
        self._results: OrderedDict[Hashable, tuple[float, ConfigureResult]] = OrderedDict()
        self._detected: OrderedDict[Hashable, ConnectedCheckResult] = OrderedDict()
        self._lock = threading.Lock()

    def find_connected(self, request: ConfigureRequest) -> ConnectedCheckResult | None:
        """Return what the last connected checks of the same stage gave, whether the request is for such or
        not.
        """
        with self._lock:
            return self._detected.get(_key(request))

    def find(self, request: ConfigureRequest) -> ConfigureResult | None:
        """Return the result of the same request before; None for connected checks, always made anew."""
        if request.locations is not None:
            return None
        key = _key(request)
        with self._lock:
            kept = self._results.get(key)
            if kept is None or kept[0] < time.monotonic():
                return None
            self._results.move_to_end(key)
            return kept[1]

    def store(self, request: ConfigureRequest, result: ConfigureResult, crashed: bool) -> None:
        """:param crashed: whether the plugin did not come to an end, which another time it may."""
        if request.locations is not None:
            now_ms = time.time_ns() // 1_000_000
            self._put(self._detected, request, ConnectedCheckResult(now_ms, result))
            return
        expiry = time.monotonic() + _CRASH_KEPT_S if crashed else float("inf")
        self._put(self._results, request, (expiry, result))

    def _put(self, kept: OrderedDict[Hashable, _T], request: ConfigureRequest, value: _T) -> None:
        key = _key(request)
        with self._lock:
            kept[key] = value
            kept.move_to_end(key)
            while len(kept) > self._size:
                kept.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._results.clear()
            self._detected.clear()

    def __len__(self) -> int:
        return len(self._results)


def _key(request: ConfigureRequest) -> Hashable:
    """Return everything that a result depends on but the world outside; the stage's name is in its
    messages.
    """
    return (
        request.plugin.digest,
        request.plugin.class_name,
        request.stage,
        tuple(request.properties.items()),
        tuple(request.macros),
        tuple(request.input_schemas.items()),
        tuple(request.output_ports),
    )
