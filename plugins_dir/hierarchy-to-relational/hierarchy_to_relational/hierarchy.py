"""HierarchyToRelational: lists the paths of a hierarchy of records that name a parent and a child."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import (
    EdgeKind,
    Field,
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkCompute,
    SparkContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.sql_names import quote_column
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BOTTOM: Final = "__localcdap_bottom"
_GIVEN: Final = "__localcdap_given"
_ROW_LIMIT: Final = "spark.sql.cteRecursionRowLimit"
_MOST_RECORDS: Final = 10_000_000
"""Where Spark stops; by default at a million. A cycle can double the records with each level."""


@plugin(
    name="HierarchyToRelational",
    description="Lists each record of a hierarchy with its level below every start, and whether it is a "
    "leaf.",
)
class HierarchyToRelational(SparkCompute):
    """Applies the rules of ``HierarchyFlattener`` of CDAP's artifact hierarchy-to-relational 2.0.

    Level 1 are the records that ``startWith`` selects, but for those that are their own child; level n + 1
    are the input records whose parent is a child of level n. Records with the same parent, child and level
    become one, with the first path in the alphabet.
    """

    class Config(PluginConfig, macros=True, rename="camel"):
        parent_field: str = field("Field with the parent.", form="{input-field}")
        child_field: str = field("Field with the child.", form="{input-field}")
        level_field: str = field(
            "Output field for the level, 1 for those that begin a hierarchy.", default="Level"
        )
        bottom_field: str = field(
            "Output field for whether the child has no children.", default="Bottom"
        )
        max_depth: int = field(
            f"The largest level; a hierarchy that is deeper, or has more than {_MOST_RECORDS:,} records, "
            "fails the run.",
            default=50,
            name="maxDepthField",
        )
        start_with: str | None = field(
            "Condition of SQL on the input fields for records that begin a hierarchy; by default all do.",
            default=None,
            syntax="sql",
        )
        connect_by_root: str | None = field(
            "Fields of the first record that the output has too, as 'field=output field', separated by ';'.",
            default=None,
            name="connectByRootField",
        )
        path_field: str | None = field(
            "Field whose values make the path.", default=None, form="{input-field}"
        )
        path_alias_field: str | None = field("Output field for the path.", default=None)
        path_separator: str = field("Text before each value of the path.", default="/")

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self._check_names(stage)
        schema = stage.input_schema
        if schema is None or self._has_open_names():
            return
        given = {
            "parentField": self.config.parent_field,
            "childField": self.config.child_field,
            "pathField": self.config.path_field,
        }
        for key, name in given.items():
            if name:
                _require_field(stage, schema, name, key)
        for name in self._parse_roots(stage):
            _require_field(stage, schema, name, "connectByRootField")
        if not len(stage.failures):
            self._set_output(stage, schema)

    def _has_open_names(self) -> bool:
        return bool(self.config.macros - {"maxDepthField", "startWith", "pathSeparator"})

    def _check_names(self, stage: StageConfigurer) -> None:
        config = self.config
        if config.parent_field and config.parent_field == config.child_field:
            stage.failures.add(
                "Parent field is same as child field.",
                "Parent field needs to be different child field.",
            ).with_config_property("parentField")
        if not config.contains_macro("maxDepthField") and config.max_depth < 1:
            stage.failures.add(
                "Invalid max depth.", "Max depth must be at least 1."
            ).with_config_property("maxDepthField")
        if config.macros & {"pathField", "pathAliasField"}:
            return
        if config.path_field and not config.path_alias_field:
            stage.failures.add(
                "Path alias field name is null/empty.",
                "Path alias field name needs to be specified.",
            ).with_config_property("pathAliasField")
        if config.path_alias_field and not config.path_field:
            stage.failures.add(
                "Path field name is null/empty.", "Path field name needs to be specified."
            ).with_config_property("pathField")

    def _parse_roots(self, stage: StageConfigurer | None = None) -> dict[str, str]:
        """Return the output fields by the fields of the first record."""
        roots: dict[str, str] = {}
        for text in (self.config.connect_by_root or "").split(";"):
            name, sign, output = (part.strip() for part in text.partition("="))
            if sign and name and output:
                roots[name] = output
            elif text.strip() and stage is not None:
                stage.failures.add(
                    f"'{text.strip()}' is not a field with its output field.",
                    "Write 'field=output field', separated by ';'.",
                ).with_config_property("connectByRootField", element=text)
        return roots

    def _set_output(self, stage: StageConfigurer, schema: Schema) -> None:
        config = self.config
        made = [Field(config.level_field, Schema.INT), Field(config.bottom_field, Schema.BOOLEAN)]
        if config.path_alias_field:
            made.append(Field(config.path_alias_field, Schema.STRING))
        for name, output in self._parse_roots().items():
            found = schema.field(name)
            assert found is not None
            made.append(Field(output, found.schema))
        taken = set(schema.field_names)
        for each in made:
            if each.name in taken:
                stage.failures.add(
                    f"The output would have two fields named '{each.name}'.",
                    "Give the field that is made another name.",
                ).with_output_field(each.name)
            taken.add(each.name)
        if not len(stage.failures):
            stage.output_schema = Schema.record(f"{schema.name}_flattened", [*schema, *made])

    def record_lineage(self, lineage: LineageRecorder) -> None:
        outputs = lineage.outputs
        lineage.derive(outputs, lineage.input_fields, "HierarchyToRelational")
        lineage.influence(EdgeKind.JOIN, [self.config.parent_field, self.config.child_field])
        if self.config.start_with:
            lineage.influence(EdgeKind.FILTER, lineage.input_fields)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        config = self.config
        given = df.persist()
        df.sparkSession.conf.set(_ROW_LIMIT, str(_MOST_RECORDS))
        levels = df.sparkSession.sql(self._build_query(context), given=given)
        parents = given.select(get_column(config.parent_field).alias(_BOTTOM)).distinct()
        is_leaf = get_column(_BOTTOM).isNull()
        is_parent = get_column(config.child_field) == get_column(_BOTTOM)
        marked = levels.join(parents, is_parent, "left").withColumn(config.bottom_field, is_leaf)
        keys = [config.parent_field, config.child_field, config.level_field]
        names = context.output_schema.field_names if context.output_schema else []
        kept = [
            (F.min if name == config.path_alias_field else F.first)(get_column(name)).alias(name)
            for name in names
            if name not in keys
        ]
        grouped = marked.groupBy(*map(get_column, keys)).agg(*kept)
        return grouped.select(*[self._finish(name) for name in names])

    def _finish(self, name: str) -> Column:
        """Return an output column; that of the level fails for a hierarchy that is too deep."""
        from pyspark.sql import functions as F  # noqa: N812

        if name != self.config.level_field:
            return get_column(name)
        depth = self.config.max_depth
        message = F.lit(
            f"Exceeded maximum depth of {depth}. Ensure there are no cycles in the hierarchy, or increase "
            "the max depth."
        )
        level = get_column(name)
        return (
            F.when(level <= depth, level).otherwise(F.raise_error(message).cast("int")).alias(name)
        )

    def _build_query(self, context: SparkContext) -> str:
        config = self.config
        parent, child, level = map(
            quote_column, (config.parent_field, config.child_field, config.level_field)
        )
        names = [quote_column(name) for name in context.input_schema.field_names]
        roots = {quote_column(k): quote_column(v) for k, v in self._parse_roots().items()}
        first = [*names, f"1 AS {level}"]
        later = [*(f"i.{name}" for name in names), f"l.{level} + 1"]
        if config.path_field and config.path_alias_field:
            separator = "'" + config.path_separator.replace("\\", "\\\\").replace("'", "\\'") + "'"
            path, alias = quote_column(config.path_field), quote_column(config.path_alias_field)
            first.append(f"format_string('%s%s', {separator}, {path}) AS {alias}")
            later.append(f"concat_ws({separator}, l.{alias}, i.{path})")
        first += [f"{name} AS {output}" for name, output in roots.items()]
        later += [f"l.{output}" for output in roots.values()]
        start = f"({config.start_with}) AND " if config.start_with else ""
        # One level more than allowed, so that there is a record that shows it.
        query = f"""
            WITH RECURSIVE levels MAX RECURSION LEVEL {config.max_depth + 2} AS (
              SELECT {", ".join(first)} FROM {_GIVEN} WHERE {start}{parent} <> {child}
              UNION ALL
              SELECT {", ".join(later)} FROM levels l JOIN {_GIVEN} i ON l.{child} = i.{parent}
              WHERE l.{level} <= {config.max_depth}
            )
            SELECT * FROM levels
            """  # noqa: S608 - of the user's own condition and quoted names
        return query.replace("{", "{{").replace("}", "}}").replace(_GIVEN, "{given}")


def _require_field(stage: StageConfigurer, schema: Schema, name: str, key: str) -> None:
    if schema.field(name) is None:
        stage.failures.add(
            f"Field {name} not found in the input schema.",
            "Specify a field that is present in the input schema.",
        ).with_config_property(key)
