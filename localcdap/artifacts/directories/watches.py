"""The system's watches on plugin directories and on the targets of links in them."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from localcdap.artifacts.directories.artifact_paths import ARTIFACT_SUFFIXES, find_user_artifacts
from localcdap.artifacts.directories.contents import is_content
from localcdap.artifacts.directories.pending_changes import PendingChanges

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
