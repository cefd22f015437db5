"""The heading of the inspector: name and status of the stage, and its failures.

Failures are grouped by property, by element of a property, or for the whole stage.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator

import msgspec
from textual.content import Content

from localcdap.api.failures import ARTIFACT_NOT_FOUND, ArtifactId, ValidationFailure
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.editing.incremental_validator import StageState
from localcdap.tui.widgets.lines import CachedStatic


class PropertyFailure(msgspec.Struct, frozen=True):
    """A failure or warning that the form shows at a property."""

    message: str
    corrective_action: str | None
    element: str | None
    """The element of a list property; None for the whole property."""
    is_warning: bool

    @property
    def glyph(self) -> str:
        return "!" if self.is_warning else "✗"


class StageFailures(msgspec.Struct):
    """All failures and warnings of a stage."""

    by_property: dict[str, list[PropertyFailure]]
    others: list[ValidationFailure]
    """Failures that do not belong to a property of the form."""
    remarks: list[ValidationFailure]
    """Warnings that do not belong to a property of the form."""
    missing: ValidationFailure | None
    """The failure of a missing plugin or artifact, which the form offers to repair."""


def group_failures(
    errors: Iterable[ValidationFailure],
    warnings: Iterable[ValidationFailure],
    properties: Collection[str] | None,
) -> StageFailures:
    """Group the failures and warnings of a stage.

    :param properties: the properties that the form shows; None while the form is being created and may
        show any.
    """
    found = StageFailures({}, [], [], None)
    for failures, is_warning in ((errors, False), (warnings, True)):
        for failure in failures:
            named = _list_properties(failure, properties)
            for name, element in named:
                shown = PropertyFailure(
                    failure.message, failure.corrective_action, element, is_warning
                )
                found.by_property.setdefault(name, []).append(shown)
            if failure.type == ARTIFACT_NOT_FOUND and found.missing is None:
                found.missing = failure
            elif not named:
                (found.remarks if is_warning else found.others).append(failure)
    return found


def _list_properties(
    failure: ValidationFailure, properties: Collection[str] | None
) -> list[tuple[str, str | None]]:
    """Return the properties and elements that a failure names, each once."""
    named: dict[tuple[str, str | None], None] = {}
    for cause in failure.causes:
        name = cause.attributes.get("stageConfig")
        if name is not None and (properties is None or name in properties):
            named[name, cause.attributes.get("configElement")] = None
    field = failure.field
    if not named and field is not None and (properties is None or field in properties):
        named[field, None] = None
    return list(named)


def format_title(use: StageUse | None, state: StageState | None) -> Content:
    """Return the names of the stage and its plugin, and the status of the stage."""
    if use is None:
        return Content.styled("Select a stage to see its properties.", "$foreground 60%")
    return Content.assemble(
        Content.styled(use.name, "bold"),
        "  ",
        _render_status(state),
        Content.styled(_format_check_age(state), "$foreground 60%"),
        "\n",
        Content.styled(
            f"{use.plugin.name} · {use.plugin.type} · {_format_execution(state)}",
            "$foreground 60%",
        ),
    )


def format_banner(failures: StageFailures) -> list[Content]:
    """Return the failures and warnings of the stage as a whole, with their corrective actions."""
    lines: list[Content] = []
    missing = failures.missing
    if missing is not None:
        lines.append(Content.styled(f"✗ {missing.message}", "$text-error"))
        suggested = missing.suggested_artifact
        offer = (
            f"f6 uses {suggested.name} {suggested.version} ({suggested.scope})"
            if suggested is not None
            else missing.corrective_action or ""
        )
        lines.append(Content.styled(f"  {offer}", "$foreground 60%"))
    for failure in failures.others:
        lines += _render_failure(failure, "✗", "$text-error")
    for warning in failures.remarks:
        lines += _render_failure(warning, "!", "$text-warning")
    return lines


def _format_execution(state: StageState | None) -> str:
    """Return the artifact of the plugin, or what stands in for the plugin."""
    if state is not None and state.stand_in is not None:
        return f"{state.stand_in.kind}: {state.stand_in.recording}"
    return format_artifact(state.artifact if state is not None else None)


def format_artifact(artifact: ArtifactId | None) -> str:
    if artifact is None:
        return "no artifact"
    return f"{artifact.name} {artifact.version}" + (" user" if artifact.scope == "USER" else "")


def _render_failure(failure: ValidationFailure, glyph: str, style: str) -> Iterator[Content]:
    yield Content.styled(f"{glyph} {failure.message}", style)
    if failure.corrective_action:
        yield Content(f"  {failure.corrective_action}")


def _render_status(state: StageState | None) -> Content:
    if state is None or state.checking:
        return Content.styled("… checking", "$foreground 60%")
    if state.errors:
        count = len(state.errors)
        return Content.styled(f"✗ {count} failure{'s' * (count != 1)}", "$text-error")
    if state.warnings:
        count = len(state.warnings)
        return Content.styled(f"! {count} warning{'s' * (count != 1)}", "$text-warning")
    return Content.styled("✓ valid", "$text-success")


def _format_check_age(state: StageState | None) -> str:
    """Return when the connected checks of the stage were made."""
    if state is None or state.detected_ms is None:
        return ""
    seconds = max(0, time.time() - state.detected_ms / 1000)
    if seconds < 60:
        return "  files checked just now"
    if seconds < 3600:
        return f"  files checked {seconds // 60:.0f} min ago"
    return f"  files checked {seconds // 3600:.0f} h ago"


class FieldHelp(CachedStatic):
    """Shows the help of a field, shortened to the available space."""

    DEFAULT_CSS = """
    FieldHelp { display: none; height: 4; padding: 0 1; background: $surface; }
    """

    def __init__(self) -> None:
        super().__init__(classes="help")
        self._whole = Content()

    def show_text(self, text: Content | None) -> None:
        """Show another text; None hides the help."""
        self.display = text is not None
        self._whole = text or Content()
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        width, height = self.content_size
        self.update_if_changed(
            crop_text(self._whole, width, height) if width and height else self._whole
        )


def crop_text(text: Content, width: int, height: int) -> Content:
    """Return a text of at most ``height`` lines; the last one ends with an ellipsis when lines are left
    out.
    """
    lines = text.wrap(width)
    if len(lines) <= height:
        return text
    last = lines[height - 1].rstrip()
    if last.cell_length >= width:
        last = last.truncate(width - 1)
    return Content("\n").join(
        [*(line.rstrip() for line in lines[: height - 1]), last + Content("…")]
    )
