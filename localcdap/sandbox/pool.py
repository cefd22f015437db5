"""The pool of plugin workers of an instance: a slow plugin does not block the others.

:class:`PluginWorker` runs user code in other processes, within limits: one for each set of artifacts whose
code runs together (:class:`ProcessPool`).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from localcdap.api.errors import (
    HostLostError,
    LocalcdapError,
    PluginError,
    SessionLostError,
)
from localcdap.api.failures import FailureCollector
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.artifacts.loading import parse_dumped_frames
from localcdap.artifacts.model import Inspection, PluginRef
from localcdap.rpc.frames import to_error
from localcdap.sandbox.configure_cache import ConfigureCache, ConnectedCheckResult
from localcdap.sandbox.jobs import InspectRequest, get_answer_type, get_job_name, inspect
from localcdap.sandbox.plugin_calls import JobRunner
from localcdap.sandbox.process import (
    ExitReason,
    WorkerLauncher,
    WorkerLostError,
    WorkerProcess,
    make_launcher,
)
from localcdap.sandbox.stage_configuration import (
    ConfigureRequest,
    ConfigureResult,
    configure_stage,
    create_damage_warning,
    explain_error,
)
from localcdap.sandbox.worker import JobResult

ArtifactDigests = tuple[str, ...]
"""The digests of the artifacts whose code runs in a process, sorted; for a session, its name follows."""
_MOST_IDLE: Final = 8
"""The most processes that wait for a call; each takes about 10 MB of its own."""
_MOST_SESSIONS: Final = 16
"""The most processes of sessions. The one that was used least recently ends when there are more."""
_MOST_LOSSES: Final = 1000
"""Lost sessions of which the pool remembers the cause, until their next call."""
_SESSION: Final = "session "


class ProcessPool:
    """Idle worker processes, by the artifacts whose code they run. Threads may share it.

    Code of an artifact never runs in a process in which another one's did, unless a stage uses both.

    :param memory_mb: memory of each process, in MiB.
    :param launcher: starts the processes; the default is the one for this system.
    """

    def __init__(self, memory_mb: int, launcher: WorkerLauncher | None = None) -> None:
        self.memory_mb: Final = memory_mb
        self._launcher = launcher if launcher is not None else make_launcher()
        self._lock = threading.Lock()
        self._released = threading.Condition(self._lock)
        self._held: set[str] = set()
        """The sessions that run a call."""
        self._idle: OrderedDict[ArtifactDigests, WorkerProcess] = OrderedDict()
        self._losses: OrderedDict[ArtifactDigests, str] = OrderedDict()
        """Why the processes of sessions have ended that did not end with their sessions."""
        self._closed = False
        self._ending = ThreadPoolExecutor(1, "localcdap-worker-end")

    def start(self) -> None:
        """Do ahead what the first :meth:`take` would have to do.

        :raises OSError: when no process can be started.
        """
        self._launcher.start()

    @contextlib.contextmanager
    def hold(self, session: str) -> Iterator[None]:
        """Wait until no other call of a session runs, and have others wait during the block.

        Else two calls would have two processes, of which one keeps nothing for the next call.

        :param session: its name; with "" nothing waits.
        :raises HostLostError: when the pool is closed meanwhile.
        """
        if not session:
            yield
            return
        with self._lock:
            self._released.wait_for(lambda: self._closed or session not in self._held)
            if self._closed:
                raise HostLostError("The plugin worker was closed.")
            self._held.add(session)
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(session)
                self._released.notify_all()

    def take(self, artifacts: ArtifactDigests) -> WorkerProcess:
        """Return a process in which only code of these artifacts ran so far, an idle one or a new one.

        :raises WorkerLostError: when no process can be started.
        :raises SessionLostError: once, when the process of a session was lost since its last call.
        """
        with self._lock:
            process = self._idle.pop(artifacts, None)
            outdated = [each for each in self._idle if _is_outdated(each, artifacts)]
            ended = [self._idle.pop(each) for each in outdated]
        for each in ended:
            self.end_soon(each)
            self.lose(artifacts, "was ended because the artifacts that it uses have changed")
        if process is not None:
            if process.is_usable:
                return process
            self.lose(artifacts, process.end())
        with self._lock:
            cause = self._losses.pop(artifacts, None)
        if cause is not None:
            raise SessionLostError(f"The process of the session was lost: it {cause}.")
        return WorkerProcess(self._launcher, self.memory_mb)

    def lose(self, artifacts: ArtifactDigests, cause: str) -> None:
        """Log that the process of a session was lost, and have :meth:`take` say so; else do nothing.

        :param cause: the end of a sentence whose subject is the process.
        """
        if not _is_session(artifacts):
            return
        _LOG.warning("The process of %s was lost: it %s.", artifacts[-1], cause)
        with self._lock:
            self._losses[artifacts] = cause
            while len(self._losses) > _MOST_LOSSES:
                self._losses.popitem(last=False)

    def give_back(self, artifacts: ArtifactDigests, process: WorkerProcess) -> None:
        """Keep a process for the next call. The one that was used least recently ends when there are many."""
        spare = []
        of_session = _is_session(artifacts)
        with self._lock:
            if self._closed or artifacts in self._idle:
                spare.append(process)
            else:
                self._idle[artifacts] = process
            alike = [each for each in self._idle if _is_session(each) is of_session]
            most = _MOST_SESSIONS if of_session else _MOST_IDLE
            evicted = alike[: max(0, len(alike) - most)]
            spare += [self._idle.pop(each) for each in evicted]
        for key in evicted:
            self.lose(key, f"was the least recently used of more than {_MOST_SESSIONS} sessions")
        for each in spare:
            self.end_soon(each)

    def end_session(self, session: str) -> None:
        """End the idle processes of a session."""
        name = _SESSION + session
        with self._lock:
            found = [each for each in self._idle if name in each]
            ended = [self._idle.pop(each) for each in found]
            for lost in [each for each in self._losses if name in each]:
                del self._losses[lost]
        for process in ended:
            self.end_soon(process)

    def end_soon(self, process: WorkerProcess) -> None:
        """End a process that is not needed any more, without waiting for it."""
        with suppress(RuntimeError):  # closed, which ends all processes
            self._ending.submit(process.kill)

    def close(self) -> None:
        """End all processes, even those in a call."""
        with self._lock:
            self._closed = True
            idle = list(self._idle.values())
            self._idle.clear()
            self._released.notify_all()
        for process in idle:
            process.kill()
        self._ending.shutdown()
        self._launcher.close()


def _is_session(artifacts: ArtifactDigests) -> bool:
    return any(each.startswith(_SESSION) for each in artifacts)


def _is_outdated(old: ArtifactDigests, new: ArtifactDigests) -> bool:
    """Return whether a process is one of the same session whose artifacts were others, but not all."""
    return _is_session(new) and old != new and old[-1] == new[-1] and len({*old} & {*new}) > 1


def get_digests(plugin: PluginRef, session: str = "") -> ArtifactDigests:
    """Return the digests of the artifacts whose code a stage runs: of its plugin and of those it uses.

    :param session: the name of the session whose process it is; "" for none.
    """
    found, waiting = {plugin.digest}, [*plugin.uses]
    while waiting:
        used = waiting.pop()
        found.add(used.digest)
        waiting += used.uses
    return (*sorted(found), *([_SESSION + session] if session else []))


_LOG: Final = logging.getLogger(__name__)
_ATTEMPTS: Final = 2
"""Attempts at a job without effects whose process is killed from outside."""


class PluginWorker(JobRunner):
    """Runs jobs with user code in separate processes. Threads may share it; they take turns.

    Each artifact has a process of its own, see :class:`localcdap.sandbox.pool.ProcessPool`, so that
    none can change the results of another. A process that a plugin hung, crashed or damaged is replaced.

    :param time_limit_s: seconds that one call may take.
    :param memory_mb: memory of a process, in MiB, with the processes that a plugin starts.
    :param cache: remembered results of :meth:`configure`, when other workers share them.
    :param processes: the processes, when other workers share them; they are not closed with this worker.
    """

    def __init__(
        self,
        time_limit_s: float = 10.0,
        memory_mb: int = 1024,
        cache: ConfigureCache | None = None,
        processes: ProcessPool | None = None,
    ) -> None:
        self._time_limit_s = time_limit_s
        self._turn = threading.Lock()
        self._owns_processes = processes is None
        self._processes = ProcessPool(memory_mb) if processes is None else processes
        self._process: WorkerProcess | None = None
        """The process that runs a call; once it is given back, it belongs to the pool."""
        self._closed = False
        self._cache = cache if cache is not None else ConfigureCache()

    def start(self) -> None:
        """Prepare the first call in the background, so that it need not wait for a start."""
        threading.Thread(
            target=self._start_quietly, name="localcdap-worker-start", daemon=True
        ).start()

    def inspect(self, path: str, digest: str) -> Inspection:
        """Find the plugins and applications of an artifact, always in a new process.

        :param path: a ``.py`` file or a folder.
        :raises PluginError: when its code hung, crashed or took too much memory.
        :raises HostLostError: when the worker was closed meanwhile.
        """
        request, name = InspectRequest(path, digest), Path(path).name
        with self._turn, self._raise_host_lost_if_closed():
            who = f"{name}: its code"
            found, _ = self._run(
                *(inspect, request, (digest,), path, who),
                log_name=name,
                once=True,
                attempts=_ATTEMPTS,
            )
            return found

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        """Configure a stage, or return the remembered result of the same request.

        A plugin that hangs, crashes or takes too much memory is one failure of the result. One that damages
        its process gets a warning, and its result is not remembered.
        """
        kept = self._cache.find(request)
        if kept is not None:
            return kept
        plugin = request.plugin
        who = f"Plugin '{plugin.name}' of stage '{request.stage}'"
        with self._turn:
            crashed, damage = False, None
            try:
                digests = get_digests(plugin)
                result, damage = self._run(
                    configure_stage, request, digests, plugin.path, who, attempts=_ATTEMPTS
                )
            except PluginError as error:
                crashed = True
                failures = FailureCollector(request.stage)
                added = failures.add(error.message, error.corrective_action)
                if error.traceback:
                    added.with_stacktrace(error.traceback)
                result = ConfigureResult(list(failures))
        if damage is None:
            self._cache.store(request, result, crashed)
        else:
            result.warnings += create_damage_warning(request.stage, plugin.name, damage)
        return result

    def do(
        self,
        job: Callable[[_R], _T],
        request: _R,
        plugin: PluginRef,
        who: str,
        session: str = "",
    ) -> _T:
        """See :meth:`JobRunner.do`."""
        with self._turn, self._raise_host_lost_if_closed():
            return self._run(job, request, get_digests(plugin, session), plugin.path, who)[0]

    def close(self) -> None:
        """End the process, even while another thread waits for a call in it."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        if self._owns_processes:
            self._processes.close()

    def _run(
        self,
        job: Callable[[_R], _T],
        request: _R,
        artifacts: ArtifactDigests,
        path: str,
        who: str,
        *,
        log_name: str | None = None,
        once: bool = False,
        attempts: int = 1,
    ) -> tuple[_T, str | None]:
        """Run a job in the process of the artifacts, and end the process when the job damaged it.

        :param once: run it in a new process, which ends with it.
        :param attempts: processes that may be killed from outside before it fails: 1 for a job that may have
            effects.
        :returns: the result of the job, and the damage that it did.
        :raises PluginError: when the process is lost; ``who`` starts its message.
        :raises LocalcdapError: what the job raised.
        """
        call = get_job_name(job), msgspec.Raw(pack(request)), self._time_limit_s
        try:
            process, result = self._call_process(
                () if once else artifacts, path, call, attempts=attempts, is_last=once
            )
        except WorkerLostError as lost:
            raise self._to_error(lost, who, path, artifacts) from None
        if result.damage:
            _LOG.info("%s: its process is replaced because %s", log_name or who, result.damage)
        # The next call in the process may be one of another worker, and this one may be closed meanwhile.
        self._process = None
        if once:
            self._processes.end_soon(process)
        elif result.damage:
            process.kill()
            self._processes.lose(artifacts, f"was replaced: {result.damage}")
        else:
            self._processes.give_back(artifacts, process)
        if result.fault is not None:
            raise explain_error(to_error(result.fault), who, result.damage)
        answer: _T = unpack(result.answer, get_answer_type(job))
        return answer, result.damage

    def _call_process(
        self,
        artifacts: ArtifactDigests,
        path: str,
        call: tuple[str, msgspec.Raw, float],
        *,
        attempts: int,
        is_last: bool,
    ) -> tuple[WorkerProcess, JobResult]:
        """Call a process of the artifacts, or others that follow it when it is killed from outside.

        :param call: the arguments of :meth:`WorkerProcess.run`.
        :raises WorkerLostError: when the last one is lost, or the job has ended one.
        """
        for left in reversed(range(attempts)):
            process = self._take(artifacts, path)
            try:
                return process, process.run(*call, is_last=is_last)
            except BaseException as error:
                process.kill()
                if self._closed:
                    raise PluginError("The plugin worker was closed.") from None
                is_killed = isinstance(error, WorkerLostError) and error.reason is ExitReason.KILLED
                if not (is_killed and left):
                    raise
                _LOG.info("%s: a process was killed; another one is called", path)
        raise AssertionError("unreachable")

    def _take(self, artifacts: ArtifactDigests, path: str) -> WorkerProcess:
        if self._closed:
            raise PluginError("The plugin worker was closed.")
        try:
            self._process = process = self._processes.take(artifacts)
        except WorkerLostError as lost:
            raise self._to_error(lost, "The plugin worker", path) from None
        if self._closed:  # meanwhile, and without knowing of this process
            process.kill()
        return process

    @contextlib.contextmanager
    def _raise_host_lost_if_closed(self) -> Iterator[None]:
        try:
            yield
        except PluginError as error:
            if self._closed:
                raise HostLostError(error.message) from None
            raise

    def _start_quietly(self) -> None:
        try:
            self._processes.start()
        except (OSError, LocalcdapError) as error:
            _LOG.debug("the plugin worker did not start: %s", error)

    def _to_error(
        self, lost: WorkerLostError, who: str, path: str, artifacts: ArtifactDigests = ()
    ) -> PluginError:
        frames = parse_dumped_frames(lost.output, Path(path))
        match lost.reason:
            case ExitReason.TIME:
                message = f"{who} did not finish within {self._time_limit_s:g} s."
                action = (
                    "Look for an endless loop or a slow call in it, or raise plugin.time_limit_s."
                )
            case ExitReason.MEMORY:
                message = f"{who} took more than {self._processes.memory_mb} MiB of memory."
                action = "Let it take less memory, or raise plugin.memory_mb."
            case ExitReason.CRASH:
                message = f"{who} {lost.detail}."
                action = "Correct the plugin: it must raise an exception instead."
            case ExitReason.KILLED:
                message = f"{who} {lost.detail}."
                action = "Look whether the machine has too little memory, and try again."
        if not _is_session(artifacts):
            return PluginError(message, action, traceback=frames)
        _LOG.warning("The process of %s was lost: %s", artifacts[-1], message)
        may_repeat = lost.reason in (ExitReason.CRASH, ExitReason.KILLED)
        kind = SessionLostError if may_repeat else PluginError
        return kind(message, action, traceback=frames)


