"""The base class of joiners that define a join and leave it to localcdap (CDAP 6 ``AutoJoiner``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from localcdap.api.failures import FailureCollector
from localcdap.api.join.checks import check_join
from localcdap.api.join.definition import JoinDefinition, JoinStage
from localcdap.api.join.failures import JoinFailures, JoinPart
from localcdap.api.lineage import EdgeKind, FieldTransformOperation
from localcdap.api.lineage_recorder import LineageRecorder
from localcdap.api.plugin import BatchJoiner
from localcdap.api.schema import Schema
from localcdap.api.stage import SparkContext, StageConfigurer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclasses.dataclass(frozen=True)
class AutoJoinerContext:
    """The inputs of a join that is to be defined."""

    stages: Mapping[str, JoinStage]
    """By name, all of them required and none broadcast."""
    failures: FailureCollector


class AutoJoiner(BatchJoiner):
    """Base class of joiners that only define their join.

    The schema, the fields that are loaded, the lineage and the execution on Spark follow from the definition.
    """

    join_properties: ClassVar[Mapping[JoinPart, str]] = {}
    """The names of the properties that define the parts of the join, for failures."""

    def define(self, context: AutoJoinerContext) -> JoinDefinition | None:
        """Return the join, or add failures; None when macros that define it have no values yet."""
        raise NotImplementedError

    def configure(self, stage: StageConfigurer) -> None:
        """Define the join, check that it fits the inputs, and set the output schema."""
        join = self._define(stage.input_schemas, stage.failures)
        if join is None or len(stage.failures):
            return
        check_join(join, JoinFailures(stage.failures, self.join_properties))
        stage.joined_stages = [each.name for each in join.stages]
        if not len(stage.failures):
            stage.output_schema = join.build_output_schema()

    def input_fields_by_stage(self, stage: StageConfigurer) -> dict[str, list[str]] | None:
        """Return the fields that the join selects or compares."""
        join = self._define(stage.input_schemas, FailureCollector())
        if join is None:
            return None
        return {
            each.name: join.list_input_fields(each)
            for each in join.stages
            if each.schema is not None
        }

    def record_lineage(self, lineage: LineageRecorder) -> None:
        """Record operations with the names of the original (``Joiner.createFieldOperations``)."""
        join = self._define(lineage.stage.input_schemas, FailureCollector())
        if join is None:
            return
        keys = join.list_compared_fields()
        names = list(dict.fromkeys(name for _, name in keys))
        taken = [f"{stage}.{name}" for stage, name in keys]
        lineage.record(FieldTransformOperation("Join", "Used as a key in a join", taken, names))
        lineage.influence(EdgeKind.JOIN, keys)
        for field in join.selected:
            source = (field.stage, field.field)
            if source in keys and field.name == field.field:
                lineage.keep(field.name, source)
            else:
                kind = "Identity" if field.name == field.field else "Rename"
                lineage.keep(field.name, source, f"{kind} {field.stage}.{field.field}")

    def apply(self, inputs: Mapping[str, DataFrame], context: SparkContext) -> DataFrame:
        """Return the joined records; called once."""
        failures = FailureCollector(context.stage_name)
        join = self._define(context.input_schemas, failures)
        if join is None or len(failures):
            raise context.fail("; ".join(each.message for each in failures) or "nothing is joined.")
        return context.join(inputs, join)

    def _define(
        self, inputs: Mapping[str, Schema | None], failures: FailureCollector
    ) -> JoinDefinition | None:
        stages = {name: JoinStage(name, schema) for name, schema in inputs.items()}
        return self.define(AutoJoinerContext(stages, failures))
