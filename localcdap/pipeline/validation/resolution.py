"""Resolves a document to a specification. Validation, runs, previews and tests all use this one function."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.locations import Locations
from localcdap.api.pipeline import PipelineSpec, StageSpec, StandIn
from localcdap.api.schema import Schema
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import PipelineDocument, PipelineType
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.pipeline.rules.column_numbers import check_column_numbers
from localcdap.pipeline.rules.structure_rules import (
    PipelineStructure,
    check_sql_engine,
    check_structure,
    find_silent_inputs,
)
from localcdap.pipeline.validation.datasets import StageDataset, list_stage_datasets
from localcdap.pipeline.validation.plugins import PluginFinder, Repair
from localcdap.pipeline.validation.schema_propagation import (
    SchemaPropagation,
    check_columns,
    create_pipeline_spec,
    create_stage_specs,
    pipeline_properties,
)
from localcdap.pipeline.validation.stage_configuration import (
    ConfiguredStage,
    Configurer,
    StageConfiguration,
    find_warnings,
)
from localcdap.pipeline.validation.written_folders import check_written_folders
from localcdap.sandbox.stage_configuration import ConfigureRequest


class ResolvedPipeline(msgspec.Struct):
    """Everything that is known about a pipeline before it runs."""

    document: PipelineDocument
    """With plugin templates replaced by their plugins; its source is as it was read."""
    errors: list[ValidationFailure]
    """Failures of the structure first, then of post actions and stages in the order of the run."""
    spec: PipelineSpec | None
    """The specification, without evaluated macros; None when there are errors."""
    repairs: list[Repair] = []
    """The artifacts that were replaced, with ``use_suggested``."""
    requests: dict[str, ConfigureRequest] = {}
    """The configure requests by stage and post action: plugin, evaluated properties, input schemas.
    Without those whose plugin was not found. May hold secrets: never show or store it."""
    stages: dict[str, StageSpec] = {}
    """The specification of every stage whose plugin was found, in topological order."""
    warnings: list[ValidationFailure] = []
    """Warnings of post actions, then of stages, if they were asked for."""
    datasets: list[StageDataset] = []
    """The datasets that the stages declare, in the order of the run."""
    tables: dict[str, list[str]] = {}
    """By stage, the other tables that it declares to write."""
    own_error_schemas: dict[str, Schema | None] = {}
    """By stage, the schema of the error records that its plugin emits; those of rules may have more."""
    detected: dict[str, int] = {}
    """See :class:`localcdap.api.pipeline.PipelineValidation`."""
    stand_ins: list[StandIn] = []
    """The stages that do not use their plugins."""

    @property
    def plugins(self) -> dict[str, PluginRef]:
        """The plugins by stage and post action, without those that were not found."""
        return {name: request.plugin for name, request in self.requests.items()}

    def add_stand_ins(
        self,
        stand_ins: Sequence[StandIn],
        failures: Sequence[ValidationFailure],
        warnings: Sequence[ValidationFailure] = (),
    ) -> None:
        """Add the stages that do not use their plugins, and the failures and warnings of recordings."""
        self.stand_ins = [*stand_ins]
        self.warnings = [*warnings, *self.warnings]
        self.errors = [*failures, *self.errors]
        if failures:
            self.spec = None


def resolve_pipeline(
    document: PipelineDocument,
    finder: PluginFinder,
    configurer: Configurer,
    macros: MacroContext | None = None,
    *,
    use_suggested: bool = False,
    locations: Locations | None = None,
    path_locations: Locations | None = None,
    done: Collection[str] = (),
    unevaluated: Collection[str] = (),
    warn: bool = False,
) -> ResolvedPipeline:
    """Check the structure, configure every post action and stage, and build the specification.

    :param macros: evaluates macros; by default no macro has a value, and none needs one.
    :param use_suggested: take the suggested artifact where the requested one is missing.
    :param locations: maps paths to files; with it, the checks of files, databases and networks are made.
    :param path_locations: maps foreign paths, see :class:`StageConfiguration`.
    :param done: the stages that have run. Macros of stages after any other action may lack a value, and these
        stages get no connected checks: the action may provide both.
    :param unevaluated: stages that will not be run, which are treated in the same way.
    :param warn: also find warnings.
    """
    structure = PipelineStructure(document)
    errors = [*check_structure(structure), *check_column_numbers(structure)]
    if document.type is PipelineType.STREAMING:
        return ResolvedPipeline(document, errors, None)
    configure = StageConfiguration(
        finder,
        configurer,
        macros or MacroContext(),
        use_suggested=use_suggested,
        locations=locations,
        path_locations=path_locations,
        pending=_find_stages_after_actions(structure, done) | set(unevaluated),
        pipeline_version=document.artifact_version,
    )
    ending = [configure(each, {}) for each in document.post_actions if each.plugin.name]
    propagation = SchemaPropagation(configure)
    propagation.update(structure)
    outcomes = propagation.stages
    properties, conflicts = pipeline_properties(document, outcomes.values())
    errors += [failure for each in ending for failure in each.failures]
    errors += propagation.failures + conflicts + check_columns(outcomes.values())
    errors += check_written_folders(structure.graph, outcomes.values(), path_locations or locations)
    stages = create_stage_specs(document, structure.graph, outcomes)
    configured = [*ending, *outcomes.values()]
    return ResolvedPipeline(
        document,
        errors,
        None if errors else create_pipeline_spec(document, stages, ending, properties),
        repairs=configure.repairs,
        requests={each.stage.name: each.request for each in configured if each.request is not None},
        stages=stages,
        warnings=_find_all_warnings(structure, configured) if warn else [],
        datasets=list_stage_datasets(configured),
        tables={each.stage.name: [*each.result.columns] for each in configured},
        own_error_schemas={name: each.own_error_schema for name, each in outcomes.items()},
    )


def _find_all_warnings(
    structure: PipelineStructure, configured: Iterable[ConfiguredStage]
) -> list[ValidationFailure]:
    found = [warning for each in configured for warning in find_warnings(each)]
    return [*found, *find_silent_inputs(structure), *check_sql_engine(structure.document)]


def _find_stages_after_actions(structure: PipelineStructure, done: Collection[str]) -> set[str]:
    """Return the stages after actions that have not run; with such an action also all post actions."""
    ahead = [name for name in structure.types if structure.is_action(name) and name not in done]
    behind = {stage for action in ahead for stage in structure.graph.find_descendants(action)}
    return behind | ({each.name for each in structure.document.post_actions} if ahead else set())
