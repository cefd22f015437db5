"""The Joiner: joins records of two or more inputs on keys or on a condition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    BatchJoiner,
    EdgeKind,
    FailureCollector,
    FieldTransformOperation,
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column

from .definition import (
    JoinDefinition,
    check_output,
    parse_aliases,
    parse_keys,
    parse_selected,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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
class Joiner(BatchJoiner):
    """Skewed keys are split by Spark itself, so the distribution properties are checked and no more."""

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
        self._check_distribution(stage)
        if self.config.macros & set(_DEFINING):
            return
        definition = self._parse_definition(failures)
        if definition is None or len(failures):
            return
        definition.check(inputs, failures)
        if len(failures):
            return
        stage.joined_stages = list(definition.keys or inputs)
        made = definition.build_output_schema(inputs)
        if has_unknown and self.config.schema is not None:
            if made is not None:
                check_output(made, self.config.schema, failures)
            made = self.config.schema
        stage.output_schema = made

    def _check_distribution(self, stage: StageConfigurer) -> None:
        config, failures = self.config, stage.failures
        skewed = config.most_skewed_input
        if skewed and skewed not in stage.input_schemas:
            failures.add(
                "Only one stage can be specified as the stage with the larger skew.",
                "Please select only one stage.",
            ).with_config_property("mostSkewedInput")
        if not config.distribution_enabled:
            return
        factor, name = config.distribution_factor, config.distribution_stage
        if factor is None and not config.contains_macro("distributionFactor"):
            failures.add(
                "Distribution Size is a required value if distribution is enabled."
            ).with_config_property("distributionFactor")
        elif factor is not None and factor < 1:
            failures.add("Distribution size must be greater than 0.").with_config_property(
                "distributionFactor"
            )
        if not name and not config.contains_macro("distributionStageName"):
            failures.add(
                "Skewed Stage name is a required value if distribution is enabled."
            ).with_config_property("distributionStageName")
        elif name and name not in stage.input_schemas:
            failures.add(
                f"Skewed stage '{name}' is not an input of the join.",
                f"Choose from: {', '.join(stage.input_schemas)}.",
            ).with_config_property("distributionStageName")

    def _parse_definition(self, failures: FailureCollector) -> JoinDefinition | None:
        config = self.config
        kind = config.condition_type.lower()
        if kind not in (BASIC, ADVANCED):
            failures.add(
                f"Invalid condition type {config.condition_type}",
                "Set it to 'basic' or 'advanced'.",
            ).with_config_property("conditionType")
            return None
        selected = parse_selected(config.selected_fields or "", failures)
        required, in_memory = frozenset(config.required_inputs), frozenset(config.in_memory_inputs)
        if kind == BASIC:
            keys = parse_keys(config.join_keys, failures)
            return JoinDefinition(selected, required, in_memory, keys)
        if not config.condition_expression:
            failures.add("A join condition must be specified.").with_config_property(
                "conditionExpression"
            )
        aliases = parse_aliases(config.input_aliases, failures)
        condition = config.condition_expression
        return JoinDefinition(selected, required, in_memory, {}, condition, aliases)

    def input_fields_by_stage(self, stage: StageConfigurer) -> dict[str, list[str]] | None:
        definition = self._parse_definition(FailureCollector())
        if definition is None:
            return None
        return {
            name: definition.list_input_fields(name, schema)
            for name, schema in stage.input_schemas.items()
            if schema is not None
        }

    def record_lineage(self, lineage: LineageRecorder) -> None:
        """Record operations with the names of the original (``Joiner.createFieldOperations``)."""
        definition = self._parse_definition(FailureCollector())
        if definition is None or self.config.macros & set(_DEFINING):
            return
        keys = definition.list_compared_fields(lineage.inputs)
        names = list(dict.fromkeys(name for _, name in keys))
        taken = [f"{stage}.{name}" for stage, name in keys]
        lineage.record(FieldTransformOperation("Join", "Used as a key in a join", taken, names))
        lineage.influence(EdgeKind.JOIN, keys)
        for stage, name, alias in definition.selected:
            if (stage, name) in keys and alias == name:
                lineage.keep(alias, (stage, name))
            else:
                kind = "Identity" if alias == name else "Rename"
                lineage.keep(alias, (stage, name), f"{kind} {stage}.{name}")

    def apply(self, inputs: Mapping[str, DataFrame], context: SparkContext) -> DataFrame:
        failures = FailureCollector(context.stage_name)
        definition = self._parse_definition(failures)
        if definition is None or len(failures):
            raise context.fail("; ".join(failure.message for failure in failures))
        if definition.condition is not None:
            joined = self._join_on_condition(definition, definition.condition, inputs)
        else:
            joined = self._join_on_keys(definition, inputs)
        if self.config.num_partitions:
            joined = joined.repartition(self.config.num_partitions)
        return joined

    def _order_inputs(
        self, definition: JoinDefinition, inputs: Mapping[str, DataFrame]
    ) -> list[str]:
        """Return the inputs in join order: required inputs first, the most skewed one before them."""
        skewed = self.config.most_skewed_input
        return sorted(inputs, key=lambda s: (s not in definition.required, s != skewed))

    def _join_on_keys(
        self, definition: JoinDefinition, inputs: Mapping[str, DataFrame]
    ) -> DataFrame:
        """Join on keys. All columns are named ``stage.field``, so that names are unique."""
        order = self._order_inputs(definition, inputs)
        sides = {name: _select_side(definition, name, inputs[name]) for name in order}
        first, *others = order
        joined = sides[first]
        left_keys = _get_key_columns(definition, first)
        for name in others:
            right_keys = _get_key_columns(definition, name)
            pairs = zip(left_keys, right_keys, strict=True)
            condition = reduce(lambda a, b: a & b, [self._compare_keys(*pair) for pair in pairs])
            how = _get_join_type(definition, first, name)
            joined = joined.join(sides[name], condition, how)
            if how == "full":
                left_keys = _coalesce_keys(left_keys, right_keys)
        return joined.select(
            *[get_column(f"{s.stage}.{s.field}").alias(s.alias) for s in definition.selected]
        )

    def _compare_keys(self, left: Column, right: Column) -> Column:
        return left.eqNullSafe(right) if self.config.join_null_keys else left == right

    def _join_on_condition(
        self, definition: JoinDefinition, condition: str, inputs: Mapping[str, DataFrame]
    ) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        left, right = self._order_inputs(definition, inputs)
        sides = []
        for name in (left, right):
            df = F.broadcast(inputs[name]) if name in definition.in_memory else inputs[name]
            sides.append(df.alias(definition.get_alias(name)))
        joined = sides[0].join(sides[1], F.expr(condition), _get_join_type(definition, left, right))
        return joined.select(
            *[
                F.col(f"`{definition.get_alias(s.stage)}`.`{s.field}`").alias(s.alias)
                for s in definition.selected
            ]
        )


def _select_side(definition: JoinDefinition, name: str, df: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    needed = {s.field for s in definition.selected if s.stage == name}
    needed.update(definition.keys[name])
    side = df.select(*[get_column(f).alias(f"{name}.{f}") for f in df.columns if f in needed])
    return F.broadcast(side) if name in definition.in_memory else side


def _get_key_columns(definition: JoinDefinition, name: str) -> list[Column]:
    return [get_column(f"{name}.{key}") for key in definition.keys[name]]


def _get_join_type(definition: JoinDefinition, first: str, name: str) -> str:
    """Return Spark's join type.

    :param first: the first input in join order, which is required if any input is.
    """
    if first not in definition.required:
        return "full"
    return "inner" if name in definition.required else "left"


def _coalesce_keys(left: list[Column], right: list[Column]) -> list[Column]:
    from pyspark.sql import functions as F  # noqa: N812

    return [F.coalesce(a, b) for a, b in zip(left, right, strict=True)]
