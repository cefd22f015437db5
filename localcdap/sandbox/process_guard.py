"""Detecting and undoing the changes that user code makes to its worker process."""

from __future__ import annotations

import builtins
import os
import sys
import threading
from types import FrameType, FunctionType
from typing import Any, Final

from localcdap.artifacts.loading import ArtifactFinder, is_artifact_module
from localcdap.processes.tree import reap_children
from localcdap.sandbox.fingerprint import ModuleFingerprint

_STANDARD_STREAMS: Final = (0, 1, 2)
_IMPORT_HOOKS: Final = ("meta_path", "path_hooks")


class ProcessGuard:
    """The state of the process at its start, to which it is restored after each job."""

    def __init__(self) -> None:
        self._fingerprint = ModuleFingerprint(sys.modules)
        self._hooks = {name: list(getattr(sys, name)) for name in _IMPORT_HOOKS}
        self._names = vars(builtins)
        self._builtins = self._names.copy()
        self._modules = dict(sys.modules)
        self._streams = _get_stream_identities()
        self._path = list(sys.path)
        self._environment = dict(os.environ)
        self._directory = os.getcwd()  # noqa: PTH109 - a text to go back to
        self._pid = os.getpid()

    def enter(self) -> None:
        """Take this process, which was forked from the one that made the guard, as the one to restore."""
        self._pid = os.getpid()
        self._streams = _get_stream_identities()

    def exit_if_forked(self) -> None:
        """End this process if it is a forked copy of the worker."""
        if os.getpid() != self._pid:
            os._exit(0)

    def reap_children(self) -> bool:
        """Let the kernel forget the children that have ended.

        :returns: whether children are left, running or not.
        """
        try:
            for _ in reap_children():
                pass
        except ChildProcessError:
            return False
        return True

    def restore(self) -> str | None:
        """Undo the changes of user code.

        :returns: why the process must not run other code; None when it is restored completely.
        """
        # Built-in functions come first, without using any, because all code below needs them.
        before = self._names.copy()
        self._names.update(self._builtins)
        changed = any(before.get(name) is not value for name, value in self._builtins.items())
        damage = "it replaced built-in functions" if changed else None
        self._restore_environment()
        if any(sys.modules.get(name) is not module for name, module in self._modules.items()):
            sys.modules.update(self._modules)
            damage = "it removed or replaced modules"
        for name, hooks in self._hooks.items():
            if _restore_hooks(name, hooks):
                damage = f"it changed sys.{name}"
        replaced = self._fingerprint.find_change()
        if replaced is not None:
            damage = damage or f"it replaced {replaced}"
        if _get_stream_identities() != self._streams:
            damage = "it closed or replaced the standard streams"
        if _has_artifact_threads():
            damage = "it left a thread behind"
        return damage

    def _restore_environment(self) -> None:
        sys.path[:] = self._path
        if dict(os.environ) != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)
        try:
            os.chdir(self._directory)
        except OSError:
            os.chdir("/")


def _restore_hooks(name: str, before: list[Any]) -> bool:
    """Remove what user code added to a list of import hooks in ``sys``, and put back what it removed.

    :returns: whether it did either. Hooks of installed libraries stay: importing ``six`` adds one.
    """
    hooks = getattr(sys, name, [])
    known = set(map(id, before))
    added = [hook for hook in hooks if id(hook) not in known]
    kept = [hook for hook in added if _is_library_hook(hook)]
    if len(kept) == len(added) and [id(h) for h in hooks if id(h) in known] == list(
        map(id, before)
    ):
        return False
    finders = [hook for hook in kept if isinstance(hook, ArtifactFinder)]
    setattr(sys, name, [*finders, *before, *(hook for hook in kept if hook not in finders)])
    return True


def _is_library_hook(hook: object) -> bool:
    kind = hook if isinstance(hook, type | FunctionType) else type(hook)
    return isinstance(hook, ArtifactFinder) or not is_artifact_module(kind.__module__ or "")


def _get_stream_identities() -> list[tuple[int, int] | None]:
    """Return device and inode of each standard stream; None for a closed one."""
    return [_get_identity(stream) for stream in _STANDARD_STREAMS]


def _get_identity(stream: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(stream)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _has_artifact_threads() -> bool:
    """Return whether a thread other than the main thread runs code of an artifact, or is about to.

    Threads that belong to libraries do not count.
    """
    main = threading.main_thread().ident
    running = (frame for ident, frame in sys._current_frames().items() if ident != main)
    return any(map(_is_running_artifact, running)) or any(
        map(_is_going_to_run_artifact, threading.enumerate())
    )


def _is_running_artifact(frame: FrameType | None) -> bool:
    while frame is not None:
        if is_artifact_module(str(frame.f_globals.get("__name__", ""))):
            return True
        frame = frame.f_back
    return False


def _is_going_to_run_artifact(thread: threading.Thread) -> bool:
    owners = (getattr(thread, "_target", None), type(thread))
    return isinstance(thread, threading.Timer) or any(
        is_artifact_module(str(getattr(owner, "__module__", ""))) for owner in owners
    )
