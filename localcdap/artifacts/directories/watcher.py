"""Watching the plugin directories, and synchronizing the index soon after a change.

Changes are reported by watchdog. In addition the watcher compares the status of each directory ten times a
second, because watchdog reports a moved file half a second late and does not watch a directory that does
not exist yet. When the system provides no (more) watches, the watcher compares the fingerprints of all
artifacts once a second instead. A full check every 15 seconds finds changes without any event, as on
network drives.

The system's watches on plugin directories and on the targets of links in them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.artifacts.directories.artifact_paths import (
    ARTIFACT_SUFFIXES,
    ArtifactPath,
    find_user_artifacts,
)
from localcdap.artifacts.directories.contents import compute_fingerprint, is_content
from localcdap.artifacts.directories.identity import get_sidecar
from localcdap.artifacts.directories.pending_changes import PendingChanges
from localcdap.artifacts.service import ArtifactService

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, EventEmitter, ObservedWatch


_LOG: Final = logging.getLogger(__name__)
_PATIENCE_S: Final = 5.0
"""Seconds since the last write after which a file that was not closed counts as complete."""
_BLANK_S: Final = 1.0
"""Seconds that an empty new file may wait for its first write."""
_ABSENT: Final = (FileNotFoundError, NotADirectoryError, PermissionError)


class WatchesRefusedError(Exception):
    """The system provides no watches, or no more."""


class _WatchedFolder(NamedTuple):
    """A folder to watch for changes of artifacts in a plugin directory."""

    real: Path
    shown: Path
    """The path of the folder in the plugin directory, which may be a link."""
    directory: Path
    only: str | None = None
    """The name of the only file in it that matters; None for all files."""


class Watches:
    """The current watches. One thread renews them; watchdog's threads report changes."""

    def __init__(self, notices: PendingChanges) -> None:
        self._pending = notices
        self._observer: BaseObserver | None = None
        self._set: dict[_WatchedFolder, tuple[tuple[int, int], ObservedWatch]] = {}

    def renew(self, directories: Sequence[Path]) -> None:
        """Set watches for the current contents of the directories.

        :raises WatchesRefusedError: when the system refuses.
        """
        wanted = {each: _get_inode(each.real) for each in _list_wanted(directories)}
        emitters = self._observer.emitters if self._observer is not None else ()
        alive = {emitter.watch for emitter in emitters if _is_alive(emitter)}
        for each, (old, stale) in list(self._set.items()):
            if wanted.get(each) != old or stale not in alive:
                del self._set[each]
                self._remove(stale)
        for each, inode in wanted.items():
            if inode is not None and each not in self._set:
                watch = self._add(each)
                if watch is not None:
                    self._set[each] = (inode, watch)

    def are_alive(self) -> bool:
        """Return whether all watches work; the next :meth:`renew` sets broken ones again."""
        return self._observer is None or all(map(_is_alive, self._observer.emitters))

    def close(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer = None
        self._set.clear()

    def _add(self, wanted: _WatchedFolder) -> ObservedWatch | None:
        from watchdog import events

        kinds = [
            events.FileCreatedEvent,
            events.FileModifiedEvent,
            events.FileClosedEvent,
            events.FileMovedEvent,
            events.FileDeletedEvent,
            events.FileAttribEvent,
            events.DirCreatedEvent,
            events.DirMovedEvent,
            events.DirDeletedEvent,
            events.DirAttribEvent,
        ]
        relay: Any = _Relay(self._pending, wanted)
        try:
            return self._get_observer().schedule(
                relay,
                str(wanted.real),
                recursive=wanted.only is None,
                event_filter=kinds,
            )
        except _ABSENT:  # deleted meanwhile, or not readable; the next check handles it
            return None
        except OSError as error:
            raise WatchesRefusedError(error.strerror or str(error)) from error

    def _get_observer(self) -> BaseObserver:
        if self._observer is None:
            from watchdog.observers import Observer

            # Watchdog warns of folders that appear or vanish while it walks through them. That does no
            # harm: broken watches are set again, and the full check finds missed changes.
            warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
            logging.getLogger("watchdog").setLevel(logging.CRITICAL)
            observer: Any = Observer()
            observer._emitter_class = _make_quiet(observer._emitter_class)
            observer.start()
            self._observer = observer
        return self._observer

    def _remove(self, watch: ObservedWatch) -> None:
        if self._observer is not None:
            with contextlib.suppress(KeyError, OSError):  # the watch may have ended with its folder
                self._observer.unschedule(watch)


class _Relay:
    """Turns the events of one watch into pending changes."""

    def __init__(self, notices: PendingChanges, wanted: _WatchedFolder) -> None:
        self._pending = notices
        self._folder = wanted

    def dispatch(self, event: Any) -> None:
        """Handle an event; watchdog calls this."""
        kind = event.event_type
        for name in (event.src_path, event.dest_path):
            if name:
                path = Path(os.fsdecode(name))
                self._note(path, kind, is_file=not event.is_directory)

    def _note(self, path: Path, kind: str, *, is_file: bool) -> None:
        if kind in ("closed", "deleted", "moved"):
            self._pending.finish(path)
        try:
            inner = path.relative_to(self._folder.real)
        except ValueError:
            return
        if self._folder.only is not None:
            if inner.name == self._folder.only:
                self._touch(self._folder.shown, path, kind, is_file=is_file)
            return
        self._touch(self._folder.shown / inner, path, kind, is_file=is_file)

    def _touch(self, shown: Path, path: Path, kind: str, *, is_file: bool) -> None:
        parts = shown.relative_to(self._folder.directory).parts
        if not parts:
            self._pending.note_all()
        elif all(is_content(part) for part in parts):
            artifacts = list(_list_possible_artifacts(self._folder.directory, parts))
            self._pending.note(artifacts)
            if is_file and kind == "modified":  # closing the file causes another event
                self._pending.begin(path, artifacts, _PATIENCE_S)
            elif is_file and kind == "created" and shown in artifacts and _is_blank(path):
                self._pending.begin(path, artifacts, _BLANK_S)


def _list_possible_artifacts(directory: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    """Yield the paths in a plugin directory that may be the artifact to which a changed path belongs."""
    for depth in (1, 2):
        if len(parts) >= depth:
            path = directory.joinpath(*parts[:depth])
            yield path
            if path.suffix == ".json":  # it may be the sidecar of an artifact
                yield from (path.with_suffix(suffix) for suffix in ARTIFACT_SUFFIXES)


def _is_blank(path: Path) -> bool:
    """Return whether a new file that will be an artifact is still empty.

    A file that is moved or linked into the folder is created too, but has its content already.
    """
    try:
        blank = path.stat().st_size == 0
    except OSError:
        return False
    return blank and path.suffix in ARTIFACT_SUFFIXES and path.name != "__init__.py"


def _list_wanted(directories: Sequence[Path]) -> Iterator[_WatchedFolder]:
    for directory in directories:
        yield _WatchedFolder(_resolve(directory), directory, directory)
        places = list(find_user_artifacts(directory))
        for folder in {place.path.parent for place in places} - {directory, directory.parent}:
            if folder.is_symlink():
                yield _WatchedFolder(_resolve(folder), folder, directory)
        for place in places:
            if place.path.is_symlink():
                real = _resolve(place.path)
                if real.is_dir():
                    yield _WatchedFolder(real, place.path, directory)
                else:
                    yield _WatchedFolder(real.parent, place.path, directory, real.name)


def _is_alive(emitter: EventEmitter) -> bool:
    return emitter.is_alive()


def _make_quiet(emitter: type[EventEmitter]) -> type[EventEmitter]:
    """Return a variant of watchdog's thread for one watch that logs errors, such as for a moved folder."""

    class Quiet(emitter):  # type: ignore[misc, valid-type]
        def run(self) -> None:
            try:
                super().run()
            except Exception as error:
                _LOG.debug("a watch ended: %s", error)

    return Quiet


def _resolve(path: Path) -> Path:
    # pathlib raises where a link leads to itself.
    return Path(os.path.realpath(path))


def _get_inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


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
