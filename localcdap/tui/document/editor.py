"""The open pipeline that all parts of the studio screen share.

An edit is applied twice: at once to the local copy of the document, so that the screen shows it with
the next frame, and a moment later by the editing service, whose answer carries the validation. Both
sides use the same code (:func:`localcdap.pipeline.editing.edited_document`), so the copies stay equal
as long as both make the same edits in the same order; calls of the group ``edits`` are ordered for
that. Undo and redo are edits too, and each side has its own history. A session that was opened later
than the document does not know the earlier steps: :meth:`EditSession.accept_edit` counts them, and
where the service could not follow, a new session is opened with the document as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from textual.signal import Signal
from textual.widget import Widget

from localcdap.api.errors import HostError, LocalcdapError, NotFoundError
from localcdap.api.failures import ValidationFailure
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.values import as_text
from localcdap.pipeline.editing.edited_document import EditedDocument
from localcdap.pipeline.editing.edits import Edit, Redo, SetProperty, Undo
from localcdap.pipeline.editing.incremental_validator import EditResult, StageState
from localcdap.pipeline.editing.service import OpenedSession, OpenRequest
from localcdap.tui.document.local_document import DocumentChange, LocalDocument
from localcdap.tui.document.source import DocumentSource, read_stamp
from localcdap.tui.routes import NavigationTarget
from localcdap.tui.service_calls import FollowedSource, deliver
from localcdap.tui.studio import StudioNode


class EditSession:
    """A session that is being opened or is open."""

    def __init__(self) -> None:
        self.id: str | None = None
        """None until the session is open; set in the thread of the call that opens it."""
        self.is_closed = False
        """Whether the editor has given the session up."""
        self.pending_edits = 0
        """Edits that were sent and are not answered yet."""
        self._undoable = 0
        self._redoable = 0

    def require_id(self) -> str:
        """Return the id.

        :raises NotFoundError: when the session could not be opened.
        """
        if self.id is None:
            raise NotFoundError("The pipeline is not open.", "Open it again.")
        return self.id

    def accept_edit(self, edit: Edit) -> bool:
        """Count an edit and return whether the session can make it.

        The history of a session starts when it is opened, so that it cannot undo earlier steps.
        """
        if isinstance(edit, Undo):
            self._undoable -= 1
            self._redoable += 1
            return self._undoable >= 0
        if isinstance(edit, Redo):
            self._undoable += 1
            self._redoable -= 1
            return self._redoable >= 0
        if isinstance(edit, SetProperty) and edit.continues:
            self._redoable = 0
            return True  # continues the step before it
        self._undoable += 1
        self._redoable = 0
        return True


_T = TypeVar("_T")

_POLL_S: Final = 5.0
"""Seconds that one request for changes of the validation waits at most."""
_FILE_CHECK_S: Final = 1.5
"""Seconds between looks at the time of the pipeline's file."""
_REOPEN_S: Final = 1.0
"""Seconds before a session is opened again after an error."""


