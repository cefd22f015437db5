"""The Joiner: joins records of two or more inputs on keys or on a condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    AutoJoiner,
    AutoJoinerContext,
    JoinDefinition,
    JoinDistribution,
    JoinOnExpression,
    JoinOnKeys,
    JoinPart,
    JoinStage,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    field,
    plugin,
)

from .definition import check_output, parse_aliases, parse_keys, parse_selected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BASIC: Final = "basic"
ADVANCED: Final = "advanced"
_DEFINING: Final = (
    "selectedFields",
    "requiredInputs",
    "schema",
    "conditionType",
    "joinKeys",
    "conditionExpression",
    "inputAliases",
    "inMemoryInputs",
)
"""Properties that must not contain macros for the join to be validated."""


@plugin(
    name="Joiner",
    description="Joins the records of two or more inputs. Records of required inputs come out only when "
    "they match, those of other inputs fill in where they match. Without required inputs "
    "everything comes out (full outer join).",
)
class Joiner(AutoJoiner):
    join_properties = {
        JoinPart.SELECTED_FIELDS: "selectedFields",
        JoinPart.BROADCAST: "inMemoryInputs",
        JoinPart.KEYS: "joinKeys",
        JoinPart.EXPRESSION: "conditionExpression",
        JoinPart.EXPRESSION_STAGES: "conditionType",
        JoinPart.ALIASES: "inputAliases",
        JoinPart.DISTRIBUTION_FACTOR: "distributionFactor",
        JoinPart.DISTRIBUTION_STAGE: "distributionStageName",
    }

    class Config(PluginConfig, macros=True, rename="camel"):
        selected_fields: str = field(
            "The output fields, in order: a comma-separated list of 'stage.field' or "
            "'stage.field as alias'. Output names must be unique.",
            form="{joined-field},",
        )
        required_inputs: list[str] = field(
            "The inputs whose records must match, comma-separated. All inputs: inner join. Some: "
            "outer join that keeps every match of these. None: full outer join.",
            default=[],
            form="{input-stage}",
        )
        condition_type: str = field(
            "basic: join on equal keys. advanced: join on an SQL condition.",
            default=BASIC,
            form="{condition:basic|advanced}",
        )
        join_keys: str = field(
            "The fields to compare for basic joins: 'a.id = b.customer_id', with '&' between "
            "several comparisons. Each comparison names every input.",
            default="",
            form="{join-keys}",
        )
        input_aliases: str = field(
            "Short names of inputs for the condition: 'stage=alias;stage2=alias2'.", default=""
        )
        condition_expression: str = field(
            "The condition of an advanced join, an SQL expression over 'input.field', such as "
            "'p.price > o.budget and p.kind = o.kind'.",
            default="",
            syntax="sql",
        )
        in_memory_inputs: list[str] = field(
            "Small inputs that are sent to every worker, comma-separated, which makes joins with a "
            "large input faster.",
            default=[],
            form="{input-stage}",
            group="performance",
        )
        join_null_keys: bool = field(
            "Whether null keys are equal to each other (unlike in SQL).", default=True
        )
        num_partitions: int | None = field(
            "Number of partitions of the result. If empty, the engine decides.",
            default=None,
            group="performance",
        )
        most_skewed_input: str | None = field(
            "The input with the most skewed keys; it becomes the left side.",
            default=None,
            form="{input-stage}",
            group="performance",
        )
        distribution_enabled: bool = field(
            "Whether one input has a few keys with very many records.",
            default=False,
            group="performance",
        )
        distribution_stage: str | None = field(
            "The input with these keys. Required if distribution is enabled.",
            default=None,
            name="distributionStageName",
            form="{input-stage}",
            group="performance",
        )
        distribution_factor: int | None = field(
            "How many parts a key is split into. Required if distribution is enabled.",
            default=None,
            group="performance",
        )
        schema: Schema | None = field(
            "The output schema. Required if the schema of an input is not known.", default=None
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        inputs, failures = stage.input_schemas, stage.failures
        has_unknown = any(schema is None for schema in inputs.values())
        if has_unknown and self.config.schema is None and not self.config.contains_macro("schema"):
            failures.add("Output schema must be specified").with_config_property("schema")
        self._check_skew(stage)
        super().configure(stage)
        if self.config.macros & set(_DEFINING) or len(failures):
            return
        if has_unknown and self.config.schema is not None:
            if stage.output_schema is not None:
                check_output(stage.output_schema, self.config.schema, failures)
            stage.output_schema = self.config.schema

    def _check_skew(self, stage: StageConfigurer) -> None:
        config, failures = self.config, stage.failures
        skewed = config.most_skewed_input
        if skewed and skewed not in stage.input_schemas:
            failures.add(
                "Only one stage can be specified as the stage with the larger skew.",
                "Please select only one stage.",
            ).with_config_property("mostSkewedInput")
        if not config.distribution_enabled:
            return
        if config.distribution_factor is None and not config.contains_macro("distributionFactor"):
            failures.add(
                "Distribution Size is a required value if distribution is enabled."
            ).with_config_property("distributionFactor")
        if not config.distribution_stage and not config.contains_macro("distributionStageName"):
            failures.add(
                "Skewed Stage name is a required value if distribution is enabled."
            ).with_config_property("distributionStageName")

    def define(self, context: AutoJoinerContext) -> JoinDefinition | None:
        config, failures = self.config, context.failures
        if config.macros & set(_DEFINING):
            return None
        kind = config.condition_type.lower()
        if kind not in (BASIC, ADVANCED):
            failures.add(
                f"Invalid condition type {config.condition_type}",
                "Set it to 'basic' or 'advanced'.",
            ).with_config_property("conditionType")
            return None
        stages = self._list_stages(context)
        selected = parse_selected(config.selected_fields or "", failures)
        condition: JoinOnKeys | JoinOnExpression
        if kind == BASIC:
            condition = JoinOnKeys(parse_keys(config.join_keys, failures), config.join_null_keys)
        else:
            aliases = parse_aliases(config.input_aliases, failures)
            self._check_names(context, "inputAliases", aliases)
            condition = JoinOnExpression(config.condition_expression, aliases)
        distribution = self._get_distribution()
        return JoinDefinition(selected, stages, condition, distribution, "join.output")

    def _list_stages(self, context: AutoJoinerContext) -> list[JoinStage]:
        """Return the inputs, the most skewed one first, so that it becomes the left side."""
        config = self.config
        self._check_names(context, "requiredInputs", config.required_inputs)
        self._check_names(context, "inMemoryInputs", config.in_memory_inputs)
        stages = [
            stage.replace(
                required=stage.name in config.required_inputs,
                broadcast=stage.name in config.in_memory_inputs,
            )
            for stage in context.stages.values()
        ]
        return sorted(stages, key=lambda stage: stage.name != config.most_skewed_input)

    def _check_names(self, context: AutoJoinerContext, property: str, names: Iterable[str]) -> None:
        for name in sorted(set(names) - set(context.stages)):
            context.failures.add(
                f"Stage '{name}' is not an input of the join.",
                f"Choose from: {', '.join(context.stages)}.",
            ).with_config_property(property, element=name)

    def _get_distribution(self) -> JoinDistribution | None:
        """Return how skewed keys are divided; None while one of its properties has no value."""
        config = self.config
        factor, stage = config.distribution_factor, config.distribution_stage
        if not config.distribution_enabled or factor is None or not stage:
            return None
        return JoinDistribution(factor, stage)

    def apply(self, inputs: Mapping[str, DataFrame], context: SparkContext) -> DataFrame:
        joined = super().apply(inputs, context)
        if self.config.num_partitions:
            joined = joined.repartition(self.config.num_partitions)
        return joined
