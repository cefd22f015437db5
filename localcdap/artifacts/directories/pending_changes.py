"""Changes in plugin directories that wait until no further changes follow."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

_QUIET_S: Final = 0.08
"""Seconds without a further change after which a change counts as complete."""
_LONGEST_S: Final = 1.0
"""Seconds after which a change is processed even if further changes follow."""


class DueChanges(NamedTuple):
    """The changes that can be processed now."""

    touched: list[str] | None
    """The paths of possible artifacts; None for all."""
    unfinished: list[str]
    """The paths of artifacts that are being written and must not be read."""


class _Change:
    def __init__(self, now: float) -> None:
        self.first = self.last = now

    def is_due(self, now: float) -> bool:
        return now - self.last >= _QUIET_S or now - self.first >= _LONGEST_S


class PendingChanges:
    """The queue of changes: watching threads fill it, the synchronizing thread empties it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._touched: dict[Path, _Change] = {}
        self._all: _Change | None = None
        self._writing: dict[Path, tuple[float, frozenset[Path]]] = {}
        self._woken = False

    def note(self, artifacts: Iterable[Path]) -> None:
        """Add a change of these artifacts."""
        now = time.monotonic()
        with self._changed:
            idle = not self._touched
            for path in artifacts:
                self._touched.setdefault(path, _Change(now)).last = now
            if idle:
                self._changed.notify_all()

    def begin(self, written: Path, artifacts: Iterable[Path], patience_s: float) -> None:
        """Mark a file of these artifacts as being written, until :meth:`finish` is called for it.

        :param patience_s: seconds after which the file counts as complete in any case.
        """
        with self._changed:
            self._writing[written] = (time.monotonic() + patience_s, frozenset(artifacts))

    def finish(self, written: Path) -> None:
        """Mark a file as complete or deleted."""
        with self._changed:
            self._writing.pop(written, None)

    def note_all(self) -> None:
        """Add a change of unknown artifacts."""
        with self._changed:
            now = time.monotonic()
            self._all = self._all or _Change(now)
            self._all.last = now

    def take(self) -> DueChanges | None:
        """Remove and return the due changes, or None. Artifacts that are being written stay in the queue."""
        now = time.monotonic()
        with self._changed:
            self._forget_stalled(now)
            unfinished = {path for _, paths in self._writing.values() for path in paths}
            ready = [
                path
                for path, change in self._touched.items()
                if path not in unfinished and change.is_due(now)
            ]
            everything = self._all is not None and self._all.is_due(now)
            if not ready and not everything:
                return None
            for path in ready:
                del self._touched[path]
            if everything:
                self._all = None
        touched = None if everything else [str(path) for path in ready]
        return DueChanges(touched, [str(path) for path in unfinished])

    def wait(self, timeout_s: float) -> None:
        """Wait for the first change, or until a change can be due."""
        with self._changed:
            waiting = bool(self._touched) or self._all is not None
            if not self._woken:
                self._changed.wait(min(timeout_s, _QUIET_S / 4) if waiting else timeout_s)

    def wake(self) -> None:
        """End the current wait and all later ones."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def _forget_stalled(self, now: float) -> None:
        for file, (end, _) in list(self._writing.items()):
            if now > end:
                del self._writing[file]
