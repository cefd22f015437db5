"""The structural rules about conditions and their branches (CDAP 6 ``PipelineSpecGenerator``)."""

from __future__ import annotations

from collections.abc import Iterator

from localcdap.api.failures import ValidationFailure
from localcdap.pipeline.document.failures import create_structural_failure
from localcdap.pipeline.rules.plugin_types import CONDITION
from localcdap.pipeline.rules.structure import PipelineStructure

_BRANCHES = (True, False)


def _require_branch_labels(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in pipeline.list_stages(CONDITION):
        for connection in pipeline.graph.outgoing[stage]:
            if connection.condition is None:
                yield create_structural_failure(
                    f"For condition stage {stage}, the connection {connection} is not marked "
                    "with either 'true' or 'false'.",
                    "Set 'condition' of the connection.",
                    stage=stage,
                )


def _refuse_equal_branches(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in pipeline.list_stages(CONDITION):
        taken = [connection.condition for connection in pipeline.graph.outgoing[stage]]
        for branch in _BRANCHES:
            if taken.count(branch) > 1:
                yield create_structural_failure(
                    f"For condition stage '{stage}', more than one outgoing connections are "
                    f"marked as {str(branch).lower()}.",
                    "A condition leads to one stage if true and to one if false.",
                    stage=stage,
                )


def _limit_branches(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    for stage in pipeline.list_stages(CONDITION):
        count = len(pipeline.graph.outputs[stage])
        if count > len(_BRANCHES):
            yield create_structural_failure(
                f"Condition stage in the pipeline '{stage}' should have at least 1 and at max 2 "
                "outgoing connections corresponding to 'true' and 'false' branches but found "
                f"'{count}'.",
                "Remove the connections beyond two.",
                stage=stage,
            )


def _separate_branches(pipeline: PipelineStructure) -> Iterator[ValidationFailure]:
    """Yield a failure for each stage of a branch that can also be reached on a path around the condition."""
    graph = pipeline.graph
    for condition in pipeline.list_stages(CONDITION):
        crossed = (graph.find_descendants(condition) & graph.find_reachable_without(condition)) - {
            condition
        }
        for stage in (each for each in graph.stages if each in crossed):
            if len(graph.inputs[stage]) > 1:
                others = ",".join(graph.find_origins(stage, until=condition))
                yield create_structural_failure(
                    f"Stage in the pipeline '{stage}' is on the branch of condition '{condition}'. "
                    f"However it also has following incoming paths: '{others}'. "
                    "Different branches of a condition cannot be inputs to the same stage.",
                    "Give each branch its own stages.",
                    stage=stage,
                )


CONDITION_RULES = (
    _require_branch_labels,
    _refuse_equal_branches,
    _limit_branches,
    _separate_branches,
)
"""In the order in which failures are reported."""
