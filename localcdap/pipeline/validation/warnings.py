"""What is probably a mistake in a stage, though the stage is valid with it."""

from __future__ import annotations

from localcdap.api.failures import UNKNOWN_PROPERTY, Cause, ValidationFailure
from localcdap.artifacts.selection import nearest
from localcdap.pipeline.validation.outcome import Outcome


def warnings_of(outcome: Outcome) -> list[ValidationFailure]:
    """What the plugin warns of, and a warning for each property that it does not have; an empty one is of
    no interest.

    CDAP ignores them without a word, so that a misspelt optional property goes unnoticed.
    """
    if outcome.plugin is None:
        return []
    told = outcome.result.warnings
    given = outcome.stage.plugin.properties
    unknown = [name for name, value in given.items() if value and name not in outcome.declared]
    return [*told, *(_unknown(name, outcome) for name in unknown)]


def _unknown(name: str, outcome: Outcome) -> ValidationFailure:
    free = outcome.declared - outcome.stage.plugin.properties.keys()
    near = nearest(name, free)
    if near:
        action = f"Did you mean '{near[0]}'?"
    else:
        action = "Remove it, unless it is meant for another version of the plugin."
    return ValidationFailure(
        UNKNOWN_PROPERTY,
        f"Plugin '{outcome.stage.plugin.name}' has no property '{name}'; it is ignored.",
        action,
        [Cause({"stageConfig": name})],
        stage=outcome.stage.name,
        field=name,
    )
