"""The studio: validates pipelines and single stages, and propagates their schemas."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from localcdap.api.errors import BadRequestError, NotFoundError, SchemaError
from localcdap.api.locations import Locations
from localcdap.api.pipeline import PipelineValidation, StageValidation
from localcdap.api.schema import Schema
from localcdap.pipeline.detection import DetectingConfigurer, Kept, Tables
from localcdap.pipeline.document.document import read_document
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.parts import read_stage
from localcdap.pipeline.document.repair import repaired
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.pipeline.macros.functions import macro_functions
from localcdap.pipeline.macros.secrets import Secrets
from localcdap.pipeline.validation.flow import merge
from localcdap.pipeline.validation.plugin_templates import (
    PluginTemplate,
    TemplateUse,
    by_name,
    with_template,
    with_templates,
    written_out,
)
from localcdap.pipeline.validation.plugins import Artifacts, IndexedPlugins, Repair
from localcdap.pipeline.validation.resolution import ResolvedPipeline, resolve_pipeline
from localcdap.pipeline.validation.specification import stage_spec
from localcdap.pipeline.validation.stages import Configurer, StageConfiguration
from localcdap.pipeline.validation.warnings import warnings_of

SecretsOf = Callable[[str], Secrets]
"""The secure keys and connections of a namespace, for one piece of work."""
Templates = Callable[[str], Sequence[PluginTemplate]]
"""The templates of plugins, by namespace."""
Preferences = Callable[[str, str | None], Mapping[str, str]]
"""Values of macros, by namespace and the name of a pipeline; None for the namespace's own."""


class PipelineRequest(msgspec.Struct, rename="camel"):
    """A pipeline to be validated."""

    document: Any
    """JSON text, or decoded JSON."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Values of macros; what they do not define stays open."""
    file: str | None = None
    """Where the document came from, named in errors."""
    runtime: bool = False
    """Whether every macro must have a value."""
    unevaluated: list[str] = []
    """Stages whose macros may stay open all the same."""
    use_suggested: bool = False
    """Take the suggested artifact where the one asked for is missing."""
    connected: bool = False
    """Make the checks that need files, databases or a network, too."""
    detected: bool = False
    """Take over what such checks found before, where plugin, properties and inputs are the same."""
    name: str | None = None
    """What the pipeline is called, where that is not what the document says: whose preferences hold."""


class PipelineRepair(msgspec.Struct):
    """A pipeline after its missing artifacts were exchanged for suggested ones."""

    validation: PipelineValidation
    repairs: list[Repair]
    document: Any
    """The decoded JSON with the repairs written in, all else as it was."""


class WrittenOut(msgspec.Struct):
    """A document without templates of plugins."""

    document: Any
    """As it was given when no stage uses a template, else decoded JSON."""
    templates: list[TemplateUse]


class StageSchema(msgspec.Struct):
    """The schema that comes from one input stage."""

    stage: str
    schema: Any = None
    """A schema document, as JSON or as JSON text; None when it is not known."""


class StageRequest(msgspec.Struct, rename="camel"):
    """A stage to be validated (CDAP 6 ``StageValidationRequest``)."""

    stage: Any = None
    """A stage as it stands in a pipeline document."""
    input_schemas: list[StageSchema] = []
    """In connection order."""
    resolve_macros_from_preferences: bool = False
    """Whether the preferences of the namespace and the arguments below are used."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Values of macros that go before those of the preferences."""
    connected: bool = False
    """As in :class:`PipelineRequest`; likewise the next."""
    detected: bool = False


