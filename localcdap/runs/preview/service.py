"""Previews: pipelines run on a few records, to look at what each stage makes of them.

They are kept in memory only, and end with the process that has the instance.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.api.security import Permission
from localcdap.artifacts.model import PluginRef
from localcdap.engine.messages.orders import PreviewOrder, WorkOrder
from localcdap.engine.messages.spool import (
    Explained,
    Failed,
    LogLines,
    PreviewMessage,
    RunStatus,
    Sampled,
    StatusChanged,
)
from localcdap.engine.messages.spool import LogLine as SpoolLine
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.environment import NamespaceEnvironment, RecordedDocument
from localcdap.pipeline.macros.parser import resolve_logical_start
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.rpc.methods import non_idempotent
from localcdap.runs.model import RunError, StoredLogLine, get_now, to_run_error
from localcdap.runs.preview.model import MOST_RECORDS, Preview, PreviewRequest, PreviewStatus
from localcdap.runs.preview.process import PreviewProcess, PreviewProcesses
from localcdap.runs.startup.new_run import RECORDINGS
from localcdap.runs.startup.provisioners import (
    PREVIEW_REQUIRES,
    require_capabilities,
)
from localcdap.security.access import of_namespace, requires
from localcdap.security.principals import get_current_user

_AT_ONCE: Final = 2
"""Previews that run at the same time; the others wait."""
_KEPT: Final = 20
"""Previews that are remembered, the newest ones."""
_ORIGINAL_RECORDS: Final = 100
"""``numOfRecordsPreview`` as CDAP writes it into every document: nobody's wish."""


