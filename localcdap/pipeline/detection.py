"""Results of connected checks, taken over while nothing that they depend on here is different.

``configure`` alone is a pure function. A result of ``configure_connected`` is kept with the time at which it
was found; who asks for it is told that time, and a run never uses it but looks anew.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import msgspec

from localcdap.api.tables import TableShape
from localcdap.pipeline.validation.stages import Configurer
from localcdap.sandbox.configure_cache import ConnectedCheckResult
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult

Kept = Callable[[ConfigureRequest], ConnectedCheckResult | None]
"""What the last connected checks gave; see :meth:`localcdap.sandbox.pool.PluginWorkers.detected`."""

Tables = Callable[[str], Mapping[str, TableShape]]
"""The columns of the structured datasets of a namespace, by name."""


class DetectingConfigurer:
    """Configures stages, with what was detected for them.

    :param tables: the columns of the tables that connected checks see.
    :param is_old_good: whether results of earlier connected checks are taken over.
    """

    def __init__(
        self,
        configurer: Configurer,
        kept: Kept,
        tables: Callable[[], Mapping[str, TableShape]],
        *,
        is_old_good: bool,
    ) -> None:
        self._configurer = configurer
        self._kept = kept
        self._tables = functools.cache(tables)
        self._is_old_good = is_old_good
        self.times: dict[str, int] = {}
        """By stage, when the world outside was looked at, in milliseconds since 1970."""

    def __call__(self, request: ConfigureRequest) -> ConfigureResult | None:
        if request.locations is not None:
            seen = msgspec.structs.replace(request, tables=dict(self._tables()))
            result = self._configurer(seen)
            self._note(request)
            return result
        found = self._note(request) if self._is_old_good else None
        return found.result if found is not None else self._configurer(request)

    def _note(self, request: ConfigureRequest) -> ConnectedCheckResult | None:
        found = self._kept(request)
        if found is not None:
            self.times[request.stage] = found.at_ms
        return found
