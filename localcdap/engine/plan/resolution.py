"""Resolves a work order to flows: the pipeline is configured again in the run process, with every macro
evaluated.

The host has validated the pipeline, but arguments that actions set, and secure values, exist only here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import msgspec

from localcdap.api.errors import InvalidPipelineError, StageError
from localcdap.api.pipeline import PipelineSpec, StageConnection, StageSpec
from localcdap.api.schema import Schema
from localcdap.api.stage import FindTable
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.host_client import create_table_finder, get_secrets
from localcdap.engine.messages.flow import (
    ALERT_PUBLISHER,
    CONDITION,
    DATA_TYPES,
    SINKS,
    SOURCE,
    Flow,
    Stage,
)
from localcdap.engine.messages.orders import WorkOrder
from localcdap.engine.plan.phases import PhaseRoute
from localcdap.engine.plan.preparation import can_find_schema, is_kept
from localcdap.engine.plan.streams import runs_in_python
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.pipeline.macros.parser import create_macro_functions
from localcdap.pipeline.validation.plugins import PinnedPlugins
from localcdap.pipeline.validation.resolution import ResolvedPipeline, resolve_pipeline
from localcdap.sandbox.stage_configuration import (
    ConfigureRequest,
    ConfigureResult,
    configure_stage,
)


class ResolvedFlow:
    """A pipeline whose stages are configured, except those after actions that have not run yet."""

    def __init__(
        self,
        document: PipelineDocument,
        pipeline: ResolvedPipeline,
        spec: PipelineSpec,
        done: frozenset[str],
    ) -> None:
        self.document: Final = document
        self.done: Final = done
        """The stages that had run when the pipeline was resolved."""
        self._pipeline: Final = pipeline
        self._specs: Final = {s.name: s for s in spec.stages if s.plugin.type != ALERT_PUBLISHER}
        self.publishers: Final = {
            s.name: list(
                dict.fromkeys(s.input_stages)
            )  # a splitter may lead there by several ports
            for s in spec.stages
            if s.plugin.type == ALERT_PUBLISHER
        }
        """The stages whose alerts each alert publisher gets."""
        self._rules: Final = {use.name: list(use.expectations) for use in document.stages}
        self.ending_actions: Final = [each.name for each in spec.ending_actions]
        spark = {key: value for key, value in spec.properties.items() if key.startswith("spark.")}
        self.spark_properties: Final = spark
        """Engine properties of Spark, such as ``spark.sql.shuffle.partitions``."""
        self.route: Final = PhaseRoute(
            msgspec.structs.replace(spec, stages=list(self._specs.values()))
        )

    def create_phase(self, stages: Collection[str], live: Collection[StageConnection]) -> Flow:
        """Return the flow of data stages, in topological order, and of the conditions before and after them.

        Conditions before the phase come first and act as sources, conditions after it come last and act as
        sinks.

        :param live: the connections except those on branches that were not taken.
        :raises StageError: for a stage that cannot be run.
        """
        entries, exits = self.route.list_entries(stages, live), self.route.list_exits(stages)
        inside = {*entries, *stages, *exits}
        flow_stages = [
            *(self._create_entry(name) for name in entries),
            *(self._create_stage(self._specs[name]) for name in stages),
            *(self._create_exit(name, inside) for name in exits),
        ]
        connections = [
            c
            for c in self.route.connections
            if c in live and {c.source, c.target} <= inside and self.route.carries_records(c)
        ]
        return Flow(flow_stages, [c for c in connections if c.target not in entries])

    @property
    def has_python_stages(self) -> bool:
        """Whether a stage of the pipeline certainly runs in Spark's Python workers."""
        return any(
            spec.plugin.type in DATA_TYPES and runs_in_python(load_plugin(request.plugin))
            for spec in self._specs.values()
            if (request := self._pipeline.requests.get(spec.name)) is not None
        )

    def keeps_plugins(self, names: Iterable[str]) -> bool:
        """Return whether a plugin of these stages is one object for the whole run."""
        requests = (self._pipeline.requests.get(name) for name in names)
        return any(
            is_kept(load_plugin(request.plugin)) for request in requests if request is not None
        )

    def list_open_sources(self, names: Iterable[str]) -> list[Stage]:
        """Return the sources among stages that find their output schemas in the run."""
        stages = (
            self._create_stage(self._specs[n]) for n in names if self.route.types[n] == SOURCE
        )
        return [stage for stage in stages if can_find_schema(stage)]

    def has_macros(self, name: str) -> bool:
        """Whether macros of a stage have no values; only a stage that is not run may have such."""
        return bool(self._pipeline.requests[name].macros)

    def create_control(self, name: str) -> Stage:
        """Return an action, a condition, a post action or an alert publisher."""
        request = self._pipeline.requests[name]
        return Stage(name, request.plugin, request.properties, {})

    def _create_stage(self, spec: StageSpec) -> Stage:
        if spec.plugin.type not in (*DATA_TYPES, *SINKS, CONDITION):
            raise StageError(
                f"Stage '{spec.name}': stages of type '{spec.plugin.type}' cannot be run yet.",
                "Remove the stage.",
                stage=spec.name,
            )
        request = self._pipeline.requests[spec.name]
        return Stage(
            name=spec.name,
            plugin=request.plugin,
            properties=request.properties,
            input_schemas=_require_input_schemas(spec, self._list_data_inputs(spec.name)),
            output_schema=spec.output_schema,
            error_schema=self._pipeline.own_error_schemas.get(spec.name),
            port_schemas=spec.port_schemas,
            pipeline_version=request.pipeline_version,
            expectations=self._rules.get(spec.name, []),
            tables=self._pipeline.tables.get(spec.name, []),
        )

    def _list_data_inputs(self, stage: str) -> set[str]:
        into = (c for c in self.route.connections if c.target == stage)
        return {c.source for c in into if self.route.carries_records(c)}

    def _create_entry(self, name: str) -> Stage:
        stage = self._create_stage(self._specs[name])
        return msgspec.structs.replace(stage, input_schemas={})

    def _create_exit(self, name: str, inside: Collection[str]) -> Stage:
        stage = self._create_stage(self._specs[name])
        inputs = {source: s for source, s in stage.input_schemas.items() if source in inside}
        return msgspec.structs.replace(stage, input_schemas=inputs)


