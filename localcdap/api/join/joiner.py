"""The base class of joiners that define a join and leave it to localcdap (CDAP 6 ``AutoJoiner``).

Whether a join fits its stages; the messages are those of CDAP where it has them.

Rules: CDAP 6 ``JoinDefinition``, ``JoinCondition``, ``JoinDistribution``, and ``Joiner`` of hydrator-plugins.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from localcdap.api.failures import FailureCollector
from localcdap.api.join.definition import (
    JoinDefinition,
    JoinDistribution,
    JoinFailures,
    JoinField,
    JoinOnExpression,
    JoinOnKeys,
    JoinPart,
    JoinStage,
    find_qualified_names,
)
from localcdap.api.lineage import EdgeKind, FieldTransformOperation, LineageRecorder
from localcdap.api.plugin import BatchJoiner
from localcdap.api.schema import Schema, Type
from localcdap.api.stage import SparkContext, StageConfigurer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_join(join: JoinDefinition, failures: JoinFailures) -> None:
    """Add failures for all parts of a join that do not fit its stages."""
    if isinstance(join.condition, JoinOnKeys):
        _check_keys(join, join.condition, failures)
    else:
        _check_expression(join, join.condition, failures)
    _check_selected(join, failures)
    if len(join.stages) < 2:
        failures.add(JoinPart.KEYS, "At least two stages must be specified.")
    elif all(stage.broadcast for stage in join.stages):
        failures.add(
            JoinPart.BROADCAST,
            "Cannot broadcast all stages.",
            "Leave the largest input out of the list.",
        )
    if join.distribution is not None:
        _check_distribution(join, join.distribution, failures)


def _check_keys(join: JoinDefinition, condition: JoinOnKeys, failures: JoinFailures) -> None:
    before = len(failures)
    keys = condition.keys
    if {stage.name for stage in join.stages} - {key.stage for key in keys}:
        failures.add(
            JoinPart.KEYS,
            "There should be one join key from each of the stages",
            "Please add join keys for each stage.",
        )
    if len({len(key.fields) for key in keys}) > 1:
        counts = ", ".join(f"{len(key.fields)} of stage '{key.stage}'" for key in keys)
        failures.add(
            JoinPart.KEYS,
            f"Must join on the same number of fields for each stage, not on {counts}.",
        )
    for key in keys:
        stage = join.find_stage(key.stage)
        if stage is None:
            failures.add(
                JoinPart.KEYS,
                f"Join key for stage '{key.stage}' is invalid. Stage '{key.stage}' is not an input of "
                "the join.",
                f"Choose from: {', '.join(each.name for each in join.stages)}.",
            )
        elif stage.schema is not None:
            for name in key.fields:
                if stage.schema.field(name) is None:
                    failures.add(
                        JoinPart.KEYS,
                        f"Join key for stage '{key.stage}' is invalid. Field '{name}' does not exist "
                        "in the stage.",
                    ).with_input_field(name, key.stage)
    if len(failures) == before:
        for place in range(len(keys[0].fields)):
            _check_key_types(join, condition, place, failures)


def _check_key_types(
    join: JoinDefinition, condition: JoinOnKeys, place: int, failures: JoinFailures
) -> None:
    """Check the fields that are compared with each other, at one place of the keys."""
    first: tuple[str, str, Schema] | None = None
    for key in condition.keys:
        name = key.fields[place]
        stage = join.find_stage(key.stage)
        field = stage and stage.schema and stage.schema.field(name)
        if not field:
            continue
        type = field.schema.non_nullable
        if _contains_map(type):
            failures.add(
                JoinPart.KEYS,
                f"Join key '{key.stage}'.'{name}' is or contains a map, and maps cannot be compared.",
            ).with_input_field(name, key.stage)
        if first is None:
            first = (key.stage, name, type)
        elif (first[2].type, first[2].logical_type) != (type.type, type.logical_type):
            failures.add(
                JoinPart.KEYS,
                f"Type mismatch on join keys. '{first[0]}'.'{first[1]}' is of type "
                f"'{first[2].display_name}' while '{key.stage}'.'{name}' is of type "
                f"'{type.display_name}'.",
                "Convert one of them in an earlier stage.",
            ).with_input_field(name, key.stage)


def _contains_map(schema: Schema) -> bool:
    parts = [*schema.members, *(part.schema for part in schema.fields or ())]
    if schema.items is not None:
        parts.append(schema.items)
    return schema.type is Type.MAP or any(map(_contains_map, parts))


def _check_expression(
    join: JoinDefinition, condition: JoinOnExpression, failures: JoinFailures
) -> None:
    stages = join.stages
    if not condition.expression:
        failures.add(JoinPart.EXPRESSION, "A join condition must be specified.")
        return
    if len(stages) != 2:
        failures.add(
            JoinPart.EXPRESSION_STAGES,
            "Advanced join conditions can only be used when there are two inputs.",
        )
    if not all(s.required for s in stages) and not any(s.broadcast for s in stages):
        failures.add(
            JoinPart.BROADCAST, "Advanced outer joins must specify an input to load in memory."
        )
    known = {condition.get_alias(stage.name).lower(): stage for stage in stages}
    if len(known) < len(stages):
        failures.add(JoinPart.ALIASES, "Two inputs have the same alias.")
    fields = {n.lower() for s in stages if s.schema for n in s.schema.field_names}
    for alias, name in find_qualified_names(condition.expression):
        stage = known.get(alias.lower())
        if stage is None:
            if alias.lower() not in fields:
                failures.add(
                    JoinPart.EXPRESSION,
                    f"'{alias}' in the join condition is neither an input nor an alias of one.",
                    f"Choose from: {', '.join(condition.get_alias(s.name) for s in stages)}.",
                )
        elif stage.schema and name.lower() not in map(str.lower, stage.schema.field_names):
            failures.add(
                JoinPart.EXPRESSION,
                f"Field '{name}' in the join condition does not exist in stage '{stage.name}'.",
            )


def _check_selected(join: JoinDefinition, failures: JoinFailures) -> None:
    if not join.selected:
        failures.add(JoinPart.SELECTED_FIELDS, "At least one field must be selected.")
    names: set[str] = set()
    for selected in join.selected:
        problem = _find_problem(join, selected)
        if problem is None and selected.name in names:
            problem = (
                f"Field '{selected.name}' from stage '{selected.stage}' is a duplicate. "
                "Set an alias to make it unique."
            )
        if problem is not None:
            failures.add(JoinPart.SELECTED_FIELDS, problem, element=str(selected))
        names.add(selected.name)


def _find_problem(join: JoinDefinition, selected: JoinField) -> str | None:
    stage = join.find_stage(selected.stage)
    begin = f"Selected field '{selected.stage}'.'{selected.field}' is invalid because stage"
    if stage is None:
        return f"{begin} '{selected.stage}' is not part of the join."
    if stage.schema is not None and stage.schema.field(selected.field) is None:
        return f"{begin} '{selected.stage}' does not contain field '{selected.field}'."
    return None


def _check_distribution(
    join: JoinDefinition, distribution: JoinDistribution, failures: JoinFailures
) -> None:
    name = distribution.skewed_stage
    skewed = join.find_stage(name)
    if len(join.stages) > 2:
        failures.add(
            JoinPart.DISTRIBUTION_STAGE,
            "Only two stages can be joined if a distribution factor is specified",
        )
    if isinstance(join.condition, JoinOnExpression):
        failures.add(
            JoinPart.DISTRIBUTION_STAGE, "Only joins on keys can have a distribution factor."
        )
    if distribution.factor < 1:
        failures.add(JoinPart.DISTRIBUTION_FACTOR, "Distribution size must be greater than 0")
    if skewed is None:
        failures.add(
            JoinPart.DISTRIBUTION_STAGE,
            f"Skewed stage '{name}' does not match any of the specified stages",
            f"Choose from: {', '.join(stage.name for stage in join.stages)}.",
        )
    elif not skewed.required:
        failures.add(
            JoinPart.DISTRIBUTION_STAGE,
            "Distribution only supports inner or left outer joins, the skewed stage "
            f"'{name}' must be required",
        )
    if any(stage.broadcast for stage in join.stages):
        failures.add(
            JoinPart.BROADCAST, "Distribution cannot be used if either stage will be broadcast"
        )


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
