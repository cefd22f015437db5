"""Stage debugging: running one stage on given records (design "Pipeline System Application").

Answers of stage debugging, built from the results of the plugin worker or the engine.
"""

from __future__ import annotations

import uuid
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
from localcdap.api.security import Permission
from localcdap.engine.messages.flow import DATA_TYPES, ERROR_TRANSFORM, SINKS, SOURCE, Stage
from localcdap.engine.messages.orders import PreviewOrder, StageDebugOrder, WorkOrder
from localcdap.engine.messages.samples import (
    PortSample,
    StageDebugResult,
    StageProblem,
    StageSample,
    explain_noticed,
    is_strict,
)
from localcdap.engine.messages.spool import Failed, LogLine, PreviewMessage, Sampled
from localcdap.engine.preview.records import convert_to_json
from localcdap.engine.preview.stage_debug import debug_in_worker, encode_inputs
from localcdap.pipeline.document.model import PipelineDocument, StageUse
from localcdap.pipeline.document.reader import read_document, read_stage
from localcdap.pipeline.environment import NamespaceEnvironment
from localcdap.pipeline.macros.parser import resolve_logical_start
from localcdap.pipeline.resolver import PipelineResolver
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.pipeline.validation.schema_propagation import merge_schemas
from localcdap.pipeline.validation.stage_configuration import ConfiguredStage, StageConfiguration
from localcdap.runs.model import get_now
from localcdap.runs.preview.model import (
    MOST_RECORDS,
    DebugAnswer,
    DebugOutput,
    DebugRequest,
    GivenRecords,
)
from localcdap.runs.preview.process import PreviewProcesses
from localcdap.runs.startup.provisioners import PREVIEW_REQUIRES, require_capabilities
from localcdap.sandbox.pool import PluginWorkers
from localcdap.security.access import of_namespace, requires


def build_sink_answer(order: StageDebugOrder) -> DebugAnswer:
    """Return the answer for a sink, which writes nothing: the records that it would write."""
    stage, records, schema = order.stage, [], None
    for stream, batch in encode_inputs(stage, order.inputs).items():
        schema = stage.input_schemas[stream.stage]
        records += convert_to_json(schema, batch, order.shown)
    return DebugAnswer([], DebugOutput(schema, records))


def build_answer(sample: StageSample, lines: list[str]) -> DebugAnswer:
    ports = {name: _create_output(each) for name, each in sample.ports.items()}
    output = None if ports else DebugOutput(sample.schema, sample.records)
    return DebugAnswer(
        sample.problems,
        output,
        sample.errors,
        ports,
        sample.expectations,
        sample.alerts,
        lines,
        sample.altered,
    )


def build_failed_answer(failures: list[ValidationFailure]) -> DebugAnswer:
    """Return the answer for an invalid stage."""
    return DebugAnswer(
        [StageProblem(f.message, f.corrective_action, f.stage, f.field) for f in failures], None
    )


def build_unknown_schema_answer(stage: str, source: str) -> StageProblem:
    return StageProblem(
        f"The schema of the records from '{source}' is not known.",
        f"Give it with the records, or set the output schema of stage '{source}'.",
        stage,
    )


class DebugResultCollector:
    """Collects the sample, the log lines and the error that a debugging process reports."""

    def __init__(self) -> None:
        self.sample: StageSample | None = None
        self.error: StageProblem | None = None
        self.lines: list[str] = []

    def __call__(self, message: PreviewMessage) -> None:
        if isinstance(message, Sampled):
            self.sample = message.sample
        elif isinstance(message, LogLine) and message.stage is not None:
            self.lines.append(f"{message.level} {message.text}")
        elif isinstance(message, Failed):
            trace = "\n".join(message.trace) or None
            self.error = StageProblem(
                message.message, message.corrective_action, message.stage, trace=trace
            )


def _create_output(sample: PortSample) -> DebugOutput:
    return DebugOutput(sample.schema, sample.records)


_IN_PYTHON: Final = ("record", "batch")
"""Grains of plugins whose records go through Python."""
_TIME_LIMIT_S: Final = 120.0
"""The time limit of a stage on the engine, including the start of the engine."""