_R = TypeVar("_R")
_T = TypeVar("_T")
MOST: Final = 4
"""The most workers at once."""
QUICK_S: Final = 1.0
"""A plugin whose call ends within so many seconds, the start of its process included, counts as quick."""
_PATIENCE_S: Final = 0.1
"""Seconds that a call waits for a worker before the pool starts another one."""


class PluginWorkers(JobRunner):
    """A pool with the interface of :class:`PluginWorker`, for up to four calls at once. Threads may share it.

    There is one call at a time while that is enough. When it takes longer than most calls do, or for another
    inspection, the pool starts another one. One of the four serves only plugins whose last call was quick, so
    that plugins that hang cannot occupy all of them. All share the processes, of which each artifact has its
    own.

    :param time_limit_s: seconds that one call may take.
    :param memory_mb: memory of each process, in MiB.
    """

    def __init__(self, time_limit_s: float = 10.0, memory_mb: int = 1024) -> None:
        self._cache = ConfigureCache()
        self._processes = ProcessPool(memory_mb)
        self._new: Callable[[], PluginWorker] = lambda: PluginWorker(
            time_limit_s, cache=self._cache, processes=self._processes
        )
        self._changed = threading.Condition()
        self._idle = [self._new()]
        self._busy: dict[PluginWorker, bool] = {}
        """The workers that run a call, and whether that call may take long."""
        self._quick: set[Hashable] = set()
        self._closed = False

    def start(self) -> None:
        """Start the first process in the background, so that the first call need not wait for it."""
        with self._changed:
            for worker in self._idle:
                worker.start()

    def inspect(self, path: str, digest: str) -> Inspection:
        """See :meth:`PluginWorker.inspect`. Who calls it at the same time wants it done at the same time."""
        with self._use_worker(digest, patience_s=0) as worker:
            return worker.inspect(path, digest)

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        """See :meth:`PluginWorker.configure`."""
        kept = self._cache.find(request)
        if kept is not None:
            return kept
        key = (_get_class_key(request.plugin), request.locations is not None)
        with self._use_worker(key) as worker:
            return worker.configure(request)

    def find_remembered(self, request: ConfigureRequest) -> ConfigureResult | None:
        """Return the remembered result of the same request; None when the plugin must be called."""
        return self._cache.find(request)

    def find_connected(self, request: ConfigureRequest) -> ConnectedCheckResult | None:
        """Return the last result of connected checks of the same stage; None when there were none."""
        return self._cache.find_connected(request)

    def do(
        self,
        job: Callable[[_R], _T],
        request: _R,
        plugin: PluginRef,
        who: str,
        session: str = "",
    ) -> _T:
        """See :meth:`JobRunner.do`."""
        key = (_get_class_key(plugin), job, getattr(request, "method", None))
        with self._processes.hold(session), self._use_worker(key) as worker:
            return worker.do(job, request, plugin, who, session)

    def end_session(self, session: str) -> None:
        """End the processes of a session."""
        self._processes.end_session(session)

    def close(self) -> None:
        """End the processes, even while other threads wait for calls in them."""
        with self._changed:
            self._closed = True
            workers = [*self._idle, *self._busy]
            self._changed.notify_all()
        for worker in workers:
            worker.close()
        self._processes.close()

    @contextlib.contextmanager
    def _use_worker(
        self, key: Hashable, *, patience_s: float = _PATIENCE_S
    ) -> Iterator[PluginWorker]:
        """Take a worker for one call.

        :param key: what is called; the pool remembers for the next time whether it was quick.
        :param patience_s: how long to wait for other calls before there is another worker.
        """
        worker = self._take(may_be_long=key not in self._quick, patience_s=patience_s)
        start = time.monotonic()
        try:
            yield worker
        finally:
            is_quick = time.monotonic() - start < QUICK_S
            self._give_back(worker, key, is_quick=is_quick)

    def _take(self, *, may_be_long: bool, patience_s: float) -> PluginWorker:
        """Wait for a worker that runs no call, and take it.

        :raises HostLostError: when the pool is closed meanwhile.
        """
        since = time.monotonic()
        with self._changed:
            while True:
                has_room = not may_be_long or sum(self._busy.values()) < MOST - 1
                is_late = time.monotonic() - since >= patience_s
                if has_room and is_late and not self._idle and len(self._busy) < MOST:
                    self._idle.append(self._new())
                if self._closed:
                    raise HostLostError("The plugin worker was closed.")
                if has_room and self._idle:
                    worker = self._idle.pop(0)
                    self._busy[worker] = may_be_long
                    return worker
                self._changed.wait(_PATIENCE_S)

    def _give_back(self, worker: PluginWorker, key: Hashable, *, is_quick: bool) -> None:
        with self._changed:
            (self._quick.add if is_quick else self._quick.discard)(key)
            del self._busy[worker]
            # First in the list, so that the others can end; last after a slow call, which may have killed it.
            self._idle.insert(0 if is_quick else len(self._idle), worker)
            spare = [] if self._busy else self._idle[1:]
            self._idle = [each for each in self._idle if each not in spare]
            self._changed.notify_all()
        for each in spare:
            each.close()


def _get_class_key(plugin: PluginRef) -> Hashable:
    return plugin.digest, plugin.class_name
