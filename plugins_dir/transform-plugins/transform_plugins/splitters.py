"""The NullFieldSplitter and the UnionSplitter, which route records by null or the type of a field's value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from localcdap.api import (
    EdgeKind,
    Field,
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkContext,
    SplitterTransform,
    StageConfigurer,
    Type,
    field,
    plugin,
)
from localcdap.api.arrow import is_proper_union, list_union_tags
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


NULL_PORT: Final = "null"
NON_NULL_PORT: Final = "nonnull"


@plugin(
    name="NullFieldSplitter",
    description="Splits records by whether a field is null: port 'null' gets records where it is null, port "
    "'nonnull' gets the others.",
)
class NullFieldSplitter(SplitterTransform):
    class Config(PluginConfig):
        checked: str = field(
            name="field",
            description="Field that is checked for null.",
            macro=True,
            form="{input-field}",
        )
        modify_schema: bool = field(
            "Whether the field is non-nullable in the schema of the port 'nonnull'.",
            default=True,
            name="modifySchema",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        schema, name = stage.input_schema, self.config.checked
        if schema is None or not name:
            return
        checked = schema.field(name)
        if checked is None:
            stage.failures.add(
                f"Field '{name}' must exist in the input schema."
            ).with_config_property("field")
            return
        stage.port_schemas[NULL_PORT] = schema
        stage.port_schemas[NON_NULL_PORT] = schema
        if not self.config.modify_schema:
            return
        if checked.schema.non_nullable.type is Type.NULL:
            stage.failures.add(
                f"Field '{name}' does not contain a non-null type in its union schema."
            ).with_input_field(name)
            return
        stage.port_schemas[NON_NULL_PORT] = _drop_null(schema, name)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.influence(EdgeKind.FILTER, [self.config.checked])

    def apply(self, df: DataFrame, context: SparkContext) -> Mapping[str, DataFrame]:
        checked = get_column(self.config.checked)
        return {
            NULL_PORT: df.filter(checked.isNull()),
            NON_NULL_PORT: df.filter(checked.isNotNull()),
        }


def _drop_null(schema: Schema, name: str) -> Schema:
    fields = [Field(f.name, f.schema.non_nullable) if f.name == name else f for f in schema]
    return Schema.record(f"{schema.name}.{NON_NULL_PORT}", fields)


_UNSUPPORTED: Final = (Type.ENUM, Type.MAP, Type.ARRAY, Type.UNION)


class UnionMember(NamedTuple):
    """A member of a union and its port."""

    port: str
    schema: Schema
    tag: str | None
    """The struct field with the value; None if the union is not stored as a struct."""


@plugin(
    name="UnionSplitter",
    description="Splits records by the type of the value in a union field. The port is the name of the type "
    "(null, boolean, bytes, int, long, float, double, string) or, for a record, the record's name.",
)
class UnionSplitter(SplitterTransform):
    class Config(PluginConfig, rename="camel"):
        union_field: str | None = field(
            "Union field to split on. Its members must be records or simple types. If not set, all "
            "records go to the port with the name of the input record.",
            default=None,
            form="{input-field}",
        )
        modify_schema: bool = field(
            "Whether the union field has, on each port, only the type of its values there. "
            "Otherwise it stays a union.",
            default=True,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        schema, name = stage.input_schema, self.config.union_field
        if schema is None:
            return
        if name is None:
            stage.port_schemas[schema.name or "record"] = schema
            return
        split = schema.field(name)
        if split is None:
            stage.failures.add(
                f"Field '{name}' must exist in the input schema."
            ).with_config_property("unionField")
            return
        if split.schema.type is not Type.UNION:
            stage.failures.add(
                f"Field '{name}' must be of type union, but is of type "
                f"'{split.schema.display_name}'."
            ).with_config_property("unionField").with_input_field(name)
            return
        for member in _list_members(split.schema):
            self._add_port(stage, schema, name, split.schema, member)

    def _add_port(
        self, stage: StageConfigurer, schema: Schema, name: str, union: Schema, member: UnionMember
    ) -> None:
        if member.schema.type in _UNSUPPORTED:
            stage.failures.add(
                f"Unsupported type '{member.schema.type.value}' within union field '{name}'."
            ).with_config_property("unionField").with_input_field(name)
        elif member.port in stage.port_schemas:
            stage.failures.add(
                f"Two members of union field '{name}' would share the port '{member.port}'."
            ).with_config_property("unionField").with_input_field(name)
        else:
            held = member.schema if self.config.modify_schema else union
            fields = [Field(name, held) if f.name == name else f for f in schema]
            stage.port_schemas[member.port] = Schema.record(f"{schema.name}.{member.port}", fields)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        if self.config.union_field is not None:
            lineage.influence(EdgeKind.FILTER, [self.config.union_field])

    def apply(self, df: DataFrame, context: SparkContext) -> Mapping[str, DataFrame]:
        schema, name = context.input_schema, self.config.union_field
        split = schema.field(name) if name is not None else None
        if split is None or name is None:
            return {schema.name or "record": df}
        ports = {}
        for member in _list_members(split.schema):
            part = df.filter(_is_member(get_column(name), member))
            if self.config.modify_schema:
                part = part.withColumn(name, _get_value(get_column(name), member))
            ports[member.port] = part
        return ports


def _list_members(union: Schema) -> Iterator[UnionMember]:
    tags = iter(list_union_tags(union) if is_proper_union(union) else [])
    for member in union.members:
        is_record = member.type is Type.RECORD
        port = (member.name or "record") if is_record else member.type.value
        tag = None if member.type is Type.NULL else next(tags, None)
        yield UnionMember(port, member, tag)


def _is_member(value: Column, member: UnionMember) -> Column:
    if member.schema.type is Type.NULL:
        return value.isNull()
    return (value if member.tag is None else value[member.tag]).isNotNull()


def _get_value(value: Column, member: UnionMember) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if member.schema.type is Type.NULL:
        return F.lit(None)
    return value if member.tag is None else value[member.tag]
