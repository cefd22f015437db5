"""From a work order to a flow: the pipeline configured once more, with every macro evaluated."""

from __future__ import annotations

import msgspec

from localcdap.api.errors import InvalidPipelineError, StageError
from localcdap.api.pipeline import PipelineSpec, StageSpec
from localcdap.api.schema import Schema
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.flow import DATA_TYPES, SINKS, Flow, Stage
from localcdap.engine.order import WorkOrder
from localcdap.sandbox.configuring import configure_stage
from localcdap.studio.document import read_document
from localcdap.studio.evaluation import MacroContext
from localcdap.studio.functions import macro_functions
from localcdap.studio.plugins import PinnedPlugins
from localcdap.studio.resolution import ResolvedPipeline, resolve_pipeline

_LATER = "alertpublisher"


class Resolved(msgspec.Struct):
    """A pipeline ready to be planned."""

    flow: Flow
    spark_properties: dict[str, str]
    """Engine properties that are Spark's, such as ``spark.sql.shuffle.partitions``."""


def resolve(order: WorkOrder) -> Resolved:
    """Configure all stages in this process and take over their schemas.

    :raises DocumentError: when the document is no pipeline.
    :raises InvalidPipelineError: with every failure.
    :raises StageError: for a stage that cannot be run.
    """
    resolved = resolve_pipeline(
        read_document(order.document),
        PinnedPlugins(order.plugins, load_plugin),
        configure_stage,
        MacroContext(order.arguments, macro_functions(order.logical_start_ms), runtime=True),
        locations=order.places,
    )
    if resolved.spec is None:
        texts = [failure.full_message for failure in resolved.errors]
        raise InvalidPipelineError(
            "The pipeline is not valid: " + " ".join(texts),
            "Validate it with the same arguments, and correct what is reported.",
            failures=[msgspec.to_builtins(failure) for failure in resolved.errors],
        )
    properties = resolved.spec.properties
    spark = {key: value for key, value in properties.items() if key.startswith("spark.")}
    return Resolved(_flow(resolved, resolved.spec), spark)


def _flow(resolved: ResolvedPipeline, spec: PipelineSpec) -> Flow:
    stages = [_stage(each, resolved) for each in spec.stages if each.plugin.type != _LATER]
    names = {stage.name for stage in stages}
    connections = [c for c in spec.connections if c.source in names and c.target in names]
    return Flow(stages, connections)


def _stage(spec: StageSpec, resolved: ResolvedPipeline) -> Stage:
    if spec.plugin.type not in (*DATA_TYPES, *SINKS):
        raise StageError(
            f"Stage '{spec.name}': stages of type '{spec.plugin.type}' cannot be run yet.",
            "Remove the stage.",
            stage=spec.name,
        )
    return Stage(
        name=spec.name,
        plugin=resolved.plugins[spec.name],
        properties=resolved.properties[spec.name],
        input_schemas=_known(spec),
        output_schema=spec.output_schema,
        error_schema=spec.error_schema,
        port_schemas=spec.port_schemas,
    )


def _known(spec: StageSpec) -> dict[str, Schema]:
    known: dict[str, Schema] = {}
    for source, schema in spec.input_schemas.items():
        if schema is None:
            raise StageError(
                f"Stage '{spec.name}': the schema of the records from '{source}' is not known.",
                f"Set the output schema of stage '{source}'.",
                stage=spec.name,
            )
        known[source] = schema
    return known
