"""The plugin worker: the process in which user code is inspected, configured and called.

It is forked from :mod:`localcdap.sandbox.fork_server`, or started as a process of its own, see
:mod:`localcdap.sandbox.process`, and gets one end of a connection. Standard output and standard error
belong to the plugins; the connection is the only way to the host. A worker starts as fast as the modules
that are imported here load.

Detecting and undoing the changes that user code makes to its worker process.

Noticing that user code has replaced a function, a class or a constant of a module that it shares.
"""

from __future__ import annotations

import _thread
import builtins
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MappingProxyType,
    ModuleType,
)
from typing import Any, Final, NamedTuple, NoReturn

import msgspec

import localcdap.sandbox.plugin_calls
import localcdap.sandbox.stage_configuration  # noqa: F401 - loaded before the first call
from localcdap.api.serialization.value_types import pack
from localcdap.artifacts.loading import ArtifactFinder, is_artifact_module
from localcdap.processes.limits import adopt_orphans, does_adopt_orphans, limit_memory
from localcdap.processes.spawn import write_stack_on_request
from localcdap.processes.tree import reap_children
from localcdap.rpc.frames import Fault, to_fault
from localcdap.rpc.methods import answer_calls
from localcdap.sandbox.jobs import run_job

_PACKAGE: Final = "localcdap"
_MADE_BY_PYTHON: Final = ("__annotations__", "__builtins__", "__doc__")
"""Names that Python itself sets or replaces after a module or a class was made."""
_WATCHED: Final = frozenset((_PACKAGE, "json"))
"""The packages whose modules and classes count, 3,200 names. Those of all modules of a worker would take 1 ms
more for each call, and 10 ms more for the first one of each worker, which copies every page of memory
with an object that it looks at.
"""
_WATCHED_MODULES: Final = frozenset(("importlib", "os", "re"))
"""Modules of other packages that count, without their classes."""


class _Holder(NamedTuple):
    """A module, a class, or a constant that is a dict: names with values."""

    name: str
    namespace: Mapping[Any, Any]
    is_ours: bool
    """Whether it belongs to localcdap, of which every value must stay; of other modules only functions
    and classes must.
    """


class ModuleFingerprint:
    """What modules held when this object was made: functions, classes and, of localcdap, everything.

    Comparing them takes 0.15 ms, so that it can be repeated after each call of a plugin. It finds
    mistakes, not malice: user code in the same process can deceive it. Other artifacts are safe from both,
    because they run in other processes.
    """

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self._modules = modules
        self._seen: set[str] = set()
        self._holders: list[tuple[_Holder, dict[Any, Any]]] = []
        self._functions: list[FunctionType] = []
        self._codes: list[CodeType] = []
        self._add_modules()

    def find_change(self) -> str | None:
        """Return the name of something that was replaced, removed or hidden; None when nothing was.

        A module that was imported since the last time is taken as it is.
        """
        for place, (holder, before) in enumerate(self._holders):
            if holder.namespace != before:
                changed = _find_changed_name(holder, before)
                if changed is not None:
                    return f"{holder.name}.{changed}"
                # Such as a module that was imported since, or a cache of the standard library.
                self._holders[place] = (holder, dict(holder.namespace))
        if [function.__code__ for function in self._functions] != self._codes:
            pairs = zip(self._functions, self._codes, strict=True)
            changed_function = next(each for each, code in pairs if each.__code__ is not code)
            return f"{changed_function.__module__}.{changed_function.__qualname__}"
        if len(self._modules) != len(self._seen):
            self._add_modules()
        return None

    def _add_modules(self) -> None:
        modules = dict(self._modules)
        for name in modules.keys() - self._seen:
            if name.partition(".")[0] not in _WATCHED and name not in _WATCHED_MODULES:
                continue
            for holder in _list_holders(name, modules[name]):
                self._holders.append((holder, dict(holder.namespace)))
                if holder.is_ours:
                    functions = list(_list_functions(holder.namespace))
                    self._functions += functions
                    self._codes += [function.__code__ for function in functions]
        self._seen = set(modules)


def _list_holders(name: str, module: ModuleType) -> Iterator[_Holder]:
    namespace = vars(module)
    is_ours = name.partition(".")[0] == _PACKAGE
    yield _Holder(name, namespace, is_ours)
    if name in _WATCHED_MODULES:
        return
    for key, value in list(namespace.items()):
        if isinstance(value, type) and value.__module__ == name:
            yield _Holder(f"{name}.{value.__qualname__}", vars(value), is_ours)
        elif is_ours and isinstance(value, dict) and key.isupper():
            yield _Holder(f"{name}.{key}", value, is_ours)


def _list_functions(namespace: Mapping[Any, Any]) -> Iterator[FunctionType]:
    for value in namespace.values():
        function = getattr(value, "__func__", value)  # of a class method or a static method
        if isinstance(function, property):
            function = function.fget
        if isinstance(function, FunctionType):
            yield function


