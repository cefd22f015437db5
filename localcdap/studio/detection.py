"""Results of connected checks, taken over while nothing that they depend on here is different.

``configure`` alone is a pure function. A result of ``configure_connected`` is kept with the time at which it
was found; who asks for it is told that time, and a run never uses it but looks anew.
"""

from __future__ import annotations

from collections.abc import Callable

from localcdap.sandbox.configuring import ConfigureRequest, ConfigureResult
from localcdap.sandbox.memo import Detected
from localcdap.studio.propagation.stages import Configurer

Kept = Callable[[ConfigureRequest], Detected | None]
"""What the last connected checks gave; see :meth:`localcdap.sandbox.pool.PluginWorkers.detected`."""


class DetectingConfigurer:
    """Configures stages, with what was detected for them.

    :param is_old_good: whether results of earlier connected checks are taken over.
    """

    def __init__(self, configurer: Configurer, kept: Kept, *, is_old_good: bool) -> None:
        self._configurer = configurer
        self._kept = kept
        self._is_old_good = is_old_good
        self.times: dict[str, int] = {}
        """By stage, when the world outside was looked at, in milliseconds since 1970."""

    def __call__(self, request: ConfigureRequest) -> ConfigureResult | None:
        if request.locations is not None:
            result = self._configurer(request)
            self._note(request)
            return result
        found = self._note(request) if self._is_old_good else None
        return found.result if found is not None else self._configurer(request)

    def _note(self, request: ConfigureRequest) -> Detected | None:
        found = self._kept(request)
        if found is not None:
            self.times[request.stage] = found.at_ms
        return found
