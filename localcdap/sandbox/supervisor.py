"""The supervisor of the plugin worker: user code runs elsewhere, within limits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
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
from localcdap.sandbox.jobs import answer_type, job_name
from localcdap.sandbox.plugin_calls import (
    CallRequest,
    TransformRequest,
    TransformResult,
    call_plugin,
    transform_records,
)
from localcdap.sandbox.process import ExitReason, WorkerLostError, WorkerProcess
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult
from localcdap.sandbox.worker import WorkerService

_LOG: Final = logging.getLogger(__name__)
_R = TypeVar("_R")
_T = TypeVar("_T")


class PluginWorker:
    """Inspects artifacts, configures stages and uses plugins in a process of its own. Threads may share it.

    The process starts with the first call, or with :meth:`start`. One that a plugin hung, crashed or
    damaged is replaced. A call that ends badly in a process where other artifacts ran before is made
    once more in a new one, so that nobody pays for somebody else's plugin.

    :param time_limit_s: seconds that one call may take.
    :param memory_mb: memory of the process, in MiB.
    :param memo: remembered results of :meth:`configure`, when they are shared with other workers.
    """

    def __init__(
        self,
        time_limit_s: float = 10.0,
        memory_mb: int = 1024,
        memo: ConfigureCache | None = None,
    ) -> None:
        self._time_limit_s = time_limit_s
        self._memory_mb = memory_mb
        self._turn = threading.Lock()
        self._process: WorkerProcess | None = None
        self._closed = False
        self._memo = memo if memo is not None else ConfigureCache()

    def start(self) -> None:
        """Start the process in the background, so that the first call need not wait for it."""
        threading.Thread(
            target=self._start_quietly, name="localcdap-worker-start", daemon=True
        ).start()

    def inspect(self, path: str, digest: str) -> Inspection:
        """Find the plugins of an artifact.

        :param path: a ``.py`` file or a folder.
        :raises PluginError: when its code hung, crashed or took too much memory.
        :raises HostLostError: when this was closed meanwhile.
        """
        with self._turn:
            try:
                inspection, others = self._inspected(path, digest)
                if inspection.raised and others:
                    self._retire()
                    inspection, _ = self._inspected(path, digest)
            except PluginError as error:
                if self._closed:
                    raise HostLostError(error.message) from None
                raise
            return inspection

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        """Configure a stage, or remember what configuring it gave before.

        A plugin that hangs, crashes or takes too much memory is one failure of the result.
        """
        kept = self._memo.find(request)
        if kept is not None:
            return kept
        with self._turn:
            crashed = False
            try:
                result = self._configured(request)
            except PluginError as error:
                crashed = True
                failures = FailureCollector(request.stage)
                added = failures.add(error.message, error.corrective_action)
                if error.traceback:
                    added.with_stacktrace(error.traceback)
                result = ConfigureResult(list(failures))
        self._memo.keep(request, result, crashed)
        return result

    def call(self, request: CallRequest) -> bytes:
        """Call a method of a plugin; what it returned, packed.

        :raises InvalidStageError: when its properties do not fit.
        :raises PluginError: when it raised, hung, crashed or took too much memory.
        """
        plugin = request.plugin
        who = f"Method '{request.method}' of plugin '{plugin.name}'"
        return self.do(call_plugin, request, plugin, who)

    def transform(self, request: TransformRequest) -> TransformResult:
        """Let a transform work on records.

        :raises InvalidStageError: when configuring it gives failures.
        :raises PluginError: when it raised, hung, crashed, took too much memory, or is no such transform.
        """
        plugin = request.plugin
        return self.do(transform_records, request, plugin, f"Plugin '{plugin.name}'")

    def do(self, job: Callable[[_R], _T], request: _R, plugin: PluginRef, who: str) -> _T:
        """Have a job done that calls a plugin's code.

        :param job: see :mod:`localcdap.sandbox.jobs`.
        :param who: starts the message when the plugin hung, crashed or took too much memory.
        :raises PluginError: when it did.
        :raises HostLostError: when this was closed meanwhile.
        :raises LocalcdapError: what the job raised.
        """
        name, packed = job_name(job), msgspec.Raw(pack(request))
        with self._turn:
            try:
                done = self._call(
                    plugin.digest, lambda worker: worker.do(name, packed), who, plugin.path
                )
            except PluginError as error:
                if self._closed:
                    raise HostLostError(error.message) from None
                raise
            self._retire_damaged(done.damage, who)
        if done.fault is not None:
            raise to_error(done.fault)
        answer: _T = unpack(done.answer, answer_type(job))
        return answer

    def close(self) -> None:
        """End the process, also from under a call that another thread waits for."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()

    def _inspected(self, path: str, digest: str) -> tuple[Inspection, bool]:
        """The inspection, and whether other artifacts ran in the process before."""
        others = bool(self._process and self._process.digests - {digest})
        answer = self._call(
            digest,
            lambda worker: worker.inspect(path, digest),
            f"{Path(path).name}: its code",
            path,
        )
        self._retire_damaged(answer.damage, Path(path).name)
        return answer.inspection, others

    def _configured(self, request: ConfigureRequest) -> ConfigureResult:
        plugin = request.plugin
        who = f"Plugin '{plugin.name}' of stage '{request.stage}'"
        answer = self._call(
            plugin.digest, lambda worker: worker.configure(request), who, plugin.path
        )
        self._retire_damaged(answer.damage, who)
        return answer.result

    def _call(self, digest: str, call: Callable[[WorkerService], _T], who: str, path: str) -> _T:
        """:raises PluginError: when the process is lost; ``who`` starts its message."""
        while True:
            try:
                process = self._running()
                others = process.digests - {digest}
                process.digests.add(digest)
            except WorkerLostError as lost:
                raise self._error(lost, "The plugin worker", path) from None
            try:
                return call(process.service(self._time_limit_s))
            except WorkerLostError as lost:
                self._retire()
                if self._closed:
                    raise PluginError("The plugin worker was closed.") from None
                if lost.loss is ExitReason.TIME or not others:
                    raise self._error(lost, who, path) from None

    def _running(self) -> WorkerProcess:
        if self._closed:
            raise PluginError("The plugin worker was closed.")
        if self._process is not None and not self._process.is_usable:
            self._retire()
        if self._process is None:
            self._process = WorkerProcess(self._memory_mb)
        return self._process

    def _retire(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _retire_damaged(self, damage: str | None, who: str) -> None:
        if damage:
            _LOG.info("%s: the plugin worker is replaced because %s", who, damage)
            self._retire()

    def _start_quietly(self) -> None:
        try:
            with self._turn:
                self._running()
        except (PluginError, WorkerLostError) as error:
            _LOG.debug("the plugin worker did not start: %s", error)

    def _error(self, lost: WorkerLostError, who: str, path: str) -> PluginError:
        frames = parse_dumped_frames(lost.output, Path(path))
        match lost.loss:
            case ExitReason.TIME:
                message = f"{who} did not come to an end within {self._time_limit_s:g} s."
                action = (
                    "Look for an endless loop or a slow call in it, or raise plugin.time_limit_s."
                )
            case ExitReason.MEMORY:
                message = f"{who} took more than {self._memory_mb} MiB of memory."
                action = "Let it take less memory, or raise plugin.memory_mb."
            case ExitReason.CRASH:
                message = f"{who} {lost.detail}."
                action = "Correct the plugin: it must raise an exception instead."
        return PluginError(message, action, traceback=frames)
