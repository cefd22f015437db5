"""Preparing runs: what a request asks for, as it is at that moment, becomes a record and an order.

A run that waits takes what was valid when it was asked for: arguments, preferences, the versions of plugins
and the templates, also if they have changed by the time that it begins.

Runs of deployed pipelines take the artifacts that the deployment chose, until they are deployed again.

CDAP keeps the specification of a deployment in the same way: a newer artifact, or one that a version range
of the document would select now, does not change what a deployed pipeline runs. Macros are evaluated in
each run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from localcdap.api.errors import LocalcdapError, NotFoundError
from localcdap.api.failures import ARTIFACT_NOT_FOUND, ValidationFailure
from localcdap.api.pipeline import PipelineSpec
from localcdap.artifacts.model import ArtifactSelector
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.messages.samples import is_strict
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.environment import NamespaceEnvironment, RecordedDocument
from localcdap.pipeline.library import application_records
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.datasets import DatasetPlanner
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.runs.arguments import GIVEN
from localcdap.runs.model import Run, RunRequest
from localcdap.runs.startup.new_run import (
    build_request,
    build_run,
    create_error_for_caller,
    create_error_for_run,
    create_order,
    has_lost_plugins,
    prepare_datasets,
    record_run,
    refuse_stand_ins,
)
from localcdap.runs.startup.provisioners import Provisioners, require_capabilities
from localcdap.store.store import Store


def pin_plugins(store: Store, request: RunRequest, document: PipelineDocument) -> PipelineDocument:
    """Return the document with the artifacts that its deployment chose; that of a file is unchanged.

    It is unchanged too for a version that was deleted, or deployed before specifications were kept.
    """
    if request.application is None or request.application_version is None:
        return document
    try:
        with store.snapshot() as tx:
            found = application_records.find(
                tx, request.namespace, request.application, request.application_version
            )
            spec = application_records.read_spec(tx, found)
    except NotFoundError:
        return document
    return document if spec is None else _select_artifacts(document, spec)


def _select_artifacts(document: PipelineDocument, spec: PipelineSpec) -> PipelineDocument:
    plugins = [(each.name, each.plugin) for each in spec.stages]
    plugins += [(each.name, each.plugin) for each in spec.ending_actions]
    chosen = {(stage, each.type, each.name): each for stage, each in plugins}

    def select(stage: StageUse) -> StageUse:
        spec = chosen.get((stage.name, stage.plugin.type, stage.plugin.name))
        if spec is None:
            return stage
        artifact = spec.artifact
        selector = ArtifactSelector(artifact.scope, artifact.name, artifact.version)
        pinned = msgspec.structs.replace(stage.plugin, artifact=selector, uses=tuple(spec.uses))
        return msgspec.structs.replace(stage, plugin=pinned)

    return msgspec.structs.replace(
        document,
        stages=[select(stage) for stage in document.stages],
        post_actions=[select(stage) for stage in document.post_actions],
    )


def explain_lost_artifacts(
    request: RunRequest, failures: Sequence[ValidationFailure]
) -> list[ValidationFailure]:
    """Return the failures of a pipeline; where only another artifact has the plugin of a deployed one, the
    action is to deploy it again.
    """
    name = request.application
    action = (
        "The deployment chose that artifact. Deploy the pipeline again to run with the artifacts that are "
        f"here now: localcdap export {name} --output {name}.json; localcdap import {name}.json (with --fix "
        "if the file asks for that version)"
    )
    return [
        msgspec.structs.replace(each, corrective_action=action)
        if name is not None and each.type == ARTIFACT_NOT_FOUND and each.suggested_artifact
        else each
        for each in failures
    ]


Origins = Callable[[str, str | None], Mapping[str, str]]
"""The level of preferences that each macro value comes from, by namespace and pipeline name."""


class RunReport(NamedTuple):
    """What runs report of their records."""

    counts: bool
    """The records of each stage, and the metrics of plugins."""
    profiles: bool
    """The profiles of what reaches the sinks."""


class AskedRun(NamedTuple):
    """A request, read."""

    request: RunRequest
    """Its arguments are merged with the preferences."""
    given: Mapping[str, str]
    """The arguments of the request itself."""
    name: str | None
    """The name of the pipeline."""
    document: PipelineDocument
    environment: NamespaceEnvironment
    profile: str


class PreparedRun(NamedTuple):
    """The record of a run, and what its process is to do."""

    run: Run
    document: str
    """JSON text."""
    order: WorkOrder | None
    """None for a run that cannot be started."""
    refusal: LocalcdapError | None = None
    """Why it cannot be started."""
    error: LocalcdapError | None = None
    """What the caller gets to know; None: the record says it."""


class RunPreparer:
    """Prepares the runs of an instance. Threads may share it.

    :param provisioners: where runs take place.
    :param home: what relative paths in pipelines are relative to.
    :param report: what runs report of their records.
    :param origins: of the values of macros that arguments do not define.
    :param datasets: says whether datasets can hold what sinks write, and changes them on request.
    :param updates_datasets: whether every run requests that.
    :param records_on_clusters: whether runs with recordings may take place on clusters.
    """

    def __init__(
        self,
        store: Store,
        resolver: PipelineResolver,
        provisioners: Provisioners,
        datasets: DatasetPlanner,
        *,
        home: Path,
        report: RunReport,
        origins: Origins,
        updates_datasets: bool,
        records_on_clusters: bool,
    ) -> None:
        self._store: Final = store
        self._resolver = resolver
        self._provisioners = provisioners
        self._datasets = datasets
        self._home = home
        self._report = report
        self._origins = origins
        self._updates_datasets = updates_datasets
        self._records_on_clusters = records_on_clusters

    def read(self, request: RunRequest) -> AskedRun:
        """Return what a request asks for.

        :raises DocumentError: when the document is not a pipeline.
        :raises NotFoundError: when there is no such namespace or profile.
        """
        environment = self._resolver.environments.create(request.namespace)
        document = read_document(request.document, request.file)
        name = request.application or document.name or request.name
        given = request.arguments
        request = msgspec.structs.replace(
            request, arguments=environment.merge_arguments(name, given)
        )
        is_strict(request.arguments)  # what is wrong is said before anything runs
        profile = self._provisioners.profiles.choose_profile(
            request.namespace,
            arguments=given,
            asked=request.profile,
            preferences=request.arguments,
        )
        return AskedRun(request, given, name, document, environment, profile)

    def prepare(self, asked: AskedRun, run_id: str, directory: Path) -> PreparedRun:
        """Return the run with its order, or why it cannot be started.

        :param directory: of the run, for the records of its recordings.
        :raises InvalidPipelineError: when the pipeline has failures. That of a deployed pipeline which lost
            plugins is in the answer instead.
        """
        request, environment, name = asked.request, asked.environment, asked.name
        recorded = record_run(asked.document, environment, request, name, directory)
        resolved = self._resolve(recorded, environment, request)
        is_remote = self._provisioners.profiles.get_remote(asked.profile) is not None
        if is_remote and not self._records_on_clusters:
            refuse_stand_ins(resolved, asked.profile)
        run = build_run(run_id, request, name, asked.profile, resolved)
        run.origins = {
            **self._origins(run.namespace, run.pipeline),
            **dict.fromkeys(asked.given, GIVEN),
        }
        text = asked.document.to_json()
        if resolved.errors:
            refusal = create_error_for_run(resolved)
            return PreparedRun(run, text, None, refusal, create_error_for_caller(resolved))
        try:
            order = self._create_order(run, recorded.document, resolved, environment)
        except LocalcdapError as error:
            return PreparedRun(run, text, None, error)
        return PreparedRun(run, text, order)

    def prepare_again(self, run: Run, document: str, directory: Path) -> WorkOrder:
        """Return the order of a run that an older localcdap left without one.

        :raises LocalcdapError: when it cannot be started any more.
        """
        request = build_request(run, document)
        environment = self._resolver.environments.create(run.namespace)
        read = read_document(request.document)
        recorded = record_run(read, environment, request, run.pipeline, directory)
        resolved = self._resolve(recorded, environment, request)
        if resolved.errors:
            raise create_error_for_run(resolved)
        return self._create_order(run, recorded.document, resolved, environment)

    def _resolve(
        self, recorded: RecordedDocument, environment: NamespaceEnvironment, request: RunRequest
    ) -> ResolvedPipeline:
        resolved = self._resolver.resolve_for_run(
            pin_plugins(self._store, request, recorded.document),
            environment,
            request.arguments,
            use_suggested=request.use_suggested,
        )
        found = recorded.replacements
        resolved.add_stand_ins(found.stand_ins, found.failures, found.warnings)
        resolved.errors = explain_lost_artifacts(request, resolved.errors)
        updates = request.update_datasets or self._updates_datasets
        prepare_datasets(self._store, self._datasets, request.namespace, resolved, updates=updates)
        if resolved.errors and not has_lost_plugins(request, resolved):
            raise create_error_for_caller(resolved)
        return resolved

    def _create_order(
        self,
        run: Run,
        document: PipelineDocument,
        resolved: ResolvedPipeline,
        environment: NamespaceEnvironment,
    ) -> WorkOrder:
        """Return the order of a run.

        :raises IncapableError: when a plugin is not capable of what the run's profile requires.
        :raises NotFoundError: when there is no such profile any more.
        """
        require_capabilities(
            resolved.plugins,
            environment.plugins.get_capabilities,
            self._provisioners.get(run.profile).required_capabilities,
            f"profile '{run.profile}'",
        )
        text, _ = environment.write_out_templates(document)
        order = create_order(run, text, resolved.plugins, self._home)
        order.counts, order.profiles = self._report
        return order
