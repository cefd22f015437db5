"""The Projection transform: drops, keeps, converts and renames fields.

Conversions are those of CDAP ``ProjectionTransform``. Texts become other types as
:mod:`localcdap.plugin_lib.text_values` says. Bytes hold numbers in big-endian order, as HBase's ``Bytes``
class writes them. A ``float`` or ``double`` becomes a whole number as by ``Math.round``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    Field,
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    Transform,
    Type,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import build_failure, get_column
from localcdap.plugin_lib.spark.conversion import read_real, read_whole
from localcdap.plugin_lib.suggestions import suggest_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_NUMBERS: Final = {
    Type.INT: (Type.LONG, Type.FLOAT, Type.DOUBLE),
    Type.LONG: (Type.FLOAT, Type.DOUBLE),
    Type.FLOAT: (Type.DOUBLE, Type.INT, Type.LONG),
    Type.DOUBLE: (Type.INT, Type.LONG),
}
"""The other numbers that a number becomes."""
_SPARK_TYPES: Final = {
    Type.INT: "int",
    Type.LONG: "bigint",
    Type.FLOAT: "float",
    Type.DOUBLE: "double",
    Type.STRING: "string",
}
_BYTE_FORMATS: Final = {
    Type.BOOLEAN: ">b",
    Type.INT: ">i",
    Type.LONG: ">q",
    Type.FLOAT: ">f",
    Type.DOUBLE: ">d",
}


def can_convert(source: Schema, target: Type) -> bool:
    """Return whether a field can be converted to a type; nullability does not matter.

    Every simple type converts to a string or bytes, strings and bytes convert to every simple type, and
    numbers convert to wider ones, those with fractions also to whole ones. Dates, times and decimals convert
    only to strings.
    """
    inner = source.non_nullable
    if not inner.type.is_simple or inner.type is Type.NULL:
        return False
    if inner.logical_type is not None:
        return target is Type.STRING
    return (
        inner.type is target
        or Type.STRING in (inner.type, target)
        or Type.BYTES in (inner.type, target)
        or target in _NUMBERS.get(inner.type, ())
    )


def convert(
    context: SparkContext, name: str, value: Column, source: Schema, target: Type
) -> Column:
    """Build the expression of a conversion that :func:`can_convert` allows; null stays null.

    A text that is not a number fails the run, as in CDAP.

    :param name: of the field, for the message.
    """
    from pyspark.sql import functions as F  # noqa: N812

    inner = source.non_nullable
    if inner.type is target and inner.logical_type is None:
        return value
    if target is Type.BYTES:
        return _read_binary(value) if inner.type is Type.STRING else _pack(value, inner.type)
    if inner.type is Type.BYTES and inner.logical_type is None:
        is_text = target is Type.STRING  # invalid bytes become U+FFFD, as in Java
        return F.make_valid_utf8(value.cast("string")) if is_text else _unpack(value, target)
    if target is Type.BOOLEAN:
        return F.lower(value) == F.lit("true")
    if inner.type is Type.STRING and inner.logical_type is None:
        if target in (Type.INT, Type.LONG):  # Spark takes more than Java
            number = read_whole(value, _SPARK_TYPES[target])
        else:
            number = read_real(value, _SPARK_TYPES[target])
        message = F.concat(
            F.lit(f"Field '{name}' is not of type {target.value}: '"), value, F.lit("'.")
        )
        failure = build_failure(context, message, Schema.of(target))
        return F.coalesce(number, F.when(value.isNotNull(), failure))
    if target in (Type.INT, Type.LONG) and inner.type in (Type.FLOAT, Type.DOUBLE):
        return _round(value, inner.type, target)
    return value.cast(_SPARK_TYPES[target])


def _round(value: Column, source: Type, target: Type) -> Column:
    """Round half up. ``Math.round`` of a float is an int, and of a double a long, of which an int has the low
    32 bits.
    """
    from pyspark.sql import functions as F  # noqa: N812

    double = value.cast("double")
    low = F.floor(double)
    up = F.when(F.abs(double) < 2.0**52, (double - low >= 0.5).cast("int")).otherwise(0)
    rounded = (
        F.when(F.isnan(double), F.lit(0))
        .when(double >= 2.0**63, F.lit(2**63 - 1))
        .when(double < -(2.0**63), F.lit(-(2**63)))
        .otherwise(low + up)
    )
    if source is Type.FLOAT:
        rounded = F.greatest(F.lit(-(2**31)), F.least(F.lit(2**31 - 1), rounded))
    elif target is Type.INT:
        rounded = F.shiftright(F.shiftleft(rounded, 32), 32)
    return rounded.cast(_SPARK_TYPES[target])


def _read_binary(value: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    # A nested function is pickled by value; Spark's workers cannot import this module.
    def read(text: str | None) -> bytes | None:
        from localcdap.plugin_lib.text_values import to_bytes_binary

        return None if text is None else to_bytes_binary(text)

    return F.udf(read, "binary", useArrow=False)(value)


def _pack(value: Column, source: Type) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    layout = _BYTE_FORMATS[source]

    # A nested function is pickled by value; Spark's workers cannot import this module.
    def pack(number: Any) -> bytes | None:
        import struct

        if number is None:
            return None
        return struct.pack(layout, -number if number is True else number)

    return F.udf(pack, "binary", useArrow=False)(value)


def _unpack(value: Column, target: Type) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    layout, is_boolean = _BYTE_FORMATS[target], target is Type.BOOLEAN

    def unpack(data: bytes | None) -> Any:
        import struct

        if data is None:
            return None
        number = struct.unpack_from(layout, data)[0]
        return number != 0 if is_boolean else number

    return F.udf(unpack, _SPARK_TYPES.get(target, "boolean"), useArrow=False)(value)


_TYPES = {t.value: t for t in Type if t.is_simple and t is not Type.NULL}


@plugin(
    name="Projection",
    description="Drops or keeps fields, then converts some to another type, then renames some.",
)
class Projection(Transform):
    one_to_one = True

    class Config(PluginConfig):
        drop: list[str] = field(
            "Fields to drop, comma-separated. Not together with keep.",
            default=[],
            form="{input-field}",
        )
        keep: list[str] = field(
            "Fields to keep, comma-separated. Not together with drop.",
            default=[],
            form="{input-field}",
        )
        convert: str = field(
            "Fields to convert, a comma-separated list of 'field:type', such as "
            "'count:long,price:double'. Simple types convert to strings and bytes, strings and bytes "
            "convert to simple types, and numbers convert to wider ones.",
            default="",
            form="{input-field}:{type},",
        )
        rename: str = field(
            "Fields to rename, a comma-separated list of 'old:new', such as 'ts:timestamp'.",
            default="",
            form="{input-field}:{new name},",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        self._check_selection(stage)
        conversions = self._parse_conversions(stage)
        renames = self._parse_renames(stage)
        if stage.input_schema is not None and not len(stage.failures):
            stage.output_schema = self._build_output(
                stage, stage.input_schema, conversions, renames
            )

    def _check_selection(self, stage: StageConfigurer) -> None:
        drop, keep, schema = self.config.drop, self.config.keep, stage.input_schema
        if drop and keep:
            failure = stage.failures.add("Cannot specify both drop and keep.")
            failure.with_config_property("drop").with_config_property("keep")
        if schema is None:
            return
        if drop and set(drop) >= set(schema.field_names):
            stage.failures.add(
                "'Fields to drop' cannot contain all the fields of the input schema."
            ).with_config_property("drop")
        for name in drop:
            if schema.field(name) is None:
                stage.warnings.add(
                    f"Field '{name}' provided in 'Fields to drop' is not present in the input schema.",
                    suggest_name(name, schema.field_names),
                ).with_config_property("drop", element=name)
        for name in keep:
            if schema.field(name) is None:
                stage.failures.add(
                    f"Field '{name}' provided in 'Fields to keep' must be present in the input "
                    "schema."
                ).with_config_property("keep", element=name)

    def _parse_conversions(self, stage: StageConfigurer) -> dict[str, Type]:
        found: dict[str, Type] = {}
        for element, name, target in _parse_pairs(stage, "convert", self.config.convert):
            if stage.input_schema is not None and stage.input_schema.field(name) is None:
                stage.failures.add(
                    f"Field '{name}' provided in 'Convert' is not present in the input schema."
                ).with_config_property("convert", element=element)
            if name in found:
                stage.failures.add(
                    f"Cannot convert '{name}' to multiple types."
                ).with_config_property("convert")
            if target.lower() in _TYPES:
                found[name] = _TYPES[target.lower()]
            else:
                stage.failures.add(
                    f"Cannot convert field '{name}' to a '{target}'.",
                    "Only simple types are supported.",
                ).with_config_property("convert", element=element)
        return found

    def _parse_renames(self, stage: StageConfigurer) -> dict[str, str]:
        found: dict[str, str] = {}
        for element, old, new in _parse_pairs(stage, "rename", self.config.rename):
            if stage.input_schema is not None and stage.input_schema.field(old) is None:
                stage.failures.add(
                    f"Field '{old}' provided in 'Fields to rename' must be present in the input "
                    "schema."
                ).with_config_property("rename", element=element)
            if old in found:
                failure = stage.failures.add(
                    f"Cannot rename '{old}' to both '{found[old]}' and '{new}'."
                )
                failure.with_config_property("rename", element=f"{old}:{found[old]}")
                failure.with_config_property("rename", element=element)
            elif new in found.values():
                stage.failures.add(
                    f"Cannot rename more than one field to '{new}'."
                ).with_config_property("rename")
            found[old] = new
        return found

    def _build_output(
        self,
        stage: StageConfigurer,
        schema: Schema,
        conversions: dict[str, Type],
        renames: dict[str, str],
    ) -> Schema:
        fields: list[Field] = []
        for given in self._select_fields(schema):
            target = conversions.get(given.name)
            if target is not None and not can_convert(given.schema, target):
                stage.failures.add(
                    f"Cannot convert field '{given.name}' from type "
                    f"'{given.schema.display_name}' to type '{target.value}'."
                ).with_config_property("convert", element=f"{given.name}:{target.value}")
            name = renames.get(given.name, given.name)
            if any(f.name == name for f in fields):
                stage.warnings.add(
                    f"Output field '{name}' occurs twice: it has the values of '{given.name}'.",
                    "Drop the other field, or rename it to something else.",
                ).with_config_property("rename")
            fields.append(Field(name, _convert_schema(given.schema, target)))
        return Schema.record(f"{schema.name}.projected", fields)

    def _select_fields(self, schema: Schema) -> list[Field]:
        keep, drop = self.config.keep or schema.field_names, self.config.drop
        return [f for f in schema if f.name in keep and f.name not in drop]

    def input_fields(self, stage: StageConfigurer) -> list[str] | None:
        schema = stage.input_schema
        return None if schema is None else [f.name for f in self._select_fields(schema)]

    def record_lineage(self, lineage: LineageRecorder) -> None:
        """Record operations with the names of the original (``ProjectionTransform.prepareRun``)."""
        schema = lineage.stage.input_schema
        if schema is None or self.config.macros:
            return
        conversions = self._parse_conversions(lineage.stage)
        renames = self._parse_renames(lineage.stage)
        selected = [given.name for given in self._select_fields(schema)]
        last = {renames.get(name, name): name for name in selected}
        for name in schema.field_names:
            output = renames.get(name, name)
            if last.get(output) != name:
                lineage.drop(name, f"drop_{name}")
            elif name in conversions:
                lineage.derive(output, [name], f"convert_{name}")
            else:
                kind = "identity_" if output == name else "renameField"
                lineage.keep(output, name, f"{kind}{name}")

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        stage = StageConfigurer(context.stage_name, dict(context.input_schemas))
        conversions, renames = self._parse_conversions(stage), self._parse_renames(stage)
        outputs = {}  # of two fields with one name the last one counts, at the place of the first
        for given in self._select_fields(context.input_schema):
            value, target = get_column(given.name), conversions.get(given.name)
            if target is not None:
                value = convert(context, given.name, value, given.schema, target)
            output = renames.get(given.name, given.name)
            outputs[output] = value.alias(output)
        return df.select(*outputs.values())


def _parse_pairs(stage: StageConfigurer, name: str, text: str) -> list[tuple[str, str, str]]:
    """Parse ``key:value, …`` into the text, the key and the value of each element."""
    pairs = []
    for element in (part.strip() for part in text.split(",")):
        key, colon, value = (part.strip() for part in element.partition(":"))
        if colon and key and value and ":" not in value:
            pairs.append((f"{key}:{value}", key, value))
        elif element:
            stage.failures.add(
                f"'{element}' in '{name}' is not a pair of two names with a colon between them."
            ).with_config_property(name, element=element)
    return pairs


def _convert_schema(given: Schema, target: Type | None) -> Schema:
    if target is None:
        return given
    schema = Schema.of(target)
    return schema.as_nullable if given.is_nullable else schema
