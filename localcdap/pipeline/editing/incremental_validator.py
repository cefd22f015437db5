"""Incremental validation: after an edit, only what the edit may affect is checked again.

The reports have the state of each stage, and the changes since a revision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.pipeline import StandIn
from localcdap.api.schema import Schema
from localcdap.pipeline.document.model import PipelineDocument, PipelineType, StageUse
from localcdap.pipeline.macros.evaluation import Secrets
from localcdap.pipeline.rules.column_numbers import check_column_numbers
from localcdap.pipeline.rules.structure_rules import PipelineStructure, check_structure
from localcdap.pipeline.validation.datasets import StageDataset, list_stage_datasets
from localcdap.pipeline.validation.schema_propagation import (
    SchemaPropagation,
    check_columns,
    pipeline_properties,
)
from localcdap.pipeline.validation.stage_configuration import (
    ConfiguredStage,
    StageConfiguration,
    find_warnings,
)
from localcdap.pipeline.validation.written_folders import check_written_folders


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


DetectedAt = Callable[[str], int | None]
"""Returns when connected checks of a stage were made, in milliseconds since 1970."""


class IncrementalValidator:
    """The failures and schemas of a document; equal to those that :func:`resolve_pipeline` gives.

    Structure rules run again when stages or connections changed; :class:`SchemaPropagation` decides which
    stages are configured again.
    """

    def __init__(self, configure: StageConfiguration, secrets: Secrets) -> None:
        self._configure = configure
        self._secrets = secrets
        self._propagation = SchemaPropagation(configure)
        self._structure_key: Any = None
        self._structure: PipelineStructure | None = None
        self._broken_rules: list[ValidationFailure] = []
        self._structural: dict[str | None, list[ValidationFailure]] = {}
        self._post_actions: dict[int, ConfiguredStage] = {}
        self._shown: dict[str, tuple[list[ConfiguredStage], tuple[Any, ...], StageState]] = {}

    def reset(self, configure: StageConfiguration, secrets: Secrets) -> None:
        """Configure all stages again at the next update: plugins or values of macros may have changed."""
        self._configure, self._secrets = configure, secrets
        self._propagation.reset(configure)
        self._post_actions, self._shown = {}, {}

    def forget(self, stage: str) -> None:
        """Configure a stage again at the next update."""
        self._propagation.forget(stage)
        self._post_actions = {k: v for k, v in self._post_actions.items() if v.stage.name != stage}

    def set_late(self, stage: str, *, is_late: bool) -> None:
        """Set whether the stages after this one stop waiting for its slow plugin."""
        (self._propagation.late_stages.add if is_late else self._propagation.late_stages.discard)(
            stage
        )

    def update(self, document: PipelineDocument) -> None:
        """Validate a document that may have changed, or whose plugins may have answered since."""
        shape = _get_structure_key(document)
        if self._structure is None or shape != self._structure_key:
            self._structure_key, self._structure = shape, PipelineStructure(document)
            self._broken_rules = check_structure(self._structure)
        else:
            self._structure = self._structure.with_document(document)
        self._structural = {}
        for failure in (*self._broken_rules, *check_column_numbers(self._structure)):
            self._structural.setdefault(failure.stage, []).append(failure)
        if document.type is PipelineType.STREAMING:
            self._propagation = SchemaPropagation(self._configure)
            self._post_actions = {}
            return
        self._post_actions = {
            position: self._configure_post_action(position, stage)
            for position, stage in enumerate(document.post_actions)
            if stage.plugin.name
        }
        self._propagation.update(self._structure)
        outcomes, graph = self._propagation.stages.values(), self._structure.graph
        for failure in check_written_folders(graph, outcomes, self._configure.path_locations):
            self._structural.setdefault(failure.stage, []).append(failure)

    def find_stage(self, stage: str) -> ConfiguredStage | None:
        """Return a configured stage; None when there is no such stage, or it was not configured."""
        return next(iter(self._group_by_name().get(stage, [])), None)

    def list_datasets(self) -> list[StageDataset]:
        """Return the datasets that the stages without failures declare."""
        found = (each for group in self._group_by_name().values() for each in group)
        return list_stage_datasets(each for each in found if not each.failures)

    def list_errors(self) -> list[ValidationFailure]:
        """Return the failures that belong to no stage."""
        assert self._structure is not None
        document = self._structure.document
        stages = self._propagation.stages.values()
        _, conflicts = pipeline_properties(document, stages)
        conflicts += check_columns(stages)
        return self._secrets.clean(self._structural.get(None, []) + conflicts)

    def create_states(self, detected_at: DetectedAt, detecting: set[str]) -> dict[str, StageState]:
        """Return the state of every stage and post action, in document order."""
        assert self._structure is not None
        outcomes = self._group_by_name()
        shown, self._shown = self._shown, {}
        document = self._structure.document
        for stage in (*document.stages, *document.post_actions):
            name = stage.name
            found = outcomes.get(name, [])
            structural = self._structural.get(name, [])
            more = (structural, detected_at(name), name in detecting)
            before = shown.get(name)
            if before is not None and _are_same(before[0], found) and before[1] == more:
                self._shown[name] = before
            else:
                self._shown[name] = (found, more, self._create_state(found, *more))
        return {name: state for name, (_, _, state) in self._shown.items()}

    def _create_state(
        self,
        outcomes: list[ConfiguredStage],
        structural: list[ValidationFailure],
        detected_ms: int | None,
        is_detecting: bool,
    ) -> StageState:
        first = outcomes[0] if outcomes else None
        secrets = self._secrets
        state = create_stage_state(
            first, structural, secrets, detected_ms, is_detecting=is_detecting
        )
        for each in outcomes[1:]:
            state.errors = state.errors + secrets.clean(each.failures)
            state.checking = state.checking or each.is_checking
        return state

    def _configure_post_action(self, position: int, stage: StageUse) -> ConfiguredStage:
        before = self._post_actions.get(position)
        if before is not None and before.stage == stage and not before.is_checking:
            return before
        return self._configure(stage, {})

    def _group_by_name(self) -> dict[str, list[ConfiguredStage]]:
        """Return the configured stages by name: stages, then duplicates, then post actions."""
        found = {name: [outcome] for name, outcome in self._propagation.stages.items()}
        for outcome in (*self._propagation.duplicates, *self._post_actions.values()):
            found.setdefault(outcome.stage.name, []).append(outcome)
        return found


def _get_structure_key(document: PipelineDocument) -> Any:
    """Return everything of a document that the structure rules depend on."""
    return (
        document.type,
        document.problems,
        document.connections,
        [(each.name, each.plugin.type) for each in document.stages],
        [each.name for each in document.post_actions],
        document.schedule,
        document.max_concurrent_runs,
    )


def _are_same(some: list[ConfiguredStage], others: list[ConfiguredStage]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))