class DebugService:
    """Runs single stages on given records. Threads may share it.

    :param workers: run the stages of record and batch grain.
    :param processes: run the other stages on Spark.
    :param home: the folder for relative paths.
    """

    def __init__(
        self,
        resolver: PipelineResolver,
        workers: PluginWorkers,
        processes: PreviewProcesses,
        *,
        home: Path,
    ) -> None:
        self._resolver = resolver
        self._workers = workers
        self._processes = processes
        self._home = home

    @requires(of_namespace("request.namespace"), Permission.EXECUTE)
    def debug(self, request: DebugRequest) -> DebugAnswer:
        """Run a stage on records, and return its output, its error records and its exceptions.

        A stage of record or batch grain runs in the plugin worker, within its limits; after an exception it
        continues with the next record. All other stages run on Spark. A source reads some records, a
        sink writes none.

        :raises DocumentError: when the document is not a pipeline.
        :raises BadRequestError: when the records do not fit their schema, or the stage handles none.
        :raises NotFoundError: when there is no such namespace or stage.
        :raises IncapableError: when the plugin, or one that it uses, cannot run on this machine.
        """
        environment = self._resolver.environments.create(request.namespace)
        arguments: dict[str, str] = {}
        answer = self._debug_stage(request, environment, arguments)
        noticed = explain_noticed(answer.altered) if is_strict(arguments) else None
        if noticed is not None:
            action = noticed.corrective_action
            answer.errors.append(StageProblem(noticed.message, action, noticed.stage))
        answer.errors = environment.secrets.clean(answer.errors)
        answer.logs = [environment.secrets.hide(line) for line in answer.logs]
        return answer

    def _debug_stage(
        self,
        request: DebugRequest,
        environment: NamespaceEnvironment,
        arguments: dict[str, str],
    ) -> DebugAnswer:
        """Return the answer.

        :param arguments: filled with those of the request and the preferences.
        """
        if request.document is None:
            arguments.update(environment.merge_arguments(None, request.arguments))
            drops_errors = False
            schemas = {each.stage: _get_schema(each) for each in request.input}
            use, failures = read_stage(request.stage)
        else:
            document = read_document(request.document, request.file)
            arguments.update(environment.merge_arguments(document.name, request.arguments))
            use, schemas = self._find_stage(request, document, environment, arguments)
            drops_errors = not _has_error_reader(document, use.name)
            failures = []
        if use is None or failures:
            return build_failed_answer(failures)
        type = use.plugin.type
        if type and type not in (*DATA_TYPES, *SINKS):
            raise BadRequestError(
                f"Stage '{use.name}', of type {type}, handles no records.",
                "Preview the pipeline to see it at work.",
            )
        unknown = [name for name, schema in schemas.items() if schema is None]
        if unknown:
            return DebugAnswer(
                [build_unknown_schema_answer(use.name, name) for name in unknown], None
            )
        outcome, failures = self._configure_stage(
            use, schemas, arguments, environment, use_suggested=request.use_suggested
        )
        if failures or outcome.request is None:
            return build_failed_answer(failures)
        require_capabilities(
            {use.name: outcome.request.plugin},
            environment.plugins.get_capabilities,
            PREVIEW_REQUIRES,
            "a debug run",
        )
        given, start_ms = resolve_logical_start(arguments, get_now())
        debug_order = StageDebugOrder(
            stage=_create_stage(outcome),
            inputs={each.stage: each.records for each in request.input},
            shown=MOST_RECORDS,
            namespace=request.namespace,
            run_id=str(uuid.uuid1()),
            arguments=given,
            logical_start_ms=start_ms,
            host_directory=str(self._home),
            drops_errors=drops_errors,
        )
        return self._run_stage(
            debug_order, environment.plugins.get_info(debug_order.stage.plugin).grain, request
        )

    def _run_stage(
        self, debug_order: StageDebugOrder, grain: str, request: DebugRequest
    ) -> DebugAnswer:
        stage = debug_order.stage
        if stage.type in SINKS:
            return build_sink_answer(debug_order)
        if not stage.input_schemas and stage.type != SOURCE:
            raise BadRequestError(
                f"Stage '{stage.name}' gets its records from other stages, and none were given.",
                "Give the records of each input stage, with their schema.",
            )
        if grain in _IN_PYTHON:
            return self._run_in_worker(debug_order)
        return self._run_on_engine(debug_order, request.records)

    def _find_stage(
        self,
        request: DebugRequest,
        document: PipelineDocument,
        environment: NamespaceEnvironment,
        arguments: dict[str, str],
    ) -> tuple[StageUse, dict[str, Schema | None]]:
        """Return the stage of the pipeline, and the schemas of its inputs."""
        given = {each.stage: _get_schema(each) for each in request.input}
        name = request.stage if isinstance(request.stage, str) else ""
        resolved = self._propagate(
            document, environment, arguments, name, use_suggested=request.use_suggested
        )
        stages = resolved.document.stages
        use = next((each for each in stages if each.name == name), None)
        if use is None:
            known = ", ".join(each.name for each in stages) or "none"
            raise NotFoundError(f"The pipeline has no stage '{name}'.", f"Its stages: {known}.")
        configured = resolved.requests.get(name)
        known_schemas = configured.input_schemas if configured is not None else {}
        if len(known_schemas) == 1:
            ((only, schema),) = known_schemas.items()
            fields = set() if schema is None else {*schema.field_names} - {only}
            if given and given.keys() <= fields and not any(given.values()):
                # One record whose fields are arrays has the form of arrays of records by stage.
                record = {each.stage: each.records for each in request.input}
                request.input, given = [GivenRecords("", [record])], {"": None}
            if list(given) == [""]:
                request.input[0].stage, given = only, {only: given[""]}
        extra = [each for each in given if each not in known_schemas]
        if extra:
            raise BadRequestError(
                f"Stage '{name}' has no input stage '{extra[0]}'."
                if extra[0]
                else f"The records do not say which input of stage '{name}' they come from.",
                f"Its input stages: {', '.join(known_schemas) or 'none'}.",
            )
        return use, {k: given.get(k) or schema for k, schema in known_schemas.items()}

    def _propagate(
        self,
        document: PipelineDocument,
        environment: NamespaceEnvironment,
        arguments: dict[str, str],
        stage: str,
        *,
        use_suggested: bool,
    ) -> ResolvedPipeline:
        """Resolve the pipeline, with connected checks if an input schema of the stage is unknown
        otherwise.
        """
        resolved = self._resolver.resolve(
            document, environment, arguments, use_suggested=use_suggested
        )
        configured = resolved.requests.get(stage)
        if configured is not None and None in configured.input_schemas.values():
            resolved = self._resolver.resolve(
                document, environment, arguments, use_suggested=use_suggested, connected=True
            )
        return resolved

    def _configure_stage(
        self,
        use: StageUse,
        schemas: dict[str, Schema | None],
        arguments: dict[str, str],
        environment: NamespaceEnvironment,
        *,
        use_suggested: bool,
    ) -> tuple[ConfiguredStage, list[ValidationFailure]]:
        configure = StageConfiguration(
            environment.plugins,
            self._workers.configure,
            environment.create_macros(arguments, runtime=True),
            use_suggested=use_suggested,
        )
        known = [schema for schema in schemas.values() if schema is not None]
        common, different = merge_schemas(use.name, use.plugin.type, known)
        outcome = configure(use, schemas)
        outcome.set_output_schemas(common)
        return outcome, [*outcome.failures, *different]

    def _run_in_worker(self, debug_order: StageDebugOrder) -> DebugAnswer:
        stage = debug_order.stage
        who = f"Plugin '{stage.plugin.name}' of stage '{stage.name}'"
        try:
            result: StageDebugResult = self._workers.do(
                debug_in_worker, debug_order, stage.plugin, who
            )
        except PluginError as error:
            trace = "\n".join(error.traceback) or None
            problem = StageProblem(error.message, error.corrective_action, stage.name, trace=trace)
            return DebugAnswer([problem], None)
        return build_answer(result.sample, result.lines)

    def _run_on_engine(self, debug_order: StageDebugOrder, records: int) -> DebugAnswer:
        encode_inputs(
            debug_order.stage, debug_order.inputs
        )  # raises an error for invalid records before anything runs
        collector = DebugResultCollector()
        order = WorkOrder(
            run_id=debug_order.run_id,
            namespace=debug_order.namespace,
            pipeline=debug_order.stage.name,
            document="",
            plugins={debug_order.stage.name: debug_order.stage.plugin},
            arguments=debug_order.arguments,
            logical_start_ms=debug_order.logical_start_ms,
            engine_url="",
            base_directory=str(self._home),
            host_directory=str(self._home),
            preview=PreviewOrder(records, debug_order.shown, debug_order),
        )
        deadline = get_now() + _TIME_LIMIT_S * 1000
        with closing(self._processes.start()) as process:
            process.carry_out(order, collector, lambda: get_now() > deadline)
        if collector.sample is not None:
            return build_answer(collector.sample, collector.lines)
        if collector.error is not None:
            return DebugAnswer([collector.error], None)
        if get_now() > deadline:
            message = f"Stage '{debug_order.stage.name}' did not finish within {_TIME_LIMIT_S:g} s."
        else:
            message = (
                f"The process that stage '{debug_order.stage.name}' ran in ended unexpectedly."
            )
        return DebugAnswer([StageProblem(message, "Look for the cause in its plugin.")], None)


def _has_error_reader(document: PipelineDocument, stage: str) -> bool:
    """Return whether a stage of the pipeline reads the error records of another one."""
    readers = {each.name for each in document.stages if each.plugin.type == ERROR_TRANSFORM}
    return any(each.source == stage and each.target in readers for each in document.connections)


def _create_stage(outcome: ConfiguredStage) -> Stage:
    assert outcome.request is not None
    return Stage(
        outcome.stage.name,
        outcome.request.plugin,
        outcome.request.properties,
        {name: schema for name, schema in outcome.input_schemas.items() if schema is not None},
        outcome.output_schema,
        outcome.own_error_schema,
        outcome.port_schemas,
        expectations=list(outcome.stage.expectations),
    )


def _get_schema(given: GivenRecords) -> Schema | None:
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
