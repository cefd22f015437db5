"""The Joiner: joins records of two or more inputs on keys or on a condition.

The properties of a join as its parts, and its output schema (hydrator-plugins ``JoinerConfig``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    AutoJoiner,
    AutoJoinerContext,
    FailureCollector,
    JoinDefinition,
    JoinDistribution,
    JoinField,
    JoinKey,
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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_AS: Final = " as "


def check_output(expected: Schema, given: Schema, failures: FailureCollector) -> None:
    """Compare the schema of a join with the schema in its properties."""
    for made in expected:
        declared = given.field(made.name)
        if declared is None:
            failures.add(
                f"Provided schema is missing fields: {made.name}.",
                "Select fewer fields or update the output schema.",
            ).with_config_property("schema")
        elif made.schema.non_nullable.type is not declared.schema.non_nullable.type:
            failures.add(
                f"Provided schema does not match expected schema. Field '{made.name}' is a "
                f"'{declared.schema.display_name}' but is expected to be a "
                f"'{made.schema.display_name}'"
            ).with_output_field(made.name)
        elif made.schema.is_nullable and not declared.schema.is_nullable:
            failures.add(
                "Provided schema does not match expected schema. "
                f"Field '{made.name}' should be nullable"
            ).with_output_field(made.name)
    for extra in given:
        if expected.field(extra.name) is None:
            failures.add(
                f"The output schema contains extra field '{extra.name}' that is not selected.",
                "Select it from one of the inputs, or remove it from the output schema.",
            ).with_output_field(extra.name)


def parse_selected(text: str, failures: FailureCollector) -> list[JoinField]:
    """Parse ``stage.field as alias, …``."""
    found = []
    for element in _split(text, ","):
        parts = _split(element, _AS)
        path = _split(parts[0], ".")
        if len(path) != 2 or len(parts) > 2:
            failures.add(
                "Invalid syntax. Selected Fields must be of syntax "
                f"<stageName>.<oldFieldName> as <alias>, but found {element}"
            ).with_config_property("selectedFields", element=element)
            continue
        found.append(JoinField(path[0], path[1], parts[-1] if len(parts) == 2 else path[1]))
    if not found and not len(failures):
        failures.add("Must select at least one field").with_config_property("selectedFields")
    return found


def parse_keys(text: str, failures: FailureCollector) -> list[JoinKey]:
    """Parse ``a.x = b.y & a.z = b.w`` into the key of each stage."""
    keys: dict[str, tuple[str, ...]] = {}
    comparisons = _split(text, "&")
    if not comparisons:
        failures.add("Join keys cannot be empty").with_config_property("joinKeys")
    for comparison in comparisons:
        seen: set[str] = set()
        for element in _split(comparison, "="):
            path = _split(element, ".")
            if len(path) != 2:
                failures.add(
                    f"'{element}' in the join keys is not of syntax <stageName>.<fieldName>."
                ).with_config_property("joinKeys")
                return []
            seen.add(path[0])
            keys[path[0]] = (*keys.get(path[0], ()), path[1])
        if seen != set(keys) or len({len(names) for names in keys.values()}) != 1:
            failures.add(
                "There should be one join key from each of the stages",
                "Please add join keys for each stage.",
            ).with_config_property("joinKeys")
            return []
    return [JoinKey(stage, names) for stage, names in keys.items()]


def parse_aliases(text: str, failures: FailureCollector) -> dict[str, str]:
    """Parse ``stage=alias;stage2=alias2``."""
    aliases = {}
    for element in _split(text, ";"):
        stage, equals, alias = (part.strip() for part in element.partition("="))
        if equals and stage and alias:
            aliases[stage] = alias
        else:
            failures.add(
                f"'{element}' in the input aliases is not of syntax <stageName>=<alias>."
            ).with_config_property("inputAliases", element=element)
    return aliases


def _split(text: str, separator: str) -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]


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
