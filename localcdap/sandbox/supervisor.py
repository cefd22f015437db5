"""The supervisor of plugin workers: it runs user code in other processes, within limits."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from localcdap.api.errors import HostError, HostLostError, LocalcdapError, PluginError
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.api.serialization.value_types import pack, unpack
from localcdap.artifacts.loading import parse_dumped_frames
from localcdap.artifacts.model import Inspection, PluginRef
from localcdap.rpc.frames import to_error
from localcdap.sandbox.configure_cache import ConfigureCache
from localcdap.sandbox.jobs import InspectRequest, get_answer_type, get_job_name, inspect
from localcdap.sandbox.plugin_calls import JobRunner
from localcdap.sandbox.process import ExitReason, WorkerLostError, WorkerProcess
from localcdap.sandbox.process_pool import ArtifactDigests, ProcessPool, get_digests
from localcdap.sandbox.stage_configuration import (
    ConfigureRequest,
    ConfigureResult,
    configure_stage,
)

_LOG: Final = logging.getLogger(__name__)
_DAMAGE_ACTION: Final = (
    "Let the plugin end what it starts, and leave modules that it does not own as they are."
)
_R = TypeVar("_R")
_T = TypeVar("_T")


class PluginWorker(JobRunner):
    """Runs jobs with user code in separate processes. Threads may share it; they take turns.

    Each artifact has a process of its own, see :class:`localcdap.sandbox.process_pool.ProcessPool`, so that
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
        """The process that runs a call, or ran the last one."""
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
            return self._run(inspect, request, (digest,), path, who, log_name=name, once=True)[0]

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
                result, damage = self._run(
                    configure_stage, request, get_digests(plugin), plugin.path, who
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
            result.warnings += _create_damage_warning(request.stage, plugin.name, damage)
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
    ) -> tuple[_T, str | None]:
        """Run a job in the process of the artifacts, and end the process when the job damaged it.

        :param once: run it in a new process, which ends with it.
        :returns: the result of the job, and the damage that it did.
        :raises PluginError: when the process is lost; ``who`` starts its message.
        :raises LocalcdapError: what the job raised.
        """
        name, packed = get_job_name(job), msgspec.Raw(pack(request))
        try:
            process = self._take(() if once else artifacts)
        except WorkerLostError as lost:
            raise self._to_error(lost, "The plugin worker", path) from None
        try:
            result = process.run(name, packed, self._time_limit_s, is_last=once)
        except BaseException as error:
            process.kill()
            if self._closed:
                raise PluginError("The plugin worker was closed.") from None
            if isinstance(error, WorkerLostError):
                raise self._to_error(error, who, path) from None
            raise
        if result.damage:
            _LOG.info("%s: its process is replaced because %s", log_name or who, result.damage)
        if once:
            self._processes.end_soon(process)
        elif result.damage:
            process.kill()
        else:
            self._processes.give_back(artifacts, process)
        if result.fault is not None:
            raise _explain_error(to_error(result.fault), who, result.damage)
        answer: _T = unpack(result.answer, get_answer_type(job))
        return answer, result.damage

    def _take(self, artifacts: ArtifactDigests) -> WorkerProcess:
        if self._closed:
            raise PluginError("The plugin worker was closed.")
        self._process = process = self._processes.take(artifacts)
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

    def _to_error(self, lost: WorkerLostError, who: str, path: str) -> PluginError:
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
        return PluginError(message, action, traceback=frames)


def _explain_error(error: LocalcdapError, who: str, damage: str | None) -> LocalcdapError:
    """Return the error of a job. When code of localcdap fails after user code has changed it, the plugin is
    the cause.
    """
    if damage is None or type(error) is not HostError:
        return error
    return PluginError(
        f"{who} made the code of localcdap in its process fail: {damage}. ({error.message})",
        _DAMAGE_ACTION,
        traceback=error.traceback,
    )


def _create_damage_warning(stage: str, plugin: str, damage: str) -> list[ValidationFailure]:
    warnings = FailureCollector(stage)
    warnings.add(
        f"Plugin '{plugin}' changed its process, which was replaced: {damage}.",
        _DAMAGE_ACTION,
    )
    return list(warnings)
