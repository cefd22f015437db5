"""The latest versions of applications that were asked for lately: clients ask for the same ones again."""

from __future__ import annotations

import threading
from typing import Final

from localcdap.pipeline.library.application_model import Application

_MOST: Final = 10_000
"""The most that are kept, about 10 MB; then all are forgotten."""


class KnownApplications:
    """Keeps latest versions in memory until any application changes. Threads may share it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Application] = {}
        self._changes = 0
        self._lock: Final = threading.Lock()

    @property
    def changes(self) -> int:
        """A number that is another one after each change."""
        return self._changes

    def find(self, namespace: str, name: str) -> Application | None:
        """Return the latest version of an application; None when it is not known here."""
        return self._known.get((namespace, name))

    def keep(self, application: Application, seen: int) -> None:
        """Keep a latest version.

        :param seen: :attr:`changes` before it was read; with a change since then it may be outdated.
        """
        with self._lock:
            if seen == self._changes:
                if len(self._known) >= _MOST:
                    self._known = {}
                self._known[application.namespace, application.name] = application

    def forget(self) -> None:
        """Forget all versions, after a change of any application."""
        with self._lock:
            self._changes += 1
            self._known = {}
