"""The service ``studio``: validates pipelines and single stages, and propagates their schemas.

It has the name of CDAP's studio service and is not part of the terminal studio, which is one of its clients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError, SchemaError
from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import PipelineValidation, StageValidation
from localcdap.api.schema import Schema
from localcdap.pipeline.document.reader import read_document, read_stage
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.datasets import (
    DatasetPlanner,
    NoDatasets,
    create_update_warnings,
)
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.pipeline.validation.schema_propagation import (
    check_expectations,
    create_stage_spec,
    merge_schemas,
)
from localcdap.pipeline.validation.stage_configuration import (
    StageConfiguration,
    find_ignored_properties,
    find_warnings,
)
from localcdap.security.access import of_namespace, requires


class PipelineRequest(msgspec.Struct, rename="camel"):
    """A pipeline to validate."""

    document: Any
    """JSON text, or decoded JSON."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Values of macros; a macro without a value stays as it is."""
    file: str | None = None
    """The file of the document, for error messages."""
    runtime: bool = False
    """Whether every macro must have a value."""
    unevaluated: list[str] = []
    """Stages whose macros may lack a value even so."""
    use_suggested: bool = False
    """Take the suggested artifact where the requested one is missing."""
    connected: bool = False
    """Whether to make the connected checks too, which read files, databases or a network."""
    detected: bool = False
    """Use results of earlier connected checks whose plugin, properties and inputs are the same."""
    name: str | None = None
    """The name whose preferences apply, where it is not the one in the document."""
    recordings: dict[str, str] = {}
    """What stands in for stages, by stage or another key; see
    :class:`localcdap.pipeline.recordings.model.RecordingRule`."""


class StageSchema(msgspec.Struct):
    """The schema of the records that come from one input stage."""

    stage: str
    schema: Any = None
    """A schema document, as JSON or as JSON text; None when it is not known."""


class StageRequest(msgspec.Struct, rename="camel"):
    """A stage to validate (CDAP 6 ``StageValidationRequest``)."""

    stage: Any = None
    """A stage as a pipeline document holds it."""
    input_schemas: list[StageSchema] = []
    """In connection order."""
    resolve_macros_from_preferences: bool = False
    """Whether macros get values from the preferences of the namespace and the arguments below."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Values of macros, which override the preferences."""
    connected: bool = False
    """As in :class:`PipelineRequest`."""
    detected: bool = False
    """As in :class:`PipelineRequest`."""


