"""The reports of an editing session: the state of each stage, and the changes since a revision."""

from __future__ import annotations

import msgspec

from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.pipeline import StandIn
from localcdap.api.schema import Schema
from localcdap.pipeline.macros.secrets import Secrets
from localcdap.pipeline.validation.configured_stage import ConfiguredStage, find_warnings


class StageState(msgspec.Struct, rename="camel"):
    """The validation state of a stage or post action."""

    errors: list[ValidationFailure]
    """Failures of the structure that name the stage, then those of its plugin."""
    warnings: list[ValidationFailure]
    input_schemas: dict[str, Schema | None]
    """By input stage; None where the schema is not known."""
    output_schema: Schema | None
    error_schema: Schema | None
    port_schemas: dict[str, Schema]
    artifact: ArtifactId | None
    """The artifact of its plugin; None while it is not found."""
    checking: bool = False
    """Whether its plugin has not answered yet; the other fields are then the previous state."""
    detected_ms: int | None = None
    """When connected checks were made, in milliseconds since 1970; None if they were not."""
    stand_in: StandIn | None = None
    """What the stage does in place of its plugin."""


class EditResult(msgspec.Struct, rename="camel"):
    """The changes since an earlier revision of a session."""

    revision: int
    """Grows with every edit, and with every plugin result that changes a state."""
    errors: list[ValidationFailure] | None
    """All failures that belong to no stage; None when they are unchanged."""
    stages: dict[str, StageState]
    """The stages that changed, in the order of the pipeline."""
    removed: list[str]
    """Stages that are no longer there."""
    checking: list[str]
    """All stages whose plugins have not answered yet."""
    valid: bool
    """Whether there is no failure and no open check."""
    can_undo: bool
    can_redo: bool


def create_stage_state(
    outcome: ConfiguredStage | None,
    structural: list[ValidationFailure],
    secrets: Secrets,
    detected_ms: int | None,
    *,
    is_detecting: bool,
) -> StageState:
    """Return the state to show of a stage, without secrets.

    :param outcome: None for a stage that was not configured, of a streaming pipeline.
    """
    if outcome is None:
        return StageState(structural, [], {}, None, None, {}, None)
    shown = secrets.clean_schema
    ports = {port: shown(schema) for port, schema in outcome.port_schemas.items()}
    return StageState(
        errors=secrets.clean(structural + outcome.failures),
        warnings=find_warnings(outcome),
        input_schemas={stage: shown(schema) for stage, schema in outcome.input_schemas.items()},
        output_schema=shown(outcome.output_schema),
        error_schema=shown(outcome.error_schema),
        port_schemas={port: schema for port, schema in ports.items() if schema is not None},
        artifact=outcome.plugin.artifact if outcome.plugin is not None else None,
        checking=outcome.is_checking or is_detecting,
        detected_ms=detected_ms,
    )


class StageStateLog:
    """The states of a session's stages, with the revision in which each changed last."""

    def __init__(self) -> None:
        self.revision = 0
        self._states: dict[str, tuple[int, StageState]] = {}
        self._removed: dict[str, int] = {}
        self._errors: tuple[int, list[ValidationFailure]] = (0, [])

    def record(
        self,
        errors: list[ValidationFailure],
        states: dict[str, StageState],
        *,
        is_edited: bool = False,
    ) -> None:
        """Record the current states; a new revision begins when any of them differs.

        :param states: of all stages, in order.
        :param is_edited: whether a new revision begins in any case.
        """
        revision, before = self.revision + 1, self._states
        self._states = {}
        changed = is_edited or list(before) != list(states)
        for name, state in states.items():
            kept = before.get(name)
            if kept is not None and (kept[1] is state or kept[1] == state):
                self._states[name] = kept
            else:
                self._states[name], changed = (revision, state), True
        for name in before.keys() - states.keys():
            self._removed[name] = revision
        for name in states.keys() & self._removed.keys():
            del self._removed[name]
        if errors != self._errors[1]:
            self._errors, changed = (revision, errors), True
        self.revision += changed

    def get_changes(self, revision: int, *, can_undo: bool, can_redo: bool) -> EditResult:
        """Return what changed after a revision; everything after -1."""
        changed_at, errors = self._errors
        states = {name: state for name, (at, state) in self._states.items() if at > revision}
        checking = [name for name, (_, state) in self._states.items() if state.checking]
        wrong = errors or any(state.errors for _, state in self._states.values())
        return EditResult(
            revision=self.revision,
            errors=errors if changed_at > revision or revision < 0 else None,
            stages=states,
            removed=[name for name, at in self._removed.items() if at > revision],
            checking=checking,
            valid=not wrong and not checking,
            can_undo=can_undo,
            can_redo=can_redo,
        )
