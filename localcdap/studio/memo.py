"""Configuring a stage again only when something it depends on has changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from localcdap.sandbox.configuring import ConfigureRequest, ConfigureResult
from localcdap.studio.propagation import Configurer


class MemoisedConfigurer:
    """Remembers results: configuring is a pure function of its request. Threads may share it.

    Requests with connected checks are never remembered, nor is what a request that raised. Results are
    shared: whoever gets one must not change it.

    :param size: how many results are kept; the one used longest ago goes first.
    """

    def __init__(self, configurer: Configurer, size: int = 4096) -> None:
        self._configurer = configurer
        self._size = size
        self._results: OrderedDict[Any, ConfigureResult] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, request: ConfigureRequest, /) -> ConfigureResult:
        if request.connected:
            return self._configurer(request)
        key = _key(request)
        with self._lock:
            known = self._results.get(key)
            if known is not None:
                self._results.move_to_end(key)
                return known
        result = self._configurer(request)
        with self._lock:
            self._results[key] = result
            if len(self._results) > self._size:
                self._results.popitem(last=False)
        return result


def _key(request: ConfigureRequest) -> Any:
    plugin = request.plugin
    return (
        (plugin.digest, plugin.type, plugin.name, request.stage),
        frozenset(request.properties.items()),
        frozenset(request.macros),
        tuple(request.input_schemas.items()),
        tuple(request.output_ports),
    )
