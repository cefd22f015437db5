"""Incremental validation: after an edit, only what the edit may affect is checked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from localcdap.api.failures import ValidationFailure
from localcdap.pipeline.document.model import PipelineDocument, PipelineType, StageUse
from localcdap.pipeline.editing.stage_states import StageState, create_stage_state
from localcdap.pipeline.macros.secrets import Secrets
from localcdap.pipeline.rules.column_numbers import check_column_numbers
from localcdap.pipeline.rules.structure import PipelineStructure
from localcdap.pipeline.rules.structure_rules import check_structure
from localcdap.pipeline.validation.configured_stage import ConfiguredStage
from localcdap.pipeline.validation.datasets import StageDataset, list_stage_datasets
from localcdap.pipeline.validation.schema_propagation import SchemaPropagation
from localcdap.pipeline.validation.specification import check_columns, pipeline_properties
from localcdap.pipeline.validation.stage_configuration import StageConfiguration

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