class StudioService:
    """Validates pipelines and stages. Threads may share it."""

    def __init__(
        self,
        resolver: PipelineResolver,
        check_lineage: Callable[[ResolvedPipeline], list[ValidationFailure]] = lambda _: [],
        datasets: DatasetPlanner = NoDatasets(),  # noqa: B008 - it has no state
    ) -> None:
        """Build the service.

        :param check_lineage: returns warnings about the field lineage of a valid pipeline.
        :param datasets: says which datasets cannot follow the pipeline.
        """
        self._resolver = resolver
        self._check_lineage = check_lineage
        self._datasets = datasets

    @requires(of_namespace("request.namespace"))
    def validate_pipeline(self, request: PipelineRequest) -> PipelineValidation:
        """Return every failure of a pipeline, or its specification.

        :raises DocumentError: when the document is not a pipeline at all; knows line and column.
        :raises NotFoundError: when there is no such namespace.
        """
        resolved = self._resolve(request)
        warnings = resolved.warnings
        if resolved.spec is not None:
            warnings = [*warnings, *self._check_lineage(resolved)]
        return PipelineValidation(
            resolved.errors, resolved.spec, warnings, resolved.detected, resolved.stand_ins
        )

    @requires(of_namespace("request.namespace"))
    def validate_pipeline_stage(self, request: PipelineRequest, stage: str) -> StageValidation:
        """Return every failure of one stage of a pipeline, or its specification in that pipeline.

        :raises NotFoundError: when there is no such namespace, or the pipeline has no such stage.
        :raises DocumentError: when the document is not a pipeline at all; knows line and column.
        """
        resolved = self._resolve(request)
        names = [each.name for each in resolved.document.stages]
        if stage not in names:
            raise NotFoundError(
                f"The pipeline has no stage '{stage}'.",
                f"Its stages: {', '.join(names) or 'none'}.",
            )
        errors = [each for each in resolved.errors if each.stage == stage]
        warnings = [each for each in resolved.warnings if each.stage == stage]
        spec = None if errors else resolved.stages.get(stage)
        detected = {name: at for name, at in resolved.detected.items() if name == stage}
        return StageValidation(errors, spec, warnings, detected)

    @requires(of_namespace("request.namespace"))
    def validate_stage(self, request: StageRequest) -> StageValidation:
        """Return every failure of a stage, or its specification.

        :raises BadRequestError: when the request has no stage, or an input schema is invalid.
        :raises NotFoundError: when there is no such namespace.
        """
        if request.stage is None:
            raise BadRequestError(
                "Invalid stage config: Pipeline stage config must be provided in the validation "
                "request.",
                "Send an object with 'stage' and 'inputSchemas'.",
            )
        stage, failures = read_stage(request.stage)
        inputs = {each.stage: _parse_schema(each) for each in request.input_schemas}
        if failures or stage is None:
            return StageValidation(failures, None)
        environment = self._resolver.environments.create(request.namespace)
        stage = environment.expand_template(stage, failures)
        arguments: dict[str, str] = {}
        if request.resolve_macros_from_preferences:
            arguments = environment.merge_arguments(None, request.arguments)
        configurer = self._resolver.create_configurer(environment, use_detected=request.detected)
        configure = StageConfiguration(
            environment.plugins,
            configurer,
            environment.create_macros(arguments),
            locations=environment.locations if request.connected else None,
            path_locations=environment.locations,
        )
        known = [schema for schema in inputs.values() if schema is not None]
        common, different = merge_schemas(stage.name, stage.plugin.type, known)
        outcome = configure(stage, inputs)
        outcome.set_output_schemas(common)
        check_expectations(outcome, common, wants_errors=None)
        secrets = environment.secrets
        failures = secrets.clean(failures + outcome.failures + different)
        spec = None if failures else secrets.clean_stage(create_stage_spec(outcome))
        return StageValidation(failures, spec, find_warnings(outcome), configurer.times)

    @requires(of_namespace("namespace"))
    def find_ignored_properties(self, document: Any, namespace: str) -> list[ValidationFailure]:
        """Return warnings about the properties of a pipeline that Data Fusion ignores.

        :param document: JSON text, or decoded JSON.
        :raises DocumentError: when the document is not a pipeline at all; knows line and column.
        :raises NotFoundError: when there is no such namespace.
        """
        environment = self._resolver.environments.create(namespace)
        expanded = environment.expand_templates(read_document(document))
        stages = (*expanded.stages, *expanded.post_actions)
        return find_ignored_properties(stages, environment.plugins)

    def _resolve(self, request: PipelineRequest) -> ResolvedPipeline:
        environment = self._resolver.environments.create(request.namespace)
        document = read_document(request.document, request.file)
        name = request.name or document.name
        arguments = environment.merge_arguments(name, request.arguments)
        recorded = environment.record_document(
            document, document.name or name, request.recordings, arguments=arguments
        )
        resolved = self._resolver.resolve(
            recorded.document,
            environment,
            arguments,
            runtime=request.runtime,
            # Only a run has the files of recordings, which connected checks would look for.
            unevaluated=[*request.unevaluated, *recorded.replacements.plugins],
            use_suggested=request.use_suggested,
            connected=request.connected,
            use_detected=request.detected,
        )
        found = recorded.replacements
        resolved.add_stand_ins(found.stand_ins, found.failures, found.warnings)
        plan = self._datasets.plan(request.namespace, resolved.datasets, name)
        resolved.warnings = [*resolved.warnings, *create_update_warnings(plan)]
        if plan.failures:
            resolved.errors = [*resolved.errors, *plan.failures]
            resolved.spec = None
        return resolved


def _parse_schema(given: StageSchema) -> Schema | None:
    if given.schema is None:
        return None
    try:
        if not isinstance(given.schema, (str, dict, list)):
            raise SchemaError("A schema document is an object, a list or a text.")
        return Schema.parse(given.schema)
    except SchemaError as error:
        raise BadRequestError(
            f"Invalid input schema of stage '{given.stage}': {error.message}",
            error.corrective_action,
        ) from None
