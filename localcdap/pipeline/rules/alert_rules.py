"""The rule for the inputs of alert publishers, which CDAP does not have."""

from __future__ import annotations

from typing import Final

from localcdap.api.failures import INVALID_STAGE, Cause, ValidationFailure
from localcdap.pipeline.rules.plugin_types import (
    ALERT_PUBLISHER,
    CONTROL,
    JOINER,
    SOURCES,
)
from localcdap.pipeline.rules.structure import PipelineStructure

_SILENT: Final = CONTROL | SOURCES | {JOINER, "sparkcompute"}
"""Types of stages whose plugins have no emitter, and so emit no alerts."""


def find_silent_inputs(structure: PipelineStructure) -> list[ValidationFailure]:
    """Return a warning for each alert publisher none of whose inputs can emit alerts."""
    found = []
    for publisher in structure.list_stages(ALERT_PUBLISHER):
        inputs = [c.source for c in structure.graph.incoming[publisher]]
        if inputs and all(structure.types[each] in _SILENT for each in inputs):
            named = ", ".join(f"'{each}' ({structure.types[each]})" for each in inputs)
            found.append(
                ValidationFailure(
                    INVALID_STAGE,
                    f"Stage '{publisher}' gets no alerts: {named} cannot emit any.",
                    "Connect it to a stage that emits alerts, such as a JavaScript transform.",
                    [Cause({"inputStage": each}) for each in inputs],
                    stage=publisher,
                )
            )
    return found