def resolve_order(
    order: WorkOrder,
    arguments: Mapping[str, str] | None = None,
    done: Collection[str] = (),
    *,
    document: PipelineDocument | None = None,
    found: Mapping[str, Schema] = MappingProxyType({}),
) -> ResolvedFlow:
    """Configure all stages in this process and propagate their schemas.

    :param arguments: by default those of the order.
    :param done: the stages that have run; stages after actions that are not among them are not configured.
    :param document: the document of the order, when it has been parsed already.
    :param found: by source, the output schema that its plugin has found in the run.
    :raises DocumentError: when the document is not a pipeline.
    :raises InvalidPipelineError: with every failure.
    :raises StageError: when the stages have no order in which they can run.
    """
    if document is None:
        document = read_document(order.document)
    given = order.arguments if arguments is None else arguments
    secrets = get_secrets(order)
    functions = create_macro_functions(
        order.logical_start_ms,
        secure=secrets.source,
        oauth=secrets.credentials,
        conn=secrets.connections,
    )
    resolved = resolve_pipeline(
        document,
        PinnedPlugins(order.plugins, load_plugin),
        partial(_configure, found, create_table_finder(order)),
        MacroContext(given, functions, runtime=True),
        locations=order.path_locations,
        done=done,
        unevaluated=order.preview.unevaluated if order.preview is not None else (),
    )
    if resolved.spec is None:
        texts = [failure.full_message for failure in resolved.errors]
        raise InvalidPipelineError(
            "\n".join(("The pipeline is not valid:", *texts)),
            "Validate it with the same arguments, and correct what is reported.",
            failures=[msgspec.to_builtins(failure) for failure in resolved.errors],
        )
    return ResolvedFlow(document, resolved, resolved.spec, frozenset(done))


def _configure(
    found: Mapping[str, Schema], find_table: FindTable, request: ConfigureRequest
) -> ConfigureResult:
    result = configure_stage(request, find_table, in_run=True)
    if result.output_schema is None and request.stage in found:
        return msgspec.structs.replace(result, output_schema=found[request.stage])
    return result


def _require_input_schemas(spec: StageSpec, inputs: Collection[str]) -> dict[str, Schema]:
    known: dict[str, Schema] = {}
    for source, schema in spec.input_schemas.items():
        if source not in inputs:
            continue
        if schema is None:
            raise StageError(
                f"Stage '{spec.name}': the schema of the records from '{source}' is not known.",
                f"Set the output schema of stage '{source}'.",
                stage=spec.name,
            )
        known[source] = schema
    return known