class StudioService:
    """Answers what is wrong with pipelines, and what their schemas are. Threads may share it.

    :param configurer: such as ``PluginWorker.configure``, which remembers results: after an edit only
        the edited stage and what its new schema changes is configured again.
    :param check_namespace: raises NotFoundError for a namespace that does not exist.
    :param preferences: the values of macros that arguments do not define.
    :param secrets: none by default.
    :param locations: where paths of documents lie; without, there are no connected checks.
    :param detected: what connected checks gave before, such as ``PluginWorkers.detected``.
    :param tables: the structured datasets that connected checks see.
    """

    def __init__(
        self,
        artifacts: Artifacts,
        configurer: Configurer,
        *,
        locations: Locations | None = None,
        check_namespace: Callable[[str], object] = lambda _: None,
        preferences: Preferences = lambda _, __: {},
        secrets: SecretsOf = lambda _: Secrets(None),
        templates: Templates = lambda _: (),
        detected: Kept = lambda _: None,
        tables: Tables = lambda _: {},
    ) -> None:
        self._artifacts = artifacts
        self._configurer = configurer
        self._locations = locations
        self._check_namespace = check_namespace
        self._preferences = preferences
        self._secrets = secrets
        self._templates = templates
        self._detected = detected
        self._tables = tables

    def validate_pipeline(self, request: PipelineRequest) -> PipelineValidation:
        """Every failure of a pipeline, or its specification.

        :raises DocumentError: when the document is no pipeline at all.
        """
        return _validation(self._resolve(request, self.read(request)))

    def validate_pipeline_stage(self, request: PipelineRequest, stage: str) -> StageValidation:
        """Every failure of one stage of a pipeline, or its specification in that pipeline.

        :raises NotFoundError: when the pipeline has no such stage.
        :raises DocumentError: likewise.
        """
        document = self.read(request)
        names = [each.name for each in document.stages]
        if stage not in names:
            raise NotFoundError(
                f"The pipeline has no stage '{stage}'.",
                f"Its stages: {', '.join(names) or 'none'}.",
            )
        resolved = self._resolve(request, document)
        errors = [each for each in resolved.errors if each.stage == stage]
        warnings = [each for each in resolved.warnings if each.stage == stage]
        spec = None if errors else resolved.stages.get(stage)
        detected = {name: at for name, at in resolved.detected.items() if name == stage}
        return StageValidation(errors, spec, warnings, detected)

    def repair_pipeline(self, request: PipelineRequest) -> PipelineRepair:
        """The same with suggested artifacts in place of missing ones, and the repaired document.

        :raises DocumentError: likewise.
        """
        document = self.read(request)
        chosen = msgspec.structs.replace(request, use_suggested=True)
        resolved = self._resolve(chosen, document)
        fixed = repaired(document, resolved.repairs)
        return PipelineRepair(_validation(resolved), resolved.repairs, fixed)

    def validate_stage(self, request: StageRequest) -> StageValidation:
        """Every failure of a stage, or its specification.

        :raises BadRequestError: when there is no stage in the request, or an input schema is none.
        """
        if request.stage is None:
            raise BadRequestError(
                "Invalid stage config: Pipeline stage config must be provided in the validation "
                "request.",
                "Send an object with 'stage' and 'inputSchemas'.",
            )
        stage, failures = read_stage(request.stage)
        inputs = {each.stage: _schema(each) for each in request.input_schemas}
        if failures or stage is None:
            return StageValidation(failures, None)
        self._check_namespace(request.namespace)
        stage = with_template(stage, by_name(self._templates(request.namespace)), failures)
        arguments: dict[str, str] = {}
        if request.resolve_macros_from_preferences:
            arguments = self.arguments(request.namespace, None, request.arguments)
        secrets = self._secrets(request.namespace)
        configurer = self._detecting(request)
        configure = StageConfiguration(
            IndexedPlugins(self._artifacts, request.namespace),
            configurer,
            MacroContext(
                arguments, macro_functions(secure=secrets.source, conn=secrets.connections)
            ),
            locations=self._locations if request.connected else None,
            places=self._locations,
        )
        known = [schema for schema in inputs.values() if schema is not None]
        common, different = merge(stage.name, stage.plugin.type, known)
        outcome = configure(stage, inputs)
        outcome.settle(common)
        failures = secrets.without(failures + outcome.failures + different)
        spec = None if failures else secrets.stage_without(stage_spec(outcome))
        return StageValidation(failures, spec, warnings_of(outcome), configurer.times)

    def read(self, request: PipelineRequest) -> PipelineDocument:
        """The document of a request, its stages with the plugins that templates stand for.

        :raises DocumentError: when it is no pipeline at all.
        :raises NotFoundError: when there is no such namespace.
        """
        self._check_namespace(request.namespace)
        document = read_document(request.document, request.file)
        return with_templates(document, self._templates(request.namespace))

    def write_out(self, namespace: str, document: Any) -> WrittenOut:
        """A document with templates of plugins written out, for where they are not known.

        :param document: a pipeline, as JSON text or decoded JSON.
        """
        templates = self._templates(namespace)
        if not templates:
            return WrittenOut(document, [])
        source, uses = written_out(read_document(document), templates)
        return WrittenOut(source if uses else document, uses)

    def arguments(
        self, namespace: str, pipeline: str | None, given: dict[str, str]
    ) -> dict[str, str]:
        """The values of macros: the preferences that hold for a pipeline, and above them what is given."""
        return {**self._preferences(namespace, pipeline), **given}

    def resolve(self, request: PipelineRequest) -> ResolvedPipeline:
        """Everything about a pipeline, evaluated properties included: for who runs it, never to be shown.

        :raises DocumentError: when the document is no pipeline at all.
        """
        return self._resolve(request, self.read(request))

    def _resolve(self, request: PipelineRequest, document: PipelineDocument) -> ResolvedPipeline:
        self._check_namespace(request.namespace)
        name = request.name or document.name
        arguments = self.arguments(request.namespace, name, request.arguments)
        secrets = self._secrets(request.namespace)
        configurer = self._detecting(request)
        resolved = resolve_pipeline(
            document,
            IndexedPlugins(self._artifacts, request.namespace),
            configurer,
            MacroContext(
                arguments,
                # Whoever runs it may take another moment; here only its form counts.
                macro_functions(
                    time.time_ns() // 1_000_000 if request.runtime else None,
                    secure=secrets.source,
                    conn=secrets.connections,
                ),
                runtime=request.runtime,
            ),
            use_suggested=request.use_suggested,
            locations=self._locations if request.connected else None,
            places=self._locations,
            unevaluated=request.unevaluated,
            warn=True,
        )
        resolved.detected = configurer.times
        resolved.errors = secrets.without(resolved.errors)
        resolved.stages = {k: secrets.stage_without(v) for k, v in resolved.stages.items()}
        if resolved.spec is not None:
            resolved.spec = secrets.pipeline_without(resolved.spec)
        return resolved

    def _detecting(self, request: PipelineRequest | StageRequest) -> DetectingConfigurer:
        return DetectingConfigurer(
            self._configurer,
            self._detected,
            lambda: self._tables(request.namespace),
            is_old_good=request.detected,
        )


def _validation(resolved: ResolvedPipeline) -> PipelineValidation:
    return PipelineValidation(resolved.errors, resolved.spec, resolved.warnings, resolved.detected)


def _schema(given: StageSchema) -> Schema | None:
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
