"""What stands above all panes of a stage: its name, how it is, and what is wrong with it as a whole."""

from __future__ import annotations

import time
from collections.abc import Iterator

from textual.content import Content

from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.editing.stage_states import StageState
from localcdap.tui.inspector.blame import Blamed


def title(use: StageUse | None, state: StageState | None) -> Content:
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
            f"{use.plugin.name} · {use.plugin.type} · {named(artifact)}", "$foreground 60%"
        ),
    )


def banner(blamed: Blamed) -> list[Content]:
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
        lines += _told(failure, "✗", "$text-error")
    for warning in blamed.remarks:
        lines += _told(warning, "!", "$text-warning")
    return lines


def named(artifact: ArtifactId | None) -> str:
    if artifact is None:
        return "no artifact"
    return f"{artifact.name} {artifact.version}" + (" user" if artifact.scope == "USER" else "")


def _told(failure: ValidationFailure, glyph: str, style: str) -> Iterator[Content]:
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
