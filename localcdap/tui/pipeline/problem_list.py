"""The list of all failures and warnings of a pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList

from localcdap.api.failures import (
    ADDED_PROPERTY,
    ARTIFACT_NOT_FOUND,
    INVALID_PIPELINE,
    UNKNOWN_PROPERTY,
    ValidationFailure,
)
from localcdap.pipeline.document.values import artifact_to_json
from localcdap.pipeline.editing.edits import CompoundEdit, Edit, SetPlugin, SetProperty
from localcdap.pipeline.rules.column_numbers import FIRST, number_from_zero
from localcdap.tui.document.editor import Editor
from localcdap.tui.lists import StudioOptionList, ValueOption, match_query
from localcdap.tui.studio import ExplainedActions
from localcdap.tui.widgets.lines import CachedStatic


class ProblemList(ExplainedActions, Vertical):
    """Follows an editor. ``enter`` goes to what a failure is about, ``x`` does what it suggests."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "filter", id="problems.filter", show=False),
        Binding("x", "fix", "apply the fix", id="problems.fix"),
        Binding("X", "fix_all", "apply all fixes", id="problems.fix_all", show=False),
        Binding("escape", "leave_filter", "back", id="problems.back", show=False),
    ]
    DEFAULT_CSS = """
    ProblemList { height: 1fr; }
    ProblemList .title { height: 1; padding: 0 1; color: $text-muted; }
    ProblemList OptionList { height: 1fr; }
    ProblemList Input { display: none; height: 1; border: none; padding: 0 1; background: $boost; }
    ProblemList Input.-open { display: block; }
    """

    class Chosen(Message):
        """The user wants to go to the place of a failure.

        :param stage: None for a failure of the pipeline itself.
        :param property: of the stage's plugin; None when the failure names none.
        :param field: the field of a schema.
        """

        def __init__(self, stage: str | None, property: str | None, field: str | None) -> None:
            super().__init__()
            self.stage = stage
            self.property = property
            self.field = field

    def __init__(self, editor: Editor, id: str | None = None) -> None:
        super().__init__(id=id)
        self._editor = editor
        self._shown: list[ValidationFailure] = []

    def compose(self) -> ComposeResult:
        yield CachedStatic(classes="title")
        yield Input(placeholder="filter", compact=True)
        yield StudioOptionList(verb="go there", classes="plain")

    def on_mount(self) -> None:
        self._editor.document_changed.subscribe(self, lambda _: self._fill())
        self._editor.validation_changed.subscribe(self, lambda _: self._fill())
        self._fill()

    @property
    def shown(self) -> list[ValidationFailure]:
        """The listed failures, followed by warnings."""
        return self._shown

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    @on(Input.Changed)
    def _fill(self) -> None:
        """List all problems again; the highlight stays on its problem."""
        query = self.query_one(Input).value
        errors, warnings = self._editor.failures, self._editor.warnings
        found = [
            each for each in (*errors, *warnings) if match_query(query, _search(each)) is not None
        ]
        fixes = sum(find_fix(self._editor, each) is not None for each in found)
        self.query_one(".title", CachedStatic).update_if_changed(
            _count_problems(len(errors), len(warnings), fixes, self._editor)
        )
        if found == self._shown:
            return
        before = self._highlighted
        self._shown = found
        listed = self._list
        with self.prevent(OptionList.OptionHighlighted):
            listed.clear_options()
            listed.add_options(_create_option(each, each in errors) for each in found)
            if found:
                place = (
                    found.index(before)
                    if before in found
                    else min(listed.highlighted or 0, len(found) - 1)
                )
                listed.highlighted = place
        self.refresh_bindings()

    @property
    def _highlighted(self) -> ValidationFailure | None:
        place = self._list.highlighted
        return self._shown[place] if place is not None and place < len(self._shown) else None

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if not isinstance(event.option, ValueOption):
            return
        failure: ValidationFailure = event.option.value
        attributes = {
            k: v for cause in reversed(failure.causes) for k, v in cause.attributes.items()
        }
        field = attributes.get("inputField") or attributes.get("outputField")
        property = attributes.get("stageConfig") or failure.field
        self.post_message(self.Chosen(failure.stage, property, field))

    @on(OptionList.OptionHighlighted)
    def _handle_highlight(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self.refresh_bindings()

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        self._list.focus()

    def action_filter(self) -> None:
        query = self.query_one(Input)
        query.add_class("-open")
        query.focus()

    def action_leave_filter(self) -> None:
        query = self.query_one(Input)
        query.value = ""
        query.remove_class("-open")
        self._list.focus()

    def action_fix(self) -> None:
        """Do what the highlighted failure suggests."""
        failure = self._highlighted
        edit = find_fix(self._editor, failure) if failure is not None else None
        if edit is not None:
            self._editor.apply(edit, origin=self)

    def action_fix_all(self) -> None:
        """Do what all listed failures suggest, as one edit."""
        fix = find_all_fixes(self._editor, self._shown)
        if fix is not None:
            self._editor.apply(fix, origin=self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "leave_filter":
            return self.query_one(Input).has_class("-open")
        return super().check_action(action, parameters)

    def explain_disabled(self, action: str) -> str | None:
        if action == "fix":
            failure = self._highlighted
            if failure is None:
                return "no failure is highlighted"
            if find_fix(self._editor, failure) is None:
                return "this failure has no automatic fix"
        if action == "fix_all" and not any(find_fix(self._editor, each) for each in self._shown):
            return "none of these failures has an automatic fix"
        return None


def _count_problems(errors: int, warnings: int, fixes: int, editor: Editor) -> Content:
    if not editor.is_known:
        return Content("… checking")
    parts = []
    if errors:
        parts.append(f"✗ {errors} failure{'s' * (errors != 1)}")
    if warnings:
        parts.append(f"! {warnings} warning{'s' * (warnings != 1)}")
    if editor.checking:
        parts.append(f"… checking {len(editor.checking)}")
    if fixes:
        parts.append(f"X applies {'the fix' if fixes == 1 else f'all {fixes} fixes'}")
    return Content("  ".join(parts) or "✓ nothing is wrong")


def _search(failure: ValidationFailure) -> str:
    return f"{failure.stage or ''} {failure.field or ''} {failure.message}"


def _create_option(failure: ValidationFailure, is_failure: bool) -> ValueOption[ValidationFailure]:
    glyph, style = ("✗", "$text-error") if is_failure else ("!", "$text-warning")
    place = " · ".join(filter(None, (failure.stage or "pipeline", failure.field)))
    lines = [
        Content.assemble(
            (f"{glyph} ", style), Content.styled(place, "$foreground 60%"), "\n  ", failure.message
        )
    ]
    if failure.corrective_action:
        lines.append(Content(f"  {failure.corrective_action}"))
    return ValueOption(Content("\n").join(lines), failure)


_MEANT: Final = re.compile(r"Did you mean '(.+)'\?")


def find_fix(editor: Editor, failure: ValidationFailure) -> Edit | None:
    """Return the edit that removes a failure; None when there is no automatic fix.

    A missing artifact is exchanged for the suggested one, a misspelt property is renamed, and columns are
    numbered as in CDAP, or as by earlier versions where a pipeline reads them so.
    """
    stage = failure.stage
    use = editor.get_stage(stage) if stage is not None else None
    if stage is None or use is None:
        return None
    if failure.type == ARTIFACT_NOT_FOUND and failure.suggested_artifact is not None:
        artifact = artifact_to_json(failure.suggested_artifact)
        return SetPlugin(stage, use.plugin.type, use.plugin.name, artifact)
    if failure.type == UNKNOWN_PROPERTY and failure.field is not None:
        meant = _MEANT.search(failure.corrective_action or "")
        value = editor.get_properties(stage).get(failure.field)
        if meant is not None and value is not None:
            gone = SetProperty(stage, failure.field)
            return CompoundEdit([gone, SetProperty(stage, meant[1], value)])
    if failure.field == FIRST and failure.type == ADDED_PROPERTY:
        changes = number_from_zero(editor.document, stage)
        return CompoundEdit([SetProperty(*place, value) for place, value in changes.items()])
    if failure.field == FIRST and failure.type == INVALID_PIPELINE:
        return SetProperty(stage, FIRST, "1")
    return None


def find_all_fixes(editor: Editor, failures: Iterable[ValidationFailure]) -> Edit | None:
    """Return the fixes of all failures as one edit; None when there are none."""
    edits = [edit for each in failures if (edit := find_fix(editor, each)) is not None]
    return CompoundEdit(edits) if edits else None
