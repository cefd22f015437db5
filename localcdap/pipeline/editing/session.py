"""An editing session: a pipeline, its history, and its validation state.

Stages are configured in the background, with one thread per plugin: a plugin that hangs delays no other.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol

import msgspec

from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.api.failures import FailureCollector, ValidationFailure
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.editing.edited_document import EditedDocument, EditHistory, apply_edit
from localcdap.pipeline.editing.edits import Edit, Redo, Undo
from localcdap.pipeline.editing.incremental_validator import (
    EditResult,
    IncrementalValidator,
    StageState,
    StageStateLog,
)
from localcdap.pipeline.macros.evaluation import Secrets
from localcdap.pipeline.recordings.stand_ins import Replacements, StageReplacer
from localcdap.pipeline.validation.datasets import DatasetPlan, StageDataset
from localcdap.pipeline.validation.plugins import PluginTemplate, expand_templates
from localcdap.pipeline.validation.stage_configuration import Configurer, StageConfiguration
from localcdap.sandbox.configure_cache import ConfigureCache, ConnectedCheckResult
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult

_LOG: Final = logging.getLogger(__name__)
LATE_S: Final = 0.5
"""Seconds after which a plugin is late: stages after its stage stop waiting for it."""
_IDLE_S: Final = 5.0
"""Seconds for which a thread waits for more checks of its plugin before it ends."""


class PluginCheck(msgspec.Struct, eq=False):
    """A stage to configure, and the callbacks for its result."""

    request: ConfigureRequest
    answer: Callable[[ConfigureRequest, ConfigureResult], None]
    """Called with the result, in another thread."""
    late: Callable[[], None]
    """Called when the result takes more than :data:`LATE_S` seconds, in another thread."""
    since: float = 0.0
    """When the check was submitted (``time.monotonic``)."""


class PluginCheckQueue:
    """Runs checks. Threads may share it.

    The checks of one plugin run one by one, in the order in which they were submitted. A check replaces one
    with the same key that has not started.

    :param configure: such as ``PluginWorkers.configure``, which serves several plugins in parallel.
    """

    def __init__(self, configure: Callable[[ConfigureRequest], ConfigureResult]) -> None:
        self._configure = configure
        self._queues: dict[Hashable, _PluginQueue] = {}
        self._condition = threading.Condition()
        self._open: dict[Hashable, PluginCheck] = {}
        """Checks that have neither finished nor been reported late, by key."""
        self._watch: threading.Thread | None = None
        self._closed = False

    def submit(self, key: Hashable, check: PluginCheck) -> None:
        """Run a check in the background.

        :param key: identifies its stage, such as a session and a stage name.
        """
        plugin = check.request.plugin
        check.since = time.monotonic()
        with self._condition:
            if self._closed:
                return
            self._open[key] = check
            queue = self._queues.setdefault((plugin.digest, plugin.class_name), _PluginQueue())
            queue.waiting[key] = check
            if queue.thread is None:
                queue.thread = _start_thread(lambda: self._serve(queue))
            if self._watch is None:
                self._watch = _start_thread(self._watch_late)
            self._condition.notify_all()

    def close(self) -> None:
        """Start no more checks."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _serve(self, queue: _PluginQueue) -> None:
        while True:
            with self._condition:
                while not queue.waiting and not self._closed:
                    if not self._condition.wait(_IDLE_S) and not queue.waiting:
                        queue.thread = None
                        return
                if self._closed:
                    return
                key, check = queue.waiting.popitem(last=False)
            try:
                result = self._configure(check.request)
            except LocalcdapError as error:
                result = _create_failed_result(
                    check.request, error.message, error.corrective_action
                )
            except Exception as error:  # such as a text that cannot be sent to a process
                _LOG.warning("a stage could not be configured", exc_info=True)
                result = _create_failed_result(
                    check.request, f"The plugin could not be asked: {error}.", None
                )
            with self._condition:
                if self._open.get(key) is check:
                    del self._open[key]
            _call(partial(check.answer, check.request, result))

    def _watch_late(self) -> None:
        """Report late checks to their owners."""
        while True:
            with self._condition:
                if self._closed or (not self._open and not self._condition.wait(_IDLE_S)):
                    self._watch = None
                    return
                before = time.monotonic() - LATE_S
                late = {key: check for key, check in self._open.items() if check.since < before}
                for key in late:
                    del self._open[key]
            for check in late.values():
                _call(check.late)
            # A sleeping thread would keep the services open while the process ends.
            with self._condition:
                self._condition.wait_for(lambda: self._closed, LATE_S / 5)