def _find_changed_name(holder: _Holder, before: Mapping[Any, Any]) -> str | None:
    now = holder.namespace
    for name, value in before.items():
        if name in _MADE_BY_PYTHON or not (holder.is_ours or _is_code(value)):
            continue
        if name not in now or now[name] is not value:
            return str(name)
    for name in now.keys() - before.keys():
        # A new name in a module hides the built-in function of that name; in a class, what it inherits.
        hides = hasattr(builtins, str(name)) or isinstance(holder.namespace, type(vars(type)))
        if holder.is_ours and hides and name not in _MADE_BY_PYTHON and _is_code(now[name]):
            return str(name)
    return None


def _is_code(value: object) -> bool:
    return isinstance(
        value, FunctionType | BuiltinFunctionType | type | classmethod | staticmethod | property
    )


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
        self._threads = _RawThreads()
        self._adopts = False
        """Whether the process is to adopt what its children leave behind."""

    def enter(self) -> None:
        """Take this process, which was forked from the one that made the guard, as the one to restore."""
        self._pid = os.getpid()
        self._streams = _get_stream_identities()

    def watch(self) -> None:
        """Notice from now on which threads user code starts, and whether it disowns its processes."""
        self._threads.install()
        self._adopts = does_adopt_orphans()

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
        if _has_artifact_threads() or self._threads.running:
            damage = "it left a thread behind"
        if self._adopts and not does_adopt_orphans():
            damage = "it switched off that its process adopts orphans"
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


class _RawThreads:
    """Counts the threads that are started with ``_thread``, of which :mod:`threading` does not know.

    Python lists such a thread only when it has begun, and one that runs a built-in function never; for the
    system it is as any thread of a library such as Arrow.
    """

    def __init__(self) -> None:
        self.running: set[object] = set()
        """One object for each thread that runs or is about to."""
        self._start: Callable[..., int] = _thread.start_new_thread

    def install(self) -> None:
        """Take the place of the functions that start threads; :mod:`threading` keeps its own."""
        for name in ("start_new_thread", "start_new"):
            setattr(_thread, name, self.start)

    def start(
        self, function: Callable[..., Any], arguments: Any, named: Any = MappingProxyType({}), /
    ) -> int:
        """Start a thread as ``_thread.start_new_thread`` does."""
        this = object()

        def run() -> None:
            try:
                function(*arguments, **named)
            finally:
                self.running.discard(this)

        self.running.add(this)
        try:
            return self._start(run, ())
        except BaseException:
            self.running.discard(this)
            raise


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


WORKER_SERVICE: Final = "worker"
"""The name under which the supervisor calls :class:`WorkerService`."""
OUT_OF_MEMORY: Final = 97
"""Exit code of a worker that reached its memory limit."""


class JobResult(msgspec.Struct):
    """The outcome of one job."""

    answer: msgspec.Raw
    """None when the job raised."""
    fault: Fault | None
    damage: str | None
    """Why the process must not be used again; None when it can be."""
    has_children: bool
    """Whether processes that user code started may still run."""


class WorkerService:
    """The service that a worker offers to its supervisor."""

    def __init__(self, guard: ProcessGuard) -> None:
        self._guard = guard

    def ready(self) -> bool:
        """Answer as soon as the process has started."""
        return True

    def run(self, job: str, request: msgspec.Raw, is_last: bool = False) -> JobResult:
        """Run a job (see :mod:`localcdap.sandbox.jobs`), and restore the process after it.

        :param is_last: whether the process ends with the job, so that nothing is to be restored.
        """
        try:
            answer, fault = self._run(job, request), None
        except Exception as error:  # code of localcdap too may raise, when user code has changed it
            answer, fault = msgspec.Raw(pack(None)), to_fault(error)
        if is_last:
            return JobResult(answer, fault, None, False)
        return JobResult(answer, fault, self._guard.restore(), self._guard.reap_children())

    def _run(self, job: str, request: msgspec.Raw) -> msgspec.Raw:
        try:
            return run_job(job, request)
        except MemoryError:
            # Too little memory is left to answer, or to run anything else reliably.
            os._exit(OUT_OF_MEMORY)
        finally:
            self._guard.exit_if_forked()


def serve(connection: int, memory_mb: int, guard: ProcessGuard) -> NoReturn:
    """Answer calls until the supervisor closes the connection, and end the process.

    :param connection: descriptor of the connection.
    :param guard: made before any user code ran.
    """
    os.set_inheritable(connection, False)
    adopt_orphans()
    limit_memory(memory_mb)
    write_stack_on_request()
    guard.watch()
    answer_calls(Connection(connection), {WORKER_SERVICE: WorkerService(guard)})
    # Not sys.exit: threads and exit handlers of plugins must not keep the process alive.
    os._exit(0)


def main(arguments: list[str]) -> None:
    """Run as a process of its own.

    :param arguments: descriptor of the connection, memory limit in MiB.
    """
    connection, memory_mb = (int(argument) for argument in arguments)
    serve(connection, memory_mb, ProcessGuard())


if __name__ == "__main__":
    main(sys.argv[1:])
