"""What stands above all panes of a stage: its name, how it is, and what is wrong with it as a whole."""

from __future__ import annotations

import time
from collections.abc import Iterator

from textual.content import Content

from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.editing.stage_states import StageState
from localcdap.tui.inspector.property_failures import StageFailures
from localcdap.tui.widgets.cached_static import CachedStatic


def format_title(use: StageUse | None, state: StageState | None) -> Content:
    """What the stage and its plugin are called, and how it is."""
    if use is None:
        return Content.styled("Select a stage to see its properties.", "$foreground 60%")
    artifact = state.artifact if state is not None else None
    return Content.assemble(
        Content.styled(use.name, "bold"),
        "  ",
        _verdict(state),
        Content.styled(_age(state), "$foreground 60%"),
        "\n",
        Content.styled(
            f"{use.plugin.name} · {use.plugin.type} · {format_artifact(artifact)}",
            "$foreground 60%",
        ),
    )


def format_banner(blamed: StageFailures) -> list[Content]:
    """What is wrong with the stage as a whole, and what its user can do about it."""
    lines: list[Content] = []
    missing = blamed.missing
    if missing is not None:
        lines.append(Content.styled(f"✗ {missing.message}", "$text-error"))
        suggested = missing.suggested_artifact
        offer = (
            f"f6 uses {suggested.name} {suggested.version} ({suggested.scope})"
            if suggested is not None
            else missing.corrective_action or ""
        )
        lines.append(Content.styled(f"  {offer}", "$foreground 60%"))
    for failure in blamed.others:
        lines += _render_failure(failure, "✗", "$text-error")
    for warning in blamed.remarks:
        lines += _render_failure(warning, "!", "$text-warning")
    return lines


def format_artifact(artifact: ArtifactId | None) -> str:
    if artifact is None:
        return "no artifact"
    return f"{artifact.name} {artifact.version}" + (" user" if artifact.scope == "USER" else "")


def _render_failure(failure: ValidationFailure, glyph: str, style: str) -> Iterator[Content]:
    yield Content.styled(f"{glyph} {failure.message}", style)
    if failure.corrective_action:
        yield Content.styled(f"  {failure.corrective_action}", "$foreground 60%")


def _verdict(state: StageState | None) -> Content:
    if state is None or state.checking:
        return Content.styled("… checking", "$foreground 60%")
    if state.errors:
        count = len(state.errors)
        return Content.styled(f"✗ {count} failure{'s' * (count != 1)}", "$text-error")
    if state.warnings:
        count = len(state.warnings)
        return Content.styled(f"! {count} warning{'s' * (count != 1)}", "$text-warning")
    return Content.styled("✓ valid", "$text-success")


def _age(state: StageState | None) -> str:
    """When files were looked at for the stage."""
    if state is None or state.detected_ms is None:
        return ""
    seconds = max(0, time.time() - state.detected_ms / 1000)
    if seconds < 60:
        return "  looked at files just now"
    if seconds < 3600:
        return f"  looked at files {seconds // 60:.0f} min ago"
    return f"  looked at files {seconds // 3600:.0f} h ago"


class FieldHelp(CachedStatic):
    """Shorten a text to the available space; the complete text is in the documentation of the plugin."""

    DEFAULT_CSS = """
    FieldHelp { display: none; height: 4; padding: 0 1; background: $surface; }
    """

    def __init__(self) -> None:
        super().__init__(classes="help")
        self._whole = Content()

    def show_text(self, text: Content | None) -> None:
        """Show another text; None for none."""
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
    """A text in so many lines; the last one ends with an ellipsis where there are more."""
    lines = text.wrap(width)
    if len(lines) <= height:
        return text
    last = lines[height - 1].rstrip()
    if last.cell_length >= width:
        last = last.truncate(width - 1)
    return Content("\n").join(
        [*(line.rstrip() for line in lines[: height - 1]), last + Content("…")]
    )