class Editor(StudioNode, Widget):
    """An open pipeline: its document, and what the service knows of it.

    When the session is lost, for instance with its host, another one is opened with the document as it is.
    Widgets that show the pipeline subscribe to :attr:`document_changed`, :attr:`validation_changed` and
    :attr:`selection`.
    """

    DEFAULT_CSS = "Editor { display: none; }"

    def __init__(
        self, source: DocumentSource, local_document: LocalDocument, namespace: str
    ) -> None:
        super().__init__()
        self.source = source
        """Where the document came from, and where it is saved."""
        self.namespace = namespace
        self.arguments: dict[str, str] = {}
        """Values of macros for the validation; they take precedence over preferences."""
        self.selected: str | None = None
        """The stage that all parts show."""
        self.document_changed: Signal[DocumentChange] = Signal(self, "document_changed")
        """After each edit, and when the document is saved or goes to another namespace."""
        self.validation_changed: Signal[frozenset[str]] = Signal(self, "validation_changed")
        """With the stages whose state differs, after each answer of the service."""
        self.selection: Signal[str | None] = Signal(self, "selection")
        self.checking: list[str] = []
        """Stages whose plugins have not answered yet."""
        self.pipeline_failures: list[ValidationFailure] = []
        """Failures that belong to no stage."""
        self.is_saving = False
        """Whether the document is being written, so that its file may be newer than known."""
        self.is_file_changed = False
        """Whether another program has changed the file since it was read or saved."""
        self.is_known = False
        """Whether the service has answered at all."""
        self.revision = 0
        """The revision of the session in the newest answer."""
        self._local_document = local_document
        self._states: dict[str, StageState] = {}
        self._findings: tuple[list[ValidationFailure], list[ValidationFailure]] | None = None
        self._session = EditSession()
        self._following: FollowedSource | None = None
        self._has_reported = False
        """Whether the error that keeps the session from opening was shown."""

    def on_mount(self) -> None:
        self._open_session()
        self.set_interval(_FILE_CHECK_S, self._check_file)

    def on_unmount(self) -> None:
        self._close_session()

    # -- the document ----------------------------------------------------------------------------

    @property
    def local_document(self) -> LocalDocument:
        return self._local_document

    @property
    def document(self) -> PipelineDocument:
        return self._local_document.document

    @property
    def config(self) -> Mapping[str, Any]:
        """The decoded JSON of the configuration."""
        return self._local_document.current.config

    @property
    def target(self) -> NavigationTarget:
        """The origin of the document, as a navigation target."""
        return self.source.target

    @property
    def title(self) -> str:
        """The name of the pipeline, or of its source."""
        return self.document.name or self.source.name or "pipeline"

    @property
    def is_changed(self) -> bool:
        """Whether there is something to save."""
        return self._local_document.is_changed

    @property
    def can_undo(self) -> bool:
        return self._local_document.can_undo

    @property
    def can_redo(self) -> bool:
        return self._local_document.can_redo

    @property
    def stages(self) -> list[str]:
        """Names of the stages and post actions, each once, in document order."""
        document = self.document
        return list(dict.fromkeys(u.name for u in (*document.stages, *document.post_actions)))

    @property
    def failures(self) -> list[ValidationFailure]:
        """All failures: those of the pipeline first, then by stage."""
        return self._collect_findings()[0]

    @property
    def warnings(self) -> list[ValidationFailure]:
        return self._collect_findings()[1]

    @property
    def is_valid(self) -> bool:
        """Whether all plugins have answered and there is no failure."""
        return self.is_validated and not self.failures

    @property
    def is_validated(self) -> bool:
        """Whether all plugins have answered to the document as it is."""
        return self.is_known and not self.checking and not self._session.pending_edits

    def to_text(self) -> str:
        """Return the document as JSON text: what is saved and run."""
        return self._local_document.current.to_text()

    def get_node(self, stage: str) -> Mapping[str, Any]:
        """Return the decoded JSON of a stage; empty when there is none of that name."""
        return self._local_document.get_node(stage)

    def get_stage(self, stage: str) -> StageUse | None:
        """Return a stage of the typed document."""
        return self._local_document.get_stage(stage)

    def get_properties(self, stage: str) -> dict[str, Any]:
        """Return the properties of a stage's plugin as they are in the document."""
        plugin = self.get_node(stage).get("plugin")
        properties = plugin.get("properties") if isinstance(plugin, Mapping) else None
        return dict(properties) if isinstance(properties, Mapping) else {}

    def get_note(self, stage: str) -> str:
        """Return the note about a stage."""
        return as_text(self.get_node(stage).get("description")) or ""

    def get_state(self, stage: str) -> StageState | None:
        """Return what the service knows of a stage; None while it has not answered."""
        return self._states.get(stage)

    # -- actions -------------------------------------------------------------------------------

    def apply(self, edit: Edit, origin: object = None) -> bool:
        """Make an edit. An edit that cannot be made becomes a notice, and the result is False.

        :param origin: who makes the edit; it is in :class:`DocumentChange`, so that a form can ignore its
            own edits.
        """
        try:
            change = self._local_document.apply(edit, origin)
        except LocalcdapError as error:
            self.notify(error.corrective_action or "", title=error.message, severity="warning")
            return False
        self._findings = None
        self._rename(change)
        self._send(edit)
        self.document_changed.publish(change)
        if self.selected is not None and not self.get_node(self.selected):
            self.select(None)
        return True

    def undo(self) -> bool:
        return self.apply(Undo())

    def redo(self) -> bool:
        return self.apply(Redo())

    def select(self, stage: str | None) -> None:
        """Select a stage for all parts; None for no stage."""
        if stage is not None and not self.get_node(stage):
            stage = None
        if stage != self.selected:
            self.selected = stage
            self.selection.publish(stage)

    def detect(self, stages: Sequence[str] | None = None) -> None:
        """Validate with access to files and databases; the results arrive as validation changes.

        :param stages: None for all stages.
        """
        names = None if stages is None else list(stages)
        self._ask(lambda cdap, session: cdap.editing.detect(session, names))

    def list_detected_failures(self) -> list[str]:
        """Return the stages with failures, whose connected checks were made."""
        states = ((stage, self._states.get(stage)) for stage in self.stages)
        return [stage for stage, state in states if state and state.errors and state.detected_ms]

    async def detect_and_wait(self, stages: Sequence[str]) -> None:
        """Make connected checks of stages, and return when the results are here.

        :raises LocalcdapError: when they cannot be made.
        """
        session, names = self._session, list(stages)
        await self.call_and_wait(
            lambda cdap: cdap.editing.detect(session.require_id(), names), group="edits"
        )
        change = await self.call_and_wait(
            lambda cdap: cdap.editing.wait_until_checked(session.require_id())
        )
        if session is self._session and change.revision >= self.revision:
            self._take_validation(change)

    def revalidate(self) -> None:
        """Validate everything again, with the preferences and plugins installed now."""
        self._ask(lambda cdap, session: cdap.editing.refresh(session))

    def set_arguments(self, arguments: Mapping[str, str]) -> None:
        """Validate the pipeline with other values of macros."""
        if dict(arguments) != self.arguments:
            self.arguments = dict(arguments)
            self._open_session()

    def mark_saved(self, source: DocumentSource, edited: EditedDocument) -> None:
        """Record that a state of the document was saved.

        :param edited: ``local_document.current`` when it was saved.
        """
        self.source, self.is_file_changed = source, False
        self._local_document.mark_saved(edited)
        self.document_changed.publish(DocumentChange(is_edit=False))

    def set_namespace(self, namespace: str) -> None:
        """Validate the pipeline in another namespace."""
        if namespace != self.namespace:
            self.namespace = namespace
            self.source = self.source.detach()
            self._open_session()
            self.document_changed.publish(DocumentChange(is_edit=False))

    # -- the file --------------------------------------------------------------------------------

    def _check_file(self) -> None:
        source = self.source
        if source.path is None or self.is_saving or self.is_file_changed:
            return
        path = source.path

        def read() -> None:
            stamp = read_stamp(path)
            if stamp not in (None, source.stamp):
                deliver(self, lambda: self._take_other_stamp(source))

        self.run_worker(read, thread=True, group="file")

    def _take_other_stamp(self, source: DocumentSource) -> None:
        """Another program has changed the file, unless it was saved here meanwhile."""
        if source is not self.source or self.is_saving or self.is_file_changed:
            return
        self.is_file_changed = True
        self.notify(
            "f5 reloads it or shows the differences.",
            title=f"{source.path} was changed by another program.",
            severity="warning",
        )
        self.document_changed.publish(DocumentChange(is_edit=False))

    # -- the session -----------------------------------------------------------------------------

    def _open_session(self) -> None:
        """Open a session with the document as it is. Answers of an earlier session are ignored."""
        self._close_session()
        session = self._session = EditSession()
        request = OpenRequest(
            self.to_text(),
            namespace=self.namespace,
            arguments=self.arguments,
            file=self.source.file,
            name=self.source.name,
        )

        def open_session(cdap: Cdap) -> OpenedSession:
            opened = cdap.editing.open(request)
            session.id = (
                opened.id
            )  # set here, in the thread: the edits queued after this call need it
            if session.is_closed:
                cdap.editing.close(opened.id)
            return opened

        def take_opened(answer: OpenedSession) -> None:
            if session is self._session:
                self._has_reported = False
                self._take_validation(answer.change)
                self._follow_validation(answer)

        self._call_in_order(open_session, take_opened, session, is_opening=True)

    def _close_session(self) -> None:
        if self._following is not None:
            self._following.stop()
            self._following = None
        self._session.is_closed = True
        session = self._session.id
        if session is not None:
            self.call(lambda cdap: cdap.editing.close(session), on_error=lambda _: None)

    def _follow_validation(self, opened: OpenedSession) -> None:
        def poll(cdap: Cdap) -> Iterator[EditResult]:
            revision = opened.change.revision
            while True:
                change = cdap.editing.get_changes(opened.id, revision, _POLL_S)
                revision = change.revision
                yield change

        session = self._session
        self._following = self.follow(
            poll, self._take_validation, on_error=lambda error: self._reopen_later(session, error)
        )

    def _send(self, edit: Edit) -> None:
        """Send an edit that was made here to the service."""
        session = self._session
        if not session.accept_edit(edit):
            self._open_session()  # its history does not reach back to this step
            return
        session.pending_edits += 1

        def end(_: object) -> None:
            session.pending_edits -= 1

        self._call_in_order(
            lambda cdap: cdap.editing.apply(session.require_id(), edit, 0.0), end, session
        )

    def _ask(self, request: Callable[[Cdap, str], object]) -> None:
        session = self._session
        self._call_in_order(lambda cdap: request(cdap, session.require_id()), None, session)

    def _call_in_order(
        self,
        work: Callable[[Cdap], _T],
        on_result: Callable[[_T], object] | None,
        session: EditSession,
        *,
        is_opening: bool = False,
    ) -> None:
        self.call(
            work,
            on_result,
            on_error=lambda error: self._reopen_later(session, error, is_opening=is_opening),
            group="edits",
            ordered=True,
        )

    def _reopen_later(
        self, session: EditSession, error: LocalcdapError, *, is_opening: bool = False
    ) -> None:
        """Open another session: this one ended, or its copy of the document differs from the local one."""
        if session is not self._session:
            return
        if is_opening and not isinstance(error, HostError) and not self._has_reported:
            self._has_reported = True
            self.notify(error.corrective_action or "", title=error.message, severity="error")
        self._close_session()
        self._session = EditSession()
        self.set_timer(_REOPEN_S, self._open_session, name="reopen")

    def _take_validation(self, change: EditResult) -> None:
        self._findings, self.revision = None, change.revision
        gone = [stage for stage in change.removed if stage in self._states]
        for stage in gone:
            del self._states[stage]
        self._states.update(change.stages)
        if change.errors is not None:
            self.pipeline_failures = change.errors
        stages = frozenset(change.stages) | frozenset(gone)
        differs = bool(stages) or change.errors is not None or change.checking != self.checking
        self.checking = change.checking
        if differs or not self.is_known:
            self.is_known = True
            self.validation_changed.publish(stages)

    def _rename(self, change: DocumentChange) -> None:
        for old, new in change.renamed.items():
            if old in self._states:
                self._states[new] = self._states.pop(old)
            if self.selected == old:
                self.selected = new

    def _collect_findings(self) -> tuple[list[ValidationFailure], list[ValidationFailure]]:
        """Return all failures and all warnings, collected once after each change."""
        if self._findings is None:
            states = [state for stage in self.stages if (state := self._states.get(stage))]
            failures = [*self.pipeline_failures, *(f for state in states for f in state.errors)]
            self._findings = failures, [w for state in states for w in state.warnings]
        return self._findings
