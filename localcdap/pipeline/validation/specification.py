"""The specification of a pipeline whose stages were configured (CDAP 6 ``BatchPipelineSpec``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import (
    OutputPort,
    PipelineSpec,
    PluginSpec,
    PostActionSpec,
    StageSpec,
    UsedPluginSpec,
)
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.failures import create_structural_failure
from localcdap.pipeline.document.model import PipelineDocument, PluginUse
from localcdap.pipeline.macros.evaluation import connections_used
from localcdap.pipeline.rules.graph import Graph
from localcdap.pipeline.validation.configured_stage import ConfiguredStage


def create_stage_specs(
    document: PipelineDocument, graph: Graph, outcomes: Mapping[str, ConfiguredStage]
) -> dict[str, StageSpec]:
    """Return the specification of each stage whose plugin was found, with its place in the pipeline."""
    stages = {}
    for name, outcome in outcomes.items():
        if outcome.plugin is None:
            continue
        spec = create_stage_spec(outcome)
        spec.input_stages = graph.inputs[name]
        spec.output_ports = _create_output_ports(graph, outcome)
        spec.stage_logging_enabled = document.stage_logging_enabled
        spec.process_timing_enabled = document.process_timing_enabled
        spec.max_preview_records = document.num_of_records_preview
        stages[name] = spec
    return stages


def create_pipeline_spec(
    document: PipelineDocument,
    stages: Mapping[str, StageSpec],
    ending: Iterable[ConfiguredStage],
    properties: dict[str, str],
) -> PipelineSpec:
    """Return the specification of a pipeline all of whose stages and post actions have a plugin.

    :param properties: see :func:`pipeline_properties`.
    """
    used = [name for each in stages.values() for name in connections_used(each.plugin.properties)]
    return PipelineSpec(
        stages=list(stages.values()),
        connections=document.connections,
        resources=document.resources,
        driver_resources=document.driver_resources,
        client_resources=document.client_resources,
        stage_logging_enabled=document.stage_logging_enabled,
        process_timing_enabled=document.process_timing_enabled,
        num_of_records_preview=document.num_of_records_preview,
        properties=properties,
        ending_actions=[
            PostActionSpec(each.stage.name, _create_plugin_spec(each)) for each in ending
        ],
        engine=document.engine,
        connections_used=list(dict.fromkeys(used)),
    )


def create_stage_spec(outcome: ConfiguredStage) -> StageSpec:
    """Return the specification of a stage on its own, connected to nothing."""
    return StageSpec(
        name=outcome.stage.name,
        plugin=_create_plugin_spec(outcome),
        input_schemas=outcome.input_schemas,
        input_stages=list(outcome.input_schemas),
        output_ports={},
        port_schemas=outcome.port_schemas,
        output_schema=outcome.output_schema,
        error_schema=outcome.error_schema,
    )


def _create_plugin_spec(outcome: ConfiguredStage) -> PluginSpec:
    assert outcome.plugin is not None  # a stage without a plugin is a failure, and ends in no spec
    return create_plugin_spec(outcome.stage.plugin, outcome.plugin)


def create_plugin_spec(use: PluginUse, plugin: PluginRef) -> PluginSpec:
    """Return the plugin with its exact artifact and its unevaluated properties, so that no secret shows."""
    uses = [UsedPluginSpec(each.type, each.name, each.artifact) for each in plugin.uses]
    return PluginSpec(use.type, use.name, use.properties, plugin.artifact, uses)


def _create_output_ports(graph: Graph, outcome: ConfiguredStage) -> dict[str, OutputPort]:
    ports: dict[str, OutputPort] = {}
    for connection in graph.outgoing[outcome.stage.name]:
        if outcome.port_schemas and connection.port is not None:
            port = OutputPort(connection.port, outcome.port_schemas.get(connection.port))
        else:
            port = OutputPort(connection.port, outcome.output_schema)
        ports.setdefault(connection.target, port)
    return ports


def pipeline_properties(
    document: PipelineDocument, outcomes: Iterable[ConfiguredStage]
) -> tuple[dict[str, str], list[ValidationFailure]]:
    """Return the engine properties: those of the document, overridden by those that stages ask for.

    Two stages must not ask for different values (CDAP 6 ``PipelineSpecGenerator``).
    """
    asked: dict[str, tuple[str, str]] = {}
    failures: list[ValidationFailure] = []
    for outcome in outcomes:
        stage = outcome.stage.name
        for key, value in outcome.result.pipeline_properties.items():
            other, earlier = asked.setdefault(key, (stage, value))
            if earlier != value:
                message = (
                    f"Pipeline property '{key}' is being set to different values by stages. "
                    f"stage '{other}' = '{earlier}', stage '{stage}' = '{value}'"
                )
                failures.append(
                    create_structural_failure(message, "Configure the two stages alike.")
                )
    properties = document.engine_properties | {key: value for key, (_, value) in asked.items()}
    return properties, failures


def check_columns(outcomes: Iterable[ConfiguredStage]) -> list[ValidationFailure]:
    """Return a failure for each column that two stages would write with different types."""
    written: dict[tuple[str, str], tuple[str, str]] = {}
    failures: list[ValidationFailure] = []
    for outcome in outcomes:
        stage = outcome.stage.name
        for table, columns in outcome.result.columns.items():
            for column, type in columns.items():
                other, earlier = written.setdefault((table, column), (stage, type))
                if earlier != type:
                    message = (
                        f"Stages '{other}' and '{stage}' write column '{column}' of table '{table}' with "
                        f"different types: {earlier} and {type}."
                    )
                    action = "Convert the field in one of the two, or write into two tables."
                    failures.append(create_structural_failure(message, action))
    return failures
