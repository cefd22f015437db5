"""A cache of configure results, so that an edit only configures the stages that it changes."""

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
"""Seconds for which the failure of a plugin that hung or crashed is kept."""


class ConnectedCheckResult(msgspec.Struct):
    """The result of connected checks, and its time."""

    at_ms: int
    """Milliseconds since 1970."""
    result: ConfigureResult


class ConfigureCache:
    """The most recently used results, by all that a result depends on. Threads may share it.

    Results of connected checks also depend on other systems: :meth:`find` never returns them, and
    :meth:`find_connected` returns them with their time.

    :param size: the number of results to keep.
    """

    def __init__(self, size: int = 4096) -> None:
        self._size = size
        self._results: OrderedDict[Hashable, tuple[float, ConfigureResult]] = OrderedDict()
        self._detected: OrderedDict[Hashable, ConnectedCheckResult] = OrderedDict()
        self._lock = threading.Lock()

    def find_connected(self, request: ConfigureRequest) -> ConnectedCheckResult | None:
        """Return the last result of connected checks of the same stage, for any kind of request."""
        with self._lock:
            return self._detected.get(_to_key(request))

    def find(self, request: ConfigureRequest) -> ConfigureResult | None:
        """Return the result of an equal request; None for connected checks, which are always repeated."""
        if request.locations is not None:
            return None
        key = _to_full_key(request)
        with self._lock:
            kept = self._results.get(key)
            if kept is None or kept[0] < time.monotonic():
                return None
            self._results.move_to_end(key)
            return kept[1]

    def store(self, request: ConfigureRequest, result: ConfigureResult, crashed: bool) -> None:
        """Store a result.

        :param crashed: whether the plugin hung or crashed, which may not happen again.
        """
        if request.locations is not None:
            now_ms = time.time_ns() // 1_000_000
            self._put(self._detected, _to_key(request), ConnectedCheckResult(now_ms, result))
            return
        expiry = time.monotonic() + _CRASH_KEPT_S if crashed else float("inf")
        self._put(self._results, _to_full_key(request), (expiry, result))

    def _put(self, kept: OrderedDict[Hashable, _T], key: Hashable, value: _T) -> None:
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


def _to_full_key(request: ConfigureRequest) -> Hashable:
    """Return all that a result without connected checks depends on."""
    return (
        _to_key(request),
        request.pipeline_version,
        request.wants_errors,
        request.earlier_stages,
    )


def _to_key(request: ConfigureRequest) -> Hashable:
    """Return all that a result depends on, except other systems, and the pipeline around the stage, which
    only decides on warnings; messages contain the stage's name.
    """
    return (
        request.plugin.digest,
        request.plugin.class_name,
        request.plugin.uses,
        request.stage,
        tuple(request.properties.items()),
        tuple(request.macros),
        tuple(request.input_schemas.items()),
        tuple(request.output_ports),
    )
