"""The supervisor of one plugin worker: it runs user code in another process, within limits."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from localcdap.api.errors import HostLostError, PluginError
from localcdap.api.failures import FailureCollector
from localcdap.api.serialization.structs import pack, unpack
from localcdap.artifacts.model import Inspection, PluginRef
from localcdap.artifacts.tracebacks import parse_dumped_frames
from localcdap.rpc.frames import to_error
from localcdap.sandbox.configure_cache import ConfigureCache
from localcdap.sandbox.jobs import InspectRequest, get_answer_type, get_job_name, inspect
from localcdap.sandbox.plugin_calls import JobRunner
from localcdap.sandbox.process import ExitReason, WorkerLostError, WorkerProcess
from localcdap.sandbox.stage_configuration import (
    ConfigureRequest,
    ConfigureResult,
    configure_stage,
)

_LOG: Final = logging.getLogger(__name__)
_R = TypeVar("_R")
_T = TypeVar("_T")


class PluginWorker(JobRunner):
    """Runs jobs with user code in a separate process. Threads may share it; they take turns.

    The process starts with the first call, or with :meth:`start`. A process that a plugin hung, crashed or
    damaged is replaced. When a call fails in a process where other artifacts ran before, it is repeated
    once in a new process, because another artifact's code may be the cause.

    :param time_limit_s: seconds that one call may take.
    :param memory_mb: memory of the process, in MiB.
    :param cache: remembered results of :meth:`configure`, when other workers share them.
    """

    def __init__(
        self,
        time_limit_s: float = 10.0,
        memory_mb: int = 1024,
        cache: ConfigureCache | None = None,
    ) -> None:
        self._time_limit_s = time_limit_s
        self._cachery_mb = memory_mb
        self._turn = threading.Lock()
        self._process: WorkerProcess | None = None
        self._closed = False
        self._cache = cache if cache is not None else ConfigureCache()

    def start(self) -> None:
        """Start the process in the background, so that the first call need not wait for it."""
        threading.Thread(
            target=self._start_quietly, name="localcdap-worker-start", daemon=True
        ).start()

    def inspect(self, path: str, digest: str) -> Inspection:
        """Find the plugins and applications of an artifact.

        :param path: a ``.py`` file or a folder.
        :raises PluginError: when its code hung, crashed or took too much memory.
        :raises HostLostError: when the worker was closed meanwhile.
        """
        request, name = InspectRequest(path, digest), Path(path).name
        with self._turn, self._raise_host_lost_if_closed():
            others = bool(self._process and self._process.digests - {digest})
            found = self._run(inspect, request, digest, path, f"{name}: its code", name)
            if found.raised and others:
                self._retire()
                found = self._run(inspect, request, digest, path, f"{name}: its code", name)
            return found

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        """Configure a stage, or return the remembered result of the same request.

        A plugin that hangs, crashes or takes too much memory is one failure of the result.
        """
        kept = self._cache.find(request)
        if kept is not None:
            return kept
        plugin = request.plugin
        who = f"Plugin '{plugin.name}' of stage '{request.stage}'"
        with self._turn:
            crashed = False
            try:
                result = self._run(configure_stage, request, plugin.digest, plugin.path, who)
            except PluginError as error:
                crashed = True
                failures = FailureCollector(request.stage)
                added = failures.add(error.message, error.corrective_action)
                if error.traceback:
                    added.with_stacktrace(error.traceback)
                result = ConfigureResult(list(failures))
        self._cache.store(request, result, crashed)
        return result

    def do(self, job: Callable[[_R], _T], request: _R, plugin: PluginRef, who: str) -> _T:
        """See :meth:`JobRunner.do`."""
        with self._turn, self._raise_host_lost_if_closed():
            return self._run(job, request, plugin.digest, plugin.path, who)

    def close(self) -> None:
        """End the process, even while another thread waits for a call in it."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()

    def _run(
        self,
        job: Callable[[_R], _T],
        request: _R,
        digest: str,
        path: str,
        who: str,
        log_name: str | None = None,
    ) -> _T:
        """Run a job in the process, and replace the process when the job damaged it.

        :raises PluginError: when the process is lost; ``who`` starts its message.
        :raises LocalcdapError: what the job raised.
        """
        name, packed = get_job_name(job), msgspec.Raw(pack(request))
        while True:
            try:
                process = self._get_running()
                others = process.digests - {digest}
                process.digests.add(digest)
            except WorkerLostError as lost:
                raise self._to_error(lost, "The plugin worker", path) from None
            try:
                result = process.get_service(self._time_limit_s).run(name, packed)
                break
            except WorkerLostError as lost:
                self._retire()
                if self._closed:
                    raise PluginError("The plugin worker was closed.") from None
                if lost.reason is ExitReason.TIME or not others:
                    raise self._to_error(lost, who, path) from None
        if result.damage:
            _LOG.info(
                "%s: the plugin worker is replaced because %s", log_name or who, result.damage
            )
            self._retire()
        if result.fault is not None:
            raise to_error(result.fault)
        answer: _T = unpack(result.answer, get_answer_type(job))
        return answer

    @contextlib.contextmanager
    def _raise_host_lost_if_closed(self) -> Iterator[None]:
        try:
            yield
        except PluginError as error:
            if self._closed:
                raise HostLostError(error.message) from None
            raise

    def _get_running(self) -> WorkerProcess:
        if self._closed:
            raise PluginError("The plugin worker was closed.")
        if self._process is not None and not self._process.is_usable:
            self._retire()
        if self._process is None:
            self._process = WorkerProcess(self._cachery_mb)
        return self._process

    def _retire(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _start_quietly(self) -> None:
        try:
            with self._turn:
                self._get_running()
        except (PluginError, WorkerLostError) as error:
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
                message = f"{who} took more than {self._cachery_mb} MiB of memory."
                action = "Let it take less memory, or raise plugin.memory_mb."
            case ExitReason.CRASH:
                message = f"{who} {lost.detail}."
                action = "Correct the plugin: it must raise an exception instead."
        return PluginError(message, action, traceback=frames)
