"""The model of an open pipeline that all parts of the studio screen share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from textual.signal import Signal
from textual.widget import Widget

from localcdap.api.errors import HostError, LocalcdapError
from localcdap.api.failures import ValidationFailure
from localcdap.host.cdap import Cdap
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.values import as_text
from localcdap.pipeline.editing.edited_document import EditedDocument
from localcdap.pipeline.editing.edits import Edit, Redo, Undo
from localcdap.pipeline.editing.service import OpenedSession, OpenRequest
from localcdap.pipeline.editing.stage_states import EditResult, StageState
from localcdap.tui.document.local_document import Difference, Paper
from localcdap.tui.document.session import Session
from localcdap.tui.document.source import Source
from localcdap.tui.routes import NavigationTarget
from localcdap.tui.service_calls import FollowedSource
from localcdap.tui.studio import StudioNode

_T = TypeVar("_T")

_POLL_S: Final = 5.0
_REOPEN_S: Final = 1.0


class Editor(StudioNode, Widget):
    """An open pipeline: its document, and what the service knows of it.

    An edit is made at once on a copy of the document; the service makes the same one a moment later and
    says what it means. When the session is lost, with its host for instance, another is opened with the
    document as it is.

    Whoever shows something of it subscribes to :attr:`changed` and :attr:`selection`.
    """

    DEFAULT_CSS = "Editor { display: none; }"

    @dataclass(frozen=True)
    class Changed:
        """What is different now."""

        stages: frozenset[str] = frozenset()
        """Those whose state or JSON is another one, or that are new or gone."""
        is_graph: bool = False
        """Whether stages, names, connections or plugins differ."""
        is_edit: bool = False
        """Whether the document differs."""
        is_judged: bool = False
        """Whether the service said something new."""
        renamed: Mapping[str, str] = field(default_factory=dict)
        """New names by old ones."""
        by: object = None
        """Who made the edit, as told to :meth:`Editor.apply`."""

    def __init__(self, source: Source, paper: Paper, namespace: str) -> None:
        super().__init__()
        self.source = source
        """Where the document came from, and where it is saved."""
        self.namespace = namespace
        self.arguments: dict[str, str] = {}
        """Values of macros that the pipeline is judged with, above the preferences."""
        self.selected: str | None = None
        """The stage that all parts show."""
        self.changed: Signal[Editor.Changed] = Signal(self, "changed")
        self.selection: Signal[str | None] = Signal(self, "selection")
        self.checking: list[str] = []
        """Stages whose plugins have still to answer."""
        self.problems: list[ValidationFailure] = []
        """Those of no stage."""
        self.is_known = False
        """Whether the service has said anything yet."""
        self.revision = 0
        """That of the session which the service told of last."""
        self._paper = paper
        self._states: dict[str, StageState] = {}
        self._wrong: tuple[list[ValidationFailure], list[ValidationFailure]] | None = None
        self._session = Session()
        self._following: FollowedSource | None = None
        self._was_told = False

    def on_mount(self) -> None:
        self._open()

    def on_unmount(self) -> None:
        self._leave()

    # -- what it is ----------------------------------------------------------------------------

    @property
    def paper(self) -> Paper:
        return self._paper

    @property
    def document(self) -> PipelineDocument:
        return self._paper.document

    @property
    def config(self) -> Mapping[str, Any]:
        """The decoded JSON of the configuration."""
        return self._paper.draft.config

    @property
    def target(self) -> NavigationTarget:
        """Where the document came from, as the rest of the studio names it."""
        return self.source.target

    @property
    def title(self) -> str:
        """What the pipeline is called, here."""
        return self.document.name or self.source.name or "pipeline"

    @property
    def is_changed(self) -> bool:
        """Whether there is something to save."""
        return self._paper.is_changed

    @property
    def can_undo(self) -> bool:
        return self._paper.can_undo

    @property
    def can_redo(self) -> bool:
        return self._paper.can_redo

    @property
    def stages(self) -> list[str]:
        """Names of the stages and post actions, each once, in document order."""
        document = self.document
        return list(dict.fromkeys(u.name for u in (*document.stages, *document.post_actions)))

    @property
    def failures(self) -> list[ValidationFailure]:
        """All that is wrong: what belongs to no stage first, then by stage."""
        return self._told_wrong()[0]

    @property
    def warnings(self) -> list[ValidationFailure]:
        return self._told_wrong()[1]

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong, and no answer open."""
        return self.is_settled and not self.failures

    @property
    def is_settled(self) -> bool:
        """Whether all plugins have answered to the document as it is."""
        return self.is_known and not self.checking and not self._session.open_edits

    def text(self) -> str:
        """The document as JSON text: what is saved and run."""
        return self._paper.draft.to_text()

    def node(self, stage: str) -> Mapping[str, Any]:
        """The decoded JSON of a stage; empty when there is none of that name."""
        return self._paper.node(stage)

    def use(self, stage: str) -> StageUse | None:
        """The plugin that a stage asks for, typed."""
        return self._paper.use(stage)

    def properties(self, stage: str) -> dict[str, Any]:
        """The properties of a stage's plugin as they stand in the document."""
        plugin = self.node(stage).get("plugin")
        properties = plugin.get("properties") if isinstance(plugin, Mapping) else None
        return dict(properties) if isinstance(properties, Mapping) else {}

    def remark(self, stage: str) -> str:
        """What somebody noted about a stage."""
        return as_text(self.node(stage).get("description")) or ""

    def state(self, stage: str) -> StageState | None:
        """What the service knows of a stage; None while it knows nothing."""
        return self._states.get(stage)

    # -- what can be done ----------------------------------------------------------------------

    def apply(self, edit: Edit, by: object = None) -> bool:
        """Make an edit. False when it is refused, which a notice says.

        :param by: who makes it; told in :class:`Changed`, so that a form knows its own edits.
        """
        try:
            difference = self._paper.apply(edit)
        except LocalcdapError as error:
            self.notify(error.corrective_action or "", title=error.message, severity="warning")
            return False
        self._wrong = None
        self._rename(difference)
        self._send(edit)
        self.changed.publish(
            Editor.Changed(
                difference.stages,
                is_graph=difference.is_graph,
                is_edit=True,
                renamed=difference.renamed,
                by=by,
            )
        )
        if self.selected is not None and not self.node(self.selected):
            self.select(None)
        return True

    def undo(self) -> bool:
        return self.apply(Undo())

    def redo(self) -> bool:
        return self.apply(Redo())

    def select(self, stage: str | None) -> None:
        """Have all parts show a stage; None for none."""
        if stage is not None and not self.node(stage):
            stage = None
        if stage != self.selected:
            self.selected = stage
            self.selection.publish(stage)

    def detect(self, stages: Sequence[str] | None = None) -> None:
        """Have files and databases looked at; what is found comes as changes.

        :param stages: None for all that look outside.
        """
        names = None if stages is None else list(stages)
        self._ask(lambda cdap, session: cdap.editing.detect(session, names))

    def judge_anew(self) -> None:
        """Have everything judged anew, with the preferences and plugins of now."""
        self._ask(lambda cdap, session: cdap.editing.refresh(session))

    def judge_with(self, arguments: Mapping[str, str]) -> None:
        """Judge the pipeline with other values of macros."""
        if dict(arguments) != self.arguments:
            self.arguments = dict(arguments)
            self._open()

    def saved(self, source: Source, draft: EditedDocument) -> None:
        """Note that a state of the document was saved.

        :param draft: what ``paper.draft`` was when it was saved.
        """
        self.source = source
        self._paper.saved(draft)
        self.changed.publish(Editor.Changed())

    def move_to(self, namespace: str) -> None:
        """Judge the pipeline in another namespace."""
        if namespace != self.namespace:
            self.namespace = namespace
            self.source = self.source.detached()
            self._open()
            self.changed.publish(Editor.Changed())

    # -- the session -----------------------------------------------------------------------------

    def _open(self) -> None:
        """Open a session with the document as it is; what an earlier one says is not heard any more."""
        self._leave()
        session = self._session = Session()
        request = OpenRequest(
            self.text(),
            namespace=self.namespace,
            arguments=self.arguments,
            file=self.source.file,
            name=self.source.name,
        )

        def open_it(cdap: Cdap) -> OpenedSession:
            opened = cdap.editing.open(request)
            session.id = opened.id  # at once: the edits that wait behind this call need it
            if session.is_over:
                cdap.editing.close(opened.id)
            return opened

        def opened(answer: OpenedSession) -> None:
            if session is self._session:
                self._was_told = False
                self._judged(answer.change)
                self._listen(answer)

        self._in_order(open_it, opened, session, is_opening=True)

    def _leave(self) -> None:
        if self._following is not None:
            self._following.stop()
            self._following = None
        self._session.is_over = True
        session = self._session.id
        if session is not None:
            self.call(lambda cdap: cdap.editing.close(session), on_error=lambda _: None)

    def _listen(self, opened: OpenedSession) -> None:
        def changes(cdap: Cdap) -> Iterator[EditResult]:
            revision = opened.change.revision
            while True:
                change = cdap.editing.get_changes(opened.id, revision, _POLL_S)
                revision = change.revision
                yield change

        session = self._session
        self._following = self.follow(
            changes, self._judged, on_error=lambda error: self._lost(session, error)
        )

    def _send(self, edit: Edit) -> None:
        """Have the service make an edit that was made here."""
        session = self._session
        if not session.can_make(edit):
            self._open()  # it does not remember what is to be taken back
            return
        session.open_edits += 1

        def made(_: object) -> None:
            session.open_edits -= 1

        self._in_order(lambda cdap: cdap.editing.apply(session.needed(), edit, 0.0), made, session)

    def _ask(self, what: Callable[[Cdap, str], object]) -> None:
        session = self._session
        self._in_order(lambda cdap: what(cdap, session.needed()), None, session)

    def _in_order(
        self,
        work: Callable[[Cdap], _T],
        done: Callable[[_T], object] | None,
        session: Session,
        *,
        is_opening: bool = False,
    ) -> None:
        self.call(
            work,
            done,
            on_error=lambda error: self._lost(session, error, is_opening=is_opening),
            group="edits",
            ordered=True,
        )

    def _lost(self, session: Session, error: LocalcdapError, *, is_opening: bool = False) -> None:
        """The session ended, or its copy of the document is not ours any more: go on with another."""
        if session is not self._session:
            return
        if is_opening and not isinstance(error, HostError) and not self._was_told:
            self._was_told = True
            self.notify(error.corrective_action or "", title=error.message, severity="error")
        self._leave()
        self._session = Session()
        self.set_timer(_REOPEN_S, self._open, name="reopen")

    def _judged(self, change: EditResult) -> None:
        self._wrong, self.revision = None, change.revision
        gone = [stage for stage in change.removed if stage in self._states]
        for stage in gone:
            del self._states[stage]
        self._states.update(change.stages)
        if change.errors is not None:
            self.problems = change.errors
        turned = frozenset(change.stages) | frozenset(gone)
        is_other = bool(turned) or change.errors is not None or change.checking != self.checking
        self.checking = change.checking
        if is_other or not self.is_known:
            self.is_known = True
            self.changed.publish(Editor.Changed(turned, is_judged=True))

    def _rename(self, difference: Difference) -> None:
        for old, new in difference.renamed.items():
            if old in self._states:
                self._states[new] = self._states.pop(old)
            if self.selected == old:
                self.selected = new

    def _told_wrong(self) -> tuple[list[ValidationFailure], list[ValidationFailure]]:
        """All failures and all warnings; gathered once after each change."""
        if self._wrong is None:
            known = [state for stage in self.stages if (state := self._states.get(stage))]
            failures = [*self.problems, *(f for state in known for f in state.errors)]
            self._wrong = failures, [w for state in known for w in state.warnings]
        return self._wrong
