"""Watching the plugin directories, and synchronizing the index soon after a change.

Changes are reported by watchdog. In addition the watcher compares the status of each directory ten times a
second, because watchdog reports a moved file half a second late and does not watch a directory that does
not exist yet. When the system provides no (more) watches, the watcher compares the fingerprints of all
artifacts once a second instead. A full check every 15 seconds finds changes without any event, as on
network drives.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.artifacts.directories.artifact_paths import ArtifactPath, find_user_artifacts
from localcdap.artifacts.directories.contents import compute_fingerprint
from localcdap.artifacts.directories.identity import get_sidecar
from localcdap.artifacts.directories.pending_changes import PendingChanges
from localcdap.artifacts.directories.watches import Watches, WatchesRefusedError
from localcdap.artifacts.service import ArtifactService

_LOG: Final = logging.getLogger(__name__)
_TICK_S: Final = 0.1
_POLL_S: Final = 1.0
_SWEEP_S: Final = 15.0
_CLOSING_S: Final = 0.5

_Listing = dict[Path, tuple[int, int, int] | None]
"""Device, inode and time of each folder of artifacts; None for a folder that does not exist."""


class FolderWatcher:
    """A thread that synchronizes the index after changes.

    :param directories: plugin directories, which need not exist yet.
    :param interrupt: ends the inspection of a plugin that hangs while the watcher is closed.
    :param delay_s: seconds before the thread begins. A command that ends sooner does not even pay for the
        import of watchdog; changes in the meantime are found when the thread begins.
    """

    def __init__(
        self,
        directories: Sequence[Path],
        artifacts: ArtifactService,
        interrupt: Callable[[], object],
        *,
        delay_s: float = 2.0,
    ) -> None:
        self._directories = list(dict.fromkeys(folder.absolute() for folder in directories))
        self._artifacts = artifacts
        self._interrupt = interrupt
        self._delay_s = delay_s
        self._pending = PendingChanges()
        self._closed = threading.Event()
        self._begun = threading.Event()
        self._watches: Watches | None = None
        self._thread = threading.Thread(target=self._run, name="localcdap-plugins", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait_until_watching(self, timeout_s: float) -> bool:
        """Wait until the watches are set; return whether they are."""
        return self._begun.wait(timeout_s)

    @property
    def is_polling(self) -> bool:
        """Whether the watcher compares fingerprints, because the system provides no watches."""
        return self._watches is None

    def close(self) -> None:
        """Stop, and wait for a running synchronization, but only shortly, because a plugin may hang."""
        self._closed.set()
        self._pending.wake()
        if self._thread.is_alive():
            self._thread.join(_CLOSING_S)
        if self._thread.is_alive():
            self._interrupt()
            self._thread.join(_CLOSING_S)

    def _run(self) -> None:
        if self._closed.wait(self._delay_s):
            return
        self._watches = Watches(self._pending)
        try:
            while not self._closed.is_set():
                if self._watches is not None:
                    self._watch(self._watches)
                else:
                    self._poll()
        finally:
            if self._watches is not None:
                self._watches.close()

    def _watch(self, watches: Watches) -> None:
        """Process changes until closed, or until the system refuses watches."""
        listing: _Listing = {}
        swept = float("-inf")
        try:
            while not self._closed.is_set():
                changed = {folder: _get_identity(folder) for folder in listing} != listing
                late = time.monotonic() - swept > _SWEEP_S
                if changed or late or not watches.are_alive():
                    listing = self._list_folders()
                    watches.renew(self._directories)
                    self._pending.note_all()
                    swept = time.monotonic()
                due = self._pending.take()
                if due is not None:
                    self._synchronize(due.touched, due.unfinished)
                    self._begun.set()
                self._pending.wait(_TICK_S)
        except (WatchesRefusedError, OSError, RuntimeError, ImportError) as refusal:
            _LOG.warning("plugin folders are checked once a second: %s", refusal)
            watches.close()
            self._watches = None

    def _poll(self) -> None:
        """Compare fingerprints until closed; a change is processed once it is the same in two checks."""
        settled = before = self._fingerprints()
        self._synchronize(None, [])
        self._begun.set()
        while not self._closed.wait(_POLL_S):
            now = self._fingerprints()
            changed = [
                path for path in now.keys() | settled.keys() if now.get(path) != settled.get(path)
            ]
            moving = [path for path in changed if now.get(path) != before.get(path)]
            if len(changed) > len(moving):
                self._synchronize([path for path in changed if path not in moving], moving)
                settled = {path: print for path, print in now.items() if path not in moving} | {
                    path: settled[path] for path in moving if path in settled
                }
            before = now

    def _synchronize(self, touched: Sequence[str] | None, unfinished: Sequence[str]) -> None:
        try:
            self._artifacts.sync(touched=touched, unfinished=unfinished)
        except LocalcdapError as error:
            if not self._closed.is_set():
                _LOG.warning("the plugin folders could not be read: %s", error)
        except Exception:
            _LOG.exception("the plugin folders could not be read")

    def _list_folders(self) -> _Listing:
        return {
            folder: _get_identity(folder)
            for directory in self._directories
            for folder in (directory, *_list_namespace_folders(directory))
        }

    def _fingerprints(self) -> dict[str, str]:
        return {
            str(place.path): _compute_fingerprint(place)
            for directory in self._directories
            for place in find_user_artifacts(directory)
        }


def _list_namespace_folders(directory: Path) -> Iterator[Path]:
    """Yield the namespace folders with artifacts."""
    folders = {place.path.parent for place in find_user_artifacts(directory)}
    yield from sorted(folders - {directory, directory.parent})


def _get_identity(folder: Path) -> tuple[int, int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _compute_fingerprint(place: ArtifactPath) -> str:
    try:
        return compute_fingerprint(place.path, get_sidecar(place.path))
    except (OSError, BadRequestError) as error:
        return str(error)
