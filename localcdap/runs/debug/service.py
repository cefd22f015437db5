"""Stage debugging: what one stage makes of given records (design "Pipeline System Application")."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from localcdap.api.errors import (
    BadRequestError,
    LocalcdapError,
    NotFoundError,
    PluginError,
    SchemaError,
)
from localcdap.api.failures import ValidationFailure
from localcdap.api.schema import Schema
from localcdap.artifacts.model import ArtifactSelector
from localcdap.engine.order import PreviewOrder, WorkOrder
from localcdap.engine.plan.flow import DATA_TYPES, SINKS, SOURCE, Stage
from localcdap.engine.preview.running import Trial, TrialResult, given_batches, try_in_worker
from localcdap.engine.preview.samples import (
    Problem,
)
from localcdap.namespaces.service import NamespaceService
from localcdap.pipeline.document.model import StageUse
from localcdap.pipeline.document.parts import read_stage
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.pipeline.macros.functions import macro_functions
from localcdap.pipeline.macros.secrets import Secrets
from localcdap.pipeline.service import PipelineRequest, SecretsOf, StudioService
from localcdap.pipeline.validation.flow import merge
from localcdap.pipeline.validation.outcome import Outcome
from localcdap.pipeline.validation.plugins import Artifacts, IndexedPlugins
from localcdap.pipeline.validation.stages import StageConfiguration
from localcdap.runs.debug.answers import Told, answered, failed, unknown_schema, unwritten
from localcdap.runs.debug.model import DebugAnswer, DebugRequest, GivenRecords
from localcdap.runs.model import now
from localcdap.runs.preview.model import MOST_RECORDS
from localcdap.runs.preview.process import TrialProcesses
from localcdap.sandbox.pool import PluginWorkers

_IN_PYTHON: Final = ("record", "batch")
"""Grains of plugins whose records go through Python."""
_TIME_LIMIT_S: Final = 120.0
"""Of a stage on the engine, whose start counts."""


class DebugService:
    """Tries single stages. Threads may share it.

    :param workers: run what runs in Python.
    :param processes: run all else, on Spark.
    :param home: what relative paths are relative to.
    """

    def __init__(
        self,
        namespaces: NamespaceService,
        artifacts: Artifacts,
        studio: StudioService,
        workers: PluginWorkers,
        secrets: SecretsOf,
        processes: TrialProcesses,
        *,
        home: Path,
    ) -> None:
        self._namespaces = namespaces
        self._artifacts = artifacts
        self._studio = studio
        self._workers = workers
        self._secrets = secrets
        self._processes = processes
        self._home = home

    def debug(self, request: DebugRequest) -> DebugAnswer:
        """What a stage makes of records: its output, its error records, its exceptions.

        A stage of record or batch grain runs in the plugin worker, within its limits; an exception that one
        record causes does not keep it from the others. All other stages run on Spark. A source reads some
        records, a sink writes none.

        :raises DocumentError: when the document is no pipeline.
        :raises BadRequestError: when the records do not fit their schema, or the stage handles none.
        :raises NotFoundError: when there is no such namespace or stage.
        """
        self._namespaces.require(request.namespace)
        secrets = self._secrets(request.namespace)
        answer = self._debugged(request, secrets)
        answer.errors = secrets.without(answer.errors)
        answer.logs = [secrets.hide(line) for line in answer.logs]
        return answer

    def _debugged(self, request: DebugRequest, secrets: Secrets) -> DebugAnswer:
        use, schemas, failures = self._stage(request)
        arguments = self._studio.arguments(
            request.namespace, self._pipeline(request), request.arguments
        )
        if use is None or failures:
            return failed(failures)
        type = use.plugin.type
        if type and type not in (*DATA_TYPES, *SINKS):
            raise BadRequestError(
                f"Stage '{use.name}', of type {type}, handles no records.",
                "Preview the pipeline to see it at work.",
            )
        unknown = [name for name, schema in schemas.items() if schema is None]
        if unknown:
            return DebugAnswer([unknown_schema(use.name, name) for name in unknown], None)
        outcome, failures = self._configured(use, schemas, arguments, request.namespace, secrets)
        if failures or outcome.request is None:
            return failed(failures)
        trial = Trial(
            stage=_as_run(outcome),
            inputs={each.stage: each.records for each in request.input},
            shown=MOST_RECORDS,
            namespace=request.namespace,
            run_id=str(uuid.uuid1()),
            arguments=arguments,
            logical_start_ms=now(),
            host_directory=str(self._home),
        )
        return self._tried(trial, request)

    def _tried(self, trial: Trial, request: DebugRequest) -> DebugAnswer:
        stage = trial.stage
        if stage.type in SINKS:
            return unwritten(trial)
        if not stage.input_schemas and stage.type != SOURCE:
            raise BadRequestError(
                f"Stage '{stage.name}' gets its records from other stages, and none were given.",
                "Give the records of each input stage, with their schema.",
            )
        if self._grain(request.namespace, stage) in _IN_PYTHON:
            return self._in_worker(trial)
        return self._on_engine(trial, request.records)

    def _stage(
        self, request: DebugRequest
    ) -> tuple[StageUse | None, dict[str, Schema | None], list[ValidationFailure]]:
        """The stage, the schemas of its inputs, and what is wrong with its form."""
        given = {each.stage: _schema(each) for each in request.input}
        if request.document is None:
            use, failures = read_stage(request.stage)
            return use, given, failures
        name = request.stage if isinstance(request.stage, str) else ""
        document = self._studio.read(PipelineRequest(request.document, request.namespace))
        use = next((each for each in document.stages if each.name == name), None)
        if use is None:
            known = ", ".join(each.name for each in document.stages) or "none"
            raise NotFoundError(f"The pipeline has no stage '{name}'.", f"Its stages: {known}.")
        known_schemas = self._propagated(request, name)
        if list(given) == [""] and len(known_schemas) == 1:
            (request.input[0].stage,) = known_schemas
            given = {request.input[0].stage: given[""]}
        extra = [each for each in given if each not in known_schemas]
        if extra:
            raise BadRequestError(
                f"Stage '{name}' has no input stage '{extra[0]}'."
                if extra[0]
                else f"The records do not say which input of stage '{name}' they come from.",
                f"Its input stages: {', '.join(known_schemas) or 'none'}.",
            )
        return use, {k: given.get(k) or schema for k, schema in known_schemas.items()}, []

    def _pipeline(self, request: DebugRequest) -> str | None:
        """The name of the pipeline that the stage is in."""
        if request.document is None:
            return None
        return self._studio.read(PipelineRequest(request.document, request.namespace)).name

    def _propagated(self, request: DebugRequest, name: str) -> Mapping[str, Schema | None]:
        """The schemas of the inputs of a stage of a pipeline; files are looked at where that is needed."""
        found: Mapping[str, Schema | None] = {}
        for connected in (False, True):
            resolved = self._studio.resolve(
                PipelineRequest(
                    request.document, request.namespace, request.arguments, connected=connected
                )
            )
            configured = resolved.requests.get(name)
            found = configured.input_schemas if configured is not None else {}
            if None not in found.values():
                break
        return found

    def _configured(
        self,
        use: StageUse,
        schemas: dict[str, Schema | None],
        arguments: dict[str, str],
        namespace: str,
        secrets: Secrets,
    ) -> tuple[Outcome, list[ValidationFailure]]:
        configure = StageConfiguration(
            IndexedPlugins(self._artifacts, namespace),
            self._workers.configure,
            MacroContext(
                arguments,
                macro_functions(now(), secure=secrets.source, conn=secrets.connections),
                runtime=True,
            ),
        )
        known = [schema for schema in schemas.values() if schema is not None]
        common, different = merge(use.name, use.plugin.type, known)
        outcome = configure(use, schemas)
        outcome.settle(common)
        return outcome, [*outcome.failures, *different]

    def _grain(self, namespace: str, stage: Stage) -> str:
        exact = stage.plugin.artifact
        selector = ArtifactSelector(exact.scope, exact.name, exact.version)
        plugin = stage.plugin
        return self._artifacts.get_plugin(namespace, plugin.type, plugin.name, selector).grain

    def _in_worker(self, trial: Trial) -> DebugAnswer:
        stage = trial.stage
        who = f"Plugin '{stage.plugin.name}' of stage '{stage.name}'"
        try:
            result: TrialResult = self._workers.do(try_in_worker, trial, stage.plugin, who)
        except PluginError as error:
            trace = "\n".join(error.traceback) or None
            problem = Problem(error.message, error.corrective_action, stage.name, trace=trace)
            return DebugAnswer([problem], None)
        return answered(result.sample, result.lines)

    def _on_engine(self, trial: Trial, records: int) -> DebugAnswer:
        given_batches(trial.stage, trial.inputs)  # what is wrong with them is told at once
        told = Told()
        order = WorkOrder(
            run_id=trial.run_id,
            namespace=trial.namespace,
            pipeline=trial.stage.name,
            document="",
            plugins={trial.stage.name: trial.stage.plugin},
            arguments=trial.arguments,
            logical_start_ms=trial.logical_start_ms,
            engine_url="",
            base_directory=str(self._home),
            host_directory=str(self._home),
            preview=PreviewOrder(records, trial.shown, trial),
        )
        deadline = now() + _TIME_LIMIT_S * 1000
        with closing(self._processes.start()) as process:
            process.carry_out(order, told, lambda: now() > deadline)
        if told.sample is not None:
            return answered(told.sample, told.lines)
        if told.error is not None:
            return DebugAnswer([told.error], None)
        if now() > deadline:
            message = (
                f"Stage '{trial.stage.name}' did not come to an end within {_TIME_LIMIT_S:g} s."
            )
        else:
            message = f"The process that stage '{trial.stage.name}' ran in ended unexpectedly."
        return DebugAnswer([Problem(message, "Look for the cause in its plugin.")], None)


def _as_run(outcome: Outcome) -> Stage:
    assert outcome.request is not None
    return Stage(
        outcome.stage.name,
        outcome.request.plugin,
        outcome.request.properties,
        {name: schema for name, schema in outcome.inputs.items() if schema is not None},
        outcome.output,
        outcome.error,
        outcome.ports,
    )


def _schema(given: GivenRecords) -> Schema | None:
    if given.schema is None:
        return None
    try:
        if not isinstance(given.schema, str | dict | list):
            raise SchemaError("A schema document is an object, a list or a text.")
        return Schema.parse(given.schema)
    except LocalcdapError as error:
        raise BadRequestError(
            f"Invalid schema of the records of '{given.stage}': {error.message}",
            error.corrective_action,
        ) from None