class _PluginQueue:
    """The open checks of one plugin, and the thread that runs them."""

    def __init__(self) -> None:
        self.waiting: OrderedDict[Hashable, PluginCheck] = OrderedDict()
        self.thread: threading.Thread | None = None


def _start_thread(target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, name="localcdap-editing-check", daemon=True)
    thread.start()
    return thread


def _call(function: Callable[[], object]) -> None:
    try:
        function()
    except Exception:  # an error in one session must not end the thread that serves all
        _LOG.exception("a session could not take the result of a plugin")


def _create_failed_result(
    request: ConfigureRequest, message: str, action: str | None
) -> ConfigureResult:
    failures = FailureCollector(request.stage)
    failures.add(message, action)
    return ConfigureResult(list(failures))


class ResultMemory(Protocol):
    """Remembered results of plugins; see :class:`localcdap.sandbox.pool.PluginWorkers`."""

    def find_remembered(self, request: ConfigureRequest) -> ConfigureResult | None: ...

    def find_connected(self, request: ConfigureRequest) -> ConnectedCheckResult | None: ...


class EditingContext(NamedTuple):
    """The context in which the pipeline of a session is validated: the current environment of its
    namespace.
    """

    configure: StageConfiguration
    secrets: Secrets
    templates: Sequence[PluginTemplate]
    replacer: StageReplacer


PlanDatasets = Callable[[Sequence[StageDataset], Callable[[DatasetPlan], None]], None]
"""Compares declarations with the datasets of the namespace in the background, and calls a function with the
answer.
"""
CreateContext = Callable[[Configurer], EditingContext]
_OWN_RESULTS: Final = 256
Connect = Callable[[ConfigureRequest], ConfigureRequest]
"""Returns the request with the checks that need files, databases or a network."""