class PreviewService:
    """The previews of an instance. Threads may share it.

    :param home: what relative paths in pipelines are relative to.
    :param records: the most records read from each source, when nobody says else.
    """

    def __init__(
        self,
        namespaces: NamespaceService,
        resolver: PipelineResolver,
        processes: PreviewProcesses,
        *,
        home: Path,
        records: int,
    ) -> None:
        self._namespaces = namespaces
        self._resolver = resolver
        self._processes = processes
        self._home = home
        self._records = records
        self._previews: OrderedDict[str, _Entry] = OrderedDict()
        self._changed = threading.Condition()
        self._turns = threading.Semaphore(_AT_ONCE)
        self._closed = False
        self._since: Final = time.time()

    @requires(of_namespace("request.namespace"), Permission.EXECUTE)
    @non_idempotent
    def start(self, request: PreviewRequest) -> Preview:
        """Start a preview. Returns at once, also for a pipeline with failures; see :meth:`wait`.

        :raises DocumentError: when the document is not a pipeline.
        :raises BadRequestError: when the number of records or the time is out of range.
        :raises NotFoundError: when there is no such namespace.
        """
        environment = self._resolver.environments.create(request.namespace)
        document = read_document(request.document, request.file)
        _check(request, document)
        process = self._processes.start()
        preview = Preview(
            process.run,
            request.namespace,
            document.name or request.name or "pipeline",
            PreviewStatus.WAITING,
            get_now(),
        )
        entry = _Entry(preview, process, request, document)
        with self._changed:
            self._forget_oldest()
            self._previews[preview.preview] = entry
        entry.thread = threading.Thread(
            target=self._carry_out, args=(entry, environment), name="preview"
        )
        entry.thread.start()
        return self.get(request.namespace, preview.preview)

    @requires(of_namespace(), Permission.EXECUTE)
    def get(self, namespace: str, preview: str) -> Preview:
        """Return a preview with its current state.

        :raises NotFoundError: when there is none, or it is not remembered any more.
        """
        with self._changed:
            entry = self._previews.get(preview)
            if entry is None or entry.preview.namespace != namespace:
                raise self._create_missing_error(namespace, preview)
            return self._snapshot(entry)

    @requires(of_namespace(), Permission.EXECUTE)
    def wait(self, namespace: str, preview: str, version: int, timeout_s: float) -> Preview:
        """Return the preview as soon as it differs from ``version``, or unchanged after the timeout.

        :raises NotFoundError: when there is none.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self.get(namespace, preview).version != version, timeout_s
            )
            return self.get(namespace, preview)

    @requires(of_namespace(), Permission.EXECUTE)
    def list_previews(self, namespace: str) -> list[Preview]:
        """Return the kept previews of a namespace, newest first, without their records and logs."""
        self._namespaces.require(namespace)
        with self._changed:
            entries = [e for e in self._previews.values() if e.preview.namespace == namespace]
            return [
                msgspec.structs.replace(self._snapshot(each), stages={}, logs=[])
                for each in reversed(entries)
            ]

    @requires(of_namespace(), Permission.EXECUTE)
    def stop(self, namespace: str, preview: str) -> Preview:
        """Stop a preview and wait until it has ended; the records that it has shown stay.

        :raises NotFoundError: when there is none.
        """
        self.get(namespace, preview)
        entry = self._previews[preview]
        entry.stop_asked = True
        with self._changed:
            self._changed.wait_for(lambda: entry.preview.status.is_end)
            return self._snapshot(entry)

    def are_active(self) -> bool:
        """Whether a preview has not ended."""
        with self._changed:
            return not all(entry.preview.status.is_end for entry in self._previews.values())

    def close(self) -> None:
        """End all previews."""
        self._closed = True
        for entry in list(self._previews.values()):
            if entry.thread is not None:
                entry.thread.join()

    # -- one preview, in its thread -----------------------------------------------------------

    def _carry_out(self, entry: _Entry, environment: NamespaceEnvironment) -> None:
        try:
            while not self._turns.acquire(timeout=0.05):
                if entry.stop_asked or self._closed:
                    self._end(entry, PreviewStatus.KILLED)
                    return
            try:
                self._begin(entry, environment)
            finally:
                self._turns.release()
        except LocalcdapError as error:
            self._end(entry, entry.failing, RunError(error.message, error.corrective_action))
        except Exception as error:
            self._end(entry, entry.failing, RunError(f"{type(error).__name__}: {error}"))
            raise
        finally:
            entry.process.close()

    def _begin(self, entry: _Entry, environment: NamespaceEnvironment) -> None:
        self._change(entry, status=PreviewStatus.INIT)
        arguments, start_ms = resolve_logical_start(
            environment.merge_arguments(entry.preview.pipeline, entry.request.arguments),
            entry.preview.submit_time,
        )
        folder = entry.process.directory / RECORDINGS
        given = entry.request.recordings
        recorded = environment.record_document(
            entry.document, entry.preview.pipeline, given, folder, arguments=arguments
        )
        resolved = self._resolve(entry, recorded, environment, arguments)
        if resolved is None:
            return
        text, _ = environment.write_out_templates(recorded.document)
        order = self._order(entry, text, resolved.plugins, arguments, start_ms)
        entry.failing = PreviewStatus.RUN_FAILED
        entry.deadline = time.monotonic() + entry.request.timeout_minutes * 60
        if not entry.process.carry_out(
            order, lambda message: self._apply_message(entry, message), lambda: self._is_over(entry)
        ):
            self._end_silent(entry)

    def _resolve(
        self,
        entry: _Entry,
        recorded: RecordedDocument,
        environment: NamespaceEnvironment,
        arguments: dict[str, str],
    ) -> ResolvedPipeline | None:
        """Resolve the pipeline; end the preview and return None when it has failures.

        :raises IncapableError: when a plugin cannot run on this machine.
        """
        resolved = self._resolver.resolve_for_run(
            recorded.document,
            environment,
            arguments,
            use_suggested=entry.request.use_suggested,
        )
        found = recorded.replacements
        resolved.add_stand_ins(found.stand_ins, found.failures, found.warnings)
        if resolved.errors:
            self._end(entry, PreviewStatus.DEPLOY_FAILED, errors=resolved.errors)
            return None
        require_capabilities(
            resolved.plugins,
            environment.plugins.get_capabilities,
            PREVIEW_REQUIRES,
            "a preview",
        )
        entry.places = {name: place for place, name in enumerate(resolved.requests)}
        self._change(entry, repairs=resolved.repairs, stand_ins=resolved.stand_ins)
        return resolved

    def _order(
        self,
        entry: _Entry,
        document: str,
        plugins: dict[str, PluginRef],
        arguments: dict[str, str],
        start_ms: int,
    ) -> WorkOrder:
        request, preview = entry.request, entry.preview
        records = request.records or self._records_of(entry.document)
        return WorkOrder(
            run_id=preview.preview,
            namespace=preview.namespace,
            pipeline=preview.pipeline,
            document=document,
            plugins=plugins,
            arguments=arguments,
            logical_start_ms=start_ms,
            engine_url="",
            base_directory=str(self._home),
            user=entry.user,
            host_directory=str(self._home),
            preview=PreviewOrder(records, max(records, 1000), explains=request.explains),
        )

    def _records_of(self, document: PipelineDocument) -> int:
        asked = document.num_of_records_preview
        return self._records if asked == _ORIGINAL_RECORDS else min(max(asked, 1), MOST_RECORDS)

    def _apply_message(self, entry: _Entry, message: PreviewMessage) -> None:
        preview = entry.preview
        match message:
            case StatusChanged(status=RunStatus.RUNNING):
                self._change(entry, status=PreviewStatus.RUNNING, start_time=get_now())
            case StatusChanged(status=RunStatus.COMPLETED):
                self._end(entry, PreviewStatus.COMPLETED)
            case StatusChanged(status=RunStatus.FAILED):
                self._end(entry, PreviewStatus.RUN_FAILED)
            case StatusChanged(status=RunStatus.KILLED):
                self._end_silent(entry)
            case Sampled():
                samples = {**preview.stages, message.stage: message.sample}
                # Stages that are computed together are reported late.
                names = sorted(samples, key=lambda name: entry.places.get(name, 0))
                self._change(entry, stages={name: samples[name] for name in names})
            case Explained():
                self._change(entry, explained=message.stages)
            case Failed():
                self._change(entry, error=to_run_error(message))
            case SpoolLine():
                self._log(entry, [message])
            case LogLines():
                self._log(entry, message.lines)

    def _log(self, entry: _Entry, lines: list[SpoolLine]) -> None:
        before = entry.preview.logs
        numbered = [
            StoredLogLine(
                len(before) + place, int(line.time * 1000), line.level, line.text, line.stage
            )
            for place, line in enumerate(lines, start=1)
        ]
        self._change(entry, logs=[*before, *numbered])

    def _is_over(self, entry: _Entry) -> bool:
        return self._closed or entry.stop_asked or time.monotonic() > entry.deadline

    def _end_silent(self, entry: _Entry) -> None:
        """End a preview whose process did not report its end."""
        if self._closed or entry.stop_asked:
            self._end(entry, PreviewStatus.KILLED)
        elif time.monotonic() > entry.deadline:
            minutes = entry.request.timeout_minutes
            error = RunError(
                f"The preview was stopped after {minutes:g} minutes.",
                "Preview fewer records, or give it more time.",
            )
            self._end(entry, PreviewStatus.KILLED_BY_TIMER, error)
        else:
            gone = "The process of the preview ended unexpectedly: a plugin may have crashed it."
            error = RunError(
                f"{gone} {entry.process.describe_exit()}".rstrip(),
                "See the last stage that has records; the fault is behind it.",
            )
            self._end(entry, PreviewStatus.RUN_FAILED, error)

    def _end(
        self,
        entry: _Entry,
        status: PreviewStatus,
        error: RunError | None = None,
        **more: Any,
    ) -> None:
        if not entry.preview.status.is_end:
            self._change(
                entry, status=status, end_time=get_now(), error=error or entry.preview.error, **more
            )

    def _change(self, entry: _Entry, **values: Any) -> None:
        with self._changed:
            version = entry.preview.version + 1
            entry.preview = msgspec.structs.replace(entry.preview, version=version, **values)
            self._changed.notify_all()

    def _snapshot(self, entry: _Entry) -> Preview:
        preview = entry.preview
        if preview.status is not PreviewStatus.WAITING:
            return preview
        waiting = [
            each.preview.preview
            for each in self._previews.values()
            if each.preview.status is PreviewStatus.WAITING
        ]
        return msgspec.structs.replace(
            preview, position_in_waiting_queue=waiting.index(preview.preview)
        )

    def _create_missing_error(self, namespace: str, preview: str) -> NotFoundError:
        started = _read_start_time(preview)
        if started is not None and started < self._since:
            return NotFoundError(
                f"Preview '{preview}' ended with the process that had the instance open then.",
                "Start it again; a preview has written nothing.",
            )
        return NotFoundError(
            f"There is no preview '{preview}' in namespace '{namespace}'.",
            f"The last {_KEPT} previews are remembered while the instance is open.",
        )

    def _forget_oldest(self) -> None:
        ended = [key for key, each in self._previews.items() if each.preview.status.is_end]
        for key in ended[: max(0, len(self._previews) + 1 - _KEPT)]:
            del self._previews[key]


class _Entry:
    """A preview and what goes on for it."""

    def __init__(
        self,
        preview: Preview,
        process: PreviewProcess,
        request: PreviewRequest,
        document: PipelineDocument,
    ) -> None:
        self.preview = preview
        self.process: Final = process
        self.request: Final = request
        self.document: Final = document
        self.user: Final = get_current_user() or ""
        """Who started it."""
        self.thread: threading.Thread | None = None
        self.places: dict[str, int] = {}
        """By stage, its place in the order in which the stages are shown."""
        self.stop_asked = False
        self.deadline = float("inf")
        self.failing = PreviewStatus.DEPLOY_FAILED
        """What an error means now."""


_UUID_EPOCH_S: Final = 12_219_292_800
"""Seconds from the beginning of the Gregorian calendar, where the times of UUIDs begin, to 1970."""


def _read_start_time(preview: str) -> float | None:
    """Return when a preview was started, in seconds since 1970; None for a text that is not an id of one."""
    try:
        read = uuid.UUID(preview)
    except ValueError:
        return None
    return read.time / 1e7 - _UUID_EPOCH_S if read.version == 1 else None


def _check(request: PreviewRequest, document: PipelineDocument) -> None:
    names = [each.name for each in document.stages]
    if request.stage is not None and request.stage not in names:
        raise NotFoundError(
            f"The pipeline has no stage '{request.stage}'.",
            f"Its stages: {', '.join(names) or 'none'}.",
        )
    if request.records is not None and not 1 <= request.records <= MOST_RECORDS:
        raise BadRequestError(
            f"A preview reads 1 to {MOST_RECORDS:,} records of each source, not {request.records:,}."
        )
    if not request.timeout_minutes > 0:
        raise BadRequestError(
            f"The time limit of a preview is a positive number of minutes, not {request.timeout_minutes:g}."
        )