class EditingSession:
    """A pipeline that is being edited. Threads may share it.

    No call waits for a plugin longer than its timeout: plugins are configured in the background, and a stage
    is "checking", with its previous result, until its plugin has answered.

    :param key: identifies the session among others.
    :param create_context: creates the context to validate with, from a configurer.
    :param memory: holds results of plugins.
    :param checks: configures plugins in the background.
    :param connect: adds the connected checks to a request.
    :param plan: says which datasets cannot be as stages declare them.
    """

    def __init__(
        self,
        key: str,
        edited: EditedDocument,
        create_context: CreateContext,
        memory: ResultMemory,
        checks: PluginCheckQueue,
        connect: Connect,
        plan: PlanDatasets = lambda _declared, _on_plan: None,
    ) -> None:
        self.used = time.monotonic()
        """When the session was last used (``time.monotonic``)."""
        self._key = key
        self._history = EditHistory(edited)
        self._create_context = create_context
        self._memory = memory
        self._checks = checks
        self._connect = connect
        self._states = StageStateLog()
        self._changed = threading.Condition()
        self._open_requests: dict[str, ConfigureRequest] = {}
        """By stage, the request that its plugin has not answered."""
        self._new_requests: list[ConfigureRequest] = []
        self._own_results = ConfigureCache(_OWN_RESULTS)
        """Results that the memory has not kept: else two such stages would be asked in turn for ever."""
        self._detected_at: dict[str, int] = {}
        self._detecting: set[str] = set()
        self._detected_requests: dict[str, ConfigureRequest | None] = {}
        """By stage whose connected checks were asked for since the last edit, the last request."""
        self._plan = plan
        self._declared: list[StageDataset] = []
        """The datasets of the last plan that was asked for."""
        self._dataset_failures: dict[str, list[ValidationFailure]] = {}
        """By stage."""
        self._replaced = Replacements()
        """What stands in for stages of the current document."""
        self._closed = False
        with self._changed:
            configure, shown, self._templates, self._replacer = create_context(self._find_result)
            self._validator = IncrementalValidator(configure, shown)
            self._document = self._read(edited)
            self._update(is_edited=True)

    def apply(self, edit: Edit, wait_s: float) -> EditResult:
        """Apply an edit, and wait up to ``wait_s`` seconds for the plugins that it concerns.

        :raises LocalcdapError: when the edit cannot be applied; the pipeline is unchanged then.
        """
        _require_text(edit)
        with self._changed:
            self._require_open()
            before, asked = self._states.revision, dict(self._open_requests)
            self._edit(edit)
            self._changed.wait_for(lambda: self._open_requests.items() <= asked.items(), wait_s)
            return self._since(before)

    def get_changes(self, after: int, wait_s: float) -> EditResult:
        """Return what changed after a revision (-1: everything), once something did or at the timeout."""
        with self._changed:
            self._require_open()
            self._changed.wait_for(lambda: self._closed or self._states.revision > after, wait_s)
            self.used = time.monotonic()
            return self._since(after)

    def wait_until_checked(self, after: int, wait_s: float) -> EditResult:
        """Return what changed after a revision, as soon as no check is open or at the timeout."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or not (self._open_requests or self._detecting), wait_s
            )
            return self._since(after)

    def get_text(self) -> str:
        """Return the document as it is now, as JSON text."""
        with self._changed:
            return self._history.current.to_text()

    def detect(self, stages: Collection[str] | None) -> None:
        """Make the connected checks of stages in the background.

        A check may find the schema of a source; the stages after it are then checked with that schema.

        :param stages: None for all stages, as a run does.
        :raises NotFoundError: when there is no such stage.
        """
        with self._changed:
            document = self._document
            known = dict.fromkeys(s.name for s in (*document.stages, *document.post_actions))
            unknown = [stage for stage in stages or () if stage not in known]
            if unknown:
                names = ", ".join(known) or "none"
                raise NotFoundError(
                    f"The pipeline has no stage '{unknown[0]}'.", f"Its stages: {names}."
                )
            self._detected_requests |= dict.fromkeys(known if stages is None else stages)
            self._detect_changed()
            self._show()

    def refresh(self) -> None:
        """Validate the whole pipeline again: plugins or the values of macros may have changed."""
        with self._changed:
            if not self._closed:
                context = self._create_context(self._find_result)
                configure, shown, self._templates, self._replacer = context
                self._validator.reset(configure, shown)
                self._detected_requests.clear()
                self._declared = []
                self._document = self._read(self._history.current)
                self._update()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # -- called with the lock held; the callbacks of checks take it themselves ---------------------

    def _edit(self, edit: Edit) -> None:
        history = self._history
        self._detected_requests.clear()
        if isinstance(edit, Undo | Redo):
            history.undo() if isinstance(edit, Undo) else history.redo()
            self._document = self._read(history.current)
        else:
            edited = apply_edit(history.current, edit)
            self._document = self._read(edited)
            history.add(edited, edit)
        self._update(is_edited=True)

    def _read(self, edited: EditedDocument) -> PipelineDocument:
        document = expand_templates(edited.to_document(), self._templates)
        self._replaced = self._replacer.replace(document)
        return self._replaced.apply(document)

    def _update(self, *, is_edited: bool = False) -> None:
        self._new_requests = []
        self._validator.update(self._document)
        self._detect_changed()
        self._show(is_edited=is_edited)
        for request in self._new_requests:
            self._submit(request)
        self._plan_datasets()

    def _plan_datasets(self) -> None:
        """Ask for the failures of datasets when the declarations have changed; those of before stay shown."""
        declared = self._validator.list_datasets()
        if declared != self._declared:
            self._declared = declared
            self._plan(declared, partial(self._on_plan, declared))

    def _on_plan(self, declared: Sequence[StageDataset], plan: DatasetPlan) -> None:
        with self._changed:
            if self._closed or declared != self._declared:
                return  # another plan is on its way
            self._dataset_failures = {}
            for each in plan.failures:
                self._dataset_failures.setdefault(each.stage or "", []).append(each)
            self._show()

    def _show(self, *, is_edited: bool = False) -> None:
        validator = self._validator
        states = validator.create_states(self._detected_at.get, self._detecting)
        for name, failures in self._dataset_failures.items():
            state = states.get(name)
            if state is not None and not state.errors:
                states[name] = msgspec.structs.replace(state, errors=failures)
        self._add_stand_ins(states)
        self._states.record(validator.list_errors(), states, is_edited=is_edited)
        self._changed.notify_all()

    def _add_stand_ins(self, states: dict[str, StageState]) -> None:
        for each in self._replaced.stand_ins:
            if each.stage in states:
                states[each.stage] = msgspec.structs.replace(states[each.stage], stand_in=each)
        for failure in self._replaced.failures:
            state = states.get(failure.stage or "")
            if state is not None and failure.stage is not None:
                changed = msgspec.structs.replace(state, errors=[failure, *state.errors])
                states[failure.stage] = changed

    def _since(self, revision: int) -> EditResult:
        history = self._history
        return self._states.get_changes(
            revision, can_undo=history.can_undo, can_redo=history.can_redo
        )

    def _find_result(self, request: ConfigureRequest) -> ConfigureResult | None:
        """Return the known result of a stage; without one, its plugin is asked in the background."""
        self._detected_at.pop(request.stage, None)
        detected = self._memory.find_connected(request)
        if detected is not None:
            self._detected_at[request.stage] = detected.at_ms
            return detected.result
        result = self._memory.find_remembered(request)
        if result is None:
            result = self._own_results.find(request)
        if result is None:
            self._new_requests.append(request)
        else:
            self._open_requests.pop(request.stage, None)
        return result

    def _submit(self, request: ConfigureRequest) -> None:
        stage = request.stage
        if self._open_requests.get(stage) != request:
            self._open_requests[stage] = request
            check = PluginCheck(request, self._on_result, partial(self._on_late, stage, request))
            self._checks.submit((self._key, stage), check)

    def _detect_changed(self) -> None:
        """Make the connected checks that were asked for, of the stages whose request differs from that of
        their last check.
        """
        for stage, checked in self._detected_requests.items():
            outcome = self._validator.find_stage(stage)
            request = outcome.request if outcome is not None else None
            # Only a run has the records of a recording, which the checks would look for.
            is_recorded = stage in self._replaced.plugins
            if request is not None and request != checked and not is_recorded:
                self._detected_requests[stage] = request
                self._detecting.add(stage)
                check = PluginCheck(self._connect(request), self._on_detected, lambda: None)
                self._checks.submit((self._key, stage, "detect"), check)

    def _require_open(self) -> None:
        if self._closed:
            raise NotFoundError("The editing session was closed.", "Open the pipeline again.")

    def _on_result(self, request: ConfigureRequest, result: ConfigureResult) -> None:
        with self._changed:
            if self._closed or self._open_requests.get(request.stage) != request:
                return  # the stage has changed since
            del self._open_requests[request.stage]
            self._validator.set_late(request.stage, is_late=False)
            if self._memory.find_remembered(request) is None:
                self._own_results.store(request, result, crashed=True)
            self._update()

    def _on_late(self, stage: str, request: ConfigureRequest) -> None:
        with self._changed:
            if not self._closed and self._open_requests.get(stage) == request:
                self._validator.set_late(stage, is_late=True)
                self._update()

    def _on_detected(self, request: ConfigureRequest, result: ConfigureResult) -> None:
        with self._changed:
            if not self._closed:
                self._detecting.discard(request.stage)
                self._validator.forget(request.stage)
                self._update()


def _require_text(edit: Edit) -> None:
    try:
        msgspec.json.encode(edit)
    except (UnicodeEncodeError, TypeError) as error:
        raise BadRequestError(f"The edit cannot be written as JSON: {error}.") from None
    except (OverflowError, RecursionError):
        return  # a large number or deep nesting, which JSON text can hold
